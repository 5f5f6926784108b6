// SPDX-License-Identifier: GPL-2.0
/*
 * test_hist.c - the bucket arithmetic that kernel and user space share.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "hist.h"
#include "rng.h"

static void log2_is_exact_at_every_power_of_two(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 64; i++) {
		assert_int_equal(hist_log2(1ULL << i), i);
		assert_int_equal(hist_log2_by_shifts(1ULL << i), i);
		if (i > 1) {
			assert_int_equal(hist_log2((1ULL << i) - 1), i - 1);
			assert_int_equal(hist_log2_by_shifts((1ULL << i) - 1), i - 1);
			assert_int_equal(hist_log2((1ULL << i) + 1), i);
			assert_int_equal(hist_log2_by_shifts((1ULL << i) + 1), i);
		}
	}
}

static void buckets_tile_the_axis_without_gap_or_overlap(void **state)
{
	unsigned int i;

	(void)state;
	assert_int_equal(hist_low(0), 0);
	for (i = 0; i < HIST_NR_BUCKETS; i++) {
		assert_int_equal(hist_index(hist_low(i)), i);
		assert_int_equal(hist_index(hist_low(i) + hist_width(i) - 1), i);
		assert_int_equal(hist_index(hist_mid(i)), i);
		if (i + 1 < HIST_NR_BUCKETS)
			assert_int_equal(hist_low(i) + hist_width(i), hist_low(i + 1));
	}
}

static void a_midpoint_is_within_0_8_percent_from_1us_to_137s(void **state)
{
	struct rng rng;
	unsigned int n;

	(void)state;
	rng_seed(&rng, 1);
	for (n = 0; n < 1000000; n++) {
		uint64_t v = rng_next(&rng) >> (27 + rng_below(&rng, 27));
		uint64_t mid = hist_mid(hist_index(v)), apart = mid > v ? mid - v : v - mid;

		if (v >= 1000)
			assert_true(apart * 1000 <= v * 8);
		else
			assert_true(apart <= 8);
	}
}

static void values_beyond_the_range_share_the_last_bucket(void **state)
{
	(void)state;
	assert_int_equal(hist_index(1ULL << 37), HIST_NR_BUCKETS - 1);
	assert_int_equal(hist_index(UINT64_MAX), HIST_NR_BUCKETS - 1);
	assert_int_equal(hist_index((1ULL << 37) - 1), HIST_NR_BUCKETS - 1);
	assert_int_equal(hist_index(100000000000ULL) < HIST_NR_BUCKETS - 1, 1);
}

static void every_octave_has_a_bit_of_its_own_in_a_word(void **state)
{
	unsigned int all = 0;

	(void)state;
	assert_true(HIST_NR_OCTAVES <= 32);
	for (unsigned int i = 0; i < HIST_NR_BUCKETS; i++) {
		assert_int_equal(hist_octave_bit(i), 1U << i / HIST_SUBS);
		all |= hist_octave_bit(i);
	}
	assert_int_equal(__builtin_popcount(all), HIST_NR_OCTAVES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(log2_is_exact_at_every_power_of_two),
		cmocka_unit_test(buckets_tile_the_axis_without_gap_or_overlap),
		cmocka_unit_test(a_midpoint_is_within_0_8_percent_from_1us_to_137s),
		cmocka_unit_test(values_beyond_the_range_share_the_last_bucket),
		cmocka_unit_test(every_octave_has_a_bit_of_its_own_in_a_word),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
