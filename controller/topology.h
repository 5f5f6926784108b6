/* SPDX-License-Identifier: GPL-2.0 */
/*
 * topology.h - the machine's physical cores as sysfs describes them (kernel ABI: sysfs-devices-system-cpu).
 * Port: reads files below `root`, keeps nothing open.  Never computes a sibling, always reads it.
 */
#ifndef PARTIES_TOPOLOGY_H
#define PARTIES_TOPOLOGY_H

#include <stdint.h>

#include "cpulist.h"

enum { TOPOLOGY_MAX_CORES = 512 };

struct topology_core {
	struct cpulist cpus; /* online SMT siblings, at least one */
	uint16_t first_cpu;  /* lowest of them: the core's name in messages */
	uint16_t l3;         /* dense index of the L3 domain; cores without L3 information share 0 */
	uint16_t node;       /* NUMA node */
	uint16_t package;
};

struct topology {
	uint32_t nr_cores;
	struct topology_core cores[TOPOLOGY_MAX_CORES]; /* ordered by package, L3 domain, first CPU; then those that came */
	struct cpulist online, isolated;
};

/* `root` is "" or a directory that stands in for "/".  Isolated CPUs are listed but make no core. Negative errno. */
int topology_read(const char *root, struct topology *ret);
/*
 * CPUs that `now` has and `topo` does not: siblings join their core, others make cores after those that are there, which
 * keep their place, in a known L3 domain or one more.  No core goes away.  What finds no room is left out.
 */
void topology_grow(struct topology *topo, const struct topology *now);
/*
 * CPUs of `online` that are of no core and not isolated: reads them from sysfs and grows.  *homeless: those it could do
 * nothing about, not to be tried again before others come; empty at first.
 */
void topology_follow(struct topology *topo, const char *root, const struct cpulist *online, struct cpulist *homeless);
/* The CPUs of all cores. */
void topology_cpus(const struct topology *topo, struct cpulist *ret);

#endif
