// SPDX-License-Identifier: GPL-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_run.h"
#include "record_file.h"
#include "replay.h"

enum { NR_TICKS = 60 };

static struct fake_run run;
static struct replay replay;
static char path[32];
static FILE *in;
static struct {
	struct policy_view view;
	struct allocation allocation;
	char *action;
} seen[NR_TICKS];

static int speed_goes; /* at this tick */
static enum outcome_speed speed_goes_where = OUTCOME_SPEED_GONE;

static int set_up(void **state)
{
	(void)state;
	speed_goes = -1;
	in = fdopen(memfd_create("record", MFD_CLOEXEC), "r");
	if (!in)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(in));
	fake_start(&run, &policy_parties_paper);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	tick_fini(&run.tick);
	replay_end(&replay);
	memset(&replay, 0, sizeof(replay));
	for (int n = 0; n < NR_TICKS; n++)
		free(seen[n].action);
	memset(seen, 0, sizeof(seen));
	return fclose(in);
}

/* Numbers whose last digits seconds and us do not keep, and every kind of window, by turns. */
static void disturb(int n)
{
	for (uint32_t i = 0; i < 2; i++) {
		struct sample *s = &run.samples[i];

		s->nr_arrived = 300 + (uint64_t)n * 7;
		s->nr_completed = n % 9 == 5 ? 0 : n % 4 == 3 ? 20 : 300;
		s->steer_ns = (n % 7 < 4 ? 3 * MS : 12345 * MS) + (uint64_t)n * 1234567 + i;
		s->oldest_ns = 98765432101234ull + (uint64_t)n;
		s->nr_over_target = n % 5;
		s->nr_listen_drops = n % 11 == 10;
		s->cpu_ns = 12345678901ull + (uint64_t)n * (i + 1);
		s->signal = n % 13 == 6 && i ? POLICY_LOST : POLICY_FRESH;
		s->other = (struct sample_other){ n % 3 > 0, 300, 2 * MS, 3 * MS, 9 * MS + (uint64_t)n, 9 * MS };
	}
	run.read_error = n % 17 == 16 ? -EIO : 0;
	run.apply_error = n % 10 == 8 ? -EBUSY : 0;
	run.speed = n == speed_goes ? speed_goes_where : OUTCOME_SPEED_AS_BEFORE;
}

static void write_run(const char *mode)
{
	uint64_t now_ns = 7123456789ull, window_ns = 0;
	struct record *record;

	run.tick.steer = strcmp(mode, "observe") != 0;
	assert_int_equal(tick_init(&run.tick, 1), 0);
	assert_int_equal(record_open(&record, path), 0);
	assert_int_equal(record_header(record, &run.tick, mode, "cpuset=v1"), 0);
	for (int n = 0; n < NR_TICKS; n++) {
		disturb(n);
		tick_step(&run.tick, now_ns, window_ns);
		assert_int_equal(record_tick(record, &run.tick), 0);
		seen[n].view = run.tick.report.view;
		seen[n].allocation = run.tick.allocation;
		seen[n].action = record_action_text(&run.tick);
		window_ns = n % 19 == 18 ? 1700 * MS : 500 * MS + (uint64_t)n; /* one window too long to believe */
		now_ns += window_ns;
	}
	assert_int_equal(record_close(record), 0);
}

static json_t *next_line(void)
{
	return json_loadf(in, JSON_DISABLE_EOF_CHECK, NULL);
}

static const char *give(const char *(*take)(struct replay *r, const json_t *line), json_t *line)
{
	const char *why = take(&replay, line);

	json_decref(line);
	return why;
}

static void start(void)
{
	assert_null(give(replay_header, next_line()));
	assert_null(replay_start(&replay));
}

static void expect_same_ticks(void)
{
	for (int n = 0; n < NR_TICKS; n++) {
		const struct policy_view *now = &replay.tick.report.view, *then = &seen[n].view;
		char *action;

		assert_null(give(replay_tick, next_line()));
		assert_memory_equal(now->services, then->services, 2 * sizeof(now->services[0]));
		assert_int_equal(now->window_ns, then->window_ns);
		assert_int_equal(now->nr_cores, then->nr_cores);
		assert_int_equal(now->nr_speeds, then->nr_speeds);
		assert_int_equal(now->nominal_speed, then->nominal_speed);
		assert_int_equal(now->speed_is_quota, then->speed_is_quota);
		assert_int_equal(now->has_be, then->has_be);
		assert_int_equal(now->be_cores, then->be_cores);
		assert_int_equal(now->idle_cores, then->idle_cores);
		assert_int_equal(now->last_failed, then->last_failed);
		action = record_action_text(&replay.tick);
		assert_string_equal(action, seen[n].action);
		free(action);
		for (int owner = ALLOCATION_BE; owner < 2; owner++)
			assert_int_equal(allocation_count(&replay.tick.allocation, owner),
					 allocation_count(&seen[n].allocation, owner));
	}
}

