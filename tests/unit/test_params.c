// SPDX-License-Identifier: GPL-2.0
/*
 * test_params.c - what the value of each key may be, what it may not, and the words of every refusal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fixtures/config_text.h"

/* The value stands on line 2 of a [controller]. */
static void refuses_value(const char *key, const char *value, const char *reason)
{
	char text[512], message[512];

	snprintf(text, sizeof(text), "[controller]\n%s = %s\n" SERVICE, key, value);
	snprintf(message, sizeof(message), "t.conf:2: %s: %s", key, reason);
	refuses(text, message);
}

/* The value stands on line 5, in a second service. */
static void refuses_service(const char *key, const char *value, const char *reason)
{
	char text[768], message[768];

	snprintf(text, sizeof(text), SERVICE "[service b]\n%s = %s\n", key, value);
	snprintf(message, sizeof(message), "t.conf:5: %s: %s", key, reason);
	refuses(text, message);
}

static void every_kind_of_match_is_read(void **state)
{
	const struct match *match = &config.services[0].match;

	(void)state;
	accepts("[service a]\nmatch=pid:4194304\ntarget=p50<1us\n");
	assert_int_equal(match->kind, MATCH_PID);
	assert_int_equal(match->number, 4194304);
	accepts("[service a]\nmatch=unit:nginx.service\ntarget=p50<1us\n");
	assert_int_equal(match->kind, MATCH_UNIT);
	assert_string_equal(match->text, "nginx.service");
	accepts("[service a]\nmatch=unit:user@1000.service/app.service\ntarget=p50<1us\n");
	assert_string_equal(match->text, "user@1000.service/app.service");
	accepts("[service a]\nmatch=exe:/opt/a b:c\ntarget=p50<1us\n");
	assert_int_equal(match->kind, MATCH_EXE);
	assert_string_equal(match->text, "/opt/a b:c");
	accepts("[service a]\nmatch=cgroup:/a/.lxc/b..c\ntarget=p50<1us\n");
	assert_string_equal(match->text, "/a/.lxc/b..c");
}

static void targets_name_percentile_and_latency(void **state)
{
	(void)state;
	accepts("[service a]\nmatch=pid:1\ntarget=p99.9<1.5s\n");
	assert_int_equal(config.services[0].percentile_permille, 999);
	assert_int_equal(config.services[0].target_ns, 1500000000);
	accepts("[service a]\nmatch=pid:1\ntarget = p50   <   100s\n");
	assert_int_equal(config.services[0].percentile_permille, 500);
}

static void cores_are_a_number_or_a_range(void **state)
{
	(void)state;
	accepts(SERVICE "cores = 2\n");
	assert_int_equal(config.services[0].cores_min, 2);
	assert_int_equal(config.services[0].cores_max, 2);
	accepts(SERVICE "cores = 3..\n");
	assert_int_equal(config.services[0].cores_min, 3);
	assert_int_equal(config.services[0].cores_max, 0);
}

