// SPDX-License-Identifier: GPL-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <unistd.h>

#include "fake_run.h"
#include "status.h"

static struct fake_run run;
static struct status status;
static char line[4096];

static int set_up(void **state)
{
	(void)state;
	fake_start(&run, &fake_policy);
	status_init(&status, -1);
	return tick_init(&run.tick, 1);
}

static int tear_down(void **state)
{
	(void)state;
	tick_fini(&run.tick);
	return 0;
}

static void step(uint64_t n)
{
	tick_step(&run.tick, n * 500 * MS, n ? 500 * MS : 0);
}

static void a_line_shows_time_latency_slack_cores_speed_and_state(void **state)
{
	size_t length;

	(void)state;
	step(0);
	step(1);
	length = status_format(&status, &run.tick, line, sizeof(line));
	assert_int_equal(length, strlen(line));
	assert_string_equal(line, "    0.5s | search    4.00/25ms  +84%  2c 2.45GHz fresh   |"
				  " memcached    4.00/5ms  +20%  2c 2.45GHz fresh   | BE  1c idle  1c\n");
}

static void a_slack_just_below_zero_is_not_shown_as_zero(void **state)
{
	(void)state;
	run.samples[0].steer_ns = 25 * MS + 1000;
	step(0);
	step(1);
	status_format(&status, &run.tick, line, sizeof(line));
	assert_non_null(strstr(line, "  25.00/25ms   -1%"));
}

static void a_service_short_of_slack_is_followed_by_whom_it_waited_for(void **state)
{
	(void)state;
	run.samples[0].culprits = (struct culprits){ .known = true, .nr = 1, .top = { { .comm = "burner", .wait_ns = 12 * MS } } };
	step(0);
	step(1);
	status_format(&status, &run.tick, line, sizeof(line));
	assert_null(strstr(line, "burner"));
	run.samples[0].steer_ns = 24 * MS;
	step(2);
	status_format(&status, &run.tick, line, sizeof(line));
	assert_non_null(strstr(line, " fresh   waited 12ms for burner |"));
}

static void the_other_feedback_is_named_beside_the_latency(void **state)
{
	(void)state;
	run.config.feedback = CONFIG_FEEDBACK_BOTH;
	run.samples[0].other = (struct sample_other){ true, 290, 1 * MS, 2 * MS, 3 * MS, 6 * MS };
	step(0);
	step(1);
	status_format(&status, &run.tick, line, sizeof(line));
	assert_non_null(strstr(line, "search    4.00/25ms (client 6.00)  +84%"));
	assert_non_null(strstr(line, "memcached    4.00/5ms  +20%"));
	run.config.feedback = CONFIG_FEEDBACK_CLIENT_FIRST;
	status_format(&status, &run.tick, line, sizeof(line));
	assert_non_null(strstr(line, "(kernel 6.00)"));
}

static void an_action_says_who_gets_what_from_whom(void **state)
{
	char action[128];

	(void)state;
	step(0);
	fake_decide(&run, 3, 2, 0);
	step(1);
	status_format_action(&run.tick, action, sizeof(action));
	assert_string_equal(action, "upsize search core from best-effort");
	run.apply_error = -EBUSY;
	step(2);
	status_format_action(&run.tick, action, sizeof(action));
	assert_string_equal(action, "not applied: cpuset.cpus: no");
}

static void observing_shows_no_cores(void **state)
{
	(void)state;
	run.tick.steer = false;
	step(0);
	step(1);
	status_format(&status, &run.tick, line, sizeof(line));
	assert_null(strstr(line, "2c"));
	assert_null(strstr(line, "idle "));
}

static void a_line_that_is_too_long_is_cut_and_still_ends(void **state)
{
	char small[40];

	(void)state;
	step(0);
	step(1);
	assert_int_equal(status_format(&status, &run.tick, small, sizeof(small)), 39);
	assert_int_equal(small[38], '\n');
	assert_int_equal(small[39], '\0');
}

static void one_line_a_second_whatever_the_interval(void **state)
{
	char text[65536];
	int ends[2], nr_lines = 0;
	ssize_t length;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	status_init(&status, ends[1]);
	for (uint64_t n = 0; n <= 20; n++) {
		step(n);
		status_tick(&status, &run.tick);
	}
	close(ends[1]);
	length = read(ends[0], text, sizeof(text));
	close(ends[0]);
	for (ssize_t i = 0; i < length; i++)
		nr_lines += text[i] == '\n';
	assert_int_equal(nr_lines, 11);
}

static void a_reader_that_stands_still_is_not_waited_for(void **state)
{
	char block[4096] = "";
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	while (write(ends[1], block, sizeof(block)) > 0)
		;
	fcntl(ends[1], F_SETFL, 0);
	status_init(&status, ends[1]);
	step(0);
	status_tick(&status, &run.tick);
	close(ends[0]);
	close(ends[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_service_short_of_slack_is_followed_by_whom_it_waited_for),
		TEST(a_line_shows_time_latency_slack_cores_speed_and_state),
		TEST(a_slack_just_below_zero_is_not_shown_as_zero),
		TEST(the_other_feedback_is_named_beside_the_latency),
		TEST(an_action_says_who_gets_what_from_whom),
		TEST(observing_shows_no_cores),
		TEST(a_line_that_is_too_long_is_cut_and_still_ends),
		TEST(one_line_a_second_whatever_the_interval),
		TEST(a_reader_that_stands_still_is_not_waited_for),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
