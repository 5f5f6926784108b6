// SPDX-License-Identifier: GPL-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "judge.h"
#include "rng.h"
#include "totals.h"

#define MS 1000000ull
#define SECOND 1000000000ull

static void critical_counts_are_those_of_the_published_table(void **state)
{
	static const struct { uint64_t n, critical; } table[] = {
		{ 7, 2 }, { 20, 3 }, { 50, 4 }, { 120, 5 }, { 200, 7 }, { 500, 12 }, { 1000, 19 }, { 2000, 32 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		assert_true(judge_is_violated(table[i].n, table[i].critical, 10));
		assert_false(judge_is_violated(table[i].n, table[i].critical - 1, 10));
	}
}

static void the_test_holds_where_the_plain_binomial_underflows(void **state)
{
	(void)state;
	/* n p = 10,000, sigma = 99.5: 2.33 sigma is the 1 % point. */
	assert_false(judge_is_violated(1000000, 10200, 10));
	assert_true(judge_is_violated(1000000, 10260, 10));
	assert_true(judge_is_violated(1000000, 1000000, 10));
	assert_false(judge_is_violated(1000000, 0, 10));
	assert_false(judge_is_violated(0, 0, 10));
}

static void another_percentile_allows_another_share(void **state)
{
	(void)state;
	assert_true(judge_is_violated(200, 7, 10));
	assert_false(judge_is_violated(200, 7, 50));
	assert_true(judge_is_violated(200, 3, 1));
}

static void a_window_that_nobody_could_serve_is_not_judged_and_its_late_requests_count_once(void **state)
{
	static const struct sample overload = { .nr_completed = 500, .nr_late = 300, .nr_over_target = 40 };
	static const struct sample after = { .nr_completed = 1000, .nr_late = 41 };
	struct judge j = { 0 };

	(void)state;
	judge_skip(&j, &overload);
	assert_int_equal(j.judged_ns, 0);
	assert_int_equal(j.nr_late_requests, 340);
	assert_int_equal(j.nr_requests, 540);
	judge_add(&j, &after, 10 * MS, 990, SECOND);
	assert_int_equal(j.nr_late_requests, 341); /* forty were late before they completed */
	assert_int_equal(j.judged_ns, SECOND);
	assert_int_equal(j.violated_ns, 0);
}

static void a_true_share_of_one_percent_is_judged_violated_less_than_once_in_a_hundred(void **state)
{
	struct rng rng;
	int violated = 0;

	(void)state;
	rng_seed(&rng, 1);
	for (int window = 0; window < 20000; window++) {
		uint64_t late = 0;

		for (int i = 0; i < 140; i++)
			late += rng_uniform(&rng) < 0.01;
		violated += judge_is_violated(140, late, 10);
	}
	assert_true(violated < 200);
	assert_true(violated > 20);
}

static void ticks_are_merged_until_two_hundred_requests(void **state)
{
	struct judge j = { 0 };
	struct sample s = { .nr_completed = 70, .nr_late = 3, .steer_ns = 30 * MS };

	(void)state;
	judge_add(&j, &s, 25 * MS, 990, 500 * MS);
	judge_add(&j, &s, 25 * MS, 990, 500 * MS);
	assert_int_equal(j.judged_ns, 0);
	judge_add(&j, &s, 25 * MS, 990, 500 * MS);
	assert_int_equal(j.judged_ns, 1500 * MS);
	assert_int_equal(j.violated_ns, 1500 * MS); /* 9 of 210 */
	assert_int_equal(j.nr_raw, 0);
}

static void ten_seconds_close_a_window_of_few_requests(void **state)
{
	struct judge j = { 0 };
	struct sample s = { .nr_completed = 1 };

	(void)state;
	for (int i = 0; i < 20; i++)
		judge_add(&j, &s, 25 * MS, 990, 500 * MS);
	assert_int_equal(j.judged_ns, 10 * SECOND);
	assert_int_equal(j.violated_ns, 0);
	assert_int_equal(j.nr, 0);
}

static void a_service_that_is_not_asked_is_not_judged(void **state)
{
	struct judge j = { 0 };
	struct sample s = { 0 };

	(void)state;
	for (int i = 0; i < 40; i++)
		judge_add(&j, &s, 25 * MS, 990, 500 * MS);
	assert_int_equal(j.judged_ns, 0);
}

static void a_request_late_in_flight_is_counted_once_and_then_never_again(void **state)
{
	struct judge j = { 0 };
	struct sample waiting = { .nr_in_flight = 1, .nr_over_target = 1 };
	struct sample done = { .nr_completed = 1, .nr_late = 1 };

	(void)state;
	judge_add(&j, &waiting, 25 * MS, 990, 500 * MS);
	assert_int_equal(j.nr_late_requests, 1);
	judge_add(&j, &waiting, 25 * MS, 990, 500 * MS);
	judge_add(&j, &done, 25 * MS, 990, 500 * MS);
	assert_int_equal(j.nr_late_requests, 1);
	assert_int_equal(j.nr_requests, 1);
}

static void a_listen_drop_makes_its_window_violated(void **state)
{
	struct judge j = { 0 };
	struct sample s = { .nr_completed = 300, .nr_listen_drops = 1 };

	(void)state;
	judge_add(&j, &s, 25 * MS, 990, 500 * MS);
	assert_int_equal(j.violated_ns, 500 * MS);
}

static void raw_windows_compare_the_percentile_itself(void **state)
{
	struct judge j = { 0 };
	struct sample s = { .nr_completed = 300, .steer_ns = 26 * MS, .nr_late = 4 };

	(void)state;
	judge_add(&j, &s, 25 * MS, 990, 500 * MS);
	s.steer_ns = 25 * MS;
	judge_add(&j, &s, 25 * MS, 990, 500 * MS);
	assert_int_equal(j.nr_raw, 2);
	assert_int_equal(j.nr_raw_violated, 1);
	assert_int_equal(j.violated_ns, 0); /* 4 of 300 may be chance */
}

static void energy_follows_the_model_of_one_core(void **state)
{
	struct config config = { .nr_services = 1, .services = { { .percentile_permille = 990 } } };
	struct speed_ladder ladder = { SPEED_FREQ, 2, 1, { 1500000, 3000000 } };
	struct policy_view view = { .window_ns = SECOND, .nr_services = 1, .idle_cores = 2, .be_cores = 1 };
	struct sample sample = { 0 };
	struct totals t = { 0 };

	(void)state;
	view.services[0] = (struct policy_service){ .target_ns = 1, .cpu_ns = SECOND, .have = { 2, 0, 1 } };
	totals_add(&t, &config, &ladder, &view, &sample, true);
	/* one core busy at 3 GHz (5.6 W), one idle (0.4 W), two parked (0.1 W each), best effort left out */
	assert_float_equal(t.energy_j, 5.6 + 0.4 + 0.2, 0.02);
	assert_float_equal(t.core_seconds, 2, 1e-9);
	assert_float_equal(t.be_work, 1, 1e-9);
	t = (struct totals){ 0 };
	view.services[0].have.speed = 0;
	totals_add(&t, &config, &ladder, &view, &sample, true);
	assert_float_equal(t.energy_j, 2.06 + 0.4 + 0.2, 0.02);
}

static void who_only_observes_is_charged_for_every_core(void **state)
{
	struct config config = { .nr_services = 1, .services = { { .percentile_permille = 990 } } };
	struct speed_ladder ladder = { .kind = SPEED_NONE };
	struct policy_view view = { .window_ns = SECOND, .nr_services = 1, .nr_cores = 8, .idle_cores = 4 };
	struct sample sample = { 0 };
	struct totals t = { 0 };

	(void)state;
	view.services[0] = (struct policy_service){ .target_ns = 1, .have = { .cores = 2 } };
	totals_add(&t, &config, &ladder, &view, &sample, false);
	assert_float_equal(t.core_seconds, 8, 1e-9);
	assert_float_equal(t.energy_j, 8 * 0.4, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(critical_counts_are_those_of_the_published_table),
		cmocka_unit_test(the_test_holds_where_the_plain_binomial_underflows),
		cmocka_unit_test(another_percentile_allows_another_share),
		cmocka_unit_test(a_true_share_of_one_percent_is_judged_violated_less_than_once_in_a_hundred),
		cmocka_unit_test(ticks_are_merged_until_two_hundred_requests),
		cmocka_unit_test(ten_seconds_close_a_window_of_few_requests),
		cmocka_unit_test(a_service_that_is_not_asked_is_not_judged),
		cmocka_unit_test(a_request_late_in_flight_is_counted_once_and_then_never_again),
		cmocka_unit_test(a_window_that_nobody_could_serve_is_not_judged_and_its_late_requests_count_once),
		cmocka_unit_test(a_listen_drop_makes_its_window_violated),
		cmocka_unit_test(raw_windows_compare_the_percentile_itself),
		cmocka_unit_test(energy_follows_the_model_of_one_core),
		cmocka_unit_test(who_only_observes_is_charged_for_every_core),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
