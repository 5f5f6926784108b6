// SPDX-License-Identifier: GPL-2.0
/*
 * test_stand_in.c - speeds that do nothing, through whole ticks of a machine on a tree: bandwidth takes their place where
 * nobody asked for frequency by its name, and everything is put back.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "bandwidth.h"
#include "fixtures/steered.h"
#include "record.h"

#define CPUS "sys/devices/system/cpu/cpu"
#define MS 1000000ull
enum { NR_SERVICES = 2, NR_CPUS = 16 };

static struct steered world;
static uint32_t nr_bandwidth, nr_gone, nr_quotas;
static char note[160];

/* Much slack, so that policies give; now and then too little.  Cores are busy, and run at a speed of their own. */
static int read_samples(void *ctx, uint64_t now_ns, struct sample *samples, uint32_t nr_services)
{
	uint64_t latency_ns = now_ns / (500 * MS) % 40 > 35 ? 30 * MS : 3 * MS;

	(void)ctx;
	for (uint32_t i = 0; i < nr_services; i++)
		samples[i] = (struct sample){
			.window_ns = 500 * MS, .nr_arrived = 300, .nr_completed = 300, .mean_ns = latency_ns,
			.p50_ns = latency_ns, .p99_ns = latency_ns, .steer_ns = latency_ns,
			.cpu_ns = 475 * MS * allocation_count(&world.tick.allocation, (int)i),
		};
	machine_measure(world.machine, samples);
	return 0;
}

static int open_world(enum config_speed speed)
{
	steered_lay_out(&world, "epyc-7302-nosmt cpufreq=acpi domain=cpu", NR_SERVICES, 0);
	tree_put(world.root, "0\n", "sys/devices/system/cpu/cpufreq/boost");
	for (int cpu = 0; cpu < NR_CPUS; cpu++)
		tree_put(world.root, "3000000\n", CPUS "%d/cpufreq/cpuinfo_avg_freq", cpu);
	world.config.speed = speed;
	return 0;
}

static void open_frozen(enum config_speed speed)
{
	open_world(speed);
	if (steered_open(&world, &policy_parties_paper, (struct sensor){ NULL, read_samples }))
		fail_msg("%s", world.error);
}

static int set_up(void **state)
{
	(void)state;
	nr_bandwidth = nr_gone = nr_quotas = 0;
	note[0] = '\0';
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	steered_remove(&world);
	inject_clear();
	return 0;
}

static bool has_quota(uint32_t service)
{
	return strncmp(steered_get(&world, service, "cpu.max"), "max", 3) != 0;
}

static void play(int nr_steps)
{
	for (int i = 0; i < nr_steps; i++) {
		const struct outcome *out = &world.tick.report.outcome;

		assert_int_equal(steered_step(&world), 0);
		if (out->error)
			fail_msg("step %d: %s", i, out->where);
		nr_bandwidth += out->speed == OUTCOME_SPEED_BANDWIDTH;
		nr_gone += out->speed == OUTCOME_SPEED_GONE;
		nr_quotas += has_quota(0) || has_quota(1);
		if (out->speed)
			snprintf(note, sizeof(note), "%s", out->note);
	}
}

static void assert_as_before(void)
{
	assert_int_equal(machine_close(world.machine), 0);
	world.machine = NULL;
	for (uint32_t i = 0; i < NR_SERVICES; i++) {
		assert_string_equal(steered_get(&world, i, "cpu.max"), "max 100000");
		assert_string_equal(steered_get(&world, i, "cpuset.cpus"), "");
	}
	assert_string_equal(tree_line(world.root, CPUS "0/cpufreq/scaling_governor"), "schedutil");
	assert_int_equal(atoi(tree_line(world.root, CPUS "0/cpufreq/scaling_max_freq")), 3000000);
	assert_string_equal(tree_get(world.root, "run/parties/journal"), "");
}

static void assert_given_up(const char *ways)
{
	json_t *tick = record_tick_json(&world.tick);

	assert_string_equal(json_string_value(json_object_get(json_object_get(tick, "speed"), "given_up")), ways);
	json_decref(tick);
}

static void bandwidth_takes_the_place_of_speeds_that_do_nothing(void **state)
{
	const struct policy_view *view = &world.tick.report.view;

	(void)state;
	open_frozen(CONFIG_SPEED_AUTO);
	assert_non_null(strstr(machine_describe(world.machine), "speed=cpufreq by=userspace"));
	play(300);
	assert_int_equal(nr_bandwidth, 1);
	assert_int_equal(nr_gone, 0);
	assert_string_equal(note, "by=cap does nothing: cores run faster than they may; bandwidth takes its place");
	assert_ptr_equal(world.tick.ladder, &bandwidth_ladder);
	assert_false(world.tick.speed_is_gone);
	assert_true(view->speed_is_quota);
	assert_int_equal(view->nr_speeds, BANDWIDTH_NR_STEPS);
	assert_int_equal(view->services[0].min.speed, 0);
	assert_int_equal(view->services[0].max.speed, BANDWIDTH_NR_STEPS - 1);
	assert_true(nr_quotas > 20); /* the policy moves them */
	assert_given_up("userspace cap");
	/* Speeds are nobody's any more, and as fast as they can. */
	assert_int_equal(atoi(tree_line(world.root, CPUS "0/cpufreq/scaling_max_freq")), 3000000);
	assert_as_before();
}

static void not_where_frequency_was_asked_for_by_its_name(void **state)
{
	(void)state;
	open_frozen(CONFIG_SPEED_CPUFREQ);
	play(300);
	assert_int_equal(nr_bandwidth, 0);
	assert_int_equal(nr_gone, 1);
	assert_int_equal(nr_quotas, 0);
	assert_non_null(strstr(note, "only cores are left"));
	assert_as_before();
}

static void without_quotas_cores_alone_are_left_and_that_is_told(void **state)
{
	(void)state;
	open_frozen(CONFIG_SPEED_AUTO);
	assert_int_equal(inject_add("*/cpu.max open ENOENT", world.root, world.error, sizeof(world.error)), 0);
	play(300);
	assert_int_equal(nr_bandwidth, 0);
	assert_int_equal(nr_gone, 1);
	assert_int_equal(nr_quotas, 0);
	assert_string_equal(note, "only cores are left: speeds do nothing, and s0: no quota: No such file or directory");
	assert_true(world.tick.speed_is_gone);
	assert_as_before();
}

static void speeds_that_nobody_may_set_are_quotas_from_the_start(void **state)
{
	(void)state;
	open_world(CONFIG_SPEED_AUTO);
	assert_int_equal(inject_add("*/scaling_min_freq write EPERM", world.root, world.error, sizeof(world.error)), 0);
	tree_put(world.root, "2000000\n", CPUS "0/cpufreq/scaling_min_freq");
	if (steered_open(&world, &policy_parties_paper, (struct sensor){ NULL, read_samples }))
		fail_msg("%s", world.error);
	assert_non_null(strstr(machine_describe(world.machine), "speed=bandwidth by=quota,cpufreq-refuses"));
	play(100);
	assert_int_equal(nr_bandwidth + nr_gone, 0);
	assert_true(nr_quotas > 20);
	inject_clear();
	assert_as_before();
}

int main(void)
{
#define TREE_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TREE_TEST(bandwidth_takes_the_place_of_speeds_that_do_nothing),
		TREE_TEST(not_where_frequency_was_asked_for_by_its_name),
		TREE_TEST(without_quotas_cores_alone_are_left_and_that_is_told),
		TREE_TEST(speeds_that_nobody_may_set_are_quotas_from_the_start),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("stand_in", tests, NULL, NULL);
}
