/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rights.h - what this process may do, and in words what it lacks.  Port: asks the kernel, changes nothing.
 */
#ifndef PARTIES_RIGHTS_H
#define PARTIES_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * 0, or -EPERM with the missing capabilities, what each is for and the remedy in `error`.  `steer`: cgroups and speeds
 * will be written, too.
 */
int rights_check(bool steer, char *error, size_t error_size);

#endif
