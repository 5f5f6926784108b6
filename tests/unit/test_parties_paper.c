// SPDX-License-Identifier: GPL-2.0
/* test_parties_paper.c - the rules of the paper, one window at a time. */
#include "unit/paper_bench.h"

#define PAPER &policy_parties_paper

/* The draws of a machine with cores, cache and speed. */
enum { DRAW_CORE, DRAW_CACHE, DRAW_SPEED };

static void a_service_inside_the_band_is_left_alone(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 2, 8, 0, 12, true, -1 });

	(void)state;
	for (int i = 0; i < 10; i++) {
		assert_window(&b, POLICY_REASON_HOLD, 50, 200);
		assert_int_equal(b.d.subject, POLICY_NOBODY);
		assert_int_equal(b.d.direction, POLICY_HOLD);
	}
	bench_end(&b);
}

static void a_slack_below_a_twentieth_upsizes_by_one_unit(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 2, 8, 0, 0, false, -1 });

	(void)state;
	assert_window(&b, POLICY_REASON_UPSIZE, 49, 100);
	assert_int_equal(b.d.subject, 0);
	assert_int_equal(b.d.victim, 1);
	assert_int_equal(b.d.resource, POLICY_CORE);
	assert_int_equal(b.d.direction, POLICY_UP);
	assert_cores(&b, 0, 5);
	assert_cores(&b, 1, 3);
	bench_end(&b);
}

static void a_slack_above_a_fifth_downsizes_by_one_unit(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 2, 8, 0, 0, false, -1 });

	(void)state;
	assert_window(&b, POLICY_REASON_DOWNSIZE, 100, 201);
	assert_int_equal(b.d.subject, 1);
	assert_cores(&b, 1, 3);
	assert_int_equal(b.d.idle_cores, 1);
	bench_end(&b);
}

static void need_comes_before_reclaiming(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 2, 8, 0, 0, false, -1 });

	(void)state;
	assert_window(&b, POLICY_REASON_UPSIZE, 900, 49);
	assert_int_equal(b.d.subject, 1);
	bench_end(&b);
}

static void an_upsize_that_helps_goes_on_with_the_same_resource(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 2, 8, 10, 12, false, DRAW_CORE });

	(void)state;
	for (int n = 1; n <= 3; n++) {
		assert_window(&b, POLICY_REASON_UPSIZE, -900 + n * 100, 100);
		assert_window(&b, POLICY_REASON_WATCH, -890 + n * 100, 100);
		assert_int_equal(b.d.direction, POLICY_HOLD);
		assert_cores(&b, 0, 4 + n);
	}
	bench_end(&b);
}

static void an_upsize_that_does_not_help_is_kept_and_the_next_resource_is_tried(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 2, 8, 10, 12, false, DRAW_CORE });

	(void)state;
	assert_window(&b, POLICY_REASON_UPSIZE, -100, 100);
	assert_window(&b, POLICY_REASON_WATCH, -101, 100);
	assert_window(&b, POLICY_REASON_UPSIZE, -101, 100);
	assert_int_equal(b.d.resource, POLICY_CACHE);
	assert_window(&b, POLICY_REASON_WATCH, -102, 100);
	assert_window(&b, POLICY_REASON_UPSIZE, -102, 100);
	assert_int_equal(b.d.resource, POLICY_SPEED);
	assert_window(&b, POLICY_REASON_WATCH, -103, 100);
	assert_window(&b, POLICY_REASON_UPSIZE, -103, 100);
	assert_int_equal(b.d.resource, POLICY_CORE);
	assert_cores(&b, 0, 6);
	assert_ways(&b, 0, 6);
	assert_speed(&b, 0, 11);
	bench_end(&b);
}

static void the_ring_skips_what_the_machine_lacks(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 2, 8, 0, 12, false, DRAW_CORE });

	(void)state;
	assert_window(&b, POLICY_REASON_UPSIZE, -100, 100);
	assert_window(&b, POLICY_REASON_WATCH, -101, 100);
	assert_window(&b, POLICY_REASON_UPSIZE, -101, 100);
	assert_int_equal(b.d.resource, POLICY_SPEED);
	bench_end(&b);
}

