// SPDX-License-Identifier: GPL-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fake_run.h"
#include "record.h"

static struct fake_run run;

static int set_up(void **state)
{
	(void)state;
	fake_start(&run, &fake_policy);
	return tick_init(&run.tick, run.config.nr_batches);
}

static int tear_down(void **state)
{
	(void)state;
	tick_fini(&run.tick);
	return 0;
}

/* The n-th tick after the one at time zero. */
static int step(uint64_t n)
{
	return tick_step(&run.tick, n * 500 * MS, n ? 500 * MS : 0);
}

static void the_first_tick_reads_asks_for_the_start_and_applies_it(void **state)
{
	(void)state;
	assert_int_equal(step(0), 0);
	assert_string_equal(run.calls, "ria");
	assert_int_equal(allocation_count(&run.applied, 0), 2);
	assert_int_equal(allocation_count(&run.tick.allocation, ALLOCATION_BE), 1);
	assert_int_equal(run.tick.report.decision.reason, POLICY_REASON_START);
}

static void later_ticks_read_then_step_then_apply(void **state)
{
	(void)state;
	step(0);
	fake_decide(&run, 3, 2, 0);
	assert_int_equal(step(1), 0);
	assert_string_equal(run.calls, "riarsa");
	assert_int_equal(allocation_count(&run.applied, 0), 3);
	assert_int_equal(run.tick.totals.nr_moves, 1);
}

static void the_view_shows_what_was_in_force_and_adds_up(void **state)
{
	const struct policy_view *view = &run.tick.report.view;

	(void)state;
	step(0);
	fake_decide(&run, 3, 2, 0);
	step(1);
	assert_int_equal(view->services[0].have.cores, 2);
	assert_int_equal(view->be_cores, 1);
	assert_int_equal(view->idle_cores, 1);
	assert_int_equal(view->nr_cores, 6);
	assert_int_equal(view->services[0].max.cores, 5);
	assert_int_equal(view->nr_speeds, 3);
	assert_int_equal(view->nominal_speed, 2);
	assert_true(view->has_be);
	assert_int_equal(run.tick.report.slack_permille[0], 840);
	assert_int_equal(run.tick.report.slack_permille[1], 200);
}

static struct cpulist usable;

static int give_usable(void *ctx, struct cpulist *ret)
{
	(void)ctx;
	*ret = usable;
	return 0;
}

static void a_core_that_goes_offline_is_planned_around_and_comes_back(void **state)
{
	const struct policy_view *view = &run.tick.report.view;
	unsigned int core = 0;

	(void)state;
	usable = run.topology.online;
	run.tick.actuator.usable = give_usable;
	step(0);
	assert_int_equal(view->nr_cores, 6);
	while (run.tick.allocation.owner[core] != 0)
		core++;
	cpulist_andnot(&usable, &run.topology.cores[core].cpus);
	fake_decide(&run, 2, 2, 0);
	run.next.idle_cores--;
	assert_int_equal(step(1), 0);
	assert_int_equal(view->nr_cores, 5);
	assert_int_equal(view->services[0].have.cores, 1);
	assert_int_equal(run.tick.report.outcome.error, 0);
	assert_int_equal(allocation_count(&run.applied, 0), 2);
	assert_int_equal(run.applied.owner[core], ALLOCATION_OFFLINE);

	usable = run.topology.online;
	fake_decide(&run, 2, 2, 0);
	assert_int_equal(step(2), 0);
	assert_int_equal(view->nr_cores, 6);
	assert_int_equal(run.tick.report.outcome.error, 0);
}

static void a_failed_write_keeps_the_old_allocation_and_tells_the_policy(void **state)
{
	(void)state;
	step(0);
	fake_decide(&run, 4, 1, 0);
	run.apply_error = -ENOSPC;
	assert_int_equal(step(1), 0);
	assert_int_equal(allocation_count(&run.tick.allocation, 0), 2);
	assert_int_equal(run.tick.report.outcome.error, -ENOSPC);
	assert_true(run.tick.report.view.last_failed);
	assert_int_equal(run.tick.totals.nr_moves, 0);
	run.apply_error = 0;
	assert_int_equal(step(2), 0);
	assert_int_equal(allocation_count(&run.tick.allocation, 0), 4);
	assert_false(run.tick.report.view.last_failed);
}

