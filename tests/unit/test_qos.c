// SPDX-License-Identifier: GPL-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "qos.h"

#define MS 1000000ull

static struct policy_service judge(struct sample s, uint64_t target_ns)
{
	struct policy_service ret = { .have = { .cores = 7 } };

	qos_judge_window(&s, target_ns, false, &ret);
	assert_int_equal(ret.have.cores, 7);
	return ret;
}

static void a_window_of_two_hundred_completions_is_fresh_and_one_less_is_thin(void **state)
{
	(void)state;
	assert_int_equal(judge((struct sample){ .nr_completed = 200 }, 25 * MS).signal, POLICY_FRESH);
	assert_int_equal(judge((struct sample){ .nr_completed = 199 }, 25 * MS).signal, POLICY_THIN);
}

static void nothing_asked_and_nothing_in_flight_is_idle_with_all_its_slack(void **state)
{
	struct policy_service s = judge((struct sample){ 0 }, 25 * MS);

	(void)state;
	assert_int_equal(s.signal, POLICY_IDLE);
	assert_true(qos_has_slack(&s));
	assert_int_equal(qos_slack_permille(&s), 1000);
}

static void overdue_requests_without_a_completion_are_a_stall_and_violate(void **state)
{
	struct policy_service s =
		judge((struct sample){ .nr_in_flight = 3, .nr_over_target = 1, .oldest_ns = 100 * MS }, 25 * MS);

	(void)state;
	assert_int_equal(s.signal, POLICY_STALLED);
	assert_int_equal(qos_slack_permille(&s), -3000);
}

static void a_stall_whose_age_the_sensor_cannot_tell_violates_too(void **state)
{
	struct policy_service s = judge((struct sample){ .nr_arrived = 1, .nr_in_flight = 1 }, 25 * MS);

	(void)state;
	assert_int_equal(s.signal, POLICY_STALLED);
	assert_true(qos_slack_permille(&s) < 0);
}

static void a_request_younger_than_its_target_is_no_stall(void **state)
{
	struct policy_service s =
		judge((struct sample){ .nr_arrived = 1, .nr_in_flight = 1, .oldest_ns = 400 * MS }, 2500 * MS);

	(void)state;
	assert_int_equal(s.signal, POLICY_THIN);
	assert_false(qos_has_slack(&s));
}

static void slack_is_the_rest_of_the_target_in_permille(void **state)
{
	struct policy_service s = judge((struct sample){ .nr_completed = 500, .steer_ns = 20 * MS }, 25 * MS);

	(void)state;
	assert_int_equal(qos_slack_permille(&s), 200);
	s = judge((struct sample){ .nr_completed = 500, .steer_ns = 50 * MS }, 25 * MS);
	assert_int_equal(qos_slack_permille(&s), -1000);
}

static void a_listen_drop_violates_however_fast_the_others_were(void **state)
{
	struct policy_service s =
		judge((struct sample){ .nr_completed = 500, .steer_ns = 1 * MS, .nr_listen_drops = 1 }, 25 * MS);

	(void)state;
	assert_true(qos_slack_permille(&s) < 0);
	assert_int_equal(s.signal, POLICY_FRESH);
	s = judge((struct sample){ .nr_listen_drops = 1 }, 25 * MS);
	assert_int_equal(s.signal, POLICY_STALLED);
	assert_true(qos_slack_permille(&s) < 0);
}

static void a_lost_window_has_no_counts_to_be_believed(void **state)
{
	struct sample s = { .nr_arrived = 9, .nr_completed = 500, .steer_ns = 1 * MS, .nr_in_flight = 1 };
	struct policy_service ret = { 0 };

	(void)state;
	qos_judge_window(&s, 25 * MS, true, &ret);
	assert_int_equal(ret.signal, POLICY_LOST);
	assert_int_equal(ret.nr_completed, 0);
	assert_int_equal(ret.nr_arrived, 0);
	assert_false(qos_has_slack(&ret));
	s.signal = POLICY_LOST;
	assert_int_equal(judge(s, 25 * MS).signal, POLICY_LOST);
}

static void a_window_is_near_between_half_and_twice_its_length(void **state)
{
	(void)state;
	assert_true(qos_window_is_near(500 * MS, 500 * MS));
	assert_true(qos_window_is_near(1000 * MS, 500 * MS));
	assert_true(qos_window_is_near(250 * MS, 500 * MS));
	assert_false(qos_window_is_near(249 * MS, 500 * MS));
	assert_false(qos_window_is_near(1001 * MS, 500 * MS));
	assert_false(qos_window_is_near(0, 500 * MS));
}

