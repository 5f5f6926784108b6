// SPDX-License-Identifier: GPL-2.0
/*
 * quotas.c - port: quotas of all services.  How one is written is bandwidth.c's, where its group is group.c's.
 */
#include "quotas.h"

int quotas_take(struct group *services, uint32_t nr, const char *root, const struct cgroup_mounts *mounts, struct journal *j,
		struct outcome *ret)
{
	int err = 0;

	for (uint32_t i = 0; i < nr && !err; i++)
		if (!services[i].has_bandwidth && !group_is_gone(&services[i]))
			err = group_take_quota(&services[i], root, mounts, j, ret->where, sizeof(ret->where));
	return ret->error = err;
}

int quotas_apply(struct group *services, uint32_t nr, struct cores *cores, const struct allocation *want, struct undo *u,
		 struct outcome *ret)
{
	int err = 0;

	for (uint32_t i = 0; i < nr && !err; i++)
		if (!services[i].left_alone)
			err = bandwidth_apply(&services[i].bandwidth, cpulist_count(cores_target(cores, &services[i])),
					      services[i].pids.nr ? bandwidth_ladder.value[want->speed[i]] : BANDWIDTH_FULL_PERMILLE,
					      u, ret);
	return err;
}

int quotas_limit(struct group *batches, uint32_t nr, const struct allocation *want, struct undo *u, struct outcome *ret)
{
	int err = 0;

	for (uint32_t i = 0; i < nr && !err; i++)
		if (!batches[i].left_alone)
			err = limit_files_apply(&batches[i].limit_files, batches[i].limits, want->be_memory, want->be_disk, u, ret);
	return err;
}
