/* SPDX-License-Identifier: GPL-2.0 */
/*
 * test_group.c - which groups are made, adopted and filled, on this machine, as root; leaves nothing.
 * waits: groups
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "fixtures/rig.h"

static void a_process_that_appears_is_adopted_and_goes_home_too(void **state)
{
	struct match_pids two;

	(void)state;
	prepare();
	two = live_pids(live_spawn(4, false));
	two.nr = 2;
	two.pids[1] = service_pids.pids[0];
	free(before);
	before = live_picture();
	open_machine();
	assert_true(machine_adopt(machine, false, 0, &two) > 0);
	assert_all_threads_in(two.pids[0], "/" CGROUP_OWN "/" SERVICE);
	assert_int_equal(machine_adopt(machine, false, 0, &two), 0);
	assert_int_equal(machine_adopt(machine, false, 1, &two), -EINVAL);
	assert_int_equal(machine_adopt(machine, true, 0, &batch_pids), 0);
	close_machine();
}

static void processes_that_are_gone_are_no_failure(void **state)
{
	struct allocation a;

	(void)state;
	prepare();
	service_pids.nr = 2;
	service_pids.pids[1] = service_pids.pids[0] + 1 == batch_pids.pids[0] ? 4194303 : service_pids.pids[0] + 1;
	if (kill(service_pids.pids[1], 0) == 0)
		service_pids.nr = 1;
	open_machine();
	live_kill(live.children[0]);
	live.nr_children = 0;
	live.children[live.nr_children++] = batch_pids.pids[0];
	a = allocate(1, false, 0);
	assert_applied(&a, UINT32_MAX);
	free(before);
	before = strdup("");
	assert_int_equal(machine_close(machine), 0);
	machine = NULL;
	assert_false(live_has_group(CGROUP_CPUSET, CGROUP_OWN));
}

static void threads_return_to_the_group_they_came_from(void **state)
{
	pid_t other;

	(void)state;
	prepare();
	other = live_spawn(1, false);
	for (enum cgroup_kind kind = 0; kind < CGROUP_NR_KINDS; kind++) {
		live_make_group(kind, LIVE_HOME);
		live_move(kind, LIVE_HOME, service_pids.pids[0]);
		live_move(kind, LIVE_HOME, other); /* so that the group is not the service's alone */
	}
	free(before);
	before = live_picture();
	open_machine();
	assert_all_threads_in(service_pids.pids[0], "/" CGROUP_OWN "/" SERVICE);
	close_machine();
	assert_all_threads_in(service_pids.pids[0], "/" LIVE_HOME);
}

static void a_group_that_is_named_is_adopted_and_its_values_put_back(void **state)
{
	struct allocation a;

	(void)state;
	prepare();
	live_make_group(CGROUP_CPUSET, LIVE_HOME);
	live_move(CGROUP_CPUSET, LIVE_HOME, service_pids.pids[0]);
	free(before);
	before = live_picture();
	service.match = name_group(LIVE_HOME);
	open_machine();
	assert_all_threads_in(service_pids.pids[0], "/" LIVE_HOME);
	a = allocate(1, false, 2);
	assert_applied(&a, UINT32_MAX);
	assert_cpus(LIVE_HOME, &a, 0);
	close_machine();
}

/* Threads are born all the while; whoever is born by one that is inside is inside. */
static void threads_born_during_the_move_are_caught(void **state)
{
	(void)state;
	prepare();
	service_pids = live_pids(live_spawn_breeder(6));
	open_machine();
	for (int i = 0; i < 5; i++) {
		assert_all_threads_in(service_pids.pids[0], "/" CGROUP_OWN "/" SERVICE);
		live_pause_ms(5);
	}
	assert_int_equal(machine_close(machine), 0);
	machine = NULL;
	assert_all_threads_in(service_pids.pids[0], "");
	assert_false(live_has_group(CGROUP_CPUSET, CGROUP_OWN));
}

/* A service manager takes a unit whose group has emptied for stopped. */
static void on_version_2_a_group_of_exactly_these_processes_is_adopted(void **state)
{
	struct allocation a;

	(void)state;
	prepare();
	if (live.mounts.kinds[CGROUP_CPUSET].version != 2) {
		print_message("# skip: the cpuset controller is version 1\n");
		skip();
	}
	live_make_group(CGROUP_CPUSET, LIVE_HOME);
	live_move(CGROUP_CPUSET, LIVE_HOME, service_pids.pids[0]);
	free(before);
	before = live_picture();
	open_machine();
	assert_all_threads_in(service_pids.pids[0], "/" LIVE_HOME);
	a = allocate(1, false, 2);
	assert_applied(&a, UINT32_MAX);
	assert_cpus(LIVE_HOME, &a, 0);
	close_machine();
}

