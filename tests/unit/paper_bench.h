/* SPDX-License-Identifier: GPL-2.0 */
/*
 * paper_bench.h - drives a policy window by window on a machine of plain numbers; every decision is checked for
 * conservation and limits before it is applied.
 */
#ifndef PARTIES_PAPER_BENCH_H
#define PARTIES_PAPER_BENCH_H

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "policy.h"

#define WINDOW_NS UINT64_C(500000000)
#define SECOND UINT64_C(1000000000)
#define TARGET_NS UINT64_C(10000000)
enum { BLIND = INT_MIN, QUIET = INT_MIN + 1 }; /* instead of a slack: in flight but none completed; no request at all */

struct bench {
	const struct policy_ops *policy;
	void *state;
	uint64_t now_ns;
	struct policy_view view;
	struct policy_decision d;
	struct rng rng;
};

struct bench_machine {
	uint32_t services, cores, ways, speeds;
	bool be;
	int draws; /* the first draw of the dice, or -1 for any */
};

static inline void bench_apply(struct bench *b)
{
	for (uint32_t i = 0; i < b->view.nr_services; i++)
		b->view.services[i].have = b->d.shares[i];
	b->view.be_cores = b->d.be_cores;
	b->view.be_ways = b->d.be_ways;
	b->view.idle_cores = b->d.idle_cores;
	b->view.idle_ways = b->d.idle_ways;
	b->view.be_memory = b->d.be_memory;
	b->view.be_disk = b->d.be_disk;
}

static inline void bench_check(const struct bench *b)
{
	const char *why = "";

	if (policy_decision_check(&b->view, &b->d, &why))
		fail_msg("illegal decision: %s", why);
}

/* A seed whose first draw among n is `want`, so that a test can choose the resource. */
static inline uint64_t bench_seed(uint32_t n, int want)
{
	struct rng rng;

	for (uint64_t seed = 1;; seed++) {
		rng_seed(&rng, seed);
		if (want < 0 || rng_below(&rng, n) == (uint64_t)want)
			return seed;
	}
}

/* Prepares the machine; limits may be changed before bench_start. */
static inline struct bench bench_prepare(const struct policy_ops *policy, struct bench_machine m)
{
	struct bench b = { .policy = policy, .state = calloc(1, policy->state_size + 1) };

	assert_non_null(b.state);
	b.view = (struct policy_view){ .window_ns = WINDOW_NS, .nr_services = m.services, .nr_cores = m.cores,
				       .nr_ways = m.ways, .nr_speeds = m.speeds, .has_be = m.be,
				       .nominal_speed = m.speeds > 2 ? m.speeds - 2 : 0 };
	for (uint32_t i = 0; i < m.services; i++)
		b.view.services[i] = (struct policy_service){ .target_ns = TARGET_NS, .signal = POLICY_FRESH,
							      .min = { 1, m.ways ? 1 : 0, 0 },
							      .max = { m.cores, m.ways, m.speeds ? m.speeds - 1 : 0 } };
	policy_default_options(policy, b.view.options);
	rng_seed(&b.rng, bench_seed(1 + (m.ways > 0) + (m.speeds > 1), m.draws));
	return b;
}

static inline void bench_option(struct bench *b, const char *name, uint32_t value)
{
	for (uint32_t i = 0; i < b->policy->nr_options; i++)
		if (!strcmp(b->policy->options[i].name, name)) {
			b->view.options[i] = value;
			return;
		}
	fail_msg("%s has no option %s", b->policy->name, name);
}

static inline void bench_start(struct bench *b)
{
	b->policy->init(b->state, b->now_ns, &b->view, &b->d);
	bench_check(b);
	bench_apply(b);
}

static inline struct bench bench_new(const struct policy_ops *policy, struct bench_machine m)
{
	struct bench b = bench_prepare(policy, m);

	bench_start(&b);
	return b;
}

static inline void bench_see(struct bench *b, uint32_t i, int slack_permille)
{
	struct policy_service *s = &b->view.services[i];
	bool completes = slack_permille != BLIND && slack_permille != QUIET;

	s->nr_completed = s->nr_arrived = completes ? 300 : 0;
	s->nr_in_flight = slack_permille == QUIET ? 0 : 4;
	s->oldest_ns = slack_permille == BLIND ? s->oldest_ns + b->view.window_ns : 0;
	s->latency_ns = completes ? TARGET_NS * (uint64_t)(1000 - slack_permille) / 1000 : 0;
}

/* One window in which the services show these slacks; returns the decision's reason. */
static inline enum policy_reason bench_window(struct bench *b, const int *slacks)
{
	for (uint32_t i = 0; i < b->view.nr_services; i++)
		bench_see(b, i, slacks[i]);
	b->now_ns += b->view.window_ns;
	b->policy->step(b->state, b->now_ns, &b->view, &b->rng, &b->d);
	bench_check(b);
	bench_apply(b);
	return b->d.reason;
}
#define WINDOW(b, ...) bench_window(b, (const int[]){ __VA_ARGS__ })
#define assert_window(b, expected, ...) assert_string_equal( \
	policy_reason_name(WINDOW(b, __VA_ARGS__)), policy_reason_name(expected))

static inline void bench_end(struct bench *b)
{
	free(b->state);
}

#define assert_cores(b, i, n) assert_int_equal((b)->view.services[i].have.cores, n)
#define assert_speed(b, i, n) assert_int_equal((b)->view.services[i].have.speed, n)
#define assert_ways(b, i, n) assert_int_equal((b)->view.services[i].have.ways, n)

#endif
