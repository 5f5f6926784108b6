/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tick.h - one interval: samples -> view -> decision -> allocation -> actuator -> record.  Glue without a loop: the
 * caller owns the clock, so that live, dry and simulated runs share every line of it.
 */
#ifndef PARTIES_TICK_H
#define PARTIES_TICK_H

#include "config.h"
#include "ports.h"

/* What one tick saw and did; valid until the next. */
struct tick_report {
	uint64_t now_ns;
	struct sample samples[POLICY_MAX_SERVICES];
	int32_t slack_permille[POLICY_MAX_SERVICES];
	struct policy_view view;
	struct policy_decision decision;
	struct outcome outcome;
	uint64_t violated_ns[POLICY_MAX_SERVICES], judged_ns[POLICY_MAX_SERVICES]; /* sums so far, judged windows (METRICS) */
};

struct tick {
	const struct config *config;
	const struct topology *topology;
	const struct speed_ladder *ladder;
	struct sensor sensor;
	struct actuator actuator;
	const struct policy_ops *policy;
	void *policy_state;
	struct rng rng;
	struct allocation allocation; /* what is applied */
	bool steer;                   /* false: observe only, the decision is never applied */
	bool started;
	struct tick_report report;
};

/* `tick` holds config .. policy set by the caller; allocates the policy state and seeds the generator. Negative errno. */
int tick_init(struct tick *tick, uint32_t nr_batches);
/* Runs one interval that ends at now_ns.  Negative errno only when the signal or the actuator is lost for good. */
int tick_step(struct tick *tick, uint64_t now_ns, uint64_t window_ns);
void tick_fini(struct tick *tick);

#endif
