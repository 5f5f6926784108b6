/* SPDX-License-Identifier: GPL-2.0 */
/*
 * policy.h - what a decision algorithm sees and what it returns.  Pure.
 *
 * A policy is a value of struct policy_ops.  It owns no resource: the caller gives it state memory of
 * state_size bytes, the time, the view and a random generator, and gets back a whole allocation in units.
 * A policy never sleeps, allocates, reads a clock or logs; equal inputs give equal outputs, byte for byte.
 *
 * Units of resources (PARTIES section 4.1; DESIGN "policies"):
 *   core   one physical core, both SMT siblings
 *   way    one L3 way; a machine without cache allocation has nr_ways == 0 and the state is skipped
 *   speed  one step of the machine's ladder: 100 MHz or the next listed P-state where there is cpufreq,
 *          10 % of each owned core's bandwidth where there is none.  Step 0 is the slowest.
 *   memory, disk   a tenth of the limit that the configuration sets on best effort's.  What best effort has not is for
 *          everybody else; at least one unit is best effort's.
 */
#ifndef PARTIES_POLICY_H
#define PARTIES_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rng.h"

enum { POLICY_MAX_SERVICES = 64, POLICY_MAX_REJECTED = 8, POLICY_MAX_OPTIONS = 16, POLICY_NOBODY = -1, POLICY_BE = -2 };

/* The first three make compute faster; the others are best effort's limits, which it has instead of everybody else. */
enum policy_resource {
	POLICY_CORE, POLICY_CACHE, POLICY_SPEED, POLICY_MEMORY, POLICY_DISK,
	POLICY_NR_RESOURCES, POLICY_NR_COMPUTE = POLICY_MEMORY
};

enum policy_direction { POLICY_HOLD, POLICY_UP, POLICY_DOWN };

/* DESIGN "States of a service", plus LOST: the signal itself failed (program detached, drops, gap). */
enum policy_signal { POLICY_FRESH, POLICY_THIN, POLICY_IDLE, POLICY_STALLED, POLICY_LOST };

/* One service's part of the machine, in units. */
struct policy_share {
	uint32_t cores;
	uint32_t ways;
	uint32_t speed; /* index of a ladder step */
};

/* One service as one window shows it. */
struct policy_service {
	uint64_t target_ns;      /* > 0 */
	uint32_t late_permille;  /* how many requests may be over it: 10 where the target is of the 99th percentile */
	uint64_t latency_ns;     /* steering percentile of this window; means something when nr_completed or
				  * nr_listen_drops is above 0 */
	uint64_t nr_arrived;     /* requests that arrived in the window */
	uint64_t nr_completed;   /* requests that latency_ns rests on */
	uint64_t nr_late;        /* of those, over the target */
	uint64_t nr_in_flight;   /* at the end of the window */
	uint64_t nr_over_target; /* of those in flight, already older than the target */
	uint64_t oldest_ns;      /* age of the oldest request in flight */
	uint64_t cpu_ns;         /* CPU time the service used in the window */
	uint64_t nr_listen_drops;
	enum policy_signal signal;
	bool on_disk;             /* it serves from a disk, not from memory alone */
	struct policy_share have; /* applied now */
	struct policy_share min;  /* floors, inclusive */
	struct policy_share max;  /* ceilings, inclusive */
};

/* Everything a step may look at. */
struct policy_view {
	uint64_t window_ns; /* length of the window the numbers come from */
	uint32_t nr_services;
	struct policy_service services[POLICY_MAX_SERVICES];
	uint32_t nr_cores;      /* assignable cores: services + BE + idle */
	uint32_t nr_ways;       /* 0: the machine has no cache allocation */
	uint32_t nr_speeds;     /* ladder steps; 0 or 1: speed is not a resource here */
	uint32_t nominal_speed; /* ladder index of nominal (bandwidth: the last) */
	bool speed_is_quota;    /* bandwidth: a request costs the same CPU time at every step, and waits for it */
	bool has_be;            /* there is best-effort work that could use a core */
	uint32_t be_cores, be_ways;
	uint32_t idle_cores, idle_ways;
	uint32_t nr_memory, nr_disk; /* units of best effort's limits; 0: it has no such limit */
	uint32_t be_memory, be_disk; /* of those, what it may use now */
	uint64_t memory_slack_bytes; /* free memory of the machine; means something where one of those is above 0 */
	bool last_failed; /* the previous decision was not applied; `have` is still the truth */
	uint32_t options[POLICY_MAX_OPTIONS]; /* of the policy that is asked, in the order of its table */
};

