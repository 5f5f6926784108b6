// SPDX-License-Identifier: GPL-2.0
/* test_parties_paper_decisions.c - the thirteen decisions where the paper is silent, one test each. */
#include "unit/paper_bench.h"

#define PAPER &policy_parties_paper

enum { DRAW_CORE, DRAW_CACHE, DRAW_SPEED };

static void decision_01_an_action_costs_two_disjoint_windows(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 2, 16, 0, 0, true, -1 });

	(void)state;
	for (int second = 0; second < 6; second++) {
		assert_window(&b, POLICY_REASON_DOWNSIZE, 100, 500);
		assert_window(&b, POLICY_REASON_WATCH, 100, 500);
	}
	assert_int_equal(b.now_ns, 6 * SECOND);
	assert_int_equal(b.d.be_cores, 6);
	bench_end(&b);
}

static void decision_01_overlapping_windows_halve_the_cost_of_an_action(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 2, 12, 0, 0, false, -1 });

	(void)state;
	bench_option(&b, "overlap", 1);
	for (uint32_t n = 1; n <= 3; n++) {
		assert_window(&b, POLICY_REASON_UPSIZE, -100 + (int)n, 100);
		assert_cores(&b, 0, 6 + n);
	}
	assert_window(&b, POLICY_REASON_WATCH, 100, 100);
	assert_window(&b, POLICY_REASON_HOLD, 100, 100);
	bench_end(&b);
}

static void decision_01_an_undone_downsize_is_the_only_move_of_its_window(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 2, 12, 0, 0, false, -1 });

	(void)state;
	bench_option(&b, "overlap", 1);
	assert_window(&b, POLICY_REASON_DOWNSIZE, 500, 100);
	assert_window(&b, POLICY_REASON_REVERT, 40, 10);
	assert_cores(&b, 0, 6);
	assert_cores(&b, 1, 6);
	assert_window(&b, POLICY_REASON_UPSIZE, 100, 10);
	bench_end(&b);
}

static void decision_02_latency_before_is_that_of_main_and_higher_is_strict(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 2, 16, 0, 12, true, DRAW_CORE });

	(void)state;
	assert_window(&b, POLICY_REASON_UPSIZE, -100, 100);
	assert_window(&b, POLICY_REASON_WATCH, -100, 100); /* equal is not higher */
	assert_window(&b, POLICY_REASON_UPSIZE, -300, 100);
	assert_int_equal(b.d.resource, POLICY_CORE);
	assert_window(&b, POLICY_REASON_WATCH, -200, 100); /* higher than the window before last, not than MAIN's */
	assert_window(&b, POLICY_REASON_UPSIZE, -200, 100);
	assert_int_equal(b.d.resource, POLICY_CORE);
	bench_end(&b);
}

static void decision_02_after_a_downsize_is_judged_main_follows(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 2, 16, 0, 0, true, -1 });

	(void)state;
	assert_window(&b, POLICY_REASON_DOWNSIZE, 100, 500);
	assert_window(&b, POLICY_REASON_REVERT, 100, 40);
	assert_window(&b, POLICY_REASON_UPSIZE, -100, 100);
	bench_end(&b);
}

static void decision_03_the_lock_is_clock_time_from_the_revert(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 1, 16, 0, 0, true, -1 });
	uint64_t reverted_ns;

	(void)state;
	assert_window(&b, POLICY_REASON_DOWNSIZE, 500);
	assert_window(&b, POLICY_REASON_REVERT, 40);
	reverted_ns = b.now_ns;
	while (b.now_ns < reverted_ns + 30 * SECOND - WINDOW_NS) {
		assert_window(&b, POLICY_REASON_HOLD, 500);
		assert_int_equal(b.d.rejected[0].why, POLICY_REFUSED_LOCKED);
	}
	assert_window(&b, POLICY_REASON_DOWNSIZE, 500);
	bench_end(&b);
}

static void decision_03_two_windows_suffice_when_the_clock_says_thirty_seconds(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 1, 16, 0, 0, true, -1 });

	(void)state;
	WINDOW(&b, 500);
	assert_window(&b, POLICY_REASON_REVERT, 40);
	b.now_ns += 30 * SECOND - WINDOW_NS - 1;
	assert_window(&b, POLICY_REASON_HOLD, 500);
	assert_window(&b, POLICY_REASON_DOWNSIZE, 500);
	bench_end(&b);
}

