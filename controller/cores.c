// SPDX-License-Identifier: GPL-2.0
/*
 * cores.c - port: cpusets, or masks of threads.  Which CPUs is machine.c's; how they are written is cpuset.c's and pins.c's.
 */
#include "cores.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "affinity.h"

/* Steps in which the threads of each service are looked at once. */
enum { LOOK_PERIOD = POLICY_MAX_SERVICES };

int cores_find(struct cores *c, struct cgroup_mounts *mounts, enum config_affinity affinity, const struct topology *topo,
	       char *error, size_t error_size)
{
	struct cgroup_mount *cpuset = &mounts->kinds[CGROUP_CPUSET];
	struct cpulist cpus;

	for (enum cgroup_kind kind = 0; kind < CGROUP_NR_KINDS; kind++)
		if (mounts->kinds[kind].version && access(mounts->kinds[kind].dir, W_OK) && errno == EROFS)
			mounts->kinds[kind].version = 0;
	if (affinity == CONFIG_AFFINITY_YES)
		cpuset->version = 0;
	c->by_affinity = !cpuset->version && affinity != CONFIG_AFFINITY_NO;
	if (c->by_affinity)
		return 0;
	if (!cpuset->version) {
		snprintf(error, error_size, "no cpuset controller here: mount it (mount -t cgroup -o cpuset none DIR, or cgroup2), "
			 "or use affinity = auto, or --mode observe; `parties doctor` says more");
		return -ENOTSUP;
	}
	topology_cpus(topo, &cpus);
	return cpuset_check_allowed(cpuset->home, &cpus, error, error_size);
}

struct cpulist *cores_target(struct cores *c, struct group *g)
{
	return c->by_affinity ? &g->pins.target : &c->sets.sets[g->set].target;
}

int cores_apply(struct cores *c, struct group *groups, uint32_t nr, const char *root, struct journal *j, struct undo *u,
		struct outcome *ret)
{
	int err = 0;

	if (!c->by_affinity)
		return cpusets_apply(&c->sets, u, ret);
	for (uint32_t i = 0; i < nr && !err; i++)
		if (!cpulist_empty(&groups[i].pins.target))
			err = pins_apply(&groups[i].pins, root, &groups[i].pids, j, ret);
	return err;
}

void cores_rollback(struct cores *c, struct group *groups, uint32_t nr)
{
	for (uint32_t i = 0; i < nr && c->by_affinity; i++)
		pins_rollback(&groups[i].pins);
}

void cores_look(struct cores *c, struct group *groups, uint32_t nr_services, uint32_t nr_groups, const char *root,
		uint64_t step, struct outcome *ret)
{
	uint32_t one = (uint32_t)(step % LOOK_PERIOD);

	if (one < nr_services && !root[0])
		groups[one].nr_apart = affinity_count_apart(&groups[one].pids, cores_target(c, &groups[one]));
	for (uint32_t i = 0; i < nr_groups; i++)
		group_look_for_drift(&groups[i], &c->sets, step, ret);
}
