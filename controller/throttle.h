/* SPDX-License-Identifier: GPL-2.0 */
/*
 * throttle.h - for how long quotas of the groups that a service is in, and of the groups above, held it back.  Port:
 * cpu.stat of both versions of control groups.
 */
#ifndef PARTIES_THROTTLE_H
#define PARTIES_THROTTLE_H

#include "cgroup.h"
#include "match.h"

enum { THROTTLE_MAX_GROUPS = 12 };

/* The first groups of a service's processes and their ancestors.  Zeroed: none. */
struct throttle {
	uint32_t nr;
	struct throttle_group {
		struct knob stat;
		uint64_t last_ns;
	} groups[THROTTLE_MAX_GROUPS];
};

/*
 * The processes changed, or may have been moved: the groups of the first few are looked up again.  Counting goes on in
 * groups that are known and begins in others.
 */
void throttle_follow(struct throttle *t, const struct cgroup_mount *mount, const char *root,
		     const struct match_pids *pids);
/* What the counters grew by since the last call.  CPUs held back at once add up; so do quotas, one below the other. */
uint64_t throttle_read_ns(struct throttle *t);
void throttle_close(struct throttle *t);

#endif
