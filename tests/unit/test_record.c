// SPDX-License-Identifier: GPL-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <signal.h>
#include <unistd.h>

#include "fake_run.h"
#include "record_file.h"

static struct fake_run run;
static struct record *record;
static char folder[] = "/tmp/test_record.XXXXXX", path[64];

static int set_up(void **state)
{
	(void)state;
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/r.jsonl", folder);
	fake_start(&run, &fake_policy);
	return tick_init(&run.tick, 1);
}

static int tear_down(void **state)
{
	(void)state;
	tick_fini(&run.tick);
	unlink(path);
	return rmdir(folder);
}

static json_t *read_line(FILE *in)
{
	char line[65536];

	return fgets(line, sizeof(line), in) ? json_loads(line, 0, NULL) : NULL;
}

static double number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	assert_true(json_is_number(value));
	return json_number_value(value);
}

static const char *text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static void write_run(int nr_ticks)
{
	struct record_totals totals;

	assert_int_equal(record_open(&record, path), 0);
	assert_int_equal(record_header(record, &run.tick, "live", "cpuset=v1"), 0);
	for (int n = 0; n < nr_ticks; n++) {
		tick_step(&run.tick, 5000 * MS + (uint64_t)n * 500 * MS, n ? 500 * MS : 0);
		assert_int_equal(record_tick(record, &run.tick), 0);
	}
	tick_totals(&run.tick, &totals);
	totals.nr_overruns = 3;
	assert_int_equal(record_totals(record, &totals), 0);
	assert_int_equal(record_close(record), 0);
}

static void a_header_says_on_what_machine_and_with_which_settings(void **state)
{
	json_t *header, *machine, *config;
	FILE *in;

	(void)state;
	write_run(1);
	in = fopen(path, "r");
	header = read_line(in);
	fclose(in);
	machine = json_object_get(header, "machine");
	config = json_object_get(header, "config");
	assert_int_equal(number(header, "schema_version"), RECORD_SCHEMA_VERSION);
	assert_string_equal(text(header, "mode"), "live");
	assert_string_equal(text(header, "policy"), "fake");
	assert_int_equal(number(header, "seed"), 7);
	assert_string_equal(text(machine, "cpus"), "0-11");
	assert_string_equal(text(machine, "knobs"), "cpuset=v1");
	assert_string_equal(text(json_object_get(machine, "speed"), "kind"), "cpufreq");
	assert_int_equal(json_array_size(json_object_get(json_object_get(machine, "speed"), "values")), 3);
	assert_int_equal(number(json_array_get(json_object_get(config, "services"), 0), "target_us"), 25000);
	assert_non_null(strstr(text(config, "text"), "[service memcached]"));
	json_decref(header);
}

static json_t *line_at(int nr)
{
	FILE *in = fopen(path, "r");
	json_t *line = read_line(in);

	while (nr--) {
		json_decref(line);
		line = read_line(in);
	}
	fclose(in);
	return line;
}

static void measured_speed_and_energy_stand_beside_what_was_asked_for_and_modelled(void **state)
{
	struct record_totals totals;
	json_t *line, *service;

	(void)state;
	run.samples[0].measured_khz = 2612345;
	write_run(2);
	line = line_at(2);
	service = json_array_get(json_object_get(line, "services"), 0);
	assert_int_equal(number(service, "khz"), 2450000);
	assert_int_equal(number(service, "measured_khz"), 2612345);
	assert_null(json_object_get(json_array_get(json_object_get(line, "services"), 1), "measured_khz"));
	assert_null(json_object_get(json_object_get(line, "outcome"), "speed"));
	json_decref(line);
	line = line_at(3);
	assert_null(json_object_get(line, "package_j")); /* no meters: not 0 */
	json_decref(line);

	tick_totals(&run.tick, &totals);
	totals.has_package = true;
	totals.package_j = 123.5;
	assert_int_equal(record_open(&record, path), 0);
	assert_int_equal(record_header(record, &run.tick, "live", ""), 0);
	assert_int_equal(record_totals(record, &totals), 0);
	assert_int_equal(record_close(record), 0);
	line = line_at(1);
	assert_float_equal(number(line, "package_j"), 123.5, 1e-9);
	assert_string_equal(text(line, "energy_source"), "modelled");
	json_decref(line);
}

static void speeds_that_are_given_up_are_in_the_outcome_and_no_longer_in_the_shares(void **state)
{
	json_t *line, *service;

	(void)state;
	run.speed = OUTCOME_SPEED_GONE;
	write_run(2);
	line = line_at(2);
	service = json_array_get(json_object_get(line, "services"), 0);
	assert_string_equal(text(json_object_get(line, "outcome"), "speed"), "gone");
	assert_null(json_object_get(service, "khz"));
	assert_int_equal(number(service, "cores"), 2);
	json_decref(line);
}