static void every_view_and_decision_of_a_run_comes_back_exactly(void **state)
{
	(void)state;
	write_run("live");
	start();
	assert_int_equal(replay.config.interval_ns, run.config.interval_ns);
	assert_int_equal(replay.config.seed, run.config.seed);
	expect_same_ticks();
}

static void a_run_that_only_observed_comes_back_too(void **state)
{
	(void)state;
	write_run("observe");
	start();
	expect_same_ticks();
	assert_false(replay.tick.steer);
}

static void a_machine_of_quotas_with_reserved_cpus_comes_back_too(void **state)
{
	(void)state;
	run.ladder = (struct speed_ladder){ SPEED_BANDWIDTH, 3, 2, { 800, 900, 1000 } };
	run.config.reserved_cpus = 2;
	run.config.seed = UINT64_MAX;
	write_run("sim");
	start();
	expect_same_ticks();
}

/* Whether the step went well or failed. */
static void speeds_that_were_given_up_are_given_up_again(void **state)
{
	(void)state;
	for (int n = 7; n <= 8; n++) {
		speed_goes = n;
		write_run("live");
		start();
		expect_same_ticks();
		assert_true(replay.tick.speed_is_gone);
		tear_down(state);
		set_up(state);
	}
}

static void a_quota_that_took_their_place_takes_it_again(void **state)
{
	(void)state;
	speed_goes = 7;
	speed_goes_where = OUTCOME_SPEED_BANDWIDTH;
	write_run("live");
	start();
	expect_same_ticks();
	assert_false(replay.tick.speed_is_gone);
	assert_int_equal(replay.tick.ladder->kind, SPEED_BANDWIDTH);
	assert_true(replay.tick.report.view.speed_is_quota);
	speed_goes_where = OUTCOME_SPEED_GONE;
}

static void a_header_that_lacks_something_says_what(void **state)
{
	static const char *const keys[][2] = {
		{ "machine", "assignable_cores" }, { "config", "interval_ns" }, { "machine", "speed" },
		{ "config", "services" },
	};
	json_t *header;

	(void)state;
	write_run("live");
	header = next_line();
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		json_t *less = json_deep_copy(header);
		const char *why;

		json_object_del(json_object_get(less, keys[i][0]), keys[i][1]);
		memset(&replay, 0, sizeof(replay));
		why = give(replay_header, less);
		assert_non_null(why);
		assert_non_null(strstr(why, keys[i][1]));
	}
	json_decref(header);
	assert_non_null(strstr(give(replay_header, json_pack("{s:s, s:i}", "record", "parties", "schema_version", 99)),
			       "another version"));
	assert_non_null(strstr(give(replay_header, json_array()), "not a record"));
}

static void a_tick_that_lacks_something_says_what(void **state)
{
	static const char *const keys[] = { "arrivals", "completed", "in_flight", "over_target", "listen_drops",
					    "steer_ns", "oldest_ns", "cpu_ns" };
	json_t *line;

	(void)state;
	write_run("live");
	start();
	line = next_line();
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		json_t *less = json_deep_copy(line);
		const char *why;

		json_object_set_new(json_array_get(json_object_get(less, "services"), 1), keys[i], json_integer(-1));
		why = give(replay_tick, less);
		assert_non_null(why);
		assert_int_equal(strncmp(why, keys[i], strlen(keys[i])), 0);
	}
	assert_null(give(replay_tick, line));
}

static void a_missing_tick_is_noticed(void **state)
{
	(void)state;
	write_run("live");
	start();
	assert_null(give(replay_tick, next_line()));
	json_decref(next_line());
	assert_non_null(strstr(give(replay_tick, next_line()), "a line is missing"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_view_and_decision_of_a_run_comes_back_exactly, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_run_that_only_observed_comes_back_too, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_machine_of_quotas_with_reserved_cpus_comes_back_too, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(speeds_that_were_given_up_are_given_up_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_quota_that_took_their_place_takes_it_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_header_that_lacks_something_says_what, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_tick_that_lacks_something_says_what, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_missing_tick_is_noticed, set_up, tear_down),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
