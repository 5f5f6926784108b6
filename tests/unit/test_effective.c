// SPDX-License-Identifier: GPL-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "effective.h"

/* 1.5, 1.6 .. 2.4, 2.5 GHz nominal, 3.3 GHz boost. */
static struct speed_ladder ladder;
static struct effective judge;

static int set_up(void **state)
{
	struct ladder_limits limits = { .min_khz = 1500000, .max_khz = 3300000, .base_khz = 2500000 };

	(void)state;
	ladder_fill(&ladder, &limits);
	judge = (struct effective){ 0 };
	return 0;
}

static const char *see(enum ladder_way way, uint32_t asked_mhz, uint32_t measured_mhz, uint32_t busy, int nr)
{
	const char *why = NULL;

	while (nr-- && !why)
		why = effective_judge(&judge, &ladder, way,
				      &(struct effective_window){ asked_mhz * 1000, measured_mhz * 1000, busy });
	return why;
}

static void a_cap_that_is_kept_to_is_not_complained_of(void **state)
{
	(void)state;
	for (uint32_t mhz = 1500; mhz <= 2500; mhz += 100)
		assert_null(see(LADDER_CAP, mhz, mhz, 900, 20));
	assert_null(see(LADDER_CAP, 3300, 3300, 900, 20));
}

static void cores_that_stay_faster_than_they_may_show_that_the_cap_does_nothing(void **state)
{
	(void)state;
	assert_null(see(LADDER_CAP, 1800, 2500, 300, EFFECTIVE_WINDOWS - 1));
	assert_non_null(strstr(see(LADDER_CAP, 1800, 2500, 300, 1), "faster"));
}

static void one_step_faster_is_within_what_hardware_does(void **state)
{
	(void)state;
	assert_null(see(LADDER_USERSPACE, 1800, 1910, 300, 50));
	assert_non_null(see(LADDER_USERSPACE, 1800, 1950, 300, 50));
}

static void at_the_two_highest_steps_nothing_is_too_fast(void **state)
{
	(void)state;
	assert_null(see(LADDER_CAP, 3300, 4000, 900, 50));
	assert_null(see(LADDER_CAP, 2500, 3300, 900, 50));
}

static void cores_without_work_or_of_unknown_speed_say_nothing(void **state)
{
	(void)state;
	assert_null(see(LADDER_CAP, 1500, 3300, EFFECTIVE_BUSY - 1, 100));
	assert_null(see(LADDER_CAP, 1500, 0, 1000, 100));
	assert_null(see(LADDER_CAP, 0, 3300, 1000, 100));
	assert_non_null(see(LADDER_CAP, 1500, 3300, EFFECTIVE_BUSY, EFFECTIVE_WINDOWS)); /* so much work is enough */
}

static void a_window_that_keeps_to_the_cap_is_proof_that_it_works(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		assert_null(see(LADDER_CAP, 1500, 3300, 500, EFFECTIVE_WINDOWS - 1));
		assert_null(see(LADDER_CAP, 1600, 1600, 500, 1));
	}
}

static void a_speed_that_is_stuck_low_does_not_follow(void **state)
{
	(void)state;
	assert_null(see(LADDER_USERSPACE, 1500, 1500, 300, 10));
	assert_non_null(strstr(see(LADDER_USERSPACE, 2500, 1500, 300, 10), "whatever"));
}

static void heat_is_not_taken_for_a_way_that_does_nothing(void **state)
{
	(void)state;
	assert_null(see(LADDER_USERSPACE, 2200, 1700, 900, 20));
	assert_null(see(LADDER_USERSPACE, 2500, 1700, 900, 20));
	/* Nor when the slow end was seen on a cool machine. */
	assert_null(see(LADDER_USERSPACE, 1500, 1500, 900, 20));
	assert_null(see(LADDER_USERSPACE, 2500, 1700, 900, 20));
}

static void under_a_cap_only_cores_with_much_work_have_to_follow(void **state)
{
	(void)state;
	assert_null(see(LADDER_CAP, 1700, 1700, 400, 20));
	assert_null(see(LADDER_CAP, 2500, 1700, 400, 20));
	assert_null(see(LADDER_CAP, 1700, 1700, 900, 20));
	assert_non_null(see(LADDER_CAP, 2500, 1700, 900, 20));
}

static void a_preference_is_no_cap_but_has_to_make_a_difference(void **state)
{
	(void)state;
	assert_null(see(LADDER_EPP, 1500, 2400, 900, 20));
	assert_null(see(LADDER_EPP, 2500, 2800, 900, 20));
	judge = (struct effective){ 0 };
	assert_null(see(LADDER_EPP, 1500, 3300, 900, 20));
	assert_non_null(see(LADDER_EPP, 2500, 3300, 900, 20));
}

static void speeds_asked_for_two_steps_apart_are_compared_and_not_neighbours(void **state)
{
	(void)state;
	assert_null(see(LADDER_USERSPACE, 2000, 2000, 900, 20));
	assert_null(see(LADDER_USERSPACE, 2100, 2000, 900, 20));
	assert_non_null(see(LADDER_USERSPACE, 2200, 2000, 900, 20));
}

int main(void)
{
#define JUDGE_TEST(f) cmocka_unit_test_setup(f, set_up)
	const struct CMUnitTest tests[] = {
		JUDGE_TEST(a_cap_that_is_kept_to_is_not_complained_of),
		JUDGE_TEST(cores_that_stay_faster_than_they_may_show_that_the_cap_does_nothing),
		JUDGE_TEST(one_step_faster_is_within_what_hardware_does),
		JUDGE_TEST(at_the_two_highest_steps_nothing_is_too_fast),
		JUDGE_TEST(cores_without_work_or_of_unknown_speed_say_nothing),
		JUDGE_TEST(a_window_that_keeps_to_the_cap_is_proof_that_it_works),
		JUDGE_TEST(a_speed_that_is_stuck_low_does_not_follow),
		JUDGE_TEST(heat_is_not_taken_for_a_way_that_does_nothing),
		JUDGE_TEST(under_a_cap_only_cores_with_much_work_have_to_follow),
		JUDGE_TEST(a_preference_is_no_cap_but_has_to_make_a_difference),
		JUDGE_TEST(speeds_asked_for_two_steps_apart_are_compared_and_not_neighbours),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