static void an_adopted_group_may_go_away_and_come_back(void **state)
{
	struct allocation a;

	(void)state;
	prepare();
	live_make_group(CGROUP_CPUSET, LIVE_HOME);
	live_move(CGROUP_CPUSET, LIVE_HOME, service_pids.pids[0]);
	service.match = name_group(LIVE_HOME);
	open_machine();
	a = allocate(1, true, 3);
	assert_applied(&a, UINT32_MAX);
	live_kill(live.children[0]);
	live.children[0] = batch_pids.pids[0];
	live.nr_children = 1;
	live_remove_group(CGROUP_CPUSET, LIVE_HOME);
	assert_false(live_has_group(CGROUP_CPUSET, LIVE_HOME));
	a = allocate(topo.nr_cores, false, 3);
	assert_applied(&a, UINT32_MAX);
	live_make_group(CGROUP_CPUSET, LIVE_HOME);
	a = allocate(1, true, 3);
	assert_applied(&a, UINT32_MAX);
	assert_cpus(LIVE_HOME, &a, 0);
	assert_int_equal(machine_close(machine), 0);
	machine = NULL;
	assert_false(live_has_group(CGROUP_CPUSET, CGROUP_OWN));
}

/* Everywhere but on the CPUs the service keeps, so that the kernel has to give up the mask meanwhile. */
static void threads_that_pinned_themselves_are_pinned_again(void **state)
{
	struct allocation a;
	cpu_set_t mask;

	(void)state;
	prepare();
	if (topo.nr_cores < 2) {
		print_message("# skip: needs two cores\n");
		skip();
	}
	CPU_ZERO(&mask);
	CPU_SET(topo.cores[1].first_cpu, &mask);
	assert_int_equal(sched_setaffinity(service_pids.pids[0], sizeof(mask), &mask), 0);
	free(before);
	before = live_picture();
	open_machine();
	a = allocate(1, true, 3);
	assert_applied(&a, UINT32_MAX);
	assert_int_equal(sched_getaffinity(service_pids.pids[0], sizeof(mask), &mask), 0);
	assert_false(CPU_ISSET(topo.cores[1].first_cpu, &mask));
	close_machine();
}

static void limits_of_a_batch_are_set_and_gone_afterwards(void **state)
{
	struct limits limits = { .memory_high_bytes = 64 << 20 };
	struct allocation a;

	(void)state;
	prepare();
	batch.limits = &limits;
	if (live.mounts.kinds[CGROUP_FREEZER].version != 2) {
		assert_int_equal(machine_open(&machine, &opts, error, sizeof(error)), -ENOTSUP);
		assert_non_null(strstr(error, "only version 1 is mounted"));
		assert_as_before();
		return;
	}
	if (machine_open(&machine, &opts, error, sizeof(error)) == -ENOTSUP) {
		assert_non_null(strstr(error, "it has not got them here"));
		assert_as_before();
		return;
	}
	assert_string_equal(live_get(CGROUP_FREEZER, CGROUP_OWN "/" BATCH, "memory.high"), "67108864");
	a = allocate(1, false, 2);
	assert_applied(&a, UINT32_MAX);
	close_machine();
	strcpy(limits.io_max, "511:1 rbps=1000000");
	assert_int_equal(machine_open(&machine, &opts, error, sizeof(error)), -ENODEV);
	assert_non_null(strstr(error, "lsblk"));
	assert_as_before();
	limits.io_max[0] = '\0';
	live_make_group(CGROUP_CPUSET, LIVE_HOME);
	live_move(CGROUP_CPUSET, LIVE_HOME, batch_pids.pids[0]);
	free(before);
	before = live_picture();
	batch.match = name_group(LIVE_HOME);
	open_machine();
	assert_string_equal(live_get(CGROUP_FREEZER, LIVE_HOME, "memory.high"), "67108864");
	close_machine();
}

static int run(void)
{
#define LIVE_TEST(f) cmocka_unit_test_setup_teardown(f, rig_start, rig_finish)
	const struct CMUnitTest tests[] = {
		LIVE_TEST(a_process_that_appears_is_adopted_and_goes_home_too),
		LIVE_TEST(processes_that_are_gone_are_no_failure),
		LIVE_TEST(threads_return_to_the_group_they_came_from),
		LIVE_TEST(a_group_that_is_named_is_adopted_and_its_values_put_back),
		LIVE_TEST(threads_born_during_the_move_are_caught),
		LIVE_TEST(on_version_2_a_group_of_exactly_these_processes_is_adopted),
		LIVE_TEST(threads_that_pinned_themselves_are_pinned_again),
		LIVE_TEST(an_adopted_group_may_go_away_and_come_back),
		LIVE_TEST(limits_of_a_batch_are_set_and_gone_afterwards),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("group", tests, NULL, NULL);
}

int main(void)
{
	return live_guard(run);
}