static void speeds_that_are_given_up_are_pinned_to_nominal_even_when_the_step_failed(void **state)
{
	const struct policy_view *view = &run.tick.report.view;

	(void)state;
	run.next.shares[0].speed = 0;
	step(0);
	run.speed = OUTCOME_SPEED_GONE;
	run.apply_error = -ENOSPC;
	step(1);
	run.speed = OUTCOME_SPEED_AS_BEFORE;
	run.apply_error = 0;
	assert_true(run.tick.speed_is_gone);
	/* The old speed is outside the limits now. */
	assert_int_equal(step(2), 0);
	assert_int_equal(run.tick.report.outcome.error, -EINVAL);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(view->services[i].have.speed, 2);
		assert_int_equal(view->services[i].min.speed, 2);
		assert_int_equal(view->services[i].max.speed, 2);
	}
	run.next.shares[0].speed = 2;
	step(3);
	assert_int_equal(run.tick.report.outcome.error, 0);
}

static void a_start_that_failed_is_tried_again(void **state)
{
	(void)state;
	run.apply_error = -EACCES;
	step(0);
	assert_false(run.tick.started);
	run.apply_error = 0;
	step(1);
	assert_string_equal(run.calls, "riaria");
	assert_true(run.tick.started);
}

static void a_decision_that_loses_a_core_is_never_applied(void **state)
{
	(void)state;
	step(0);
	fake_decide(&run, 3, 2, 0);
	run.next.idle_cores--;
	assert_int_equal(step(1), 0);
	assert_int_equal(run.nr_applies, 1);
	assert_int_equal(run.tick.report.outcome.error, -EINVAL);
	assert_non_null(strstr(run.tick.report.outcome.where, "add up"));
}

static void observing_decides_and_applies_nothing(void **state)
{
	(void)state;
	run.tick.steer = false;
	step(0);
	fake_decide(&run, 4, 1, 0);
	step(1);
	step(2);
	assert_string_equal(run.calls, "rirsrs");
	assert_int_equal(run.nr_applies, 0);
	assert_int_equal(allocation_count(&run.tick.allocation, 0), 2);
	assert_int_equal(run.tick.totals.nr_moves, 0);
	assert_float_equal(run.tick.totals.core_seconds, 6.0, 1e-9);
}

static void a_lost_signal_is_seen_as_lost_and_ends_the_run_when_it_stays(void **state)
{
	uint64_t n;

	(void)state;
	step(0);
	run.read_error = -EIO;
	assert_int_equal(step(1), 0);
	assert_int_equal(run.tick.report.view.services[0].signal, POLICY_LOST);
	assert_int_equal(run.tick.report.view.services[0].nr_completed, 0);
	for (n = 2; n < TICK_MAX_FAILURES; n++)
		assert_int_equal(step(n), 0);
	assert_int_equal(step(n), -EIO);
}

static void one_good_window_forgives_a_lost_signal(void **state)
{
	(void)state;
	step(0);
	run.read_error = -EIO;
	for (uint64_t n = 1; n < TICK_MAX_FAILURES; n++)
		step(n);
	run.read_error = 0;
	assert_int_equal(step(TICK_MAX_FAILURES), 0);
	run.read_error = -EIO;
	assert_int_equal(step(TICK_MAX_FAILURES + 1), 0);
	assert_int_equal(run.tick.nr_lost, 1);
}

static void the_window_after_a_failed_read_covers_more_and_is_not_believed(void **state)
{
	(void)state;
	step(0);
	run.read_error = -EIO;
	step(1);
	run.read_error = 0;
	step(2);
	assert_int_equal(run.tick.report.view.services[0].signal, POLICY_LOST);
	assert_int_equal(run.tick.report.samples[0].signal, POLICY_LOST);
	step(3);
	assert_int_equal(run.tick.report.view.services[0].signal, POLICY_FRESH);
}

static void an_actuator_that_always_fails_ends_the_run(void **state)
{
	int err = 0;

	(void)state;
	step(0);
	run.apply_error = -EBUSY;
	for (uint64_t n = 1; n < TICK_MAX_FAILURES; n++)
		assert_int_equal(step(n), 0);
	err = step(TICK_MAX_FAILURES);
	assert_int_equal(err, -EBUSY);
}

static void a_window_far_from_its_length_is_discarded(void **state)
{
	(void)state;
	step(0);
	assert_int_equal(tick_step(&run.tick, 60000 * MS, 60000 * MS), 0);
	assert_int_equal(run.tick.report.view.services[0].signal, POLICY_LOST);
	assert_int_equal(run.tick.totals.judges[0].nr_requests, 0);
	assert_int_equal(run.tick.nr_lost, 0);
}

