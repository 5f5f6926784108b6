// SPDX-License-Identifier: GPL-2.0
/* test_parties_released.c - the rules of the released program, one window of 100 ms at a time. */
#include "unit/paper_bench.h"

#define RELEASED &policy_parties_released
#define TICK_NS UINT64_C(100000000)

enum { DRAW_CORE, DRAW_CACHE, DRAW_SPEED };

static struct bench start(struct bench_machine m)
{
	struct bench b = bench_new(RELEASED, m);

	b.view.window_ns = TICK_NS;
	return b;
}

/* The same two slacks for some windows, in each of which the decision has this reason. */
static void stays(struct bench *b, int windows, enum policy_reason reason, int first, int second)
{
	while (windows--)
		assert_window(b, reason, first, second);
}

static void a_short_service_needs_the_window_and_the_mean_to_say_so(void **state)
{
	struct bench b = start((struct bench_machine){ 2, 8, 0, 0, false, -1 });

	(void)state;
	stays(&b, 9, POLICY_REASON_HOLD, 100, 100);
	/* Mean of ten: 9 * 100 - 350, so a slack of 55; then 7.5. */
	assert_window(&b, POLICY_REASON_HOLD, -350, 100);
	assert_window(&b, POLICY_REASON_UPSIZE, -375, 100);
	assert_int_equal(b.d.subject, 0);
	bench_end(&b);

	b = start((struct bench_machine){ 2, 8, 0, 0, false, -1 });
	assert_window(&b, POLICY_REASON_UPSIZE, -900, 100);
	stays(&b, 5, POLICY_REASON_WATCH, -2000, 100);
	assert_window(&b, POLICY_REASON_HOLD, 50, 100); /* the mean is bad, the window is not */
	assert_window(&b, POLICY_REASON_UPSIZE, 49, 100);
	bench_end(&b);
}

static void the_mean_covers_ten_windows(void **state)
{
	struct bench b = start((struct bench_machine){ 2, 8, 0, 0, false, -1 });

	(void)state;
	WINDOW(&b, 100, -9000);
	stays(&b, 5, POLICY_REASON_WATCH, 100, 100);
	stays(&b, 3, POLICY_REASON_HOLD, 100, 100);
	assert_window(&b, POLICY_REASON_UPSIZE, 100, 40);
	bench_end(&b);

	b = start((struct bench_machine){ 2, 8, 0, 0, false, -1 });
	WINDOW(&b, 100, -9000);
	stays(&b, 5, POLICY_REASON_WATCH, 100, 100);
	stays(&b, 4, POLICY_REASON_HOLD, 100, 100);
	assert_window(&b, POLICY_REASON_HOLD, 100, 40);
	bench_end(&b);
}

static void the_smallest_mean_is_served_not_the_worst_window(void **state)
{
	struct bench b = start((struct bench_machine){ 3, 9, 0, 0, false, -1 });

	(void)state;
	for (int n = 0; n < 9; n++)
		assert_window(&b, POLICY_REASON_HOLD, 50, 100, 100);
	/* Means: 0: 45, 1: 40. */
	assert_window(&b, POLICY_REASON_UPSIZE, 0, -500, 100);
	assert_int_equal(b.d.subject, 1);
	bench_end(&b);

	b = start((struct bench_machine){ 3, 9, 0, 0, false, -1 });
	for (int n = 0; n < 9; n++)
		assert_window(&b, POLICY_REASON_HOLD, 50, 100, 100);
	/* Means: 0: 35, 1: 40, though the window of 1 is the worst. */
	assert_window(&b, POLICY_REASON_UPSIZE, -100, -500, 100);
	assert_int_equal(b.d.subject, 0);
	bench_end(&b);
}

static void giving_needs_both_slacks_and_the_largest_of_the_window_gives(void **state)
{
	struct bench b = start((struct bench_machine){ 2, 8, 0, 0, false, -1 });

	(void)state;
	assert_window(&b, POLICY_REASON_HOLD, 200, 200);
	/* Means: 550 and 200.5. */
	assert_window(&b, POLICY_REASON_DOWNSIZE, 201, 900);
	assert_int_equal(b.d.subject, 1);
	assert_int_equal(b.d.idle_cores, 1);
	bench_end(&b);

	b = start((struct bench_machine){ 2, 8, 0, 0, false, -1 });
	stays(&b, 3, POLICY_REASON_HOLD, 100, 100);
	stays(&b, 1, POLICY_REASON_HOLD, 500, 100); /* mean 200 */
	assert_window(&b, POLICY_REASON_DOWNSIZE, 500, 100);
	bench_end(&b);
}

