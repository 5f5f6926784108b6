// SPDX-License-Identifier: GPL-2.0
/*
 * test_hotplug.c - CPUs that go away while a step is being written, on a fake tree.
 * wrap: pwrite
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "fixtures/steered.h"
#include "knob.h"

static struct steered world;
static uint32_t nr_vanish; /* so often one more CPU goes away under the write of a set that has it */
static int last_cpu;

ssize_t __real_pwrite(int fd, const void *buf, size_t len, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *buf, size_t len, off_t offset);

static bool is_set(int fd)
{
	char link[64], path[PATH_MAX];
	ssize_t size;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = readlink(link, path, sizeof(path) - 1);
	path[size > 0 ? size : 0] = '\0';
	return strstr(path, "/cpuset.cpus") != NULL;
}

/* As version 1 has it: a set must be of CPUs that are online. */
ssize_t __wrap_pwrite(int fd, const void *buf, size_t len, off_t offset)
{
	struct cpulist cpus;
	char text[KNOB_TEXT_SIZE];

	snprintf(text, sizeof(text), "%.*s", (int)len, (const char *)buf);
	if (!nr_vanish || !is_set(fd) || cpulist_parse(text, &cpus) || !cpulist_has(&cpus, (unsigned int)last_cpu))
		return __real_pwrite(fd, buf, len, offset);
	nr_vanish--;
	snprintf(text, sizeof(text), "0-%d\n", --last_cpu);
	tree_put(world.root, text, "sys/devices/system/cpu/online");
	errno = EINVAL;
	return -1;
}

static int read_idle(void *ctx, uint64_t now_ns, struct sample *samples, uint32_t nr_services)
{
	(void)ctx, (void)now_ns;
	memset(samples, 0, nr_services * sizeof(*samples));
	return 0;
}

/* As much as there are cores for. */
static int read_busy(void *ctx, uint64_t now_ns, struct sample *samples, uint32_t nr_services)
{
	(void)ctx, (void)now_ns;
	for (uint32_t i = 0; i < nr_services; i++)
		samples[i] = (struct sample){
			.window_ns = 500000000, .nr_arrived = 3000, .nr_completed = 3000, .p50_ns = 30000000, .p99_ns = 60000000,
			.mean_ns = 30000000, .steer_ns = 60000000, .nr_late = 2500,
			.cpu_ns = 490000000ull * allocation_count(&world.tick.allocation, (int)i),
		};
	return 0;
}

static int make_world(void **state)
{
	(void)state;
	steered_lay_out(&world, "epyc-7302-nosmt online=0-15", 2, 0);
	last_cpu = 15;
	nr_vanish = 0;
	if (steered_open(&world, &policy_static, (struct sensor){ NULL, read_idle }))
		fail_msg("%s", world.error);
	return 0;
}

static int end_world(void **state)
{
	(void)state;
	nr_vanish = 0;
	steered_remove(&world);
	return 0;
}

static void a_cpu_that_goes_away_during_a_step_is_left_out_at_once(void **state)
{
	(void)state;
	nr_vanish = 1;
	assert_int_equal(steered_step(&world), 0);
	assert_int_equal(nr_vanish, 0);
	assert_int_equal(world.tick.report.outcome.error, 0);
	assert_string_equal(steered_get(&world, 1, "cpuset.cpus"), "8-14");
}

static void when_another_goes_away_meanwhile_the_next_step_will_see(void **state)
{
	(void)state;
	nr_vanish = 2;
	assert_int_equal(steered_step(&world), 0);
	assert_int_equal(world.tick.report.outcome.error, -EINVAL);
	assert_string_equal(steered_get(&world, 1, "cpuset.cpus"), "");
	assert_int_equal(steered_step(&world), 0);
	assert_int_equal(world.tick.report.outcome.error, 0);
	assert_int_equal(cpulist_parse(steered_get(&world, 1, "cpuset.cpus"), &(struct cpulist){ 0 }), 0);
}

static void a_step_that_fails_for_another_reason_is_not_tried_twice(void **state)
{
	(void)state;
	assert_int_equal(inject_add("*/s1/cpuset.cpus write EINVAL 1", world.root, world.error, sizeof(world.error)), 0);
	assert_int_equal(steered_step(&world), 0);
	assert_int_equal(world.tick.report.outcome.error, -EINVAL);
}