static void a_downsize_that_is_harmless_is_kept_and_goes_on(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 1, 8, 0, 12, true, DRAW_CORE });

	(void)state;
	for (int n = 1; n <= 4; n++) {
		assert_window(&b, POLICY_REASON_DOWNSIZE, 500);
		assert_int_equal(b.d.victim, POLICY_BE);
		assert_window(&b, POLICY_REASON_WATCH, 50); /* exactly the threshold is no harm */
		assert_int_equal(b.d.be_cores, n);
	}
	bench_end(&b);
}

static void a_downsize_that_hurts_is_undone_at_once_and_exactly(void **state)
{
	for (int draw = DRAW_CORE; draw <= DRAW_SPEED; draw++) {
		struct bench b = bench_new(PAPER, (struct bench_machine){ 2, 8, 10, 12, draw & 1, draw });
		const struct policy_decision before = b.d;

		assert_window(&b, POLICY_REASON_DOWNSIZE, 500, 100);
		assert_int_equal(b.d.resource, draw);
		assert_memory_not_equal(b.d.shares, before.shares, sizeof(before.shares));
		assert_window(&b, POLICY_REASON_REVERT, 49, 100);
		assert_int_equal(b.d.direction, POLICY_UP);
		assert_int_equal(b.d.resource, draw);
		assert_memory_equal(b.d.shares, before.shares, sizeof(before.shares));
		assert_int_equal(b.d.be_cores + b.d.be_ways + b.d.idle_cores + b.d.idle_ways, 0);
		bench_end(&b);
	}
	(void)state;
}

static void after_an_undone_downsize_the_next_resource_is_tried(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 1, 8, 0, 12, true, DRAW_CORE });

	(void)state;
	WINDOW(&b, 500);
	assert_window(&b, POLICY_REASON_REVERT, 10);
	b.now_ns += 30 * SECOND;
	assert_window(&b, POLICY_REASON_DOWNSIZE, 500);
	assert_int_equal(b.d.resource, POLICY_SPEED);
	bench_end(&b);
}

static void best_effort_pays_before_any_service(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 2, 8, 0, 0, true, -1 });

	(void)state;
	WINDOW(&b, 100, 500);
	WINDOW(&b, 100, 500);
	assert_int_equal(b.d.be_cores, 1);
	assert_window(&b, POLICY_REASON_UPSIZE, -100, 500);
	assert_int_equal(b.d.victim, POLICY_BE);
	assert_int_equal(b.d.be_cores, 0);
	assert_cores(&b, 0, 5);
	assert_cores(&b, 1, 3);
	bench_end(&b);
}

static void the_idle_pool_is_given_out_before_anybody_pays(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 2, 8, 0, 0, false, -1 });

	(void)state;
	WINDOW(&b, 100, 500);
	WINDOW(&b, 100, 500);
	assert_int_equal(b.d.idle_cores, 1);
	assert_window(&b, POLICY_REASON_UPSIZE, -100, 500);
	assert_int_equal(b.d.victim, POLICY_NOBODY);
	assert_int_equal(b.d.idle_cores, 0);
	assert_cores(&b, 1, 3);
	bench_end(&b);
}

static void the_victim_is_the_service_with_the_largest_slack_above_its_floor(void **state)
{
	struct bench b = bench_prepare(PAPER, (struct bench_machine){ 4, 16, 0, 0, false, -1 });

	(void)state;
	b.view.services[2].min.cores = 4;
	bench_start(&b);
	assert_window(&b, POLICY_REASON_UPSIZE, -100, 300, 900, 301);
	assert_int_equal(b.d.victim, 3);
	WINDOW(&b, 100, 100, 100, 100);
	assert_window(&b, POLICY_REASON_UPSIZE, -100, 300, 900, 300); /* ties in configuration order */
	assert_int_equal(b.d.victim, 1);
	bench_end(&b);
}

static void a_victim_that_wants_the_same_turns_to_another_resource(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 2, 8, 0, 12, false, DRAW_CORE });
	uint64_t core_again = bench_seed(2, DRAW_CORE);

	(void)state;
	assert_window(&b, POLICY_REASON_UPSIZE, 40, 100); /* service 0 remembers UP, CORE */
	assert_window(&b, POLICY_REASON_WATCH, 41, 100);
	rng_seed(&b.rng, core_again);
	assert_window(&b, POLICY_REASON_UPSIZE, 100, -100); /* service 1 takes a core from it */
	assert_int_equal(b.d.resource, POLICY_CORE);
	assert_int_equal(b.d.victim, 0);
	assert_window(&b, POLICY_REASON_WATCH, 100, 40);
	assert_window(&b, POLICY_REASON_UPSIZE, -200, 100); /* which does not go for that core again */
	assert_int_equal(b.d.subject, 0);
	assert_int_equal(b.d.resource, POLICY_SPEED);
	bench_end(&b);
}

