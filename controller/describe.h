/* SPDX-License-Identifier: GPL-2.0 */
/*
 * describe.h - what a machine uses for each knob, in a line: "cpuset=v1 freezer=v1 speed=bandwidth period=12.5ms".  Pure
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
	const struct group *services;
	uint32_t nr_services;
};

void describe_knobs(const struct described *d, char *ret, size_t size);

#endif
