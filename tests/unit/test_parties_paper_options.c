// SPDX-License-Identifier: GPL-2.0
/* test_parties_paper_options.c - each option of the paper's profile, beside what it is without. */
#include "unit/paper_bench.h"

#define PAPER &policy_parties_paper

static const struct bench_machine two = { 2, 8, 0, 0, false, -1 };

static void with_any_service_a_downsize_that_hurts_another_is_undone(void **state)
{
	for (uint32_t any = 0; any <= 1; any++) {
		struct bench b = bench_new(PAPER, two);

		bench_option(&b, "any_service", any);
		assert_window(&b, POLICY_REASON_DOWNSIZE, 500, 100);
		assert_window(&b, any ? POLICY_REASON_REVERT : POLICY_REASON_WATCH, 500, 49);
		assert_cores(&b, 0, any ? 4 : 3);
		assert_window(&b, POLICY_REASON_UPSIZE, 500, 49);
		bench_end(&b);
	}
	(void)state;
}

static void a_violated_service_can_be_spared(void **state)
{
	for (uint32_t pays = 0; pays <= 1; pays++) {
		struct bench b = bench_new(PAPER, two);

		bench_option(&b, "violated_pays", pays);
		assert_window(&b, pays ? POLICY_REASON_UPSIZE : POLICY_REASON_EXHAUSTED, -900, -1);
		assert_cores(&b, 1, pays ? 3 : 4);
		bench_end(&b);
	}
	(void)state;
}

static void without_boost_the_top_is_nominal(void **state)
{
	for (uint32_t boost = 0; boost <= 1; boost++) {
		struct bench b = bench_prepare(PAPER, (struct bench_machine){ 1, 8, 0, 12, false, 1 });

		bench_option(&b, "boost", boost);
		bench_start(&b);
		assert_window(&b, boost ? POLICY_REASON_UPSIZE : POLICY_REASON_EXHAUSTED, -900);
		assert_speed(&b, 0, boost ? 11 : 10);
		bench_end(&b);
	}
	(void)state;
}

static void an_undone_downsize_comes_back_above_nominal_too(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 1, 8, 0, 12, false, 1 });

	(void)state;
	bench_option(&b, "boost", 0);
	b.view.services[0].have.speed = 11; /* somebody else's doing */
	assert_window(&b, POLICY_REASON_DOWNSIZE, 500);
	assert_speed(&b, 0, 10);
	assert_window(&b, POLICY_REASON_REVERT, 0);
	assert_speed(&b, 0, 11);
	bench_end(&b);
}

static void the_next_neediest_can_be_served_when_the_neediest_cannot(void **state)
{
	for (uint32_t next = 0; next <= 1; next++) {
		struct bench b = bench_prepare(PAPER, (struct bench_machine){ 4, 8, 0, 0, false, -1 });

		bench_option(&b, "next_neediest", next);
		b.view.services[0].max.cores = b.view.services[3].max.cores = 2;
		bench_start(&b);
		assert_window(&b, next ? POLICY_REASON_UPSIZE : POLICY_REASON_EXHAUSTED, -900, 40, 60, -900);
		assert_int_equal(b.d.subject, next ? 1 : 0);
		assert_cores(&b, 1, next ? 3 : 2);
		if (next) { /* the fourth, equally needy, was asked as well; the third is not short */
			assert_int_equal(b.d.nr_rejected, 2);
			assert_int_equal(b.d.rejected[1].service, 3);
			WINDOW(&b, -900, 40, 60, -900);
			assert_window(&b, POLICY_REASON_EXHAUSTED, -900, 60, 60, -900);
		}
		bench_end(&b);
	}
	(void)state;
}

static void the_lock_lasts_as_long_as_it_is_told(void **state)
{
	struct bench b = bench_new(PAPER, two);

	(void)state;
	bench_option(&b, "lock_s", 2);
	assert_window(&b, POLICY_REASON_DOWNSIZE, 500, 100);
	assert_window(&b, POLICY_REASON_REVERT, 0, 100);
	for (int n = 0; n < 3; n++)
		assert_window(&b, POLICY_REASON_HOLD, 500, 100);
	assert_window(&b, POLICY_REASON_DOWNSIZE, 500, 100);
	bench_end(&b);
}