static void a_tick_tells_what_was_seen_and_what_is_in_force(void **state)
{
	json_t *line, *service;
	FILE *in;

	(void)state;
	write_run(2);
	in = fopen(path, "r");
	json_decref(read_line(in));
	json_decref(read_line(in));
	line = read_line(in);
	fclose(in);
	service = json_array_get(json_object_get(line, "services"), 0);
	assert_float_equal(number(line, "t_s"), 0.5, 1e-9);
	assert_float_equal(number(line, "window_s"), 0.5, 1e-9);
	assert_int_equal(number(line, "idle_cores"), 1);
	assert_int_equal(number(json_object_get(line, "be"), "cores"), 1);
	assert_string_equal(text(service, "name"), "search");
	assert_float_equal(number(service, "rps"), 600, 1e-9);
	assert_float_equal(number(service, "p99_us"), 4000, 1e-9);
	assert_float_equal(number(service, "cpu_s"), 0.6, 1e-9);
	assert_string_equal(text(service, "state"), "fresh");
	assert_int_equal(number(service, "slack"), 840);
	assert_int_equal(number(service, "cores"), 2);
	assert_int_equal(number(service, "khz"), 2450000);
	assert_string_equal(text(service, "core_ids"), "0-1,6-7");
	assert_string_equal(text(json_object_get(line, "action"), "victim"), "best-effort");
	assert_string_equal(text(json_object_get(line, "action"), "direction"), "up");
	assert_int_equal(number(json_object_get(line, "outcome"), "error"), 0);
	json_decref(line);
}

static void waiting_for_a_cpu_is_in_a_tick_and_unknown_waiting_is_null(void **state)
{
	json_t *line, *service, *culprit;
	FILE *in;

	(void)state;
	run.samples[0].has_run_delay = true;
	run.samples[0].run_delay_ns = 300 * MS;
	run.samples[0].net_delay_ns = 100 * MS;
	run.samples[0].throttled_ns = 200 * MS;
	run.samples[0].culprits = (struct culprits){ .known = true, .nr = 1, .self_ns = 2 * MS,
		.top = { { .comm = "burn\xff", .cgroup = "/batch", .cgroup_id = 7, .wait_ns = 98 * MS } } };
	write_run(2);
	in = fopen(path, "r");
	json_decref(read_line(in));
	json_decref(read_line(in));
	line = read_line(in);
	fclose(in);
	service = json_array_get(json_object_get(line, "services"), 0);
	assert_float_equal(number(service, "run_delay_s"), 0.3, 1e-9);
	assert_float_equal(number(service, "net_delay_s"), 0.1, 1e-9);
	assert_float_equal(number(service, "throttled_s"), 0.2, 1e-9);
	culprit = json_array_get(json_object_get(service, "culprits"), 0);
	assert_string_equal(text(culprit, "comm"), "burn?");
	assert_string_equal(text(culprit, "cgroup"), "/batch");
	assert_int_equal(number(culprit, "cgroup_id"), 7);
	assert_float_equal(number(culprit, "wait_ms"), 98, 1e-9);
	assert_float_equal(number(json_object_get(service, "waits_ms"), "self"), 2, 1e-9);
	service = json_array_get(json_object_get(line, "services"), 1);
	assert_true(json_is_null(json_object_get(service, "run_delay_s")));
	assert_true(json_is_null(json_object_get(service, "net_delay_s")));
	assert_null(json_object_get(service, "culprits"));
	json_decref(line);
}

static void the_feedback_that_does_not_steer_stands_beside_the_one_that_does(void **state)
{
	json_t *header, *line, *service;
	FILE *in;

	(void)state;
	run.config.feedback = CONFIG_FEEDBACK_CLIENT_FIRST;
	run.samples[0].other = (struct sample_other){ true, 290, 1 * MS, 2 * MS, 3 * MS, 3 * MS };
	write_run(2);
	in = fopen(path, "r");
	header = read_line(in);
	json_decref(read_line(in));
	line = read_line(in);
	fclose(in);
	assert_string_equal(text(json_object_get(header, "config"), "feedback"), "client-first");
	service = json_array_get(json_object_get(line, "services"), 0);
	assert_int_equal(number(service, "other_completed"), 290);
	assert_float_equal(number(service, "other_p95_us"), 2000, 1e-9);
	assert_float_equal(number(service, "other_steer_us"), 3000, 1e-9);
	service = json_array_get(json_object_get(line, "services"), 1);
	assert_true(json_is_null(json_object_get(service, "other_completed")));
	assert_true(json_is_null(json_object_get(service, "other_p99_us")));
	json_decref(header);
	json_decref(line);
}

static void totals_come_last_with_the_agreed_names(void **state)
{
	static const char *const names[] = {
		"violated_windows_pct", "core_seconds", "energy_j", "be_work", "own_cpu_pct", "mean_speed", "ticks",
		"overruns", "moves", "infeasible", "late_requests_pct",
	};
	json_t *line = NULL, *next;
	FILE *in;

	(void)state;
	write_run(4);
	in = fopen(path, "r");
	while ((next = read_line(in))) {
		json_decref(line);
		line = next;
	}
	fclose(in);
	assert_true(json_is_true(json_object_get(line, "totals")));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		number(line, names[i]);
	assert_string_equal(text(line, "energy_source"), "modelled");
	assert_int_equal(number(line, "overruns"), 3);
	assert_int_equal(json_array_size(json_object_get(line, "services")), 2);
	json_decref(line);
}

