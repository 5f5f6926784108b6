// SPDX-License-Identifier: GPL-2.0
/*
 * test_trouble.c - what stands between decisions and the machine, through whole ticks on a tree: it is in the record, and
 * so in `parties status`.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "fixtures/steered.h"
#include "record.h"

#define MS 1000000ull

static struct steered world;
static uint32_t pool;   /* threads of s0: it uses no more cores */
static bool is_late;    /* s0 */

static int read_samples(void *ctx, uint64_t now_ns, struct sample *samples, uint32_t nr_services)
{
	(void)ctx, (void)now_ns;
	for (uint32_t i = 0; i < nr_services; i++) {
		uint32_t cores = allocation_count(&world.tick.allocation, (int)i);
		uint64_t latency_ns = i == 0 && is_late ? 60 * MS : 15 * MS;

		samples[i] = (struct sample){
			.window_ns = 500 * MS, .nr_arrived = 300, .nr_completed = 300, .mean_ns = latency_ns,
			.p50_ns = latency_ns, .p99_ns = latency_ns, .steer_ns = latency_ns,
			.nr_late = i == 0 && is_late ? 200 : 0,
			.cpu_ns = 490 * MS * (i == 0 ? (cores < pool ? cores : pool) : 1),
		};
	}
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	pool = 2;
	is_late = false;
	steered_lay_out(&world, "epyc-7302-nosmt", 2, 1);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	steered_remove(&world);
	return 0;
}

static void begin(const struct policy_ops *policy)
{
	if (steered_open(&world, policy, (struct sensor){ NULL, read_samples }))
		fail_msg("%s", world.error);
}

static void play(int nr_steps)
{
	for (int i = 0; i < nr_steps; i++)
		assert_int_equal(steered_step(&world), 0);
}

static json_int_t number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_integer(value) ? json_integer_value(value) : -1;
}

static void calm_ticks_tell_nothing(void **state)
{
	static const char *const keys[] = { "speed", "avoided_cpus" };
	static const char *const of_services[] = { "changed_by_others", "left_to_others", "pinned_threads", "no_benefit_above" };
	json_t *tick, *service;

	(void)state;
	begin(&policy_parties_paper);
	play(20);
	tick = record_tick_json(&world.tick);
	service = json_array_get(json_object_get(tick, "services"), 0);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		assert_null(json_object_get(tick, keys[i]));
	for (size_t i = 0; i < sizeof(of_services) / sizeof(of_services[0]); i++)
		assert_null(json_object_get(service, of_services[i]));
	json_decref(tick);
}

static void what_others_change_is_counted_and_what_is_left_to_them_shown(void **state)
{
	json_t *tick, *services;

	(void)state;
	begin(&policy_static);
	play(2);
	for (int i = 0; i < 5; i++) {
		steered_put(&world, 1, "cpuset.cpus", "0-15\n");
		play(1);
	}
	tick = record_tick_json(&world.tick);
	services = json_object_get(tick, "services");
	assert_int_equal(number(json_array_get(services, 0), "changed_by_others"), -1);
	assert_int_equal(number(json_array_get(services, 1), "changed_by_others"), 5);
	json_decref(tick);
	play(1);
	tick = record_tick_json(&world.tick);
	services = json_object_get(tick, "services");
	assert_true(json_is_true(json_object_get(json_array_get(services, 1), "left_to_others")));
	json_decref(tick);
}

static void cpus_that_are_planned_around_are_named(void **state)
{
	json_t *tick;

	(void)state;
	begin(&policy_static);
	play(2);
	tree_put(world.root, "0-2,5-15\n", "sys/devices/system/cpu/online");
	play(1);
	tick = record_tick_json(&world.tick);
	assert_string_equal(json_string_value(json_object_get(tick, "avoided_cpus")), "3-4");
	assert_int_equal(number(tick, "offline_cores"), 2);
	json_decref(tick);
}

/* The policy gives it core after core; two are all it can use. */
static void cores_beyond_a_pool_of_threads_are_told_to_do_nothing(void **state)
{
	static const struct policy_ops *const policies[] = { &policy_parties_paper, &policy_parties_released };

	for (size_t p = 0; p < 2; p++) {
		json_t *tick;
		int nr = 0;

		begin(policies[p]);
		is_late = false; /* down to what it can use */
		while (allocation_count(&world.tick.allocation, 0) != 2 && nr++ < 400) {
			is_late = allocation_count(&world.tick.allocation, 0) == 1;
			for (uint32_t i = 0; i < 2; i++)
				world.config.services[i].target_ns = i == 0 ? 400 * MS : 20 * MS;
			play(1);
		}
		world.config.services[0].target_ns = 20 * MS;
		is_late = true;
		play(60);
		assert_true(allocation_count(&world.tick.allocation, 0) > 2);
		assert_true(world.tick.benefits[0].is_none);
		tick = record_tick_json(&world.tick);
		assert_int_equal(number(json_array_get(json_object_get(tick, "services"), 0), "no_benefit_above"), 2);
		json_decref(tick);
		pool = 16; /* started again, with more threads */
		play(3);
		assert_false(world.tick.benefits[0].is_none);
		tear_down(state);
		set_up(state);
	}
}

/* So that its pool of threads is made for all of them. */
static void a_service_that_starts_in_its_group_can_count_all_cpus(void **state)
{
	static const struct match_pids nobody;

	(void)state;
	begin(&policy_static);
	play(2);
	assert_string_equal(steered_get(&world, 1, "cpuset.cpus"), "8-15");
	assert_int_equal(machine_adopt(world.machine, false, 1, &nobody), 0);
	play(1);
	assert_string_equal(steered_get(&world, 1, "cpuset.cpus"), "0-15");
	assert_int_equal(strncmp(steered_get(&world, 1, "cpu.max"), "max ", 4), 0);
	assert_string_equal(steered_get(&world, 0, "cpuset.cpus"), "0-7");
	assert_int_equal(machine_adopt(world.machine, false, 1, &world.pids[1]), 0);
	play(1);
	assert_string_equal(steered_get(&world, 1, "cpuset.cpus"), "8-15");
}

int main(void)
{
#define TREE_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TREE_TEST(calm_ticks_tell_nothing),
		TREE_TEST(what_others_change_is_counted_and_what_is_left_to_them_shown),
		TREE_TEST(cpus_that_are_planned_around_are_named),
		TREE_TEST(cores_beyond_a_pool_of_threads_are_told_to_do_nothing),
		TREE_TEST(a_service_that_starts_in_its_group_can_count_all_cpus),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("trouble", tests, NULL, NULL);
}
