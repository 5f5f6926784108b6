// SPDX-License-Identifier: GPL-2.0
/*
 * test_drift.c - how long we argue with somebody else about a value.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "drift.h"

/* Drifts in every step from `step` on until it yields, and returns that step; *ret_span: for how long. */
static uint64_t argue(struct drift *d, uint64_t step, uint32_t *ret_span)
{
	while (!(*ret_span = drift_seen(d, step)))
		step++;
	return step;
}

static void a_few_changes_are_put_back(void **state)
{
	struct drift d = { 0 };

	(void)state;
	for (uint64_t step = 1; step < DRIFT_MAX; step++)
		assert_int_equal(drift_seen(&d, step), 0);
	assert_false(drift_is_left(&d, DRIFT_MAX));
}

static void many_in_a_short_time_are_left_to_others(void **state)
{
	struct drift d = { 0 };
	uint32_t span;
	uint64_t step;

	(void)state;
	step = argue(&d, 7, &span);
	assert_int_equal(step, 7 + DRIFT_MAX - 1);
	assert_int_equal(span, DRIFT_SPAN);
	assert_true(drift_is_left(&d, step + DRIFT_SPAN - 1));
	assert_false(drift_is_left(&d, step + DRIFT_SPAN));
}

static void many_in_a_long_time_are_put_back(void **state)
{
	struct drift d = { 0 };

	(void)state;
	for (uint64_t step = 1; step < 100 * DRIFT_SPAN; step += DRIFT_SPAN / DRIFT_MAX + 4)
		assert_int_equal(drift_seen(&d, step), 0);
}

static void each_time_it_is_left_twice_as_long_up_to_a_limit(void **state)
{
	struct drift d = { 0 };
	uint64_t step = 1;
	uint32_t span;

	(void)state;
	for (uint32_t i = 0; i < DRIFT_MAX_DOUBLINGS + 3; i++) {
		step = argue(&d, step, &span);
		assert_int_equal(span, DRIFT_SPAN << (i < DRIFT_MAX_DOUBLINGS ? i : DRIFT_MAX_DOUBLINGS));
		step += span;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_few_changes_are_put_back),
		cmocka_unit_test(many_in_a_short_time_are_left_to_others),
		cmocka_unit_test(many_in_a_long_time_are_put_back),
		cmocka_unit_test(each_time_it_is_left_twice_as_long_up_to_a_limit),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