static void the_window_not_the_mean_says_who_gives(void **state)
{
	struct bench b = start((struct bench_machine){ 2, 8, 0, 0, false, -1 });

	(void)state;
	assert_window(&b, POLICY_REASON_HOLD, 200, 60);
	assert_window(&b, POLICY_REASON_DOWNSIZE, 300, 400); /* means 250 and 230 */
	assert_int_equal(b.d.subject, 1);
	bench_end(&b);
}

static void nobody_gives_while_somebody_is_short(void **state)
{
	struct bench b = start((struct bench_machine){ 2, 2, 0, 0, false, -1 });

	(void)state;
	assert_window(&b, POLICY_REASON_EXHAUSTED, -100, 900);
	assert_int_equal(b.d.direction, POLICY_HOLD);
	bench_end(&b);
}

static void three_better_windows_of_five_are_a_help(void **state)
{
	for (int better = 0; better <= 5; better++) {
		struct bench b = start((struct bench_machine){ 2, 12, 6, 0, false, DRAW_CORE });

		assert_window(&b, POLICY_REASON_UPSIZE, -500, 100);
		for (int n = 0; n < 5; n++)
			assert_window(&b, POLICY_REASON_WATCH, n < better ? -499 : -500, 100);
		assert_window(&b, POLICY_REASON_UPSIZE, -500, 100);
		assert_int_equal(b.d.resource, better >= 3 ? POLICY_CORE : POLICY_CACHE);
		assert_cores(&b, 0, better >= 3 ? 8 : 7); /* and nothing was undone */
		bench_end(&b);
	}
	(void)state;
}

static void reaching_the_top_frequency_turns_to_the_next_resource(void **state)
{
	struct bench b = start((struct bench_machine){ 2, 12, 0, 12, false, 1 });

	(void)state;
	b.view.services[0].have.speed = 9; /* on the way there it goes on */
	assert_window(&b, POLICY_REASON_UPSIZE, -600, 100);
	stays(&b, 5, POLICY_REASON_WATCH, -500, 100);
	assert_window(&b, POLICY_REASON_UPSIZE, -500, 100);
	assert_int_equal(b.d.resource, POLICY_SPEED);
	assert_speed(&b, 0, 11);
	stays(&b, 5, POLICY_REASON_WATCH, -400, 100);
	assert_window(&b, POLICY_REASON_UPSIZE, -400, 100);
	assert_int_equal(b.d.resource, POLICY_CORE);
	assert_int_equal(b.d.nr_rejected, 0); /* it did not have to find the top first */
	bench_end(&b);
}

static void without_boost_the_top_is_nominal(void **state)
{
	struct bench b = bench_prepare(RELEASED, (struct bench_machine){ 1, 12, 0, 12, false, 1 });

	(void)state;
	b.view.window_ns = TICK_NS;
	bench_option(&b, "boost", 0);
	bench_start(&b);
	assert_speed(&b, 0, 10);
	assert_window(&b, POLICY_REASON_EXHAUSTED, -500);
	assert_int_equal(b.d.rejected[0].why, POLICY_REFUSED_AT_LIMIT);
	assert_speed(&b, 0, 10);
	bench_end(&b);
}

static void a_downsize_fails_when_any_service_is_short_in_three_windows_of_five(void **state)
{
	for (int bad = 0; bad <= 5; bad++) {
		struct bench b = start((struct bench_machine){ 2, 8, 0, 0, false, -1 });

		assert_window(&b, POLICY_REASON_DOWNSIZE, 500, 100);
		for (int n = 0; n < 5; n++)
			assert_window(&b, n == 4 && bad >= 3 ? POLICY_REASON_REVERT : POLICY_REASON_WATCH, 500,
				      n >= 5 - bad ? 49 : 100);
		assert_int_equal(b.d.subject, 0);
		assert_cores(&b, 0, bad >= 3 ? 4 : 3);
		assert_int_equal(b.d.idle_cores, bad >= 3 ? 0 : 1);
		bench_end(&b);
	}
	(void)state;
}