/* Half of the machine is offline at the start; it has P-states, and so have the CPUs that come. */
static void cpus_that_come_later_are_given_work_at_their_owners_speed(void **state)
{
	struct cpulist want, have;

	(void)state;
	steered_remove(&world);
	steered_lay_out(&world, "epyc-7302-nosmt online=0-15 cpufreq=acpi domain=cpu", 2, 0);
	tree_put(world.root, "0-7\n", "sys/devices/system/cpu/online");
	assert_int_equal(topology_read(world.root, &world.topology), 0);
	if (steered_open(&world, &policy_adaptive, (struct sensor){ NULL, read_busy }))
		fail_msg("%s", world.error);
	assert_int_equal(steered_step(&world), 0);
	assert_int_equal(world.tick.report.view.nr_cores, 8);
	assert_string_equal(tree_line(world.root, "sys/devices/system/cpu/cpu12/cpufreq/scaling_governor"), "schedutil");
	tree_put(world.root, "0-15\n", "sys/devices/system/cpu/online");
	tree_put(world.root, "0-15\n", "sys/fs/cgroup/cpuset.cpus.effective");
	for (int i = 0; i < 60; i++)
		assert_int_equal(steered_step(&world), 0);
	assert_int_equal(world.tick.report.outcome.error, 0);
	assert_int_equal(world.tick.report.view.nr_cores, 16);
	assert_int_equal(world.tick.report.view.services[0].max.cores, 16);
	assert_string_equal(tree_line(world.root, "sys/devices/system/cpu/cpu12/cpufreq/scaling_governor"), "userspace");
	assert_true(allocation_count(&world.tick.allocation, 0) + allocation_count(&world.tick.allocation, 1) > 8);
	for (uint32_t i = 0; i < 2; i++) {
		allocation_cpus(&world.tick.allocation, world.tick.topology, (int)i, &want);
		assert_int_equal(cpulist_parse(steered_get(&world, i, "cpuset.cpus"), &have), 0);
		assert_true(cpulist_equal(&want, &have));
	}
	assert_int_equal(machine_close(world.machine), 0);
	world.machine = NULL;
	assert_string_equal(tree_line(world.root, "sys/devices/system/cpu/cpu12/cpufreq/scaling_governor"), "schedutil");
	assert_string_equal(tree_line(world.root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"), "schedutil");
}

static void second_threads_that_are_switched_on_and_off_belong_to_their_cores(void **state)
{
	(void)state;
	steered_remove(&world);
	steered_lay_out(&world, "epyc-7302", 2, 0);
	tree_put(world.root, "0-15\n", "sys/devices/system/cpu/online");
	assert_int_equal(topology_read(world.root, &world.topology), 0);
	if (steered_open(&world, &policy_static, (struct sensor){ NULL, read_idle }))
		fail_msg("%s", world.error);
	assert_int_equal(steered_step(&world), 0);
	assert_string_equal(steered_get(&world, 1, "cpuset.cpus"), "8-15");
	tree_put(world.root, "0-31\n", "sys/devices/system/cpu/online");
	assert_int_equal(steered_step(&world), 0);
	assert_int_equal(world.tick.report.outcome.error, 0);
	assert_string_equal(steered_get(&world, 1, "cpuset.cpus"), "8-15,24-31");
	tree_put(world.root, "0-15\n", "sys/devices/system/cpu/online");
	assert_int_equal(steered_step(&world), 0);
	assert_string_equal(steered_get(&world, 1, "cpuset.cpus"), "8-15");
	assert_int_equal(world.tick.report.view.nr_cores, 16);
}

int main(void)
{
#define TREE_TEST(f) cmocka_unit_test_setup_teardown(f, make_world, end_world)
	const struct CMUnitTest tests[] = {
		TREE_TEST(a_cpu_that_goes_away_during_a_step_is_left_out_at_once),
		TREE_TEST(when_another_goes_away_meanwhile_the_next_step_will_see),
		TREE_TEST(cpus_that_come_later_are_given_work_at_their_owners_speed),
		TREE_TEST(second_threads_that_are_switched_on_and_off_belong_to_their_cores),
		TREE_TEST(a_step_that_fails_for_another_reason_is_not_tried_twice),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("hotplug", tests, NULL, NULL);
}
