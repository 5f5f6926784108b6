/* SPDX-License-Identifier: GPL-2.0 */
/*
 * group.h - the control groups of one service or batch, one per hierarchy that is needed.  Port.
 *
 * In each hierarchy the group is either adopted (the match names it, and the processes are in it) or ours
 * (<home>/parties/<name>), into which every thread is moved.  On version 2 a group that holds exactly the service's
 * processes is adopted without being named: a service manager takes a unit whose group has emptied for stopped.
 */
#ifndef PARTIES_GROUP_H
#define PARTIES_GROUP_H

#include "bandwidth.h"
#include "cgroup.h"
#include "cpuset.h"
#include "drift.h"
#include "group_place.h"
#include "limit_files.h"
#include "machine.h"
#include "pins.h"

struct group {
	char name[CONFIG_NAME_SIZE];
	bool is_batch, has_bandwidth;
	bool left_alone; /* at the last step: it is gone, or somebody else insists on its values */
	struct drift drift;
	uint32_t nr_apart; /* threads of a service that were pinned to a part of its CPUs, at the last look */
	uint64_t target_ns;
	const struct limits *limits; /* batches; NULL: none.  Whoever planned keeps them */
	const struct match *match;   /* which may name the group to adopt; NULL: none does.  Whoever planned keeps it */
	int set;          /* in the cpusets */
	struct pins pins; /* without them */
	struct group_place places[CGROUP_NR_KINDS];
	struct match_pids pids;
	struct bandwidth bandwidth; /* services, where it stands in for speed */
	struct limit_files limit_files; /* batches */
	struct knob freezer;        /* batches */
	struct knob usage;          /* services: CPU time.  Closed: not counted here */
	uint64_t last_usage_ns;     /* what the counter said */
	uint64_t usage_ns;          /* the sum of what it grew by */
};

/*
 * Where the group will be; touches nothing.  -EINVAL: a name that cannot be a directory.  -ENOTSUP: best effort cannot be
 * frozen here.  Told in `error`.
 */
int group_plan(struct group *g, const char *root, const struct machine_group *what, bool is_batch, bool bandwidth,
	       const struct cgroup_mounts *mounts, char *error, size_t error_size);
/* Journals and makes directories, opens and journals knobs, and moves the processes in.  Told in `error`. */
int group_enter(struct group *g, const char *root, struct cpusets *sets, struct journal *j, char *error,
		size_t error_size);
/*
 * A quota comes to stand in for speed while the service is steered: a group for it is made or adopted, and the processes
 * are in it.  What was there is journalled first.  Told in `error`; -ENOTSUP: there is no cpu controller.
 */
int group_take_quota(struct group *g, const char *root, const struct cgroup_mounts *mounts, struct journal *j, char *error,
		     size_t error_size);
/*
 * Moves what is new.  Where the processes are no more in the group that was adopted, the one in which they are now is planned
 * and entered in its place.  Returns how many processes were moved, or negative errno.
 */
int group_adopt(struct group *g, const char *root, const struct match_pids *pids, const struct cgroup_mounts *mounts,
		struct cpusets *sets, struct journal *j);
/*
 * Version 2: somebody above may have switched controllers off (systemd does so when the last unit that asked for one ends), and
 * what they limited is as it was before us.  Has them handed down again.  Told in `error`.
 */
int group_keep_controllers(const struct group *g, const char *root, struct journal *j, char *error, size_t error_size);
/* An adopted group may be removed, and be made again, by whoever made it. */
bool group_is_gone(const struct group *g);
/* Counts from now on; group_enter does it too. */
void group_start_usage(struct group *g, const char *root);
/* CPU time since then.  Without a group's counter: of the threads that live. */
uint64_t group_usage_ns(struct group *g, const char *root);
/* Freezes or thaws.  On failure *ret tells why. */
int group_freeze(struct group *g, bool frozen, struct undo *u, struct outcome *ret);
/* What somebody else changed before this step, told in ret->note. */
void group_look_for_drift(struct group *g, struct cpusets *sets, uint64_t step, struct outcome *ret);
void group_init(struct group *g);
void group_close(struct group *g);

#endif
