// SPDX-License-Identifier: GPL-2.0
/* test_tally.c - the search for the highest level that holds, and means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "experiments/oracle/tally.h"

struct cliff {
	uint32_t top, nr_asked;
};

static bool holds(void *ctx, uint32_t level)
{
	struct cliff *c = ctx;

	c->nr_asked++;
	assert_in_range(level, 1, 130);
	return level <= c->top;
}

static void the_highest_level_is_found_from_every_guess(void **state)
{
	(void)state;
	for (uint32_t max = 0; max <= 130; max += 13)
		for (uint32_t top = 0; top <= max; top++)
			for (uint32_t guess = 0; guess <= max; guess++) {
				struct cliff c = { .top = top };

				assert_int_equal(tally_highest(holds, &c, guess, max), top);
				assert_in_range(c.nr_asked, 0, 14);
			}
}

static void a_good_guess_costs_two_questions(void **state)
{
	struct cliff c = { .top = 97 };

	(void)state;
	assert_int_equal(tally_highest(holds, &c, 97, 130), 97);
	assert_int_equal(c.nr_asked, 2);
	assert_int_equal(tally_highest(holds, &c, 98, 130), 97);
	assert_int_equal(c.nr_asked, 4);
}

static void means_are_those_of_the_numbers(void **state)
{
	struct tally t = { 0 };

	(void)state;
	assert_float_equal(tally_mean(&t), 0, 0);
	assert_float_equal(tally_ci(&t), 0, 0);
	for (int i = 0; i < 4; i++)
		tally_add(&t, i < 2 ? -3 : -1); /* mean -2, squares 4, sample variance 4 / 3 */
	assert_float_equal(tally_mean(&t), -2, 1e-12);
	assert_float_equal(tally_deviation(&t), 1.1547005, 1e-6);
	assert_float_equal(tally_ci(&t), 1.96 * 1.1547005 / 2, 1e-6);
	assert_float_equal(t.most, -1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_highest_level_is_found_from_every_guess),
		cmocka_unit_test(a_good_guess_costs_two_questions),
		cmocka_unit_test(means_are_those_of_the_numbers),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
