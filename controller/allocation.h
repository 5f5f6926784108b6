/* SPDX-License-Identifier: GPL-2.0 */
/*
 * allocation.h - who owns which physical core and how many ways of the cache, and at what speed each service runs.  Pure.
 *
 * Policies count in units; this file turns counts into core ids.  Sticky: a core changes owner only when a count
 * changes; a service that gets a core back gets the one it gave last (PARTIES decision 3: an undone downsize returns
 * the same core); otherwise a core of an L3 domain the service already lives in comes first.
 */
#ifndef PARTIES_ALLOCATION_H
#define PARTIES_ALLOCATION_H

#include "policy.h"
#include "topology.h"

enum { ALLOCATION_IDLE = -1, ALLOCATION_BE = -2, ALLOCATION_RESERVED = -3, ALLOCATION_OFFLINE = -4 };

struct allocation {
	uint32_t nr_cores, nr_services;
	int16_t owner[TOPOLOGY_MAX_CORES];    /* index into topology.cores; service index or ALLOCATION_* */
	int16_t previous[TOPOLOGY_MAX_CORES]; /* owner before the last change, for stickiness */
	uint64_t changed[TOPOLOGY_MAX_CORES]; /* sequence number of that change */
	uint64_t sequence;
	uint32_t speed[POLICY_MAX_SERVICES];  /* ladder step of each service */
	uint32_t ways[POLICY_MAX_SERVICES], be_ways, idle_ways;
	uint32_t be_memory, be_disk;          /* units of its limits; 0: whole */
};

/* Everything idle, except the `reserved` lowest CPUs' cores, which never move. */
void allocation_init(struct allocation *a, const struct topology *topo, uint32_t nr_services, uint32_t reserved_cpus);

/*
 * A core of which no CPU is in `usable` belongs to nobody until one is again; then it is idle, and whoever had it gets it
 * before others.  Reserved cores stay what they are.  Cores that `topo` has got since are idle.
 */
void allocation_set_usable(struct allocation *a, const struct topology *topo, const struct cpulist *usable);

/* Cores that services and best effort can own now. */
uint32_t allocation_nr_assignable(const struct allocation *a);

/* The same at the start: all but the reserved. */
uint32_t allocation_assignable(const struct topology *topo, uint32_t reserved_cpus);

/* The counts the policy sees. */
uint32_t allocation_count(const struct allocation *a, int owner);

/*
 * Writes to *ret the allocation nearest to `cur` that has the decision's counts.  -EINVAL when the counts do not add
 * up to the cores there are or break a floor of one core; *ret is then untouched.  ret may be cur.
 */
int allocation_plan(const struct allocation *cur, const struct topology *topo, const struct policy_decision *d,
		    struct allocation *ret);

/* CPUs of an owner: the union of its cores' siblings. */
void allocation_cpus(const struct allocation *a, const struct topology *topo, int owner, struct cpulist *ret);

#endif
