/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cgroup.h - where the control group hierarchies are and which group a task is in; making groups.  Port to libcgroup
 * and to what libcgroup cannot do.  Version 1 (one hierarchy per controller or co-mounted), version 2, and both
 * (hybrid).
 */
#ifndef PARTIES_CGROUP_H
#define PARTIES_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "knob.h"

enum cgroup_kind { CGROUP_CPUSET, CGROUP_CPU, CGROUP_CPUACCT, CGROUP_FREEZER, CGROUP_SOCKETS, CGROUP_NR_KINDS };

/* All groups of ours are <home>/CGROUP_OWN/<name>. */
#define CGROUP_OWN "parties"

/* resctrl's groups are no control groups, but tasks are in them in the same way (one thread at a time, as in version 1). */
enum { CGROUP_RESCTRL = 3 };

struct cgroup_mount {
	int version;               /* 1, 2 or CGROUP_RESCTRL; 0: not there */
	char name[16];             /* of the controller, as /proc/<pid>/cgroup has it */
	char dir[KNOB_PATH_SIZE];  /* mount point, `root` included */
	char top[KNOB_PATH_SIZE];  /* the group that the mount point shows, "/" unless a container sees only a part */
	char home[KNOB_PATH_SIZE]; /* where groups of ours are made: `dir`, or a group below it (subtree.h) */
};

/*
 * Version 1 of a controller wins over version 2: a controller is in one hierarchy only, and on hybrid systems that is
 * version 1.  Freezing and CPU time need no controller on version 2, so they are found wherever it is mounted; sockets
 * belong to groups of version 2 alone, and need none.
 */
struct cgroup_mounts {
	struct cgroup_mount kinds[CGROUP_NR_KINDS];
};

/* Reads <root>/proc/self/mountinfo.  -ENOENT: no hierarchy at all. */
int cgroup_read_mounts(const char *root, struct cgroup_mounts *ret);
/* The directory of the group that task `tid`, or with 0 ourselves, is in.  -ESRCH: the task is gone. */
int cgroup_read_task(const char *root, const struct cgroup_mount *mount, pid_t tid, char *ret_dir, size_t size);
/* Makes <mount>/<name>; one that exists is fine.  The caller has journalled it. */
int cgroup_make(const struct cgroup_mount *mount, const char *name);
/*
 * Version 2: whether `dir` hands `controllers` (e.g. "cpuset cpu") to its children; those it does not are written to
 * *ret as "+x +y" ("" for none).
 */
int cgroup_missing_controllers(const char *dir, const char *controllers, char *ret, size_t size);

#endif