static void durations_are_exact_and_need_a_unit(void **state)
{
	uint64_t ns = 7;

	(void)state;
	assert_int_equal(config_parse_duration("25ms", &ns), 0);
	assert_int_equal(ns, 25000000);
	assert_int_equal(config_parse_duration("1.5s", &ns), 0);
	assert_int_equal(ns, 1500000000);
	assert_int_equal(config_parse_duration("600us", &ns), 0);
	assert_int_equal(ns, 600000);
	assert_int_equal(config_parse_duration("0.25m", &ns), 0);
	assert_int_equal(ns, 15000000000);
	assert_int_equal(config_parse_duration("0.001us", &ns), 0);
	assert_int_equal(ns, 1);
	assert_int_equal(config_parse_duration("1.000000001s", &ns), 0);
	assert_int_equal(ns, 1000000001);
	assert_int_equal(config_parse_duration("1.50000000000000s", &ns), 0);
	ns = 7;
	assert_int_equal(config_parse_duration("25", &ns), -EINVAL);
	assert_int_equal(config_parse_duration("ms", &ns), -EINVAL);
	assert_int_equal(config_parse_duration("", &ns), -EINVAL);
	assert_int_equal(config_parse_duration("1.ms", &ns), -EINVAL);
	assert_int_equal(config_parse_duration(".5s", &ns), -EINVAL);
	assert_int_equal(config_parse_duration("-1s", &ns), -EINVAL);
	assert_int_equal(config_parse_duration("1 s", &ns), -EINVAL);
	assert_int_equal(config_parse_duration("1ms ", &ns), -EINVAL);
	assert_int_equal(config_parse_duration("0x1s", &ns), -EINVAL);
	assert_int_equal(config_parse_duration("0.0001us", &ns), -ERANGE);
	assert_int_equal(config_parse_duration("1.0000000001s", &ns), -ERANGE);
	assert_int_equal(config_parse_duration("0.000000000001m", &ns), -ERANGE);
	assert_int_equal(config_parse_duration("99999999999999999999s", &ns), -ERANGE);
	assert_int_equal(config_parse_duration("400000000000m", &ns), -ERANGE);
	assert_int_equal(ns, 7);
}

static void durations_out_of_shape_say_what_to_write(void **state)
{
	(void)state;
	refuses_value("interval", "25", "unit missing: write 25ms or 25us");
	refuses_value("interval", "1.5", "unit missing: write 1.5ms or 1.5us");
	refuses_value("interval", "9ms", "9ms is out of range: 10ms to 10s");
	refuses_value("interval", "10.000000001s", "10.000000001s is out of range: 10ms to 10s");
	refuses_value("interval", "1h", "'1h' is not a duration: write a number and us, ms, s or m, for example 25ms");
	refuses_value("interval", "", "'' is not a duration: write a number and us, ms, s or m, for example 25ms");
	accepts("[controller]\ninterval = 10ms\n" SERVICE);
	accepts("[controller]\ninterval = 10s\n" SERVICE);
}

static void an_unknown_policy_is_answered_with_the_known(void **state)
{
	char reason[256] = "unknown policy 'partys'; known:";
	const char *name;

	(void)state;
	for (unsigned int i = 0; (name = policy_name(i)); i++)
		snprintf(reason + strlen(reason), sizeof(reason) - strlen(reason), "%s %s", i ? "," : "", name);
	refuses_value("policy", "partys", reason);
}

static void controller_values_are_bounded(void **state)
{
	(void)state;
	refuses_value("feedback", "ebpf", "'ebpf' is not known: write bpf | client | both | client-first");
	refuses_value("speed", "turbo", "'turbo' is not known: write auto | cpufreq | bandwidth | none");
	refuses_value("reserved", "-1", "'-1' is not a whole number");
	refuses_value("reserved", "1024", "1024 is out of range: 0 to 1023");
	refuses_value("seed", "0x1", "'0x1' is not a whole number");
	refuses_value("seed", "18446744073709551616",
		      "18446744073709551616 is out of range: 0 to 18446744073709551615");
	refuses_value("infeasible_hook", "logger", "'logger' is not an absolute path");
	refuses_value("infeasible_hook", "/nonexistent/x",
		      "'/nonexistent/x' cannot be started: No such file or directory");
}

