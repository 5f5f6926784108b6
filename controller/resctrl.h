/* SPDX-License-Identifier: GPL-2.0 */
/*
 * resctrl.h - ways of the L3 cache for each service and for best effort, and a cap on the memory bandwidth of a batch.
 * Port: the kernel's resctrl file system (/sys/fs/resctrl, Linux 4.10; Intel, and AMD since Zen 2), which somebody else has
 * mounted.
 *
 * Every owner has a group of its own, parties-NAME, which takes one of the few classes of the hardware.  An owner has the
 * same ways in every L3 domain.  What devices write to by themselves (shareable_bits) and what other groups have for
 * themselves alone is given to nobody.  Best effort always keeps one way (or the fewest that the hardware takes), since a
 * mask cannot be empty; policies divide the rest.  Whoever is in no group of ours may use the whole cache, as before.
 */
#ifndef PARTIES_RESCTRL_H
#define PARTIES_RESCTRL_H

#include "cgroup.h"
#include "drift.h"
#include "journal.h"
#include "machine.h"

enum { RESCTRL_MAX_GROUPS = POLICY_MAX_SERVICES + CONFIG_MAX_BATCHES };

struct resctrl_group {
	char name[CONFIG_NAME_SIZE];
	char dir[KNOB_PATH_SIZE]; /* "": it has none */
	uint32_t bandwidth;       /* a batch's, as MB has it; 0: no cap */
	struct knob schemata;     /* as its lines of L3 and MB, without others; closed until it is entered */
	struct drift drift;
};

struct resctrl {
	struct cgroup_mount mount; /* version 0: not used */
	struct cache_ways ways;    /* nr 0: the cache is not divided */
	uint32_t first, nr_ways, nr_reserved; /* the part of the cache that is divided; of that, best effort's */
	uint32_t nr_services, nr_groups;      /* services first, then batches */
	uint32_t firsts[POLICY_MAX_SERVICES + 1]; /* where each service's part begins, and best effort's */
	struct resctrl_group groups[RESCTRL_MAX_GROUPS];
};

/*
 * Finds out whether the cache can be divided among services and batches, and touches nothing.  With CONFIG_CACHE_AUTO, when
 * it cannot, it is not.  -ENOTSUP, told in `error` with what to do: it cannot and must, or a batch's cap cannot be set.
 */
int resctrl_find(struct resctrl *r, const struct machine_opts *opts, char *error, size_t error_size);
/* Why the cache cannot be divided among so many owners: "reason; remedy" in `why`, and -ENOTSUP; 0: it can. */
int resctrl_check(struct resctrl *r, const char *root, uint32_t nr_services, uint32_t nr_batches, char *why, size_t size);
/* Makes owner i's group and moves its processes in, all journalled.  Told in `error`. */
int resctrl_enter(struct resctrl *r, uint32_t i, const char *root, const struct match_pids *pids, struct journal *j,
		  char *error, size_t error_size);
/* Moves what is new.  Returns how many threads, or negative errno. */
int resctrl_adopt(const struct resctrl *r, uint32_t i, const char *root, const struct match_pids *pids,
		  struct journal *j);
/* Gives everybody their ways.  A group that is gone or that somebody else insists on is left alone.  *ret as knob_change. */
int resctrl_apply(struct resctrl *r, const struct allocation *want, uint64_t step, struct undo *u, struct outcome *ret);
/* What somebody else changed before this step, told in ret->note. */
void resctrl_look_for_drift(struct resctrl *r, uint64_t step, struct outcome *ret);
/* NULL and one of zeros are fine. */
void resctrl_close(struct resctrl *r);

#endif
