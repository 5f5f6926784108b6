// SPDX-License-Identifier: GPL-2.0
/* test_heracles.c - the rules of Heracles, window by window, and what several services mean to it. */
#include "unit/paper_bench.h"

#define HERACLES &policy_heracles

/* CPU time of the protected service in a window, as permille of all cores. */
static void load(struct bench *b, uint64_t permille)
{
	b->view.services[0].cpu_ns = permille * b->view.nr_cores * b->view.window_ns / 1000;
}

static struct bench start(struct bench_machine m)
{
	struct bench b = bench_new(HERACLES, m);

	load(&b, 300);
	return b;
}

/* Cores of everybody but the protected service. */
static uint32_t others(const struct bench *b)
{
	return b->view.nr_cores - b->view.services[0].have.cores - b->view.idle_cores;
}

static void run(struct bench *b, int windows, int slack_permille)
{
	while (windows--)
		WINDOW(b, slack_permille, 100, 100);
}

static void at_first_the_protected_service_has_everything_but_floors(void **state)
{
	struct bench b = start((struct bench_machine){ 3, 16, 0, 12, true, -1 });

	(void)state;
	assert_cores(&b, 0, 14);
	assert_cores(&b, 1, 1);
	assert_cores(&b, 2, 1);
	assert_int_equal(b.d.be_cores, 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_speed(&b, i, 10);
	bench_end(&b);
}

static void the_others_grow_by_a_core_every_two_seconds_the_poorest_first(void **state)
{
	struct bench b = start((struct bench_machine){ 2, 16, 0, 0, true, -1 });

	(void)state;
	assert_window(&b, POLICY_REASON_DOWNSIZE, 500, 100);
	assert_int_equal(b.d.be_cores, 1); /* the poorest: the other service had its floor */
	assert_int_equal(b.d.subject, 0);
	assert_int_equal(b.d.resource, POLICY_CORE);
	for (int n = 0; n < 3; n++)
		assert_window(&b, POLICY_REASON_HOLD, 500, 100);
	assert_window(&b, POLICY_REASON_DOWNSIZE, 500, 100);
	assert_cores(&b, 1, 2);
	run(&b, 8, 500);
	assert_int_equal(others(&b), 5);
	assert_int_equal(b.d.be_cores, 2);
	bench_end(&b);
}

static void below_a_tenth_of_slack_they_stop_growing_at_the_next_look(void **state)
{
	struct bench b = start((struct bench_machine){ 1, 40, 0, 0, true, -1 });

	(void)state;
	run(&b, 1, 101);
	run(&b, 29, 100); /* until the next look it goes on */
	assert_int_equal(others(&b), 8);
	run(&b, 1, 100);
	assert_int_equal(others(&b), 8);
	run(&b, 29, 50);
	assert_int_equal(others(&b), 8);
	run(&b, 30, 300);
	assert_int_equal(others(&b), 8);
	run(&b, 1, 300);
	assert_int_equal(others(&b), 9);
	bench_end(&b);
}

static void below_a_twentieth_they_keep_two_cores(void **state)
{
	struct bench b = start((struct bench_machine){ 1, 40, 0, 0, true, -1 });

	(void)state;
	run(&b, 1, 500);
	run(&b, 29, 49);
	assert_int_equal(others(&b), 8);
	assert_window(&b, POLICY_REASON_UPSIZE, 49);
	assert_int_equal(others(&b), 2);
	bench_end(&b);
}

static void a_missed_target_takes_everything_for_five_minutes(void **state)
{
	struct bench b = start((struct bench_machine){ 2, 20, 0, 0, true, -1 });

	(void)state;
	run(&b, 1, 500);
	run(&b, 29, -1);
	assert_int_equal(others(&b), 9);
	run(&b, 1, -1);
	assert_int_equal(others(&b), 1); /* the other service's floor */
	assert_int_equal(b.d.be_cores, 0);
	for (uint64_t until = b.now_ns + 300 * SECOND - WINDOW_NS; b.now_ns < until;) {
		run(&b, 1, 900);
		assert_int_equal(others(&b), 1);
	}
	run(&b, 1, 900);
	assert_int_equal(others(&b), 2);
	bench_end(&b);
}

static void the_cool_down_can_be_shorter(void **state)
{
	struct bench b = start((struct bench_machine){ 2, 20, 0, 0, true, -1 });

	(void)state;
	bench_option(&b, "cool_down_s", 15);
	run(&b, 1, -1);
	run(&b, 29, 900);
	assert_int_equal(others(&b), 1);
	run(&b, 1, 900);
	assert_int_equal(others(&b), 2);
	bench_end(&b);
}

static void load_disables_the_others_above_85_and_enables_them_below_80(void **state)
{
	struct bench b = start((struct bench_machine){ 1, 40, 0, 0, true, -1 });

	(void)state;
	load(&b, 820);
	run(&b, 31, 900);
	assert_int_equal(others(&b), 0); /* never enabled */
	load(&b, 790);
	run(&b, 30, 900);
	assert_int_equal(others(&b), 1);
	load(&b, 849);
	run(&b, 32, 900);
	assert_int_equal(others(&b), 9); /* what is enabled stays so */
	load(&b, 860);
	run(&b, 28, 900);
	assert_int_equal(others(&b), 0);
	bench_end(&b);
}

static void the_load_is_relative_to_the_profile_s_maximum_where_there_is_one(void **state)
{
	for (uint32_t max_rps = 700; max_rps <= 800; max_rps += 100) {
		struct bench b = start((struct bench_machine){ 1, 40, 0, 0, true, -1 });

		load(&b, 990);
		bench_option(&b, "max_rps", max_rps); /* 300 requests in half a second: 600 per second */
		run(&b, 1, 900);
		assert_int_equal(others(&b), max_rps == 800);
		bench_end(&b);
	}
	(void)state;
}

static void another_service_can_be_the_protected_one(void **state)
{
	struct bench b = bench_prepare(HERACLES, (struct bench_machine){ 3, 16, 0, 0, false, -1 });

	(void)state;
	bench_option(&b, "protected", 2);
	bench_start(&b);
	assert_cores(&b, 1, 14);
	WINDOW(&b, -900, 500, -900);
	assert_cores(&b, 0, 2);
	assert_cores(&b, 1, 13);
	bench_end(&b);
	b = bench_prepare(HERACLES, (struct bench_machine){ 3, 16, 0, 0, false, -1 });
	bench_option(&b, "protected", 64);
	bench_start(&b);
	assert_cores(&b, 2, 14);
	bench_end(&b);
}

static void the_latency_of_a_look_is_weighted_by_requests(void **state)
{
	struct bench b = start((struct bench_machine){ 1, 40, 0, 0, true, -1 });

	(void)state;
	run(&b, 1, 500);
	run(&b, 20, QUIET);
	run(&b, 8, 400);
	bench_see(&b, 0, -9000); /* one late request among 2400 */
	b.view.services[0].nr_completed = 1;
	b.now_ns += WINDOW_NS;
	b.policy->step(b.state, b.now_ns, &b.view, &b.rng, &b.d);
	bench_apply(&b);
	run(&b, 3, 400);
	assert_int_equal(others(&b), 9);
	bench_end(&b);
}

static void a_service_that_completes_nothing_has_missed_its_target(void **state)
{
	struct bench b = start((struct bench_machine){ 1, 40, 0, 0, true, -1 });

	(void)state;
	run(&b, 1, 500);
	b.view.services[0].signal = POLICY_STALLED;
	run(&b, 30, BLIND);
	assert_int_equal(others(&b), 0);
	bench_end(&b);
}

static void windows_without_a_signal_are_not_looked_at_and_let_nobody_grow(void **state)
{
	struct bench b = start((struct bench_machine){ 1, 40, 0, 0, true, -1 });

	(void)state;
	run(&b, 1, 500);
	b.view.services[0].signal = POLICY_LOST;
	load(&b, 0);
	run(&b, 15, QUIET);
	assert_int_equal(others(&b), 1);
	b.view.services[0].signal = POLICY_FRESH;
	load(&b, 990); /* of all 30 windows that would be half the load */
	run(&b, 15, 500);
	assert_int_equal(others(&b), 0);
	bench_end(&b);
}

static void ways_and_cores_grow_by_turns(void **state)
{
	struct bench b = start((struct bench_machine){ 2, 16, 10, 0, false, -1 });

	(void)state;
	run(&b, 1, 500);
	assert_cores(&b, 1, 2);
	assert_ways(&b, 1, 1);
	run(&b, 4, 500);
	assert_cores(&b, 1, 2);
	assert_ways(&b, 1, 2);
	run(&b, 4, 500);
	assert_cores(&b, 1, 3);
	assert_ways(&b, 1, 2);
	bench_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_first_the_protected_service_has_everything_but_floors),
		cmocka_unit_test(the_others_grow_by_a_core_every_two_seconds_the_poorest_first),
		cmocka_unit_test(below_a_tenth_of_slack_they_stop_growing_at_the_next_look),
		cmocka_unit_test(below_a_twentieth_they_keep_two_cores),
		cmocka_unit_test(a_missed_target_takes_everything_for_five_minutes),
		cmocka_unit_test(the_cool_down_can_be_shorter),
		cmocka_unit_test(load_disables_the_others_above_85_and_enables_them_below_80),
		cmocka_unit_test(the_load_is_relative_to_the_profile_s_maximum_where_there_is_one),
		cmocka_unit_test(another_service_can_be_the_protected_one),
		cmocka_unit_test(the_latency_of_a_look_is_weighted_by_requests),
		cmocka_unit_test(a_service_that_completes_nothing_has_missed_its_target),
		cmocka_unit_test(windows_without_a_signal_are_not_looked_at_and_let_nobody_grow),
		cmocka_unit_test(ways_and_cores_grow_by_turns),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
