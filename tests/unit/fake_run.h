/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fake_run.h - a machine of six cores, two services, a scripted sensor and an actuator that only remembers: for tests
 * of the tick and of what reads it.
 */
#ifndef PARTIES_FAKE_RUN_H
#define PARTIES_FAKE_RUN_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tick.h"

#define MS 1000000ull

struct fake_run {
	struct config config;
	struct topology topology;
	struct speed_ladder ladder;
	struct sample samples[2]; /* what the next read gives */
	int read_error, apply_error;
	enum outcome_speed speed; /* of the next outcomes */
	struct allocation applied;
	uint32_t nr_reads, nr_applies;
	char calls[64]; /* r: read, i: init, s: step, a: apply */
	struct policy_decision next; /* what the scripted policy answers */
	struct tick tick;
};

/* Policies have no context of their own: the scripted one answers for the run set up last. */
static struct fake_run *fake;

static inline void fake_call(const char *what)
{
	strncat(fake->calls, what, sizeof(fake->calls) - strlen(fake->calls) - 1);
}

static inline int fake_read(void *ctx, uint64_t now_ns, struct sample *samples, uint32_t nr_services)
{
	struct fake_run *run = ctx;

	(void)now_ns;
	run->nr_reads++;
	fake_call("r");
	if (run->read_error)
		return run->read_error;
	memcpy(samples, run->samples, nr_services * sizeof(samples[0]));
	return 0;
}

static inline int fake_apply(void *ctx, const struct allocation *want, struct outcome *ret)
{
	struct fake_run *run = ctx;

	run->nr_applies++;
	fake_call("a");
	*ret = (struct outcome){ .error = run->apply_error, .nr_writes = run->apply_error ? 0 : 1,
				  .speed = run->speed };
	if (run->apply_error)
		snprintf(ret->where, sizeof(ret->where), "cpuset.cpus: no");
	else
		run->applied = *want;
	return run->apply_error;
}

static inline void fake_init(void *state, uint64_t now_ns, const struct policy_view *view, struct policy_decision *ret)
{
	(void)state;
	(void)now_ns;
	(void)view;
	fake_call("i");
	*ret = fake->next;
	ret->reason = POLICY_REASON_START;
}

static inline void fake_step(void *state, uint64_t now_ns, const struct policy_view *view, struct rng *rng,
		      struct policy_decision *ret)
{
	(void)state;
	(void)now_ns;
	(void)view;
	(void)rng;
	fake_call("s");
	*ret = fake->next;
}

static const struct policy_ops fake_policy __attribute__((unused)) = {
	.name = "fake", .state_size = 8, .init = fake_init, .step = fake_step,
};

/* Cores of the two services and of best effort; the rest is idle. */
static inline void fake_decide(struct fake_run *run, uint32_t first, uint32_t second, uint32_t be)
{
	run->next = (struct policy_decision){
		.shares = { { first, 0, 2 }, { second, 0, 2 } },
		.be_cores = be,
		.idle_cores = 6 - first - second - be,
		.reason = POLICY_REASON_UPSIZE,
		.direction = POLICY_UP,
		.resource = POLICY_CORE,
		.victim = POLICY_BE,
	};
}

static inline __attribute__((unused)) void fake_start(struct fake_run *run, const struct policy_ops *policy)
{
	*run = (struct fake_run){
		.config = { .file = "two.conf", .policy = "static", .interval_ns = 500 * MS, .seed = 7,
			    .nr_services = 2, .nr_batches = 1 },
		.topology = { .nr_cores = 6 },
		.ladder = { SPEED_FREQ, 3, 2, { 1500000, 2000000, 2450000 } },
	};
	for (uint32_t i = 0; i < 2; i++) {
		struct config_service *s = &run->config.services[i];

		snprintf(s->name, sizeof(s->name), "%s", i ? "memcached" : "search");
		s->match = (struct match){ .kind = MATCH_PORT, .number = 8080 + i };
		s->percentile_permille = 990;
		s->target_ns = (i ? 5 : 25) * MS;
		s->cores_min = 1;
		s->cores_max = 5;
		run->samples[i] = (struct sample){
			.window_ns = 500 * MS, .nr_arrived = 300, .nr_completed = 300, .mean_ns = 2 * MS,
			.p50_ns = 2 * MS, .p95_ns = 3 * MS, .p99_ns = 4 * MS, .total_p99_ns = 5 * MS,
			.steer_ns = 4 * MS,
			.residency_p99_ns = 1 * MS, .service_p99_ns = 3 * MS, .nr_in_flight = 1, .oldest_ns = 1 * MS,
			.cpu_ns = 600 * MS,
		};
	}
	snprintf(run->config.batches[0].name, sizeof(run->config.batches[0].name), "index");
	run->config.batches[0].match = (struct match){ .kind = MATCH_CGROUP, .text = "/batch" };
	for (uint32_t c = 0; c < 6; c++) {
		cpulist_add(&run->topology.cores[c].cpus, c);
		cpulist_add(&run->topology.cores[c].cpus, c + 6);
		cpulist_or(&run->topology.online, &run->topology.cores[c].cpus);
		run->topology.cores[c].first_cpu = (uint16_t)c;
	}
	run->tick = (struct tick){
		.config = &run->config, .topology = &run->topology, .ladder = &run->ladder,
		.sensor = { run, fake_read }, .actuator = { run, fake_apply }, .policy = policy, .steer = true,
	};
	fake = run;
	fake_decide(run, 2, 2, 1);
}

#endif