static void a_victim_that_wants_something_else_goes_on_wanting_it(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 2, 8, 0, 12, false, 1 });
	uint64_t core = bench_seed(2, DRAW_CORE);

	(void)state;
	assert_window(&b, POLICY_REASON_UPSIZE, 40, 100); /* service 0 remembers UP, SPEED */
	assert_window(&b, POLICY_REASON_WATCH, 41, 100);
	b.view.services[0].have.speed = 10;
	rng_seed(&b.rng, core);
	assert_window(&b, POLICY_REASON_UPSIZE, 100, -100);
	assert_int_equal(b.d.victim, 0);
	assert_window(&b, POLICY_REASON_WATCH, 100, 40);
	assert_window(&b, POLICY_REASON_UPSIZE, -200, 100);
	assert_int_equal(b.d.resource, POLICY_SPEED);
	bench_end(&b);

	b = bench_new(PAPER, (struct bench_machine){ 2, 8, 0, 12, false, DRAW_CORE });
	assert_window(&b, POLICY_REASON_DOWNSIZE, 500, 100); /* service 0 remembers DOWN, CORE */
	assert_window(&b, POLICY_REASON_WATCH, 100, 100);
	rng_seed(&b.rng, core);
	assert_window(&b, POLICY_REASON_UPSIZE, 100, -100); /* takes that core from the pool */
	assert_window(&b, POLICY_REASON_WATCH, 100, -50);
	assert_window(&b, POLICY_REASON_UPSIZE, 100, -50); /* and this one from service 0 */
	assert_int_equal(b.d.victim, 0);
	assert_window(&b, POLICY_REASON_WATCH, 100, 100);
	assert_window(&b, POLICY_REASON_DOWNSIZE, 500, 100);
	assert_int_equal(b.d.resource, POLICY_CORE);
	bench_end(&b);
}

static void speed_takes_from_nobody(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 2, 8, 0, 12, true, 1 });

	(void)state;
	assert_window(&b, POLICY_REASON_UPSIZE, -100, 900);
	assert_int_equal(b.d.resource, POLICY_SPEED);
	assert_int_equal(b.d.victim, POLICY_NOBODY);
	assert_speed(&b, 0, 11);
	assert_speed(&b, 1, 10);
	assert_cores(&b, 1, 4);
	bench_end(&b);
}

static void a_resource_at_its_maximum_is_skipped(void **state)
{
	struct bench b = bench_prepare(PAPER, (struct bench_machine){ 2, 8, 0, 12, false, DRAW_CORE });

	(void)state;
	b.view.services[0].max.cores = 4;
	bench_start(&b);
	assert_window(&b, POLICY_REASON_UPSIZE, -100, 900);
	assert_int_equal(b.d.resource, POLICY_SPEED);
	assert_int_equal(b.d.nr_rejected, 1);
	assert_int_equal(b.d.rejected[0].resource, POLICY_CORE);
	assert_int_equal(b.d.rejected[0].why, POLICY_REFUSED_AT_LIMIT);
	bench_end(&b);
}

static void floors_hold_however_much_slack_there_is(void **state)
{
	struct bench b = bench_prepare(PAPER, (struct bench_machine){ 2, 8, 6, 12, true, -1 });

	(void)state;
	b.view.services[1].min = (struct policy_share){ 2, 2, 3 };
	bench_start(&b);
	for (int i = 0; i < 200; i++)
		WINDOW(&b, 900, 900);
	assert_memory_equal(&b.d.shares[0], (&(struct policy_share){ 1, 1, 0 }), sizeof(struct policy_share));
	assert_memory_equal(&b.d.shares[1], (&(struct policy_share){ 2, 2, 3 }), sizeof(struct policy_share));
	assert_int_equal(b.d.be_cores, 5);
	assert_int_equal(b.d.be_ways, 3);
	assert_int_equal(b.d.reason, POLICY_REASON_HOLD);
	bench_end(&b);
}

