/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cpuset.h - moving CPUs between groups so that no set is ever empty or outside its parent.  Port: cpuset files.
 *
 * A move is four passes: ancestors become wide enough for what is and what will be, victims shrink to what they keep,
 * everyone gets the new set, ancestors become as narrow as they may.  At the end the effective sets have to agree.
 */
#ifndef PARTIES_CPUSET_H
#define PARTIES_CPUSET_H

#include "cpulist.h"
#include "journal.h"
#include "knob.h"

enum { CPUSET_MAX_SETS = 256, CPUSET_DENIED_STEPS = 60 };

struct cpuset_set {
	struct knob cpus, effective; /* effective.fd is -1 where the kernel has no such file; cpus.fd when it is free */
	int parent;                  /* index; -1: the mount point, which is not ours to write */
	bool is_group;               /* false: an ancestor of groups */
	struct cpulist base;         /* what an ancestor had before us and always keeps */
	struct cpulist target;       /* wanted; empty: this group is left alone */
};

/*
 * CPUs that were in a group's file and not in effect, in two steps in a row, are somebody else's (a partition, a limit that
 * we do not see): they are denied for CPUSET_DENIED_STEPS steps, to plan without them, and then tried again.
 */
struct cpusets {
	struct cpulist missing; /* in the last step */
	struct cpulist denied;
	uint32_t nr_denied;     /* steps that are left */
	uint32_t nr;
	struct cpuset_set sets[CPUSET_MAX_SETS]; /* parents before children */
};

/*
 * Adds the group `dir` and those of its ancestors below `mount_dir` that are not there yet, journalling what they say.
 * Returns the group's index or negative errno.
 */
int cpusets_add(struct cpusets *c, const char *mount_dir, const char *dir, struct journal *j);
/* Forgets a group, and those of its ancestors that no other group is in.  Their files are as they are. */
void cpusets_drop(struct cpusets *c, int index);
/* Version 1: a new group takes nobody until it has memory nodes and CPUs; it gets its parent's. */
int cpuset_fill(const char *dir, const char *parent_dir);
/* The file that says which CPUs group `dir` may really use.  -ENOENT: this kernel has none.  The caller closes. */
int cpuset_open_effective(struct knob *k, const char *dir);
/* What it says. */
int cpuset_read_effective(const char *dir, struct cpulist *ret);
/* 0, or -ENOTSUP when group `dir` may not use all of `cpus`: `error` names those it may not. */
int cpuset_check_allowed(const char *dir, const struct cpulist *cpus, char *error, size_t error_size);
/* Makes every set say its target.  On failure *ret tells why and the caller rolls `u` back. */
int cpusets_apply(struct cpusets *c, struct undo *u, struct outcome *ret);
/* Once: somebody else changed this set since the last step. */
bool cpusets_drifted(struct cpusets *c, int index);
void cpusets_close(struct cpusets *c);

#endif