static void decision_04_ties_go_in_configuration_order(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 4, 16, 0, 0, true, -1 });

	(void)state;
	assert_window(&b, POLICY_REASON_UPSIZE, 100, -50, -50, 100);
	assert_int_equal(b.d.subject, 1);
	WINDOW(&b, 100, 100, 100, 100);
	assert_window(&b, POLICY_REASON_DOWNSIZE, 100, 300, 400, 400);
	assert_int_equal(b.d.subject, 2);
	bench_end(&b);
}

static void decision_04_a_locked_service_or_one_at_its_floor_does_not_block_reclaiming(void **state)
{
	struct bench b = bench_prepare(PAPER, (struct bench_machine){ 3, 12, 0, 0, true, -1 });

	(void)state;
	b.view.services[0].max.cores = 1;
	bench_start(&b);
	assert_window(&b, POLICY_REASON_DOWNSIZE, 900, 800, 700);
	assert_int_equal(b.d.subject, 1);
	assert_window(&b, POLICY_REASON_REVERT, 900, 0, 700);
	assert_window(&b, POLICY_REASON_DOWNSIZE, 900, 800, 700);
	assert_int_equal(b.d.subject, 2);
	assert_int_equal(b.d.nr_rejected, 2);
	assert_int_equal(b.d.rejected[0].why, POLICY_REFUSED_AT_LIMIT);
	assert_int_equal(b.d.rejected[1].why, POLICY_REFUSED_LOCKED);
	bench_end(&b);
}

static void decision_05_when_nothing_can_be_given_nobody_is_downsized(void **state)
{
	struct bench b = bench_prepare(PAPER, (struct bench_machine){ 2, 8, 0, 12, true, -1 });

	(void)state;
	b.view.services[0].max = (struct policy_share){ 4, 0, 10 };
	bench_start(&b);
	for (int i = 0; i < 5; i++) { /* MAIN every time: there is no action to watch */
		assert_window(&b, POLICY_REASON_EXHAUSTED, -100, 900);
		assert_int_equal(b.d.subject, 0);
		assert_int_equal(b.d.direction, POLICY_HOLD);
		assert_int_equal(b.d.nr_rejected, 2);
		assert_cores(&b, 1, 4);
	}
	bench_end(&b);
}

static void decision_06_one_uniform_draw_per_entry_into_a_direction(void **state)
{
	int drawn[POLICY_NR_COMPUTE] = { 0 };
	struct rng before;

	(void)state;
	for (int seed = 0; seed < 3000; seed++) {
		struct bench b = bench_new(PAPER, (struct bench_machine){ 1, 16, 11, 12, true, -1 });

		rng_seed(&b.rng, (uint64_t)seed);
		WINDOW(&b, 500);
		drawn[b.d.resource]++;
		before = b.rng;
		WINDOW(&b, 500);
		WINDOW(&b, 500); /* the same direction again */
		assert_memory_equal(&before, &b.rng, sizeof(before));
		WINDOW(&b, 500);
		WINDOW(&b, -500); /* the other direction */
		assert_memory_not_equal(&before, &b.rng, sizeof(before));
		bench_end(&b);
	}
	for (int r = 0; r < POLICY_NR_COMPUTE; r++)
		assert_in_range(drawn[r], 900, 1100);
}

static void decision_06_the_draw_skips_forward_past_a_resource_at_its_limit(void **state)
{
	struct bench b = bench_prepare(PAPER, (struct bench_machine){ 1, 16, 11, 12, true, DRAW_SPEED });

	(void)state;
	b.view.services[0].max.speed = 10;
	b.view.services[0].max.ways = 10;
	bench_start(&b);
	assert_window(&b, POLICY_REASON_EXHAUSTED, -100);
	assert_int_equal(b.d.nr_rejected, 3);
	assert_int_equal(b.d.rejected[0].resource, POLICY_SPEED);
	assert_int_equal(b.d.rejected[1].resource, POLICY_CORE);
	assert_int_equal(b.d.rejected[2].resource, POLICY_CACHE);
	bench_end(&b);
}