enum policy_reason {
	POLICY_REASON_START,      /* first step: the even split is in force */
	POLICY_REASON_HOLD,       /* every slack inside the band */
	POLICY_REASON_WATCH,      /* the watch window of the last action was judged: kept */
	POLICY_REASON_UPSIZE,     /* subject was below the upsize threshold */
	POLICY_REASON_DOWNSIZE,   /* subject had slack to give */
	POLICY_REASON_REVERT,     /* the downsize hurt: unit given back at once */
	POLICY_REASON_EXHAUSTED,  /* subject needs more and nothing can be given */
	POLICY_REASON_NO_SIGNAL,  /* nobody could be judged */
	POLICY_NR_REASONS
};

enum policy_refusal {
	POLICY_REFUSED_AT_LIMIT, /* resource at its maximum (UP) or minimum (DOWN) */
	POLICY_REFUSED_NO_DONOR, /* no idle unit, no BE unit, no LC service above its floor */
	POLICY_REFUSED_LOCKED,   /* service locked after a reverted downsize */
	POLICY_REFUSED_BLIND,    /* no completion to judge by */
	POLICY_REFUSED_SCARCE,   /* memory of a service that has nothing else, and little of it is free */
	POLICY_NR_REFUSALS
};

struct policy_rejected {
	int32_t service;
	enum policy_resource resource;
	enum policy_refusal why;
};

/* What to do next.  `shares`, `be_*` and `idle_*` are the WHOLE allocation wanted, not a difference. */
struct policy_decision {
	struct policy_share shares[POLICY_MAX_SERVICES];
	uint32_t be_cores, be_ways;
	uint32_t idle_cores, idle_ways;
	uint32_t be_memory, be_disk; /* 0 where the view has none */

	enum policy_reason reason;
	int32_t subject; /* service index or POLICY_NOBODY */
	int32_t victim;  /* service index, POLICY_BE, or POLICY_NOBODY (idle pool, or none) */
	enum policy_resource resource;
	enum policy_direction direction; /* HOLD: nothing moves */
	bool infeasible; /* event: some service was violated for the whole infeasible timer */

	uint32_t nr_rejected;
	struct policy_rejected rejected[POLICY_MAX_REJECTED];
};

/*
 * A number or a choice by which a policy can be had otherwise than it is by default.  The configuration gives it a value
 * (section [policy]), the view carries it.
 */
struct policy_option {
	const char *name;  /* ends with the unit where it has one */
	const char *words; /* "no | yes": the value is the place of the word; NULL: a number */
	uint32_t standard, min, max; /* the default; bounds of a number, inclusive */
	const char *help;  /* mdoc text, one sentence per line */
};
#define POLICY_NO_YES "no | yes"

struct policy_ops {
	const char *name;
	const char *help; /* mdoc text, for the manual */
	size_t state_size;
	const struct policy_option *options;
	uint32_t nr_options;
	uint32_t interval_ms; /* between its decisions, when it counts in them; 0: it does not, and 500 is usual */
	/* Fills `state` and writes the allocation to start from into *ret.  view->services[].have is ignored. */
	void (*init)(void *state, uint64_t now_ns, const struct policy_view *view, struct policy_decision *ret);
	/* One window later.  `rng` is the only source of chance. */
	void (*step)(void *state, uint64_t now_ns, const struct policy_view *view, struct rng *rng,
		     struct policy_decision *ret);
};

extern const struct policy_ops policy_parties_paper;
extern const struct policy_ops policy_parties_released;
extern const struct policy_ops policy_adaptive;
extern const struct policy_ops policy_static;
extern const struct policy_ops policy_heracles;

/* NULL when no policy has that name.  policy_name(i) lists them in order, NULL after the last. */
const struct policy_ops *policy_find(const char *name);
/* Between its decisions where nobody asks for another; NULL: what is usual. */
uint64_t policy_interval_ns(const struct policy_ops *policy);
const char *policy_name(unsigned int i);
void policy_default_options(const struct policy_ops *policy, uint32_t ret[POLICY_MAX_OPTIONS]);

/* Stable words for records: "upsize", "at-limit", "core", "up", "fresh". */
const char *policy_reason_name(enum policy_reason reason);
const char *policy_refusal_name(enum policy_refusal refusal);
const char *policy_resource_name(enum policy_resource resource);
const char *policy_direction_name(enum policy_direction direction);
const char *policy_signal_name(enum policy_signal signal);

/* (target - latency) / target in permille; negative means violated; saturates at INT32_MIN. */
int32_t policy_slack_permille(uint64_t target_ns, uint64_t latency_ns);

/*
 * 0 when `d` is a legal allocation for `view`: units conserved, floors and ceilings held.
 * Otherwise -EINVAL and *ret_why (may be NULL) points to a static sentence.
 */
int policy_decision_check(const struct policy_view *view, const struct policy_decision *d, const char **ret_why);

#endif