static void matches_out_of_shape_say_what_to_write(void **state)
{
	const char *kinds = "says no kind: write pid:N, port:N, cgroup:PATH, unit:NAME or exe:NAME";
	char text[512];

	(void)state;
	snprintf(text, sizeof(text), "'8082' %s", kinds);
	refuses_service("match", "8082", text);
	snprintf(text, sizeof(text), "'ports:8082' %s", kinds);
	refuses_service("match", "ports:8082", text);
	snprintf(text, sizeof(text), "'' %s", kinds);
	refuses_service("match", "", text);
	refuses_service("match", "port:0", "0 is out of range: 1 to 65535");
	refuses_service("match", "port:65536", "65536 is out of range: 1 to 65535");
	refuses_service("match", "port:http", "'http' is not a whole number");
	refuses_service("match", "pid:0", "0 is out of range: 1 to 4194304");
	refuses_service("match", "pid:4194305", "4194305 is out of range: 1 to 4194304");
	refuses_service("match", "exe:", "nothing stands after the ':'");
	refuses_service("match", "cgroup:batch",
			"a cgroup is written from its root and below it, for example cgroup:/batch");
	refuses_service("match", "cgroup:/",
			"a cgroup is written from its root and below it, for example cgroup:/batch");
	refuses_service("match", "cgroup:/a/../b",
			"write the cgroup's path plainly, without '//', '/./', '/../' or '/' at the end");
	refuses_service("match", "cgroup:/a//b",
			"write the cgroup's path plainly, without '//', '/./', '/../' or '/' at the end");
	refuses_service("match", "cgroup:/a/",
			"write the cgroup's path plainly, without '//', '/./', '/../' or '/' at the end");
	refuses_service("match", "unit:/a",
			"a '/' stands only between units, for example user@1000.service/app.service");
	refuses_service("match", "unit:a/../b",
			"a '/' stands only between units, for example user@1000.service/app.service");
	memset(text, 'x', 256 + 4);
	memcpy(text, "exe:", 4);
	text[4 + 256] = '\0';
	refuses_service("match", text, "longer than 255 bytes");
}

static void targets_out_of_shape_say_what_to_write(void **state)
{
	(void)state;
	refuses_service("target", "p99 < 0ms",
			"a target of zero can never be met: write the latency to keep, for example p99 < 25ms");
	refuses_service("target", "p99 < 25", "unit missing: write 25ms or 25us");
	refuses_service("target", "p99 < 101s", "101s is out of range: 1us to 100s");
	refuses_service("target", "p99 < 0.5us", "0.5us is out of range: 1us to 100s");
	refuses_service("target", "p49 < 1ms", "'p49' is not a percentile: write p50 to p99.9");
	refuses_service("target", "p100 < 1ms", "'p100' is not a percentile: write p50 to p99.9");
	refuses_service("target", "p99.99 < 1ms", "'p99.99' is not a percentile: write p50 to p99.9");
	refuses_service("target", "99 < 1ms", "'99' is not a percentile: write p50 to p99.9");
	refuses_service("target", "p99. < 1ms", "'p99.' is not a percentile: write p50 to p99.9");
	refuses_service("target", "p99 > 1ms", "'p99 > 1ms' is not a target: write for example p99 < 25ms");
	refuses_service("target", "25ms", "'25ms' is not a target: write for example p99 < 25ms");
}

static void core_ranges_out_of_shape_say_what_to_write(void **state)
{
	(void)state;
	refuses_service("cores", "6..1", "floor 6 is above ceiling 1: write the smaller number first");
	refuses_service("cores", "0..2", "0 is out of range: 1 to 512");
	refuses_service("cores", "1..513", "513 is out of range: 1 to 512");
	refuses_service("cores", "..4", "'' is not a whole number");
	refuses_service("cores", "1-4", "'1-4' is not a whole number");
	refuses_service("cores", "1...4", "'.4' is not a whole number");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_match_is_read),
		cmocka_unit_test(targets_name_percentile_and_latency),
		cmocka_unit_test(cores_are_a_number_or_a_range),
		cmocka_unit_test(durations_are_exact_and_need_a_unit),
		cmocka_unit_test(durations_out_of_shape_say_what_to_write),
		cmocka_unit_test(an_unknown_policy_is_answered_with_the_known),
		cmocka_unit_test(controller_values_are_bounded),
		cmocka_unit_test(matches_out_of_shape_say_what_to_write),
		cmocka_unit_test(targets_out_of_shape_say_what_to_write),
		cmocka_unit_test(core_ranges_out_of_shape_say_what_to_write),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
