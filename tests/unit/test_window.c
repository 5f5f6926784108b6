// SPDX-License-Identifier: GPL-2.0
/*
 * test_window.c - windows as differences of growing counters.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "rng.h"
#include "window.h"

enum { NR_SLOTS = 4 };

static struct exchange_cell cells[NR_SLOTS];
static struct window window;

static uint32_t *bucket_of(unsigned int slot, enum exchange_hist which, uint64_t ns)
{
	return &cells[slot].buckets[hist_index(ns) / HIST_SUBS][which][hist_index(ns) % HIST_SUBS];
}

static void book(unsigned int slot, enum exchange_hist which, uint64_t ns)
{
	window_book(&cells[slot], which, ns);
	cells[slot].nr_booked += which != EXCHANGE_OWED; /* always announced: most tests book one histogram alone */
}

static int clear(void **state)
{
	(void)state;
	memset(cells, 0, sizeof(cells));
	window_start(&window, cells, NR_SLOTS);
	return 0;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void percentiles_are_nearest_rank_over_all_slots(void **state)
{
	static uint64_t values[1237];
	const unsigned int n = sizeof(values) / sizeof(values[0]), permilles[] = { 1, 500, 900, 950, 990, 999, 1000 };
	struct rng rng;
	unsigned int i;

	(void)state;
	rng_seed(&rng, 7);
	for (i = 0; i < n; i++) {
		values[i] = 1000 + rng_below(&rng, 50000000);
		book(i % NR_SLOTS, EXCHANGE_OWED, values[i]);
	}
	qsort(values, n, sizeof(values[0]), by_value);
	window_advance(&window, cells, NR_SLOTS);
	assert_int_equal(window_count(&window, EXCHANGE_OWED), n);
	for (i = 0; i < sizeof(permilles) / sizeof(permilles[0]); i++) {
		uint64_t truth = values[(n * permilles[i] + 999) / 1000 - 1];

		assert_int_equal(window_percentile(&window, EXCHANGE_OWED, permilles[i]), hist_mid(hist_index(truth)));
	}
}

static void a_window_holds_only_what_came_since_the_last(void **state)
{
	(void)state;
	book(0, EXCHANGE_TOTAL, 5000000);
	window_advance(&window, cells, NR_SLOTS);
	assert_int_equal(window_count(&window, EXCHANGE_TOTAL), 1);
	book(1, EXCHANGE_TOTAL, 9000000);
	book(3, EXCHANGE_TOTAL, 9000000);
	window_advance(&window, cells, NR_SLOTS);
	assert_int_equal(window_count(&window, EXCHANGE_TOTAL), 2);
	assert_int_equal(window_mean(&window, EXCHANGE_TOTAL), hist_mid(hist_index(9000000)));
	assert_int_equal(window_percentile(&window, EXCHANGE_TOTAL, 10), hist_mid(hist_index(9000000)));
	window_advance(&window, cells, NR_SLOTS);
	assert_int_equal(window_count(&window, EXCHANGE_TOTAL), 0);
}

static void counters_may_wrap(void **state)
{
	(void)state;
	cells[0].octaves[EXCHANGE_OWED] = hist_octave_bit(hist_index(1000000));
	*bucket_of(0, EXCHANGE_OWED, 1000000) = UINT32_MAX - 1;
	cells[0].nr_booked = UINT64_MAX - 1;
	window_start(&window, cells, NR_SLOTS);
	book(0, EXCHANGE_OWED, 1000000);
	book(0, EXCHANGE_OWED, 1000000);
	book(0, EXCHANGE_OWED, 1000000);
	window_advance(&window, cells, NR_SLOTS);
	assert_int_equal(window_count(&window, EXCHANGE_OWED), 3);
	assert_int_equal(window_mean(&window, EXCHANGE_OWED), hist_mid(hist_index(1000000)));
}

static void an_empty_histogram_has_no_percentile(void **state)
{
	(void)state;
	window_advance(&window, cells, NR_SLOTS);
	assert_int_equal(window_percentile(&window, EXCHANGE_OWED, 990), 0);
	assert_int_equal(window_mean(&window, EXCHANGE_OWED), 0);
	assert_int_equal(window_count_over(&window, EXCHANGE_OWED, 0), 0);
}

static void counts_over_a_target_go_by_midpoints(void **state)
{
	(void)state;
	book(0, EXCHANGE_OWED, 20000000);
	book(1, EXCHANGE_OWED, 24000000);
	book(2, EXCHANGE_OWED, 26000000);
	book(3, EXCHANGE_OWED, 100000000);
	window_advance(&window, cells, NR_SLOTS);
	assert_int_equal(window_count_over(&window, EXCHANGE_OWED, 25000000), 2);
	assert_int_equal(window_count_over(&window, EXCHANGE_OWED, 0), 4);
	assert_int_equal(window_count_over(&window, EXCHANGE_OWED, UINT64_MAX), 0);
}

static void a_sample_moved_by_an_amendment_leaves_no_negative_count(void **state)
{
	(void)state;
	book(0, EXCHANGE_OWED, 1000000);
	window_advance(&window, cells, NR_SLOTS);
	(*bucket_of(1, EXCHANGE_OWED, 1000000))--; /* taken back on another slot */
	cells[1].nr_booked++;
	book(1, EXCHANGE_OWED, 3000000);
	window_advance(&window, cells, NR_SLOTS);
	assert_int_equal(window_count(&window, EXCHANGE_OWED), 1);
	assert_int_equal(window_percentile(&window, EXCHANGE_OWED, 500), hist_mid(hist_index(3000000)));
	assert_int_equal(window_count_over(&window, EXCHANGE_OWED, 0), 1);
}

static void only_marked_octaves_are_read(void **state)
{
	unsigned int octave = hist_index(1000000) / HIST_SUBS;

	(void)state;
	for (unsigned int which = 0; which < EXCHANGE_NR_HISTS; which++)
		for (unsigned int i = 0; i < HIST_NR_BUCKETS; i++)
			if (which != EXCHANGE_OWED || i / HIST_SUBS != octave)
				cells[2].buckets[i / HIST_SUBS][which][i % HIST_SUBS] = 77;
	book(2, EXCHANGE_OWED, 1000000);
	window_advance(&window, cells, NR_SLOTS);
	assert_int_equal(window_count(&window, EXCHANGE_OWED), 1);
	assert_int_equal(window_count_over(&window, EXCHANGE_OWED, 0), 1);
	for (unsigned int which = 0; which < EXCHANGE_OWED; which++)
		assert_int_equal(window_count(&window, which), 0);
}

static void an_octave_marked_in_one_slot_is_read_in_all_from_then_on(void **state)
{
	(void)state;
	window_advance(&window, cells, NR_SLOTS);
	book(3, EXCHANGE_SERVICE, 40000000);
	window_advance(&window, cells, NR_SLOTS);
	assert_int_equal(window_count(&window, EXCHANGE_SERVICE), 1);
	book(0, EXCHANGE_SERVICE, 40000000);
	book(3, EXCHANGE_SERVICE, 90000000);
	window_advance(&window, cells, NR_SLOTS);
	assert_int_equal(window_count(&window, EXCHANGE_SERVICE), 2);
	assert_int_equal(window_percentile(&window, EXCHANGE_SERVICE, 500), hist_mid(hist_index(40000000)));
	assert_int_equal(window_percentile(&window, EXCHANGE_SERVICE, 1000), hist_mid(hist_index(90000000)));
}

static void what_is_not_announced_is_read_when_it_is(void **state)
{
	(void)state;
	book(0, EXCHANGE_OWED, 2000000);
	window_advance(&window, cells, NR_SLOTS);
	/* A program between the bucket and its announcement. */
	(*bucket_of(0, EXCHANGE_OWED, 2000000))++;
	window_advance(&window, cells, NR_SLOTS);
	assert_int_equal(window_count(&window, EXCHANGE_OWED), 0);
	assert_int_equal(window_mean(&window, EXCHANGE_OWED), 0);
	cells[0].nr_booked++;
	window_advance(&window, cells, NR_SLOTS);
	assert_int_equal(window_count(&window, EXCHANGE_OWED), 1);
	assert_int_equal(window_mean(&window, EXCHANGE_OWED), hist_mid(hist_index(2000000)));
}

static void a_mean_is_that_of_the_values_within_a_bucket(void **state)
{
	struct rng rng;
	uint64_t sum = 0, mean;

	(void)state;
	rng_seed(&rng, 5);
	for (unsigned int i = 0; i < 1000; i++) {
		uint64_t ns = 1000 + rng_below(&rng, 90000000);

		sum += ns;
		book(i % NR_SLOTS, EXCHANGE_SERVICE, ns);
		book(i % NR_SLOTS, EXCHANGE_OWED, 0);
	}
	window_advance(&window, cells, NR_SLOTS);
	mean = window_mean(&window, EXCHANGE_SERVICE);
	assert_true(mean * 1000 > sum / 1000 * 992 && mean * 1000 < sum / 1000 * 1008);
	assert_int_equal(window_count(&window, EXCHANGE_OWED), 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(percentiles_are_nearest_rank_over_all_slots, clear),
		cmocka_unit_test_setup(a_window_holds_only_what_came_since_the_last, clear),
		cmocka_unit_test_setup(counters_may_wrap, clear),
		cmocka_unit_test_setup(an_empty_histogram_has_no_percentile, clear),
		cmocka_unit_test_setup(counts_over_a_target_go_by_midpoints, clear),
		cmocka_unit_test_setup(a_sample_moved_by_an_amendment_leaves_no_negative_count, clear),
		cmocka_unit_test_setup(only_marked_octaves_are_read, clear),
		cmocka_unit_test_setup(an_octave_marked_in_one_slot_is_read_in_all_from_then_on, clear),
		cmocka_unit_test_setup(what_is_not_announced_is_read_when_it_is, clear),
		cmocka_unit_test_setup(a_mean_is_that_of_the_values_within_a_bucket, clear),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