static void a_stall_can_be_a_violation_at_once(void **state)
{
	for (uint32_t strict = 0; strict <= 1; strict++) {
		struct bench b = bench_new(PAPER, two);

		bench_option(&b, "stall_is_violation", strict);
		b.view.services[0].signal = POLICY_STALLED;
		b.view.services[0].oldest_ns = TARGET_NS;
		assert_window(&b, strict ? POLICY_REASON_UPSIZE : POLICY_REASON_HOLD, BLIND, 100);
		bench_end(&b);
		b = bench_new(PAPER, two);
		bench_option(&b, "stall_is_violation", strict);
		assert_window(&b, POLICY_REASON_HOLD, BLIND, 100); /* nothing is overdue */
		bench_end(&b);
	}
	(void)state;
}

/* A window of service 0 with so few requests; service 1 is calm. */
static enum policy_reason thin(struct bench *b, int slack_permille, uint64_t nr_requests)
{
	bench_see(b, 0, slack_permille);
	bench_see(b, 1, 100);
	b->view.services[0].nr_completed = nr_requests;
	b->now_ns += b->view.window_ns;
	b->policy->step(b->state, b->now_ns, &b->view, &b->rng, &b->d);
	bench_check(b);
	bench_apply(b);
	return b->d.reason;
}

static void thin_windows_can_be_judged_together_until_they_hold_enough(void **state)
{
	struct bench b = bench_new(PAPER, two);

	(void)state;
	assert_int_equal(thin(&b, -100, 20), POLICY_REASON_UPSIZE); /* not without the option */
	bench_end(&b);

	b = bench_new(PAPER, two);
	bench_option(&b, "merge_thin", 1);
	assert_int_equal(thin(&b, -100, 60), POLICY_REASON_HOLD);
	assert_int_equal(b.d.rejected[0].why, POLICY_REFUSED_BLIND);
	assert_int_equal(thin(&b, 500, 60), POLICY_REASON_HOLD);
	assert_int_equal(thin(&b, 500, 79), POLICY_REASON_HOLD);
	assert_int_equal(thin(&b, 500, 1), POLICY_REASON_UPSIZE); /* the worst of the four stands */
	/* The trial's windows are its own. */
	assert_int_equal(thin(&b, -50, 150), POLICY_REASON_WATCH);
	assert_int_equal(b.d.rejected[0].why, POLICY_REFUSED_BLIND);
	assert_int_equal(thin(&b, 100, 150), POLICY_REASON_WATCH);
	assert_int_equal(b.d.nr_rejected, 0);
	assert_int_equal(thin(&b, 100, 300), POLICY_REASON_HOLD); /* the bad window is in no other verdict */
	bench_end(&b);
}

static void thin_windows_are_judged_after_ten_seconds_whatever_they_hold(void **state)
{
	struct bench b = bench_new(PAPER, two);

	(void)state;
	bench_option(&b, "merge_thin", 1);
	assert_int_equal(thin(&b, 500, 1), POLICY_REASON_HOLD);
	for (int n = 1; n < 19; n++)
		assert_int_equal(thin(&b, n % 2 ? QUIET : 500, n % 2 ? 0 : 1), POLICY_REASON_HOLD);
	assert_int_equal(thin(&b, QUIET, 0), POLICY_REASON_DOWNSIZE);
	for (int n = 0; n < 19; n++) { /* longer than a verdict may wait otherwise */
		assert_int_equal(thin(&b, 40, 1), POLICY_REASON_WATCH);
		assert_int_equal(b.d.rejected[0].why, POLICY_REFUSED_BLIND);
	}
	assert_int_equal(thin(&b, 500, 1), POLICY_REASON_REVERT);
	bench_end(&b);
}

static void a_connection_turned_away_is_not_merged(void **state)
{
	struct bench b = bench_new(PAPER, two);

	(void)state;
	bench_option(&b, "merge_thin", 1);
	b.view.services[0].nr_listen_drops = 1;
	assert_int_equal(thin(&b, -100, 1), POLICY_REASON_UPSIZE);
	bench_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_any_service_a_downsize_that_hurts_another_is_undone),
		cmocka_unit_test(a_violated_service_can_be_spared),
		cmocka_unit_test(without_boost_the_top_is_nominal),
		cmocka_unit_test(an_undone_downsize_comes_back_above_nominal_too),
		cmocka_unit_test(the_next_neediest_can_be_served_when_the_neediest_cannot),
		cmocka_unit_test(the_lock_lasts_as_long_as_it_is_told),
		cmocka_unit_test(a_stall_can_be_a_violation_at_once),
		cmocka_unit_test(thin_windows_can_be_judged_together_until_they_hold_enough),
		cmocka_unit_test(thin_windows_are_judged_after_ten_seconds_whatever_they_hold),
		cmocka_unit_test(a_connection_turned_away_is_not_merged),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