static void decision_07_advancing_skips_only_what_the_machine_lacks(void **state)
{
	struct bench b = bench_prepare(PAPER, (struct bench_machine){ 1, 8, 0, 12, true, DRAW_CORE });

	(void)state;
	b.view.services[0].min.speed = 10; /* SPEED exists but has nothing to give */
	bench_start(&b);
	assert_window(&b, POLICY_REASON_DOWNSIZE, 500);
	assert_window(&b, POLICY_REASON_REVERT, 0);
	b.now_ns += 30 * SECOND;
	assert_window(&b, POLICY_REASON_DOWNSIZE, 500);
	assert_int_equal(b.d.resource, POLICY_CORE);
	assert_int_equal(b.d.rejected[0].resource, POLICY_SPEED); /* it was asked first */
	bench_end(&b);
}

static void decision_07_after_a_fruitless_turn_the_action_stays_as_drawn(void **state)
{
	struct bench b = bench_prepare(PAPER, (struct bench_machine){ 2, 8, 0, 12, true, DRAW_SPEED - 1 });

	(void)state;
	b.view.services[0].max = (struct policy_share){ 4, 0, 10 };
	bench_start(&b);
	assert_window(&b, POLICY_REASON_EXHAUSTED, -100, 100);
	assert_int_equal(b.d.resource, POLICY_SPEED);
	b.view.services[0].max = (struct policy_share){ 8, 0, 11 };
	assert_window(&b, POLICY_REASON_UPSIZE, -100, 100);
	assert_int_equal(b.d.resource, POLICY_SPEED);
	bench_end(&b);
}

static void decision_08_a_violated_victim_pays_too(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 3, 12, 0, 0, false, -1 });

	(void)state;
	for (int i = 0; i < 6; i++)
		assert_window(&b, i & 1 ? POLICY_REASON_WATCH : POLICY_REASON_UPSIZE, -900, -200, -500);
	assert_cores(&b, 0, 7);
	assert_cores(&b, 1, 1);
	assert_cores(&b, 2, 4);
	assert_window(&b, POLICY_REASON_UPSIZE, -900, -200, -500); /* 1 is at its floor: the next in slack */
	assert_int_equal(b.d.victim, 2);
	bench_end(&b);
}

static void decision_09_speed_given_up_goes_to_nobody_and_is_the_service_s(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 2, 8, 0, 10, true, DRAW_SPEED - 1 });

	(void)state;
	assert_window(&b, POLICY_REASON_DOWNSIZE, 100, 500);
	assert_int_equal(b.d.resource, POLICY_SPEED);
	assert_int_equal(b.d.victim, POLICY_NOBODY);
	assert_int_equal(b.d.be_cores, 0);
	assert_cores(&b, 1, 4);
	assert_speed(&b, 0, 8);
	assert_speed(&b, 1, 7);
	WINDOW(&b, 100, 100);
	rng_seed(&b.rng, bench_seed(2, DRAW_CORE));
	assert_window(&b, POLICY_REASON_UPSIZE, -100, 100); /* a core that changes hands takes its new owner's speed */
	assert_int_equal(b.d.victim, 1);
	assert_speed(&b, 0, 8);
	assert_speed(&b, 1, 7);
	bench_end(&b);
}

static void decision_10_best_effort_starts_with_no_core_and_can_be_pushed_back_to_none(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 2, 7, 5, 0, true, DRAW_CORE });

	(void)state;
	assert_int_equal(b.d.be_cores, 0);
	assert_int_equal(b.d.be_ways, 0);
	WINDOW(&b, 500, 100);
	WINDOW(&b, 500, 100);
	assert_int_equal(b.d.be_cores, 1);
	rng_seed(&b.rng, bench_seed(2, DRAW_CORE));
	WINDOW(&b, 100, -100);
	assert_int_equal(b.d.be_cores, 0);
	bench_end(&b);
}

static void decision_11_remainder_cores_go_in_configuration_order_and_speed_is_nominal(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 3, 14, 11, 12, true, -1 });

	(void)state;
	assert_int_equal(b.d.reason, POLICY_REASON_START);
	assert_cores(&b, 0, 5);
	assert_cores(&b, 1, 5);
	assert_cores(&b, 2, 4);
	assert_ways(&b, 0, 4);
	assert_ways(&b, 2, 3);
	for (int i = 0; i < 3; i++)
		assert_speed(&b, i, b.view.nominal_speed);
	assert_int_equal(b.view.nominal_speed + 2, b.view.nr_speeds); /* boost is the one step above */
	bench_end(&b);
}

