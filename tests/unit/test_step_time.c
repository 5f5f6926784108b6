// SPDX-License-Identifier: GPL-2.0
/*
 * test_step_time.c - how long a policy's step takes with 8 and with 64 services under loads that change all the time.
 * It prints that; what must hold is that all decisions are legal.
 */
#include "unit/paper_bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

enum { NR_STEPS = 400 };

static uint64_t thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

/* A service with some cores' worth of requests of 1 ms, whose latency grows as they fill up. */
static void see(struct policy_service *s, struct rng *dice)
{
	uint64_t nr = 100 + rng_below(dice, 900), work_ns = nr * 1000000, most_ns = (s->have.cores + 1) * WINDOW_NS;

	s->nr_arrived = s->nr_completed = nr;
	s->nr_in_flight = rng_below(dice, 4);
	s->cpu_ns = work_ns < most_ns ? work_ns : most_ns;
	s->latency_ns = TARGET_NS / 3 + TARGET_NS * s->cpu_ns / most_ns;
}

static void time_steps(const struct policy_ops *policy, uint32_t nr_services)
{
	struct bench b = bench_new(policy, (struct bench_machine){ nr_services, 4 * nr_services, 0, 20, true, -1 });
	uint64_t sum_ns = 0, worst_ns = 0;
	struct rng dice;

	rng_seed(&dice, 1);
	for (uint32_t n = 0; n < NR_STEPS; n++) {
		uint64_t before_ns, ns;

		for (uint32_t i = 0; i < nr_services; i++)
			see(&b.view.services[i], &dice);
		b.now_ns += WINDOW_NS;
		before_ns = thread_ns();
		policy->step(b.state, b.now_ns, &b.view, &b.rng, &b.d);
		ns = thread_ns() - before_ns;
		sum_ns += ns;
		worst_ns = ns > worst_ns ? ns : worst_ns;
		bench_check(&b);
		bench_apply(&b);
	}
	print_message("# %s, %u services: %.1f us a step, %.1f at worst\n", policy->name, nr_services,
		      (double)sum_ns / NR_STEPS / 1e3, (double)worst_ns / 1e3);
	bench_end(&b);
}

static void decisions_are_legal_and_their_time_is_printed(void **state)
{
	(void)state;
	for (unsigned int i = 0; policy_name(i); i++) {
		time_steps(policy_find(policy_name(i)), 8);
		time_steps(policy_find(policy_name(i)), POLICY_MAX_SERVICES);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decisions_are_legal_and_their_time_is_printed),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