static void a_failed_downsize_is_cooled_down_for_ten_seconds_and_tries_another_resource(void **state)
{
	struct bench b = start((struct bench_machine){ 1, 8, 4, 0, false, DRAW_CORE });

	(void)state;
	assert_window(&b, POLICY_REASON_DOWNSIZE, 500);
	for (int n = 0; n < 4; n++)
		assert_window(&b, POLICY_REASON_WATCH, 40);
	assert_window(&b, POLICY_REASON_REVERT, 40);
	for (int n = 0; n < 5; n++)
		assert_window(&b, POLICY_REASON_WATCH, 500);
	for (int n = 6; n < 100; n++)
		assert_window(&b, POLICY_REASON_HOLD, 500);
	assert_int_equal(b.d.rejected[0].why, POLICY_REFUSED_LOCKED);
	assert_window(&b, POLICY_REASON_DOWNSIZE, 500);
	assert_int_equal(b.d.resource, POLICY_CACHE);
	bench_end(&b);
}

static void after_an_undone_downsize_five_windows_are_judged_and_bad_ones_cost_five_more(void **state)
{
	for (int bad = 2; bad <= 3; bad++) {
		struct bench b = start((struct bench_machine){ 2, 8, 0, 0, false, -1 });

		assert_window(&b, POLICY_REASON_DOWNSIZE, 500, 100);
		stays(&b, 4, POLICY_REASON_WATCH, 500, 40);
		assert_window(&b, POLICY_REASON_REVERT, 500, 40);
		stays(&b, bad, POLICY_REASON_WATCH, 500, 40);
		stays(&b, 5 - bad, POLICY_REASON_WATCH, 500, 100);
		if (bad >= 3)
			stays(&b, 5, POLICY_REASON_WATCH, 500, -900);
		assert_window(&b, POLICY_REASON_UPSIZE, 500, -900);
		assert_int_equal(b.d.subject, 1);
		bench_end(&b);
	}
	(void)state;
}

static void a_core_comes_from_the_idle_pool_first_then_from_the_largest_slack(void **state)
{
	struct bench b = start((struct bench_machine){ 3, 12, 0, 0, false, -1 });

	(void)state;
	b.view.services[2].have.cores = 1;
	b.view.idle_cores = 3;
	for (uint32_t n = 1; n <= 3; n++) {
		assert_window(&b, POLICY_REASON_UPSIZE, -900, 100, 150);
		assert_int_equal(b.d.victim, POLICY_NOBODY);
		assert_int_equal(b.d.idle_cores, 3 - n);
		for (int k = 0; k < 5; k++)
			assert_window(&b, POLICY_REASON_WATCH, -901, 100, 150);
	}
	assert_window(&b, POLICY_REASON_UPSIZE, -900, 100, 150);
	assert_int_equal(b.d.victim, 1); /* 2 has more slack and one core */
	assert_cores(&b, 0, 8);
	assert_cores(&b, 2, 1);
	bench_end(&b);
}

static void a_violated_service_pays_only_as_in_the_released_program(void **state)
{
	for (uint32_t pays = 0; pays <= 1; pays++) {
		struct bench b = start((struct bench_machine){ 2, 8, 0, 0, false, -1 });

		bench_option(&b, "violated_pays", pays);
		assert_window(&b, pays ? POLICY_REASON_UPSIZE : POLICY_REASON_EXHAUSTED, -900, -1);
		assert_cores(&b, 1, pays ? 3 : 4);
		bench_end(&b);
	}
	(void)state;
}

static void best_effort_work_gets_nothing(void **state)
{
	struct bench b = start((struct bench_machine){ 1, 8, 0, 0, true, -1 });

	(void)state;
	for (int n = 0; n < 100; n++)
		WINDOW(&b, 900);
	assert_int_equal(b.d.be_cores, 0);
	assert_int_equal(b.d.idle_cores, 7);
	assert_cores(&b, 0, 1);
	bench_end(&b);
}

