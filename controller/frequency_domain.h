/* SPDX-License-Identifier: GPL-2.0 */
/*
 * frequency_domain.h - the files of CPUs that are clocked together, for frequency.c alone.  Port to libcpupower, which
 * writes the machine's; those of a tree are written as they are.
 */
#ifndef PARTIES_FREQUENCY_DOMAIN_H
#define PARTIES_FREQUENCY_DOMAIN_H

#include "cpulist.h"
#include "knob.h"
#include "ladder.h"

struct domain {
	struct cpulist cpus;            /* these have one set of files */
	struct cpulist clocked;         /* `cpus`, and those that the hardware clocks with them */
	unsigned long min_khz, max_khz; /* of the hardware */
	struct speed_ladder ladder;     /* its own steps */
	uint32_t asked_khz;             /* at the last step; 0: not yet */
	bool held_back, was_held_back;  /* it got less, at the last step and at the one before */
	char governors[128];            /* offered */
	struct knob governor, min, max;
	struct knob setspeed, epp;      /* closed where the driver has none that is of use */
};

/* -ENODEV: no cpufreq.  -EROFS.  The caller closes, also after an error. */
int domain_open(struct domain *d, const char *root, unsigned int cpu);
void domain_close(struct domain *d);
/* The switch of boost speeds.  *ret_on: its text for "on".  -ENOENT: none here.  The caller closes. */
int domain_open_boost(struct knob *k, const char *root, const char **ret_on);

#endif
