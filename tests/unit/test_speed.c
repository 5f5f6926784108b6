// SPDX-License-Identifier: GPL-2.0
/*
 * test_speed.c - speed.c through whole ticks on a tree of CPUs: a policy moves speeds, cpuinfo_avg_freq says what comes
 * of it.  The tree is a machine that accepts every speed and runs at its own ("frozen"), or that does what it is told.
 * wrap: cpufreq_modify_policy_governor
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "fixtures/cpufreq.h"
#include "inject.h"
#include "restore.h"
#include "speed.h"
#include "tick.h"

#define MS 1000000ull
enum { NR_CORES = 4, NR_SERVICES = 2, FROZEN_KHZ = 2450000 };

static struct topology topology;
static struct config config;
static struct speed speed;
static struct tick tick;
static struct cpulist have[NR_SERVICES]; /* in force */
static bool is_frozen;
static uint64_t step_nr;
static uint32_t nr_otherwise, nr_gone, nr_refused;
static char last_note[160];

/* What the hardware makes of it. */
static void run_cpus(void)
{
	for (unsigned int cpu = 0; cpu < NR_CORES; cpu++) {
		bool exact = !strcmp(get(cpu, "scaling_governor"), "userspace");
		int khz = is_frozen ? FROZEN_KHZ : atoi(get(cpu, exact ? "scaling_setspeed" : "scaling_max_freq"));
		char text[16];

		snprintf(text, sizeof(text), "%d\n", khz);
		put(cpu, "cpuinfo_avg_freq", text);
	}
}

/* Much slack, so that every policy gives; now and then too little. */
static int read_samples(void *ctx, uint64_t now_ns, struct sample *samples, uint32_t nr_services)
{
	bool is_late = step_nr % 40 > 35;

	(void)ctx, (void)now_ns;
	run_cpus();
	clocks_end_window(speed.clocks);
	for (uint32_t i = 0; i < nr_services; i++) {
		uint64_t latency_ns = is_late ? 30 * MS : 4 * MS;

		samples[i] = (struct sample){
			.window_ns = 500 * MS, .nr_arrived = 300, .nr_completed = 300, .mean_ns = latency_ns,
			.p50_ns = latency_ns, .p95_ns = latency_ns, .p99_ns = latency_ns, .steer_ns = latency_ns,
			.total_p99_ns = latency_ns, .cpu_ns = 300 * MS,
		};
		if (!cpulist_empty(&have[i]))
			samples[i].measured_khz = speed_measure(&speed, i, &have[i], &samples[i]);
	}
	return 0;
}

static int apply_all(void *ctx, const struct allocation *want, struct outcome *ret)
{
	struct outcome out = { 0 };
	int err;

	(void)ctx;
	undo_begin(undo);
	err = speed_apply(&speed, want, &topology, &topology.online, journal, undo, &out);
	speed_look_for_drift(&speed, ++step_nr, &out);
	if (err)
		undo_rollback(undo);
	for (uint32_t i = 0; i < NR_SERVICES && !err; i++)
		allocation_cpus(want, &topology, (int)i, &have[i]);
	nr_otherwise += out.speed == OUTCOME_SPEED_OTHERWISE;
	nr_gone += out.speed == OUTCOME_SPEED_GONE;
	if (out.note[0])
		memcpy(last_note, out.note, sizeof(last_note));
	*ret = out;
	return err;
}

static void put_machine(const char *governors)
{
	topology = (struct topology){ .nr_cores = NR_CORES };
	for (unsigned int cpu = 0; cpu < NR_CORES; cpu++) {
		char own[16];

		snprintf(own, sizeof(own), "%u\n", cpu);
		put_cpu(cpu, own, "2450000 2200000 2000000 1800000 1500000 \n", governors);
		cpulist_add(&topology.cores[cpu].cpus, cpu);
		cpulist_add(&topology.online, cpu);
		topology.cores[cpu].first_cpu = (uint16_t)cpu;
	}
	run_cpus();
}

static void start(const char *policy)
{
	struct machine_opts opts = { .root = "", .topology = &topology, .speed = CONFIG_SPEED_CPUFREQ, .force = true };
	char error[256];

	assert_int_equal(speed_find(&speed, &opts, false, error, sizeof(error)), 0);
	assert_non_null(speed.clocks);
	assert_int_equal(speed_start(&speed, journal, undo, error, sizeof(error)), 0);
	config = (struct config){ .interval_ns = 500 * MS, .seed = 1, .nr_services = NR_SERVICES };
	snprintf(config.policy, sizeof(config.policy), "%s", policy);
	policy_default_options(policy_find(policy), config.options);
	for (uint32_t i = 0; i < NR_SERVICES; i++) {
		snprintf(config.services[i].name, sizeof(config.services[i].name), "s%u", i);
		config.services[i].percentile_permille = 990;
		config.services[i].target_ns = 25 * MS;
		config.services[i].cores_min = 1;
	}
	tick = (struct tick){
		.config = &config, .topology = &topology, .ladder = &speed.ladder, .sensor = { NULL, read_samples },
		.actuator = { NULL, apply_all }, .policy = policy_find(policy), .steer = true,
	};
	assert_int_equal(tick_init(&tick, 0), 0);
}