static uint64_t net_ms(struct sample s, uint64_t *carried_ns)
{
	qos_net_delay(&s, carried_ns);
	return s.net_delay_ns / MS;
}

static void throttling_is_no_delay_and_a_delay_is_never_negative(void **state)
{
	uint64_t carried = 0;

	(void)state;
	assert_int_equal(net_ms((struct sample){ .has_run_delay = true, .run_delay_ns = 50 * MS }, &carried), 50);
	assert_int_equal(net_ms((struct sample){ .has_run_delay = true, .run_delay_ns = 50 * MS,
						 .throttled_ns = 30 * MS }, &carried), 20);
	assert_int_equal(net_ms((struct sample){ .has_run_delay = true, .run_delay_ns = 50 * MS,
						 .throttled_ns = 80 * MS }, &carried), 0);
	assert_int_equal(net_ms((struct sample){ .has_run_delay = true, .run_delay_ns = 50 * MS }, &carried), 50);
}

static void throttling_waits_for_the_window_that_knows_the_delay_it_is_in(void **state)
{
	uint64_t carried = 0;

	(void)state;
	assert_int_equal(net_ms((struct sample){ .throttled_ns = 30 * MS }, &carried), 0);
	assert_int_equal(net_ms((struct sample){ .throttled_ns = 30 * MS }, &carried), 0);
	assert_int_equal(net_ms((struct sample){ .has_run_delay = true, .run_delay_ns = 95 * MS,
						 .throttled_ns = 30 * MS }, &carried), 5);
}

/* Of two services: 25 % slack, and this. */
static bool look_at(struct qos_look *look, int32_t slack_permille)
{
	struct policy_view view = { .nr_services = 2 };

	view.services[0] = judge((struct sample){ .nr_completed = 300, .steer_ns = 75 * MS }, 100 * MS);
	view.services[1] = judge((struct sample){ .nr_completed = 300,
				 .steer_ns = (uint64_t)(1000 - slack_permille) * MS / 10 }, 100 * MS);
	return qos_look(look, &view);
}

static void culprits_are_looked_for_while_a_slack_is_small_and_a_while_after(void **state)
{
	struct qos_look look = { false, 0 };

	(void)state;
	assert_false(look_at(&look, 50));
	assert_true(look_at(&look, 49));
	for (int i = 0; i < 100; i++)
		assert_true(look_at(&look, 99)); /* better, and not yet good */
	for (int i = 0; i < QOS_CALM_WINDOWS - 1; i++)
		assert_true(look_at(&look, 100));
	assert_false(look_at(&look, 100));
	assert_false(look_at(&look, 60));
	assert_true(look_at(&look, -500));
}

static void nobody_is_looked_for_while_no_service_shows_a_slack(void **state)
{
	struct policy_view view = { .nr_services = 1 };
	struct qos_look look = { false, 0 };

	(void)state;
	view.services[0].signal = POLICY_LOST;
	assert_false(qos_look(&look, &view));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(throttling_is_no_delay_and_a_delay_is_never_negative),
		cmocka_unit_test(throttling_waits_for_the_window_that_knows_the_delay_it_is_in),
		cmocka_unit_test(culprits_are_looked_for_while_a_slack_is_small_and_a_while_after),
		cmocka_unit_test(nobody_is_looked_for_while_no_service_shows_a_slack),
		cmocka_unit_test(a_window_of_two_hundred_completions_is_fresh_and_one_less_is_thin),
		cmocka_unit_test(nothing_asked_and_nothing_in_flight_is_idle_with_all_its_slack),
		cmocka_unit_test(overdue_requests_without_a_completion_are_a_stall_and_violate),
		cmocka_unit_test(a_stall_whose_age_the_sensor_cannot_tell_violates_too),
		cmocka_unit_test(a_request_younger_than_its_target_is_no_stall),
		cmocka_unit_test(slack_is_the_rest_of_the_target_in_permille),
		cmocka_unit_test(a_listen_drop_violates_however_fast_the_others_were),
		cmocka_unit_test(a_lost_window_has_no_counts_to_be_believed),
		cmocka_unit_test(a_window_is_near_between_half_and_twice_its_length),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