/* Windows until the event, counted from the next one; 0 when it does not come within three minutes. */
static int windows_until_infeasible(struct bench *b, int slack)
{
	for (int i = 1; i <= 360; i++) {
		WINDOW(b, slack, 100);
		if (b->d.infeasible)
			return i;
	}
	return 0;
}

static void decision_12_sixty_violated_seconds_are_infeasible_and_the_timer_starts_again(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 2, 2, 0, 0, true, -1 });

	(void)state;
	assert_int_equal(windows_until_infeasible(&b, -1), 121); /* the first one starts the timer */
	assert_int_equal(windows_until_infeasible(&b, -1), 120);
	assert_int_equal(windows_until_infeasible(&b, 0), 0); /* needy, but not violated */
	bench_end(&b);
}

static void decision_12_a_window_without_violation_resets_the_timer(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 2, 2, 0, 0, true, -1 });

	(void)state;
	for (int i = 0; i < 120; i++) {
		WINDOW(&b, -1, 100);
		assert_false(b.d.infeasible);
	}
	WINDOW(&b, 0, 0);
	assert_int_equal(windows_until_infeasible(&b, -1), 121);
	for (int i = 0; i < 119; i++) {
		WINDOW(&b, i & 1 ? 100 : -1, i & 1 ? -1 : 100); /* someone is, though not always the same one */
		assert_false(b.d.infeasible);
	}
	assert_int_equal(windows_until_infeasible(&b, BLIND), 1); /* waiting for a verdict is no reprieve */
	WINDOW(&b, QUIET, 100);
	assert_int_equal(windows_until_infeasible(&b, -1), 121);
	bench_end(&b);
}

static void decision_13_without_completion_a_service_is_neither_needy_nor_generous(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 2, 8, 0, 0, true, -1 });

	(void)state;
	assert_window(&b, POLICY_REASON_NO_SIGNAL, QUIET, BLIND);
	assert_int_equal(b.d.nr_rejected, 2);
	assert_int_equal(b.d.rejected[0].why, POLICY_REFUSED_BLIND);
	for (int i = 0; i < 100; i++) /* for ever, with nothing in flight */
		assert_window(&b, POLICY_REASON_HOLD, QUIET, 100);
	bench_end(&b);
}

static void decision_13_after_five_seconds_requests_in_flight_count_as_a_violation(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 2, 8, 0, 0, true, -1 });

	(void)state;
	for (int i = 1; i < 10; i++)
		assert_window(&b, POLICY_REASON_HOLD, BLIND, 100);
	assert_window(&b, POLICY_REASON_UPSIZE, BLIND, 100);
	assert_int_equal(b.d.subject, 0);
	assert_window(&b, POLICY_REASON_WATCH, 300, 100);
	for (int i = 1; i < 10; i++) /* a completion starts the wait again */
		assert_window(&b, POLICY_REASON_HOLD, BLIND, 100);
	bench_end(&b);
}

static void decision_13_the_verdict_on_a_downsize_waits_for_a_completion(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 1, 8, 0, 0, true, -1 });

	(void)state;
	assert_window(&b, POLICY_REASON_DOWNSIZE, 500);
	for (int i = 1; i < 10; i++)
		assert_window(&b, POLICY_REASON_WATCH, BLIND);
	assert_window(&b, POLICY_REASON_REVERT, BLIND); /* 5 s: violated */
	b.now_ns += 30 * SECOND;
	assert_window(&b, POLICY_REASON_DOWNSIZE, 500);
	assert_window(&b, POLICY_REASON_WATCH, BLIND);
	assert_window(&b, POLICY_REASON_REVERT, 20); /* the completion says so */
	b.now_ns += 30 * SECOND;
	assert_window(&b, POLICY_REASON_DOWNSIZE, 500);
	for (int i = 1; i <= 10; i++)
		assert_window(&b, POLICY_REASON_WATCH, QUIET);
	assert_int_equal(b.d.be_cores, 1); /* nobody was hurt */
	assert_window(&b, POLICY_REASON_DOWNSIZE, 500);
	bench_end(&b);
}

