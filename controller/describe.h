/* SPDX-License-Identifier: GPL-2.0 */
/*
 * describe.h - a machine for those who look at it: what is between it and its allocation, and what it uses for each knob: "cpuset=v1 freezer=v1 speed=bandwidth period=12.5ms".  Pure
 * but for printf.
 */
#ifndef PARTIES_DESCRIBE_H
#define PARTIES_DESCRIBE_H

#include "cores.h"
#include "egress.h"
#include "resctrl.h"
#include "speed.h"

struct described {
	const struct cgroup_mounts *mounts;
	const struct cores *cores;
	const struct resctrl *cache;
	const struct egress *egress;
	const struct speed *speed;
	const struct group *groups; /* services first */
	uint32_t nr_services, nr_groups;
};

/* All but the CPUs that are avoided. */
void describe_trouble(const struct described *d, struct trouble *ret);
void describe_knobs(const struct described *d, char *ret, size_t size);

#endif