static void ceilings_hold_however_large_the_need(void **state)
{
	struct bench b = bench_prepare(PAPER, (struct bench_machine){ 1, 8, 6, 12, true, -1 });

	(void)state;
	b.view.services[0].max = (struct policy_share){ 5, 4, 7 };
	bench_start(&b);
	for (int i = 0; i < 100; i++)
		WINDOW(&b, -500 - i);
	assert_memory_equal(&b.d.shares[0], (&(struct policy_share){ 5, 4, 7 }), sizeof(struct policy_share));
	assert_int_equal(b.d.reason, POLICY_REASON_EXHAUSTED);
	bench_end(&b);
}

static void with_every_service_violated_units_still_move_to_the_neediest(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 3, 12, 0, 0, false, -1 });

	(void)state;
	assert_window(&b, POLICY_REASON_UPSIZE, -100, -900, -300);
	assert_int_equal(b.d.subject, 1);
	assert_int_equal(b.d.victim, 0);
	for (int i = 0; i < 100; i++)
		WINDOW(&b, -100, -900, -300);
	assert_cores(&b, 0, 1);
	assert_cores(&b, 1, 10);
	assert_cores(&b, 2, 1);
	bench_end(&b);
}

static void a_decision_that_was_not_applied_is_not_judged(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 1, 8, 0, 0, true, -1 });

	(void)state;
	assert_window(&b, POLICY_REASON_DOWNSIZE, 500);
	b.view.services[0].have.cores = 8;
	b.view.be_cores = 0;
	b.view.last_failed = true;
	assert_window(&b, POLICY_REASON_EXHAUSTED, 10); /* neither reverted nor locked: MAIN again */
	b.view.last_failed = false;
	assert_window(&b, POLICY_REASON_DOWNSIZE, 500);
	bench_end(&b);
}

static void a_machine_that_changed_meanwhile_is_not_judged_and_units_are_conserved(void **state)
{
	struct bench b = bench_new(PAPER, (struct bench_machine){ 2, 8, 0, 0, true, -1 });

	(void)state;
	assert_window(&b, POLICY_REASON_DOWNSIZE, 500, 100);
	b.view.nr_cores = 7; /* BE's only core went offline */
	b.view.be_cores = 0;
	assert_window(&b, POLICY_REASON_UPSIZE, 10, 100);
	assert_cores(&b, 0, 4);
	assert_cores(&b, 1, 3);
	bench_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_service_inside_the_band_is_left_alone),
		cmocka_unit_test(a_slack_below_a_twentieth_upsizes_by_one_unit),
		cmocka_unit_test(a_slack_above_a_fifth_downsizes_by_one_unit),
		cmocka_unit_test(need_comes_before_reclaiming),
		cmocka_unit_test(an_upsize_that_helps_goes_on_with_the_same_resource),
		cmocka_unit_test(an_upsize_that_does_not_help_is_kept_and_the_next_resource_is_tried),
		cmocka_unit_test(the_ring_skips_what_the_machine_lacks),
		cmocka_unit_test(a_downsize_that_is_harmless_is_kept_and_goes_on),
		cmocka_unit_test(a_downsize_that_hurts_is_undone_at_once_and_exactly),
		cmocka_unit_test(after_an_undone_downsize_the_next_resource_is_tried),
		cmocka_unit_test(best_effort_pays_before_any_service),
		cmocka_unit_test(the_idle_pool_is_given_out_before_anybody_pays),
		cmocka_unit_test(the_victim_is_the_service_with_the_largest_slack_above_its_floor),
		cmocka_unit_test(a_victim_that_wants_the_same_turns_to_another_resource),
		cmocka_unit_test(a_victim_that_wants_something_else_goes_on_wanting_it),
		cmocka_unit_test(speed_takes_from_nobody),
		cmocka_unit_test(a_resource_at_its_maximum_is_skipped),
		cmocka_unit_test(floors_hold_however_much_slack_there_is),
		cmocka_unit_test(ceilings_hold_however_large_the_need),
		cmocka_unit_test(with_every_service_violated_units_still_move_to_the_neediest),
		cmocka_unit_test(a_decision_that_was_not_applied_is_not_judged),
		cmocka_unit_test(a_machine_that_changed_meanwhile_is_not_judged_and_units_are_conserved),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
