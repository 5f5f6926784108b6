/* SPDX-License-Identifier: GPL-2.0 */
/*
 * test_follow.c - groups that change while they are steered, on this machine, as root; leaves nothing.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "drift.h"
#include "fixtures/rig.h"

static pid_t in_group(const char *group)
{
	pid_t pid = live_spawn(3, false);

	live_make_group(CGROUP_CPUSET, group);
	live_move(CGROUP_CPUSET, group, pid);
	return pid;
}

static void adopt(pid_t pid)
{
	struct match_pids pids = live_pids(pid);

	assert_true(machine_adopt(machine, false, 0, &pids) >= 0);
}

/* A container that starts anew. */
static void a_group_that_comes_back_under_another_name_is_taken_up(void **state)
{
	struct allocation a;
	pid_t old;

	(void)state;
	prepare();
	old = in_group(LIVE_HOME);
	service_pids = live_pids(old);
	service.match = name_group(LIVE_HOME "*");
	open_machine();
	a = allocate(1, true, 3);
	assert_applied(&a, UINT32_MAX);
	live_kill(old);
	live.nr_children--;
	live_remove_group(CGROUP_CPUSET, LIVE_HOME);
	assert_applied(&a, UINT32_MAX);
	adopt(in_group(LIVE_OTHER));
	assert_applied(&a, UINT32_MAX);
	assert_cpus(LIVE_OTHER, &a, 0);
	a = allocate(topo.nr_cores, false, 3);
	assert_applied(&a, UINT32_MAX);
	assert_cpus(LIVE_OTHER, &a, 0);
	assert_int_equal(machine_close(machine), 0);
	machine = NULL;
	assert_string_equal(live_get(CGROUP_CPUSET, LIVE_OTHER, "cpuset.cpus"),
			    live.mounts.kinds[CGROUP_CPUSET].version == 2 ? "" : live_get(CGROUP_CPUSET, ".", "cpuset.cpus"));
	assert_false(live_has_group(CGROUP_CPUSET, CGROUP_OWN));
}

static void a_group_that_is_left_gets_its_values_back_at_once(void **state)
{
	struct allocation a;
	char *was;

	(void)state;
	prepare();
	service_pids = live_pids(in_group(LIVE_HOME));
	live_make_group(CGROUP_CPUSET, LIVE_OTHER);
	free(before);
	before = live_picture();
	was = strdup(live_get(CGROUP_CPUSET, LIVE_HOME, "cpuset.cpus"));
	service.match = name_group(LIVE_HOME "*");
	open_machine();
	a = allocate(1, true, 3);
	assert_applied(&a, UINT32_MAX);
	assert_cpus(LIVE_HOME, &a, 0);
	for (int i = 0; i < 6; i++) { /* however often */
		live_move(CGROUP_CPUSET, i % 2 ? LIVE_HOME : LIVE_OTHER, service_pids.pids[0]);
		adopt(service_pids.pids[0]);
	}
	live_move(CGROUP_CPUSET, LIVE_OTHER, service_pids.pids[0]);
	adopt(service_pids.pids[0]);
	assert_string_equal(live_get(CGROUP_CPUSET, LIVE_HOME, "cpuset.cpus"), was);
	assert_applied(&a, UINT32_MAX);
	assert_cpus(LIVE_OTHER, &a, 0);
	live_move(CGROUP_CPUSET, LIVE_HOME, service_pids.pids[0]);
	free(was);
	close_machine();
}

/* systemd does so when the last unit that asked for a controller has ended. */
static void controllers_that_somebody_switched_off_are_switched_on_again(void **state)
{
	struct outcome outcome;
	struct allocation a;

	(void)state;
	prepare();
	if (live.mounts.kinds[CGROUP_CPUSET].version != 2) {
		print_message("# skip: the cpuset controller is version 1\n");
		skip();
	}
	service_pids = live_pids(in_group(LIVE_HOME));
	free(before);
	before = live_picture();
	service.match = name_group(LIVE_HOME);
	opts.nr_batches = 0;
	opts.speed = CONFIG_SPEED_BANDWIDTH;
	open_machine();
	a = allocate(1, false, 3);
	assert_applied(&a, UINT32_MAX);
	for (int i = 1; i < DRIFT_MAX; i++) {
		tree_put(live.mounts.kinds[CGROUP_CPUSET].dir, i % 2 ? "-cpuset" : "-cpu", "cgroup.subtree_control");
		assert_string_equal(live_get(CGROUP_CPUSET, LIVE_HOME, i % 2 ? "cpuset.cpus" : "cpu.max"), "");
		outcome = apply(&a);
		assert_int_equal(outcome.error, 0);
		assert_non_null(strstr(outcome.note, "put back"));
		assert_cpus(LIVE_HOME, &a, 0);
	}
	tree_put(live.mounts.kinds[CGROUP_CPUSET].dir, "-cpuset", "cgroup.subtree_control");
	outcome = apply(&a);
	assert_non_null(strstr(outcome.note, "left to them"));
	tree_put(live.mounts.kinds[CGROUP_CPUSET].dir, "-cpuset", "cgroup.subtree_control");
	assert_applied(&a, 0);
	assert_string_equal(live_get(CGROUP_CPUSET, LIVE_HOME, "cpuset.cpus"), "");
	close_machine();
}

static int run(void)
{
#define LIVE_TEST(f) cmocka_unit_test_setup_teardown(f, rig_start, rig_finish)
	const struct CMUnitTest tests[] = {
		LIVE_TEST(a_group_that_comes_back_under_another_name_is_taken_up),
		LIVE_TEST(a_group_that_is_left_gets_its_values_back_at_once),
		LIVE_TEST(controllers_that_somebody_switched_off_are_switched_on_again),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("follow", tests, NULL, NULL);
}

int main(void)
{
	return live_guard(run);
}
