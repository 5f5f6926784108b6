// SPDX-License-Identifier: GPL-2.0
/* test_profile.c - the load profile language. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "experiments/common/profile.h"

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

static struct profile parsed(const char *text)
{
	struct profile p;
	const char *reason = "";
	int line = 0;

	if (profile_parse(text, &p, &line, &reason))
		fail_msg("'%s': line %d: %s", text, line, reason);
	return p;
}

static void assert_refused(const char *text, int err, int line, const char *part)
{
	struct profile p = { .nr_segments = 77 };
	const char *reason = "";
	int at = 0;

	assert_int_equal(profile_parse(text, &p, &at, &reason), err);
	assert_int_equal(at, line);
	if (!strstr(reason, part))
		fail_msg("'%s' does not say '%s'", reason, part);
	assert_int_equal(p.nr_segments, 77);
}

static void a_ramp_is_linear_and_starts_where_the_previous_directive_ended(void **state)
{
	struct profile p = parsed("at 0s 7%; ramp 30s 100%; hold 10s; ramp 30s 7%");

	(void)state;
	assert_int_equal(profile_duration_ns(&p), 70 * SECOND);
	assert_int_equal(profile_load_ppm(&p, 0), 70000);
	assert_int_equal(profile_load_ppm(&p, 15 * SECOND), 535000);
	assert_int_equal(profile_load_ppm(&p, 30 * SECOND), 1000000);
	assert_int_equal(profile_load_ppm(&p, 39 * SECOND), 1000000);
	assert_int_equal(profile_load_ppm(&p, 55 * SECOND), 535000);
	assert_int_equal(profile_load_ppm(&p, 70 * SECOND), 70000);
}

static void the_last_load_goes_on_after_the_end(void **state)
{
	struct profile p = parsed("at 0s 15%");

	(void)state;
	assert_int_equal(profile_duration_ns(&p), 0);
	assert_int_equal(profile_load_ppm(&p, 3600 * SECOND), 150000);
}

static void at_jumps_and_the_load_before_it_is_held(void **state)
{
	struct profile p = parsed("at 5s 10%\nramp 5s 20%\nat 60s 80%\n");

	(void)state;
	assert_int_equal(profile_load_ppm(&p, 5 * SECOND - 1), 0);
	assert_int_equal(profile_load_ppm(&p, 5 * SECOND), 100000);
	assert_int_equal(profile_load_ppm(&p, 60 * SECOND - 1), 200000);
	assert_int_equal(profile_load_ppm(&p, 60 * SECOND), 800000);
	assert_int_equal(profile_duration_ns(&p), 60 * SECOND);
}

static void a_ramp_of_no_length_is_a_step(void **state)
{
	struct profile p = parsed("hold 1s; ramp 0s 50%; hold 1s");

	(void)state;
	assert_int_equal(profile_load_ppm(&p, SECOND - 1), 0);
	assert_int_equal(profile_load_ppm(&p, SECOND), 500000);
	assert_int_equal(profile_duration_ns(&p), 2 * SECOND);
}

static void units_fractions_comments_and_blank_lines_are_read(void **state)
{
	struct profile p = parsed("# a day in short\n\n  at 500ms 12.5%  # half a second\r\n"
				  ";;hold 1.5m; hold 250us; hold 1h\n");

	(void)state;
	assert_int_equal(profile_load_ppm(&p, 500 * MS), 125000);
	assert_int_equal(profile_duration_ns(&p), 500 * MS + 90 * SECOND + MS / 4 + 3600 * SECOND);
}

static void long_ramps_do_not_overflow(void **state)
{
	struct profile p = parsed("ramp 24h 1000%; ramp 24h 0%");

	(void)state;
	assert_int_equal(profile_load_ppm(&p, 12 * 3600 * SECOND), 5000000);
	assert_int_equal(profile_load_ppm(&p, 36 * 3600 * SECOND), 5000000);
}

static void errors_name_the_line_and_the_reason(void **state)
{
	(void)state;
	assert_refused("", -EINVAL, 1, "no directive");
	assert_refused("# nothing\n\n", -EINVAL, 3, "no directive");
	assert_refused("at 0s 7%\nrmp 3s 10%", -EINVAL, 2, "unknown directive");
	assert_refused("at 0s 7%\n\n# x\nramp 3 10%", -EINVAL, 4, "unit");
	assert_refused("at 0s 7", -EINVAL, 1, "unit");
	assert_refused("at 0s", -EINVAL, 1, "number is missing");
	assert_refused("at 0s\n7%", -EINVAL, 1, "number is missing");
	assert_refused("hold", -EINVAL, 1, "number is missing");
	assert_refused("hold .s", -EINVAL, 1, "number is missing");
	assert_refused("hold -1s", -EINVAL, 1, "number is missing");
	assert_refused("hold 1s 5%", -EINVAL, 1, "text after");
	assert_refused("at 0s 7% ramp 3s 10%", -EINVAL, 1, "text after");
	assert_refused("at 10s 7%\nhold 5s\nat 12s 3%", -EINVAL, 3, "before the end");
	assert_refused("at 0s 1000.1%", -EINVAL, 1, "out of range");
	assert_refused("hold 25h", -EINVAL, 1, "out of range");
	assert_refused("hold 12345678901s", -EINVAL, 1, "nine digits");
}

static void at_most_256_directives_are_taken(void **state)
{
	char text[257 * 8 + 1] = "";

	(void)state;
	for (int i = 0; i < PROFILE_MAX_SEGMENTS; i++)
		strcat(text, "hold 1s\n");
	assert_int_equal(profile_duration_ns(&(struct profile){ 0 }), 0);
	assert_int_equal(parsed(text).nr_segments, PROFILE_MAX_SEGMENTS);
	strcat(text, "hold 1s\n");
	assert_refused(text, -E2BIG, 257, "256");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ramp_is_linear_and_starts_where_the_previous_directive_ended),
		cmocka_unit_test(the_last_load_goes_on_after_the_end),
		cmocka_unit_test(at_jumps_and_the_load_before_it_is_held),
		cmocka_unit_test(a_ramp_of_no_length_is_a_step),
		cmocka_unit_test(units_fractions_comments_and_blank_lines_are_read),
		cmocka_unit_test(long_ramps_do_not_overflow),
		cmocka_unit_test(errors_name_the_line_and_the_reason),
		cmocka_unit_test(at_most_256_directives_are_taken),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
