// SPDX-License-Identifier: GPL-2.0
/* test_parties_paper_properties.c - what holds for any machine and any windows, and one fixed run kept as it is. */
#include <stdio.h>

#include "unit/paper_bench.h"

#define PAPER &policy_parties_paper

static uint32_t between(struct rng *dice, uint32_t low, uint32_t high)
{
	return low + (uint32_t)rng_below(dice, high - low + 1);
}

/* A machine nobody would build, but legal: floors fit. */
static struct bench random_bench(struct rng *dice)
{
	uint32_t services = between(dice, 1, 9), speeds = between(dice, 0, 20);
	struct bench_machine m = { .services = services, .cores = between(dice, services, 40),
				   .ways = between(dice, 0, 1) * between(dice, services, 20), .speeds = speeds,
				   .be = between(dice, 0, 1), .draws = -1 };
	struct bench b = bench_prepare(PAPER, m);

	for (uint32_t i = 0; i < services; i++) {
		struct policy_service *s = &b.view.services[i];

		s->min.cores = between(dice, 0, m.cores / services);
		s->max.cores = between(dice, s->min.cores, m.cores);
		s->min.speed = speeds > 1 ? between(dice, 0, speeds - 1) : 0;
		s->max.speed = speeds > 1 ? between(dice, s->min.speed, speeds - 1) : 0;
	}
	b.view.nominal_speed = speeds > 1 ? between(dice, 0, speeds - 1) : 0;
	rng_seed(&b.rng, rng_next(dice));
	bench_start(&b);
	return b;
}

static void random_slacks(struct rng *dice, int *slacks)
{
	for (int i = 0; i < POLICY_MAX_SERVICES; i++) {
		slacks[i] = (int)between(dice, 0, 1100) - 200;
		if (!rng_below(dice, 8))
			slacks[i] = rng_below(dice, 2) ? BLIND : QUIET;
	}
}

/* Units that changed hands, a swap counting two. */
static uint32_t distance(const struct policy_view *view, const struct policy_decision *d)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < view->nr_services; i++) {
		const struct policy_share *have = &view->services[i].have, *want = &d->shares[i];

		sum += (uint32_t)(abs((int)have->cores - (int)want->cores) + abs((int)have->ways - (int)want->ways) +
				  abs((int)have->speed - (int)want->speed));
	}
	return sum;
}

static void units_are_conserved_limits_hold_and_at_most_one_unit_moves(void **state)
{
	int slacks[POLICY_MAX_SERVICES], nr_moves = 0;
	struct rng dice;

	(void)state;
	rng_seed(&dice, 20190413);
	for (int run = 0; run < 400; run++) {
		struct bench b = random_bench(&dice);

		for (int window = 0; window < 60; window++) {
			struct policy_view before = b.view;

			random_slacks(&dice, slacks);
			bench_window(&b, slacks);
			assert_in_range(distance(&before, &b.d), 0, 2);
			assert_int_equal(distance(&before, &b.d) > 0, b.d.direction != POLICY_HOLD);
			nr_moves += b.d.direction != POLICY_HOLD;
		}
		bench_end(&b);
	}
	assert_true(nr_moves > 4000);
}

/* Something that is not the policy changes the machine between two windows. */
static void disturb(struct bench *b, struct rng *dice)
{
	struct policy_view *v = &b->view;
	struct policy_service *s = &v->services[rng_below(dice, v->nr_services)];
	uint32_t floors = 0;

	for (uint32_t i = 0; i < v->nr_services; i++)
		floors += v->services[i].min.cores;
	switch (rng_below(dice, 6)) {
	case 0: /* a core goes offline, whoever had it */
		if (v->nr_cores > floors && s->have.cores) {
			v->nr_cores--;
			s->have.cores--;
		}
		break;
	case 1:
		v->nr_cores++; /* one comes back */
		break;
	case 2:
		v->has_be = !v->has_be;
		break;
	case 3: /* the last decision was not applied */
		v->last_failed = true;
		s->have.speed = between(dice, 0, v->nr_speeds ? v->nr_speeds - 1 : 0);
		break;
	case 4: /* a limit moves */
		s->max.cores = between(dice, s->min.cores, v->nr_cores);
		break;
	default: /* somebody else's allocation */
		s->have.cores = between(dice, 0, v->nr_cores);
		v->be_cores = between(dice, 0, 3);
	}
}

static void units_are_conserved_when_the_machine_changes_under_the_policy(void **state)
{
	int slacks[POLICY_MAX_SERVICES];
	struct rng dice;

	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		rng_seed(&dice, seed);
		for (int run = 0; run < 100; run++) {
			struct bench b = random_bench(&dice);

			for (int window = 0; window < 40; window++) {
				b.view.last_failed = false;
				if (!rng_below(&dice, 3))
					disturb(&b, &dice);
				random_slacks(&dice, slacks);
				bench_window(&b, slacks); /* checks the decision */
			}
			bench_end(&b);
		}
	}
}

static void equal_inputs_give_equal_bytes(void **state)
{
	int slacks[POLICY_MAX_SERVICES];
	struct rng dice;

	(void)state;
	rng_seed(&dice, 3);
	for (int run = 0; run < 50; run++) {
		struct bench a = random_bench(&dice), b = a;

		b.state = malloc(b.policy->state_size);
		assert_non_null(b.state);
		memcpy(b.state, a.state, b.policy->state_size);
		for (int window = 0; window < 50; window++) {
			memset(&b.d, window, sizeof(b.d)); /* nothing of the old decision may show through */
			random_slacks(&dice, slacks);
			bench_window(&a, slacks);
			bench_window(&b, slacks);
			assert_memory_equal(&a.d, &b.d, sizeof(a.d));
		}
		bench_end(&a);
		bench_end(&b);
	}
}

