/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cores.h - which CPUs the groups of a machine may use: by cpusets, or where there is no such controller by the masks of
 * their threads (pins.h).  Port: cpusets and pins behind one door.
 */
#ifndef PARTIES_CORES_H
#define PARTIES_CORES_H

#include "cpuset.h"
#include "group.h"

struct cores {
	bool by_affinity;
	struct cpusets sets;
};

/*
 * Decides; touches nothing.  Controllers that cannot be written are none, and are taken out of *mounts.  -ENOTSUP, told in
 * `error`: nothing can move CPUs here, or not all of `topo`.
 */
int cores_find(struct cores *c, struct cgroup_mounts *mounts, enum config_affinity affinity, const struct topology *topo,
	       char *error, size_t error_size);
/* What a group is to have; empty: it is left alone. */
struct cpulist *cores_target(struct cores *c, struct group *g);
/* Makes it so for all groups.  On failure *ret tells why; the caller rolls `u` back and calls cores_rollback. */
int cores_apply(struct cores *c, struct group *groups, uint32_t nr, const char *root, struct journal *j, struct undo *u,
		struct outcome *ret);
/* What others changed, told in ret->note; and now and then whose threads do not follow. */
void cores_look(struct cores *c, struct group *groups, uint32_t nr_services, uint32_t nr_groups, const char *root,
		uint64_t step, struct outcome *ret);
void cores_rollback(struct cores *c, struct group *groups, uint32_t nr);

#endif
