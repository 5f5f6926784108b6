// SPDX-License-Identifier: GPL-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <jansson.h>
#include <stdlib.h>

#include "fake_run.h"
#include "recent.h"

static struct fake_run run;
static struct recent recent;

static int set_up(void **state)
{
	(void)state;
	fake_start(&run, &fake_policy);
	return tick_init(&run.tick, 1) || recent_init(&recent, 2);
}

static int tear_down(void **state)
{
	(void)state;
	recent_free(&recent);
	tick_fini(&run.tick);
	return 0;
}

static void step(uint64_t n)
{
	assert_int_equal(tick_step(&run.tick, 1000 * MS + n * 500 * MS, n ? 500 * MS : 0), 0);
	recent_add(&recent, &run.tick);
}

static json_t *printed(bool course)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	json_t *ret;

	if (course)
		recent_print_course(&recent, &run.tick, out);
	else
		recent_print_decisions(&recent, out);
	fclose(out);
	ret = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	free(text);
	assert_non_null(ret);
	return ret;
}

static void a_long_run_has_no_more_points_than_a_short_one(void **state)
{
	json_t *course, *times, *steer;
	uint64_t nr = 5 * RECENT_POINTS;

	(void)state;
	for (uint64_t n = 0; n < nr; n++) {
		run.samples[0].steer_ns = n == 700 ? 99 * MS : 4 * MS;
		step(n);
	}
	course = printed(true);
	times = json_object_get(course, "t_s");
	steer = json_object_get(json_array_get(json_object_get(course, "services"), 0), "steer_us");
	assert_int_equal(json_array_size(times), 5 * RECENT_POINTS / 8);
	assert_int_equal(json_array_size(steer), json_array_size(times));
	/* The end of each point's time; eight ticks each. */
	assert_float_equal(json_number_value(json_array_get(times, 0)), 3.5, 1e-9);
	assert_float_equal(json_number_value(json_array_get(times, json_array_size(times) - 1)), (nr - 1) * 0.5, 1e-9);
	/* One late window is not averaged away. */
	for (size_t i = 0; i < json_array_size(steer); i++)
		assert_int_equal(json_integer_value(json_array_get(steer, i)), i == 700 / 8 ? 99000 : 4000);
	json_decref(course);
}

static void what_a_window_does_not_know_is_null(void **state)
{
	json_t *course;

	(void)state;
	run.samples[0].nr_completed = 0;
	step(0);
	course = printed(true);
	assert_true(json_is_null(json_array_get(
		json_object_get(json_array_get(json_object_get(course, "services"), 0), "steer_us"), 0)));
	json_decref(course);
}

static void only_ticks_that_decide_something_are_kept(void **state)
{
	json_t *list;

	(void)state;
	step(0);
	run.next.direction = POLICY_HOLD;
	run.next.reason = POLICY_REASON_HOLD;
	step(1);
	step(2);
	list = printed(false);
	assert_int_equal(json_array_size(list), 1); /* the start */
	json_decref(list);
}

static void what_cannot_be_helped_is_kept_once(void **state)
{
	json_t *list, *last;

	(void)state;
	run.next.direction = POLICY_HOLD;
	run.next.reason = POLICY_REASON_EXHAUSTED;
	for (uint64_t n = 0; n < 10; n++)
		step(n);
	list = printed(false);
	assert_int_equal(json_array_size(list), 2);
	last = json_array_get(list, 1);
	assert_int_equal(json_integer_value(json_object_get(last, "more")), 8);
	assert_float_equal(json_number_value(json_object_get(last, "until_s")), 4.5, 1e-9);
	json_decref(list);
}

static void of_many_decisions_the_last_are_kept(void **state)
{
	json_t *list;

	(void)state;
	for (uint64_t n = 0; n < 100; n++)
		step(n);
	list = printed(false);
	assert_int_equal(json_array_size(list), RECENT_DECISIONS);
	for (size_t i = 0; i < RECENT_DECISIONS; i++)
		assert_float_equal(
			json_number_value(json_object_get(json_object_get(json_array_get(list, i), "tick"), "t_s")),
			(100 - RECENT_DECISIONS + i) * 0.5, 1e-9);
	json_decref(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_long_run_has_no_more_points_than_a_short_one, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_a_window_does_not_know_is_null, set_up, tear_down),
		cmocka_unit_test_setup_teardown(only_ticks_that_decide_something_are_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_cannot_be_helped_is_kept_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(of_many_decisions_the_last_are_kept, set_up, tear_down),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
