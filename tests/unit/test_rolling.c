// SPDX-License-Identifier: GPL-2.0
/*
 * test_rolling.c - the last so many requests, against sorting them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "rng.h"
#include "rolling.h"

enum { SIZE = 1000 };

static struct rolling_entry ring[SIZE];
static struct rolling rolling;

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void percentiles_are_those_of_the_last_requests(void **state)
{
	static const uint32_t permyriads[] = { 1, 5000, 9000, 9900, 9990, 10000 };
	static uint64_t all[3 * SIZE + 7], last[SIZE];
	const unsigned int n = sizeof(all) / sizeof(all[0]);
	struct rng rng;

	(void)state;
	rng_seed(&rng, 3);
	rolling_init(&rolling, ring, SIZE, UINT32_MAX / 2);
	for (unsigned int i = 0; i < n; i++) {
		all[i] = 1000 + rng_below(&rng, 100000000);
		rolling_add(&rolling, i, all[i]);
	}
	assert_int_equal(rolling.nr, SIZE);
	assert_int_equal(rolling.latest_ns, all[n - 1]);
	memcpy(last, all + n - SIZE, sizeof(last));
	qsort(last, SIZE, sizeof(last[0]), by_value);
	for (unsigned int i = 0; i < sizeof(permyriads) / sizeof(permyriads[0]); i++) {
		uint64_t truth = last[((uint64_t)SIZE * permyriads[i] + 9999) / 10000 - 1];

		assert_int_equal(rolling_percentile(&rolling, permyriads[i]), hist_mid(hist_index(truth)));
	}
}

static void old_requests_fall_out_and_leave_no_data(void **state)
{
	(void)state;
	rolling_init(&rolling, ring, SIZE, 1000);
	rolling_add(&rolling, 100, 5000000);
	rolling_add(&rolling, 900, 7000000);
	rolling_expire(&rolling, 1100);
	assert_int_equal(rolling.nr, 2);
	rolling_expire(&rolling, 1101);
	assert_int_equal(rolling.nr, 1);
	assert_int_equal(rolling_percentile(&rolling, 5000), hist_mid(hist_index(7000000)));
	rolling_expire(&rolling, 5000);
	assert_int_equal(rolling.nr, 0);
	assert_int_equal(rolling_percentile(&rolling, 9900), 0);
	assert_int_equal(rolling_mean(&rolling), 0);
	assert_int_equal(rolling.sum_ns, 0);
}

static void counting_since_looks_at_time_even_when_it_wraps(void **state)
{
	const uint32_t start = UINT32_MAX - 500;

	(void)state;
	rolling_init(&rolling, ring, SIZE, 10000);
	for (uint32_t i = 0; i < 900; i++)
		rolling_add(&rolling, start + i, 1000000);
	assert_int_equal(rolling_count_since(&rolling, start + 900, 100), 99);
	assert_int_equal(rolling_count_since(&rolling, start + 900, 1), 0);
	assert_int_equal(rolling_count_since(&rolling, start + 899, 1), 1);
	assert_int_equal(rolling_count_since(&rolling, start + 900, 5000), 900);
	rolling_expire(&rolling, start + 900);
	assert_int_equal(rolling.nr, 900);
}

static void the_histogram_is_always_that_of_the_ring(void **state)
{
	struct rng rng;
	uint32_t now = 0;

	(void)state;
	rng_seed(&rng, 9);
	rolling_init(&rolling, ring, 64, 300);
	for (int n = 0; n < 20000; n++) {
		uint32_t sum = 0, octaves = 0;

		now += (uint32_t)rng_below(&rng, 20);
		rolling_add(&rolling, now, rng_next(&rng) >> rng_below(&rng, 60));
		if (rng_below(&rng, 3) == 0)
			rolling_expire(&rolling, now += (uint32_t)rng_below(&rng, 200));
		for (int i = 0; i < HIST_NR_BUCKETS; i++)
			sum += rolling.counts[i];
		for (int i = 0; i < HIST_NR_OCTAVES; i++)
			octaves += rolling.octaves[i];
		assert_int_equal(sum, rolling.nr);
		assert_int_equal(octaves, rolling.nr);
		assert_true(rolling.nr <= 64);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentiles_are_those_of_the_last_requests),
		cmocka_unit_test(old_requests_fall_out_and_leave_no_data),
		cmocka_unit_test(counting_since_looks_at_time_even_when_it_wraps),
		cmocka_unit_test(the_histogram_is_always_that_of_the_ring),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