static void play(uint64_t nr_ticks)
{
	for (uint64_t n = 0; n < nr_ticks; n++) {
		uint64_t end_ns = tick.totals.nr_ticks * 500 * MS;

		assert_int_equal(tick_step(&tick, end_ns, tick.totals.nr_ticks ? 500 * MS : 0), 0);
		nr_refused += tick.report.outcome.error == -EINVAL;
	}
}

static int set_up(void **state)
{
	memset(&speed, 0, sizeof(speed));
	memset(have, 0, sizeof(have));
	is_frozen = false;
	step_nr = nr_otherwise = nr_gone = nr_refused = 0;
	last_note[0] = '\0';
	return make_tree(state);
}

static int tear_down(void **state)
{
	tick_fini(&tick);
	speed_close(&speed);
	inject_clear();
	return remove_tree(state);
}

static void speeds_that_are_followed_stay_on_the_wheel(void **state)
{
	(void)state;
	put_machine("userspace performance schedutil \n");
	bind_tree();
	start("parties-paper");
	play(200);
	assert_int_equal(nr_otherwise + nr_gone, 0);
	assert_int_equal(frequency_way(speed.frequency), LADDER_USERSPACE);
	assert_true(tick.totals.nr_moves > 0);
	assert_int_equal(nr_refused, 0);
}

static void frozen_speeds_leave_the_wheel_and_cores_stay_on_it(void **state)
{
	static const char *const policies[] = { "parties-paper", "parties-released", "adaptive" };
	char error[256];

	(void)state;
	put_machine("userspace performance schedutil \n");
	bind_tree();
	is_frozen = true;
	for (size_t p = 0; p < sizeof(policies) / sizeof(policies[0]); p++) {
		uint64_t nr_moves;

		nr_otherwise = nr_gone = nr_refused = 0;
		memset(have, 0, sizeof(have));
		start(policies[p]);
		play(400);
		print_message("# %s: %u ways given up, gone %u, %llu moves: %s\n", policies[p], nr_otherwise, nr_gone,
			      (unsigned long long)tick.totals.nr_moves, last_note);
		assert_int_equal(nr_otherwise, 1);
		assert_int_equal(nr_gone, 1);
		assert_int_equal(nr_refused, 0);
		assert_string_equal(last_note, "by=cap does nothing: cores run faster than they may; only cores are left");
		assert_string_equal(get(0, "scaling_governor"), "performance");
		assert_int_equal(atoi(get(0, "scaling_max_freq")), 3000000);
		for (uint32_t i = 0; i < NR_SERVICES; i++) {
			assert_int_equal(tick.report.view.services[i].have.speed, tick.report.view.nominal_speed);
			assert_int_equal(tick.report.samples[i].measured_khz, FROZEN_KHZ);
		}
		/* From now on nothing is written. */
		nr_moves = tick.totals.nr_moves;
		put(0, "scaling_max_freq", "1800000\n");
		play(80);
		assert_int_equal(atoi(get(0, "scaling_max_freq")), 1800000);
		assert_int_equal(nr_gone, 1);
		assert_int_equal(nr_refused, 0);
		assert_true(tick.totals.nr_moves >= nr_moves);
		assert_true(restore_journal("", root, error, sizeof(error)) > 0);
		assert_string_equal(get(0, "scaling_governor"), "schedutil");
		assert_int_equal(atoi(get(0, "scaling_max_freq")), 2500000);
		tick_fini(&tick);
		speed_close(&speed);
		journal_close(journal);
		memset(&speed, 0, sizeof(speed));
		assert_int_equal(journal_open(&journal, root), 0);
	}
}

static void a_way_whose_files_stop_working_is_given_up_and_control_goes_on(void **state)
{
	char error[128];

	(void)state;
	put_machine("userspace performance schedutil \n");
	bind_tree();
	start("parties-paper");
	play(20);
	assert_int_equal(inject_add("/cpu*/cpufreq/scaling_setspeed write EPERM", SYSFS, error, sizeof(error)), 0);
	play(60);
	assert_int_equal(nr_otherwise, 1);
	assert_string_equal(last_note, "by=userspace does nothing: its files cannot be written; from now on by=cap");
	assert_int_equal(tick.nr_failed, 0);
	assert_int_equal(inject_add("/cpu*/cpufreq/scaling_max_freq write EPERM", SYSFS, error, sizeof(error)), 0);
	play(60);
	assert_int_equal(nr_gone, 1);
	assert_int_equal(tick.nr_failed, 0);
	assert_int_equal(nr_refused, 0);
}

static void a_start_that_one_way_refuses_is_made_by_the_next(void **state)
{
	char error[128];

	(void)state;
	put_machine("userspace performance schedutil \n");
	bind_tree();
	assert_int_equal(inject_add("/cpu*/cpufreq/scaling_governor write EINVAL", SYSFS, error, sizeof(error)), 0);
	start("parties-paper");
	assert_int_equal(frequency_way(speed.frequency), LADDER_CAP);
	assert_string_equal(get(0, "scaling_governor"), "schedutil");
	play(20);
	assert_int_equal(tick.nr_failed, 0);
}

int main(void)
{
#define SPEED_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		SPEED_TEST(speeds_that_are_followed_stay_on_the_wheel),
		SPEED_TEST(frozen_speeds_leave_the_wheel_and_cores_stay_on_it),
		SPEED_TEST(a_way_whose_files_stop_working_is_given_up_and_control_goes_on),
		SPEED_TEST(a_start_that_one_way_refuses_is_made_by_the_next),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
