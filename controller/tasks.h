/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tasks.h - moving every thread of processes into a group, and out again.  Port: /proc and a group's tasks file.
 */
#ifndef PARTIES_TASKS_H
#define PARTIES_TASKS_H

#include <stdint.h>
#include <sys/types.h>

#include "cgroup.h"
#include "journal.h"
#include "match.h"

/*
 * Moves every process of `pids` with a thread that is not inside into `dir`, journalling where each thread was.  Looks
 * again until two looks in a row find nobody outside.  Vanished tasks, and kernel threads that the kernel will not
 * move, are skipped.  Returns how many processes (of resctrl: threads) were moved, or negative errno; -EAGAIN: there was always somebody
 * outside.
 */
int tasks_move_in(const char *root, const struct cgroup_mount *mount, const char *dir, const struct match_pids *pids,
		  struct journal *j);
/*
 * Moves out whoever is in `dir` now.  A task goes where its TASK entry says; one without goes where its process's or
 * its nearest ancestor's says (children are born inside the group of their parent); else, or when that group is gone,
 * to `home`. Returns how many were moved, or negative errno; -ENOENT: no such group.
 */
int tasks_move_out(const char *root, const char *dir, const char *home, const struct journal_entry *entries,
		   size_t nr_entries);
/*
 * The directory of the group that holds these processes and nobody else, and is neither the top nor ours; -ENOENT:
 * there is none.
 */
int tasks_find_group(const char *root, const struct cgroup_mount *mount, const struct match_pids *pids, char *ret_dir,
		     size_t size);
/* Processes that are in a group itself, not below it.  -E2BIG: more than MATCH_MAX_PIDS. */
int tasks_read_processes(const char *dir, struct match_pids *ret);
/*
 * Journals the masks of threads that pinned themselves, unless they are in a group of ours; `mount` is of the cpusets.
 */
int tasks_note_affinity(const char *root, const struct cgroup_mount *mount, const struct match_pids *pids,
			struct journal *j);
/* What /proc/<tid>/stat says: `start` tells a task from a later one with the same number. */
struct tasks_stat {
	pid_t parent;
	bool exiting;
	uint64_t start;
};
/* -ESRCH. */
int tasks_read_stat(const char *root, pid_t tid, struct tasks_stat *ret);
/* The task with this number is the one that started then. */
bool tasks_is_alive(const char *root, pid_t tid, uint64_t start);
/* CPU time of all threads of `pids` that live now, ns. */
uint64_t tasks_cpu_ns(const char *root, const struct match_pids *pids);

#endif
