// SPDX-License-Identifier: GPL-2.0
/*
 * test_latency_log.c - exact nearest-rank percentiles.
 */
#include "experiments/common/latency_log.c"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void fill(struct latency_log *log, size_t nr)
{
	size_t i;

	/* Every value 1 .. nr once, out of order. */
	for (i = 0; i < nr; i++)
		assert_int_equal(latency_log_add(log, (i * 7919) % nr + 1), 0);
	latency_log_sort(log);
}

static void percentiles_are_the_nearest_rank(void **state)
{
	struct latency_log log = { 0 };

	(void)state;
	fill(&log, 10000);
	assert_int_equal(latency_log_percentile(&log, 500), 5000);
	assert_int_equal(latency_log_percentile(&log, 990), 9900);
	assert_int_equal(latency_log_percentile(&log, 1000), 10000);
	assert_int_equal(latency_log_percentile(&log, 0), 1);
	latency_log_free(&log);
}

static void a_rank_between_two_values_is_rounded_up(void **state)
{
	struct latency_log log = { 0 };

	(void)state;
	fill(&log, 101);
	assert_int_equal(latency_log_percentile(&log, 990), 100);
	assert_int_equal(latency_log_percentile(&log, 991), 101);
	assert_int_equal(latency_log_percentile(&log, 500), 51);
	latency_log_free(&log);
}

static void one_value_is_every_percentile(void **state)
{
	struct latency_log log = { 0 };

	(void)state;
	fill(&log, 1);
	assert_int_equal(latency_log_percentile(&log, 1), 1);
	assert_int_equal(latency_log_percentile(&log, 990), 1);
	latency_log_free(&log);
}

static void an_empty_log_says_zero(void **state)
{
	struct latency_log log = { 0 };

	(void)state;
	latency_log_sort(&log);
	assert_int_equal(latency_log_percentile(&log, 990), 0);
	assert_true(latency_log_mean(&log) == 0);
	latency_log_free(&log);
}

static void the_mean_is_of_all_values(void **state)
{
	struct latency_log log = { 0 };

	(void)state;
	fill(&log, 9999);
	assert_true(latency_log_mean(&log) == 5000);
	latency_log_free(&log);
	assert_int_equal(log.nr, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentiles_are_the_nearest_rank),
		cmocka_unit_test(a_rank_between_two_values_is_rounded_up),
		cmocka_unit_test(one_value_is_every_percentile),
		cmocka_unit_test(an_empty_log_says_zero),
		cmocka_unit_test(the_mean_is_of_all_values),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
