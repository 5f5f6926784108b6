/* SPDX-License-Identifier: GPL-2.0 */
/*
 * affinity.h - masks of threads, and of those that pinned themselves in a cpuset.  Port: sched_setaffinity.
 *
 * Before 6.2 the kernel forgets a thread's own mask whenever its cpuset changes, so the masks of pinned threads are
 * originals too.  While we steer, the kernel decides; masks are only put back at the end.
 */
#ifndef PARTIES_AFFINITY_H
#define PARTIES_AFFINITY_H

#include "cpulist.h"
#include "journal.h"
#include "match.h"

int affinity_read(pid_t tid, struct cpulist *ret);
int affinity_set(pid_t tid, const struct cpulist *cpus);
/* Threads of `pids` that may run on a part of `cpus` only. */
uint32_t affinity_count_apart(const struct match_pids *pids, const struct cpulist *cpus);
/*
 * Journals the mask of a thread that is narrower than what its cpuset group `dir` allows.  A thread that is gone is
 * fine.
 */
int affinity_note(pid_t tid, uint64_t start, const char *dir, struct journal *j);
/*
 * Puts back the mask of an AFFINITY or PINNED entry.  1: it was lost; 0: it is right, or its CPUs are not to be had; -ESRCH:
 * gone.
 */
int affinity_put_back(const struct journal_entry *entry);

#endif