static void a_window_without_completion_is_no_sample(void **state)
{
	struct bench b = start((struct bench_machine){ 2, 12, 6, 0, false, DRAW_CORE });

	(void)state;
	assert_window(&b, POLICY_REASON_UPSIZE, -500, 100);
	for (int n = 0; n < 20; n++) { /* not of the five */
		assert_window(&b, POLICY_REASON_WATCH, BLIND, 40);
		assert_int_equal(b.d.rejected[0].why, POLICY_REFUSED_BLIND);
	}
	stays(&b, 5, POLICY_REASON_WATCH, -400, 100);
	assert_window(&b, POLICY_REASON_UPSIZE, -400, 100);
	assert_int_equal(b.d.resource, POLICY_CORE);
	bench_end(&b);

	b = start((struct bench_machine){ 2, 8, 0, 0, false, -1 });
	assert_window(&b, POLICY_REASON_DOWNSIZE, 500, 100);
	for (int n = 1; n < 50; n++)
		assert_window(&b, POLICY_REASON_WATCH, QUIET, 100);
	assert_window(&b, POLICY_REASON_WATCH, QUIET, 100); /* five seconds: no verdict, and no waiting for one */
	assert_window(&b, POLICY_REASON_HOLD, QUIET, 100);
	assert_window(&b, POLICY_REASON_NO_SIGNAL, QUIET, QUIET);
	bench_end(&b);
}

static void a_window_without_completion_is_in_no_mean(void **state)
{
	struct bench b = start((struct bench_machine){ 2, 8, 0, 0, false, -1 });

	(void)state;
	assert_window(&b, POLICY_REASON_HOLD, 60, 100);
	for (int n = 0; n < 8; n++)
		assert_window(&b, POLICY_REASON_HOLD, BLIND, 100);
	assert_window(&b, POLICY_REASON_UPSIZE, 30, 100); /* the mean of two is 45 */
	bench_end(&b);
}

static void the_wait_for_a_completion_is_counted_anew_after_an_undone_downsize(void **state)
{
	struct bench b = start((struct bench_machine){ 2, 8, 0, 0, false, -1 });

	(void)state;
	assert_window(&b, POLICY_REASON_DOWNSIZE, 500, 100);
	for (int n = 0; n < 40; n++)
		assert_window(&b, POLICY_REASON_WATCH, QUIET, 100);
	stays(&b, 4, POLICY_REASON_WATCH, 40, 100);
	assert_window(&b, POLICY_REASON_REVERT, 40, 100);
	for (int n = 0; n < 50; n++)
		assert_window(&b, POLICY_REASON_WATCH, QUIET, 100);
	assert_window(&b, POLICY_REASON_HOLD, QUIET, 100);
	bench_end(&b);
}

static void what_was_not_applied_is_not_judged(void **state)
{
	struct bench b = start((struct bench_machine){ 2, 8, 0, 0, false, -1 });

	(void)state;
	assert_window(&b, POLICY_REASON_DOWNSIZE, 500, 100);
	b.view.services[0].have.cores = 4;
	b.view.idle_cores = 0;
	assert_window(&b, POLICY_REASON_DOWNSIZE, 500, 100);
	assert_cores(&b, 0, 3);
	bench_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_short_service_needs_the_window_and_the_mean_to_say_so),
		cmocka_unit_test(the_mean_covers_ten_windows),
		cmocka_unit_test(the_smallest_mean_is_served_not_the_worst_window),
		cmocka_unit_test(giving_needs_both_slacks_and_the_largest_of_the_window_gives),
		cmocka_unit_test(the_window_not_the_mean_says_who_gives),
		cmocka_unit_test(nobody_gives_while_somebody_is_short),
		cmocka_unit_test(three_better_windows_of_five_are_a_help),
		cmocka_unit_test(reaching_the_top_frequency_turns_to_the_next_resource),
		cmocka_unit_test(without_boost_the_top_is_nominal),
		cmocka_unit_test(a_downsize_fails_when_any_service_is_short_in_three_windows_of_five),
		cmocka_unit_test(a_failed_downsize_is_cooled_down_for_ten_seconds_and_tries_another_resource),
		cmocka_unit_test(after_an_undone_downsize_five_windows_are_judged_and_bad_ones_cost_five_more),
		cmocka_unit_test(a_core_comes_from_the_idle_pool_first_then_from_the_largest_slack),
		cmocka_unit_test(a_violated_service_pays_only_as_in_the_released_program),
		cmocka_unit_test(best_effort_work_gets_nothing),
		cmocka_unit_test(a_window_without_completion_is_no_sample),
		cmocka_unit_test(a_window_without_completion_is_in_no_mean),
		cmocka_unit_test(the_wait_for_a_completion_is_counted_anew_after_an_undone_downsize),
		cmocka_unit_test(what_was_not_applied_is_not_judged),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
