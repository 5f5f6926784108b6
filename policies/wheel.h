/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wheel.h - what both profiles of PARTIES do alike: the ring of resources CORE -> CACHE -> SPEED -> CORE, one unit taken
 * or given along it, the unit undone, and what a window says about a service, even when it says nothing.  Pure.
 * When to act on whom, and how an action is judged, is each profile's own business.
 *
 * With rules->storage there is a second ring, MEMORY <-> DISK, of best effort's limits: an upsize takes a unit from best
 * effort, a downsize gives it one.  A step there without benefit leads to a random compute resource.  As many fruitless
 * upsizes as there are compute resources lead there, but only while less than 1 GB of the machine's memory is free.
 * A service that has no data on disk never uses DISK, and has no memory taken from it while so little is free.
 *
 * "Decision N" are choices where the paper is silent; tests/unit/test_parties_paper_decisions.c shows each.
 */
#ifndef PARTIES_WHEEL_H
#define PARTIES_WHEEL_H

#include "policy.h"

/* Slacks in permille: below the first a service needs more, above the second it has something to give. */
enum { WHEEL_NEEDS_BELOW = 50, WHEEL_GIVES_ABOVE = 200 };

struct wheel_service {
	enum policy_direction direction; /* what it tries next */
	enum policy_resource resource;
	bool judged;                     /* this window says something about it */
	uint64_t latency_ns;             /* of the last window that did */
	int32_t slack_permille;          /* likewise */
	uint64_t heard_ns;               /* when it last completed something or had nothing to complete */
	uint64_t nr_merged, merged_since_ns, merged_worst_ns; /* windows too thin to be judged alone */
	uint64_t locked_until_ns;        /* gives nothing before */
	uint32_t nr_fruitless;           /* upsizes of compute in a row that did not help */
};

struct wheel {
	struct wheel_service services[POLICY_MAX_SERVICES];
	int32_t watched;            /* whose move is on trial, or POLICY_NOBODY */
	uint64_t acted_ns;          /* when it was made */
	uint64_t latency_before_ns; /* what made us do it (decision 2) */
	int32_t receiver;           /* of a unit given: POLICY_BE or POLICY_NOBODY, the idle pool */
	struct policy_decision decided;
};

struct wheel_rules {
	bool feeds_be;      /* a unit given goes to best-effort work, where there is any, not to the idle pool */
	bool violated_pays; /* a service that misses its own target may be a victim */
	bool boost;         /* the step above the nominal speed may be used */
	bool merge_thin;    /* windows are judged together until they hold 200 requests or span 10 s */
	bool stall_is_violation; /* at once, not after 5 s */
	bool storage;       /* best effort's memory and disk may be moved */
};

/* The start: everything split evenly at nominal speed. */
void wheel_init(struct wheel *w, uint64_t now_ns, const struct policy_view *view, struct policy_decision *ret);
/*
 * Begins a step: what this window says about every service, and the allocation in force as the decision.  A move that
 * was not made, or that something else undid or mixed with, is no longer on trial.
 */
void wheel_begin(struct wheel *w, uint64_t now_ns, const struct policy_view *view, const struct wheel_rules *rules,
		 struct policy_decision *d);
void wheel_end(struct wheel *w, const struct policy_decision *d);

/* The service may give: it is not locked and has something (decision 4).  If not, the decision says why. */
bool wheel_may_give(const struct wheel *w, uint64_t now_ns, const struct policy_view *view,
		    const struct wheel_rules *rules, uint32_t service, struct policy_decision *d);
/*
 * Tries the remembered resource of the subject, drawn when it turns to this direction, then the others in ring order, and
 * puts the first move that is possible on trial.  After a fruitless turn the remembered resource stays (decision 7) and
 * nobody is watched (decision 5).
 */
void wheel_act(struct wheel *w, uint64_t now_ns, const struct policy_view *view, const struct wheel_rules *rules,
	       uint32_t subject, enum policy_direction direction, struct rng *rng, struct policy_decision *d);
/* What the watched service tried was in vain: it tries another resource from now on. */
void wheel_advance(struct wheel *w, const struct policy_view *view, const struct wheel_rules *rules, struct rng *rng);
/* The watched service has all it may have of the resource it tries. */
bool wheel_is_at_top(const struct wheel *w, const struct policy_view *view, const struct wheel_rules *rules,
		     const struct policy_decision *d);
/* The watched service may have back what it gave: nothing has lowered its ceiling since. */
bool wheel_may_undo(const struct wheel *w, const struct policy_view *view, const struct policy_decision *d);
/* The very unit comes back (decision 3), the next resource is tried in future, and nothing is given for `lock_ns`. */
void wheel_undo(struct wheel *w, uint64_t now_ns, const struct policy_view *view, const struct wheel_rules *rules,
		uint64_t lock_ns, struct rng *rng, struct policy_decision *d);
/* Decision 13: the watched service has been silent for so long that the trial ends without a verdict. */
bool wheel_is_overdue(const struct wheel *w, uint64_t now_ns, const struct wheel_rules *rules);

void wheel_reject(struct policy_decision *d, int32_t service, enum policy_resource resource, enum policy_refusal why);

#endif