static void cores_never_overlap_and_never_vanish_whatever_is_decided(void **state)
{
	struct rng rng;

	(void)state;
	rng_seed(&rng, 3);
	for (uint64_t n = 0; n < 2000; n++) {
		uint32_t first = 1 + (uint32_t)rng_below(&rng, 4), second = 1 + (uint32_t)rng_below(&rng, 5 - first);
		struct cpulist all = { 0 }, cpus;
		uint32_t sum = 0;

		fake_decide(&run, first, second, (uint32_t)rng_below(&rng, 7 - first - second));
		run.apply_error = rng_below(&rng, 5) ? 0 : -EBUSY;
		step(n);
		for (int owner = -2; owner < 2; owner++) {
			allocation_cpus(&run.tick.allocation, &run.topology, owner, &cpus);
			cpulist_or(&all, &cpus);
			sum += cpulist_count(&cpus);
		}
		assert_int_equal(sum, 12);
		assert_true(cpulist_equal(&all, &run.topology.online));
		assert_true(!run.tick.started || allocation_count(&run.tick.allocation, 1) >= 1);
	}
}

static void totals_name_every_service_and_the_worst_share(void **state)
{
	struct record_totals totals;

	(void)state;
	step(0);
	run.samples[1].nr_late = 30;
	run.samples[1].steer_ns = 6 * MS;
	step(1);
	step(2);
	tick_totals(&run.tick, &totals);
	assert_int_equal(totals.nr_services, 2);
	assert_string_equal(totals.services[1].name, "memcached");
	assert_float_equal(totals.services[1].late_requests_pct, 10, 1e-9);
	assert_float_equal(totals.late_requests_pct, 10, 1e-9);
	assert_float_equal(totals.violated_windows_pct, 50, 1e-9);
	assert_float_equal(totals.raw_violated_pct, 50, 1e-9);
	assert_float_equal(totals.core_seconds, 4, 1e-9);
	assert_float_equal(totals.mean_speed, 2450000, 1e-3);
	assert_string_equal(totals.energy_source, "modelled");
	assert_true(totals.energy_j > 0);
}

static void a_real_policy_runs_a_long_load_without_a_refused_decision(void **state)
{
	struct rng rng;

	(void)state;
	tick_fini(&run.tick);
	fake_start(&run, &policy_parties_paper);
	assert_int_equal(tick_init(&run.tick, 1), 0);
	rng_seed(&rng, 11);
	for (uint64_t n = 0; n < 5000; n++) {
		run.samples[0].steer_ns = 1 * MS + rng_below(&rng, 40 * MS);
		run.samples[1].steer_ns = 1 * MS + rng_below(&rng, 8 * MS);
		run.apply_error = rng_below(&rng, 10) ? 0 : -EBUSY;
		assert_int_equal(step(n), 0);
		assert_int_equal(run.tick.report.outcome.error, run.apply_error);
	}
	assert_true(run.tick.totals.nr_moves > 100);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_tick_reads_asks_for_the_start_and_applies_it),
		TEST(later_ticks_read_then_step_then_apply),
		TEST(the_view_shows_what_was_in_force_and_adds_up),
		TEST(a_core_that_goes_offline_is_planned_around_and_comes_back),
		TEST(a_failed_write_keeps_the_old_allocation_and_tells_the_policy),
		TEST(speeds_that_are_given_up_are_pinned_to_nominal_even_when_the_step_failed),
		TEST(a_start_that_failed_is_tried_again),
		TEST(a_decision_that_loses_a_core_is_never_applied),
		TEST(observing_decides_and_applies_nothing),
		TEST(a_lost_signal_is_seen_as_lost_and_ends_the_run_when_it_stays),
		TEST(one_good_window_forgives_a_lost_signal),
		TEST(the_window_after_a_failed_read_covers_more_and_is_not_believed),
		TEST(an_actuator_that_always_fails_ends_the_run),
		TEST(a_window_far_from_its_length_is_discarded),
		TEST(cores_never_overlap_and_never_vanish_whatever_is_decided),
		TEST(totals_name_every_service_and_the_worst_share),
		TEST(a_real_policy_runs_a_long_load_without_a_refused_decision),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