/* Reason, subject, resource, direction, victim: cores and BE's, speeds, ways and BE's. */
static void describe(const struct policy_decision *d, char *line, size_t size)
{
	const struct policy_share *s = d->shares;

	snprintf(line, size, "%s %d %s %s %d: %u %u be %u, %u %u, %u %u be %u", policy_reason_name(d->reason),
		 d->subject, policy_resource_name(d->resource), policy_direction_name(d->direction), d->victim,
		 s[0].cores, s[1].cores, d->be_cores, s[0].speed, s[1].speed, s[0].ways, s[1].ways, d->be_ways);
}

struct golden {
	int slacks[2];
	const char *expected;
};

static void a_fixed_run_is_decided_as_ever(void **state)
{
	static const struct golden run[] = {
		{ { 500, 300 }, "downsize 0 cache down -2: 3 3 be 0, 3 3, 1 2 be 1" },
		{ { 450, 300 }, "watch 0 cache hold -1: 3 3 be 0, 3 3, 1 2 be 1" },
		{ { 440, 310 }, "downsize 0 speed down -1: 3 3 be 0, 2 3, 1 2 be 1" },
		{ { 430, 310 }, "watch 0 speed hold -1: 3 3 be 0, 2 3, 1 2 be 1" },
		{ { 30, 310 }, "upsize 0 core up 1: 4 2 be 0, 2 3, 1 2 be 1" },
		{ { 430, 310 }, "watch 0 core hold -1: 4 2 be 0, 2 3, 1 2 be 1" },
		{ { 430, 310 }, "downsize 0 speed down -1: 4 2 be 0, 1 3, 1 2 be 1" },
		{ { 430, 40 }, "watch 0 speed hold -1: 4 2 be 0, 1 3, 1 2 be 1" },
		{ { 300, 100 }, "downsize 0 speed down -1: 4 2 be 0, 0 3, 1 2 be 1" },
		{ { -200, 100 }, "revert 0 speed up -1: 4 2 be 0, 1 3, 1 2 be 1" },
		{ { -150, 100 }, "upsize 0 core up 1: 5 1 be 0, 1 3, 1 2 be 1" },
		{ { -150, 100 }, "watch 0 core hold -1: 5 1 be 0, 1 3, 1 2 be 1" },
		{ { -160, 100 }, "upsize 0 cache up -2: 5 1 be 0, 1 3, 2 2 be 0" },
		{ { -160, 100 }, "watch 0 cache hold -1: 5 1 be 0, 1 3, 2 2 be 0" },
		{ { -100, 90 }, "upsize 0 cache up 1: 5 1 be 0, 1 3, 3 1 be 0" },
		{ { -50, -80 }, "watch 0 cache hold -1: 5 1 be 0, 1 3, 3 1 be 0" },
		{ { -50, -70 }, "upsize 1 core up 0: 4 2 be 0, 1 3, 3 1 be 0" },
		{ { 20, -70 }, "watch 1 core hold -1: 4 2 be 0, 1 3, 3 1 be 0" },
		{ { 20, -90 }, "upsize 1 core up 0: 3 3 be 0, 1 3, 3 1 be 0" },
		{ { 20, -90 }, "watch 1 core hold -1: 3 3 be 0, 1 3, 3 1 be 0" },
		{ { 60, -60 }, "upsize 1 core up 0: 2 4 be 0, 1 3, 3 1 be 0" },
		{ { 60, -60 }, "watch 1 core hold -1: 2 4 be 0, 1 3, 3 1 be 0" },
		{ { 100, 60 }, "hold -1 none hold -1: 2 4 be 0, 1 3, 3 1 be 0" },
		{ { 400, BLIND }, "hold -1 none hold -1: 2 4 be 0, 1 3, 3 1 be 0" },
		{ { 400, 300 }, "downsize 1 core down -2: 2 3 be 1, 1 3, 3 1 be 0" },
		{ { QUIET, 300 }, "watch 1 core hold -1: 2 3 be 1, 1 3, 3 1 be 0" },
		{ { QUIET, 60 }, "hold -1 none hold -1: 2 3 be 1, 1 3, 3 1 be 0" },
		{ { 20, BLIND }, "upsize 0 speed up -1: 2 3 be 1, 2 3, 3 1 be 0" },
		{ { 19, 60 }, "watch 0 speed hold -1: 2 3 be 1, 2 3, 3 1 be 0" },
		{ { 300, 300 }, "downsize 1 core down -2: 2 2 be 2, 2 3, 3 1 be 0" },
		{ { 310, 300 }, "watch 1 core hold -1: 2 2 be 2, 2 3, 3 1 be 0" },
		{ { 310, 300 }, "downsize 1 core down -2: 2 1 be 3, 2 3, 3 1 be 0" },
	};
	struct bench b = bench_new(PAPER, (struct bench_machine){ 2, 6, 4, 5, true, -1 });
	char line[160];

	(void)state;
	rng_seed(&b.rng, 11);
	for (size_t i = 0; i < sizeof(run) / sizeof(run[0]); i++) {
		bench_window(&b, run[i].slacks);
		describe(&b.d, line, sizeof(line));
		assert_string_equal(line, run[i].expected);
	}
	bench_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units_are_conserved_limits_hold_and_at_most_one_unit_moves),
		cmocka_unit_test(units_are_conserved_when_the_machine_changes_under_the_policy),
		cmocka_unit_test(equal_inputs_give_equal_bytes),
		cmocka_unit_test(a_fixed_run_is_decided_as_ever),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