static void decision_13_a_stalled_service_is_as_late_as_its_oldest_request(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 2, 8, 0, 12, true, DRAW_CORE });

	(void)state;
	for (int i = 1; i < 10; i++)
		WINDOW(&b, BLIND, 100);
	assert_window(&b, POLICY_REASON_UPSIZE, BLIND, 100);
	assert_int_equal(b.d.resource, POLICY_CORE);
	assert_window(&b, POLICY_REASON_WATCH, BLIND, 100); /* which got older: the core did not help */
	assert_window(&b, POLICY_REASON_UPSIZE, BLIND, -100);
	assert_int_equal(b.d.subject, 0);
	assert_int_equal(b.d.resource, POLICY_SPEED);
	bench_end(&b);
}

static void decision_13_a_connection_turned_away_is_a_verdict(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 2, 8, 0, 0, true, -1 });

	(void)state;
	bench_see(&b, 0, QUIET);
	bench_see(&b, 1, 100);
	b.view.services[0].nr_listen_drops = 3;
	b.view.services[0].latency_ns = TARGET_NS + SECOND;
	b.policy->step(b.state, b.now_ns + WINDOW_NS, &b.view, &b.rng, &b.d);
	assert_int_equal(b.d.reason, POLICY_REASON_UPSIZE);
	assert_int_equal(b.d.subject, 0);
	bench_end(&b);
}

static void decision_13_a_lost_signal_is_no_completion(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 1, 8, 0, 0, true, -1 });

	(void)state;
	b.view.services[0].signal = POLICY_LOST;
	assert_window(&b, POLICY_REASON_NO_SIGNAL, 900);
	bench_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decision_01_an_action_costs_two_disjoint_windows),
		cmocka_unit_test(decision_01_overlapping_windows_halve_the_cost_of_an_action),
		cmocka_unit_test(decision_01_an_undone_downsize_is_the_only_move_of_its_window),
		cmocka_unit_test(decision_02_latency_before_is_that_of_main_and_higher_is_strict),
		cmocka_unit_test(decision_02_after_a_downsize_is_judged_main_follows),
		cmocka_unit_test(decision_03_the_lock_is_clock_time_from_the_revert),
		cmocka_unit_test(decision_03_two_windows_suffice_when_the_clock_says_thirty_seconds),
		cmocka_unit_test(decision_04_ties_go_in_configuration_order),
		cmocka_unit_test(decision_04_a_locked_service_or_one_at_its_floor_does_not_block_reclaiming),
		cmocka_unit_test(decision_05_when_nothing_can_be_given_nobody_is_downsized),
		cmocka_unit_test(decision_06_one_uniform_draw_per_entry_into_a_direction),
		cmocka_unit_test(decision_06_the_draw_skips_forward_past_a_resource_at_its_limit),
		cmocka_unit_test(decision_07_advancing_skips_only_what_the_machine_lacks),
		cmocka_unit_test(decision_07_after_a_fruitless_turn_the_action_stays_as_drawn),
		cmocka_unit_test(decision_08_a_violated_victim_pays_too),
		cmocka_unit_test(decision_09_speed_given_up_goes_to_nobody_and_is_the_service_s),
		cmocka_unit_test(decision_10_best_effort_starts_with_no_core_and_can_be_pushed_back_to_none),
		cmocka_unit_test(decision_11_remainder_cores_go_in_configuration_order_and_speed_is_nominal),
		cmocka_unit_test(decision_12_sixty_violated_seconds_are_infeasible_and_the_timer_starts_again),
		cmocka_unit_test(decision_12_a_window_without_violation_resets_the_timer),
		cmocka_unit_test(decision_13_without_completion_a_service_is_neither_needy_nor_generous),
		cmocka_unit_test(decision_13_after_five_seconds_requests_in_flight_count_as_a_violation),
		cmocka_unit_test(decision_13_the_verdict_on_a_downsize_waits_for_a_completion),
		cmocka_unit_test(decision_13_a_stalled_service_is_as_late_as_its_oldest_request),
		cmocka_unit_test(decision_13_a_connection_turned_away_is_a_verdict),
		cmocka_unit_test(decision_13_a_lost_signal_is_no_completion),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
