/* SPDX-License-Identifier: GPL-2.0 */
/*
 * group_place.h - where the group of a service is, or will be, in one hierarchy.  Port; touches nothing.
 */
#ifndef PARTIES_GROUP_PLACE_H
#define PARTIES_GROUP_PLACE_H

#include "cgroup.h"
#include "match.h"

struct group_place {
	const struct cgroup_mount *mount; /* NULL: not needed here */
	bool own;
	char dir[KNOB_PATH_SIZE];
};

/*
 * The group that `match` names and the processes are in (NULL: none is named); on version 2 else the one that is theirs alone;
 * else one of ours, <home>/parties/<name>.  `mount` is kept.  -ENAMETOOLONG.
 */
int group_place_find(struct group_place *p, const char *root, const struct cgroup_mount *mount, const char *name,
		     const struct match *match, const struct match_pids *pids);
/* Some process is in the group, or below it. */
bool group_place_is_inhabited(const struct group_place *p, const char *root, const struct match_pids *pids);

#endif
