/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tick.h - one interval: samples -> view -> decision -> allocation -> actuator -> record.  Glue without a loop: the
 * caller owns the clock, so that live, dry and simulated runs share every line of it.
 */
#ifndef PARTIES_TICK_H
#define PARTIES_TICK_H

#include "benefit.h"
#include "config.h"
#include "ports.h"
#include "totals.h"

struct record_totals;

/*
 * Signal or actuator failing for this many ticks in a row are lost for good: better to restore than to steer blind.
 */
enum { TICK_MAX_FAILURES = 20 };

/* What one tick saw and did; valid until the next. */
struct tick_report {
	uint64_t now_ns;
	struct sample samples[POLICY_MAX_SERVICES];
	int32_t slack_permille[POLICY_MAX_SERVICES];
	struct policy_view view; /* its `have` was in force during the window */
	struct policy_decision decision;
	struct outcome outcome; /* also of a decision that was refused before any write */
};

struct tick {
	const struct config *config;
	const struct topology *topology;
	const struct speed_ladder *ladder;
	struct cache_ways ways; /* none where the cache is not divided */
	struct be_units be_units; /* none where policies are not to move limits of best effort */
	struct sensor sensor;
	struct actuator actuator;
	const struct policy_ops *policy;
	void *policy_state;
	struct rng rng;
	struct allocation allocation; /* what is applied; while observing: the start, which is not */
	bool steer;                   /* false: observe only, the decision is never applied */
	bool speed_is_gone;           /* the actuator gave speeds up: nominal, for everybody and ever */
	bool started;
	uint32_t nr_first_cores;      /* of the allocation at the start: CPUs that come make more */
	uint64_t start_ns;            /* records and status count from here */
	uint32_t nr_lost, nr_failed;  /* failures in a row of the sensor, of the actuator */
	struct benefit benefits[POLICY_MAX_SERVICES]; /* of more cores; while steering */
	struct totals totals;
	struct tick_report report;
};

/*
 * The caller has set config, topology, ladder, sensor, actuator, policy and steer (the rest zero); allocates the policy
 * state and seeds the generator.  Negative errno.
 */
int tick_init(struct tick *tick, uint32_t nr_batches);
/*
 * Runs one interval that ends at now_ns.  The first call puts the policy's start in force: make it at time zero with a
 * window of 0, so that the first real window is already spent under it.  Negative errno only when the signal or the
 * actuator is lost for good; the report is then still valid.
 */
int tick_step(struct tick *tick, uint64_t now_ns, uint64_t window_ns);
/* Sums so far; own_cpu_pct and nr_overruns are the caller's to fill.  The window that is still open is judged too. */
void tick_totals(const struct tick *tick, struct record_totals *ret);
void tick_fini(struct tick *tick);

#endif
