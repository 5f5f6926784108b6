/* SPDX-License-Identifier: GPL-2.0 */
/*
 * trouble.h - what stands between decisions and the machine, and is no failure: others who write the same files, threads
 * that do not follow, ways that do nothing, CPUs that cannot be had.  A shape, filled by the actuator.
 */
#ifndef PARTIES_TROUBLE_H
#define PARTIES_TROUBLE_H

#include <stdbool.h>
#include <stdint.h>

#include "cpulist.h"
#include "policy.h"

struct trouble_knobs {
	uint32_t nr_changed; /* steps in which somebody else had changed them; they were put back, unless left */
	bool left;           /* to somebody else, for now */
};

struct trouble {
	struct trouble_knobs services[POLICY_MAX_SERVICES], batches, speed; /* of all batches together */
	uint32_t nr_apart[POLICY_MAX_SERVICES]; /* threads that are pinned to a part of their service's CPUs only */
	const char *given_up;                   /* ways of setting speeds, "userspace cap"; "" none */
	struct cpulist avoided;                 /* CPUs of cores that are planned without: offline, or not for us */
};

#endif
