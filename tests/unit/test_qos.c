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

int main(void)
{
	const struct CMUnitTest tests[] = {
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