static void a_latency_without_requests_is_null_not_zero(void **state)
{
	json_t *line, *service;
	FILE *in;

	(void)state;
	memset(run.samples, 0, sizeof(run.samples));
	write_run(2);
	in = fopen(path, "r");
	json_decref(read_line(in));
	json_decref(read_line(in));
	line = read_line(in);
	fclose(in);
	service = json_array_get(json_object_get(line, "services"), 0);
	assert_true(json_is_null(json_object_get(service, "p99_us")));
	assert_string_equal(text(service, "state"), "idle");
	json_decref(line);
}

static void observing_shows_no_cores_because_nobody_is_confined(void **state)
{
	json_t *line;
	FILE *in;

	(void)state;
	run.tick.steer = false;
	write_run(1);
	in = fopen(path, "r");
	json_decref(read_line(in));
	line = read_line(in);
	fclose(in);
	assert_null(json_object_get(json_array_get(json_object_get(line, "services"), 0), "cores"));
	assert_null(json_object_get(line, "idle_cores"));
	json_decref(line);
}

static void a_path_that_cannot_be_written_is_refused_at_once(void **state)
{
	(void)state;
	assert_int_equal(record_open(&record, "/nonexistent/x"), -ENOENT);
	assert_int_equal(record_open(&record, folder), -EISDIR);
}

static void a_run_that_never_starts_costs_nobody_a_record(void **state)
{
	char line[16] = "";
	FILE *out, *in;

	(void)state;
	assert_int_equal(record_open(&record, path), 0);
	assert_int_equal(record_close(record), 0);
	assert_int_equal(access(path, F_OK), -1);
	out = fopen(path, "w");
	fputs("precious\n", out);
	fclose(out);
	assert_int_equal(record_open(&record, path), 0);
	assert_int_equal(record_close(record), 0);
	in = fopen(path, "r");
	assert_non_null(fgets(line, sizeof(line), in));
	fclose(in);
	assert_string_equal(line, "precious\n");
}

static void a_longer_record_of_an_earlier_run_is_replaced_whole(void **state)
{
	struct stat before, after;

	(void)state;
	write_run(50);
	stat(path, &before);
	tick_fini(&run.tick);
	fake_start(&run, &fake_policy);
	tick_init(&run.tick, 1);
	write_run(2);
	stat(path, &after);
	assert_true(after.st_size < before.st_size / 4);
}

static void a_full_device_is_reported_once_at_the_end(void **state)
{
	(void)state;
	if (access("/dev/full", W_OK)) {
		print_message("# no /dev/full here\n");
		skip();
	}
	assert_int_equal(record_open(&record, "/dev/full"), 0);
	record_header(record, &run.tick, "live", "");
	assert_int_equal(tick_step(&run.tick, 0, 0), 0);
	record_tick(record, &run.tick);
	assert_int_equal(record_close(record), -ENOSPC);
}

static void a_limit_reached_in_the_middle_of_a_line_leaves_whole_lines(void **state)
{
	struct rlimit old, small;
	int nr_lines = 0;
	json_t *line;
	FILE *in;

	(void)state;
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = 5000;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &small);
	assert_int_equal(record_open(&record, path), 0);
	record_header(record, &run.tick, "live", "");
	for (int n = 0; n < 10; n++) {
		tick_step(&run.tick, (uint64_t)n * 500 * MS, 500 * MS);
		record_tick(record, &run.tick);
	}
	assert_true(record_close(record) < 0);
	setrlimit(RLIMIT_FSIZE, &old);
	in = fopen(path, "r");
	for (; (line = read_line(in)); nr_lines++)
		json_decref(line);
	assert_true(feof(in));
	fclose(in);
	assert_in_range(nr_lines, 2, 9);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_header_says_on_what_machine_and_with_which_settings),
		TEST(measured_speed_and_energy_stand_beside_what_was_asked_for_and_modelled),
		TEST(speeds_that_are_given_up_are_in_the_outcome_and_no_longer_in_the_shares),
		TEST(a_tick_tells_what_was_seen_and_what_is_in_force),
		TEST(waiting_for_a_cpu_is_in_a_tick_and_unknown_waiting_is_null),
		TEST(the_feedback_that_does_not_steer_stands_beside_the_one_that_does),
		TEST(totals_come_last_with_the_agreed_names),
		TEST(a_latency_without_requests_is_null_not_zero),
		TEST(observing_shows_no_cores_because_nobody_is_confined),
		TEST(a_path_that_cannot_be_written_is_refused_at_once),
		TEST(a_run_that_never_starts_costs_nobody_a_record),
		TEST(a_longer_record_of_an_earlier_run_is_replaced_whole),
		TEST(a_full_device_is_reported_once_at_the_end),
		TEST(a_limit_reached_in_the_middle_of_a_line_leaves_whole_lines),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
