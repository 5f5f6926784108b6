/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pins.h - cores by the threads' own masks, where there is no cpuset.  Port: sched_setaffinity.
 *
 * Every thread of a service is pinned to the service's whole cores; what it may run on is looked at again in every step.
 * A thread that had pinned itself keeps to what both masks have in common; where that is nothing it follows the service,
 * as it would in a cpuset.  Threads and processes that are born meanwhile have the mask of whoever made them; the original
 * of that one is theirs, too.
 *
 * Unlike a cpuset this holds nobody: a process may widen its mask, until the next step.
 */
#ifndef PARTIES_PINS_H
#define PARTIES_PINS_H

#include "journal.h"
#include "match.h"

struct pin {
	pid_t tid, pid;
	uint64_t start;                 /* of the thread */
	struct cpulist original, set;   /* before us; what we left it with */
	struct cpulist now, before;     /* at the last look; before the last step */
	bool seen, changed;             /* in that look, in that step */
};

/* Of one service or batch.  All zero: none. */
struct pins {
	struct cpulist target; /* wanted; empty: they are left alone */
	size_t nr, size;
	struct pin *threads;   /* ascending by tid */
	size_t nr_masks, masks_size;
	struct cpulist *masks; /* every target that there was */
	bool in_force, drifted;
};

/* Journals the masks of threads that are new.  Below a root nothing happens: a tree has no threads. */
int pins_note(struct pins *p, const char *root, const struct match_pids *pids, struct journal *j);
/* One step: pins everyone to the target.  On failure *ret tells why and the caller calls pins_rollback. */
int pins_apply(struct pins *p, const char *root, const struct match_pids *pids, struct journal *j, struct outcome *ret);
void pins_rollback(struct pins *p);
/* Once: a thread had another mask than we left it with. */
bool pins_drifted(struct pins *p);
void pins_close(struct pins *p);

/*
 * Undoes PINNED entries: threads without one get what their process, or the nearest ancestor that has an entry, had, where
 * they have a mask of ours.  Returns how many masks were put back, or negative errno.
 */
int pins_put_back(const struct journal_entry *entries, size_t nr_entries);

#endif
