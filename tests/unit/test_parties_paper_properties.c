// SPDX-License-Identifier: GPL-2.0
/* test_parties_paper_properties.c - what holds of both profiles of PARTIES on any machine, and one fixed run kept. */
#include <stdio.h>

#include "unit/policy_dice.h"

static void at_most_one_unit_moves(const struct policy_ops *policy)
{
	int slacks[POLICY_MAX_SERVICES], nr_moves = 0;
	struct rng dice;

	rng_seed(&dice, 20190413);
	for (int run = 0; run < 400; run++) {
		struct bench b = random_bench(policy, &dice);

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
	assert_true(nr_moves > 2000);
}

static void the_paper_s_profile_moves_at_most_one_unit_a_window(void **state)
{
	(void)state;
	at_most_one_unit_moves(&policy_parties_paper);
}

static void the_released_profile_moves_at_most_one_unit_a_window(void **state)
{
	(void)state;
	at_most_one_unit_moves(&policy_parties_released);
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
	struct bench b = bench_new(&policy_parties_paper, (struct bench_machine){ 2, 6, 4, 5, true, -1 });
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
		cmocka_unit_test(the_paper_s_profile_moves_at_most_one_unit_a_window),
		cmocka_unit_test(the_released_profile_moves_at_most_one_unit_a_window),
		cmocka_unit_test(a_fixed_run_is_decided_as_ever),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
