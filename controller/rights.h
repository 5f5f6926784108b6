/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rights.h - what this process may do, and in words what it lacks.  Port: asks the kernel, changes nothing.
 */
#ifndef PARTIES_RIGHTS_H
#define PARTIES_RIGHTS_H

#include <stddef.h>

enum rights_work {
	RIGHTS_MEASURE = 1 << 0,
	RIGHTS_SEE_OTHERS = 1 << 1, /* descriptors and programs of other users' processes */
	RIGHTS_STEER = 1 << 2,      /* write cgroups and speeds */
	RIGHTS_EGRESS = 1 << 3,     /* hold packets back */
};

/* 0, or -EPERM with the missing capabilities in `missing`, and what each is for.  work: a set of enum rights_work. */
int rights_check(unsigned int work, char *missing, size_t size);

#endif
