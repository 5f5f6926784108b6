/* SPDX-License-Identifier: GPL-2.0 */
/*
 * test_machine.c - the actuators on this machine, as root: with version 1, version 2 or both, whatever is mounted.
 * Uses two processes of its own and control groups below `parties` and `parties-test`; leaves nothing.
 * waits: groups
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "drift.h"
#include "fixtures/rig.h"
#include "loop.h"
#include "throttle.h"

static void every_thread_moves_in_and_back_again(void **state)
{
	(void)state;
	prepare();
	open_machine();
	assert_all_threads_in(service_pids.pids[0], "/" CGROUP_OWN "/" SERVICE);
	assert_all_threads_in(batch_pids.pids[0], "/" CGROUP_OWN "/" BATCH);
	close_machine();
}

static void cores_follow_the_allocation_and_equal_allocations_write_nothing(void **state)
{
	struct allocation a;

	(void)state;
	prepare();
	open_machine();
	if (topo.nr_cores < 2) {
		print_message("# skip: needs two cores\n");
		skip();
	}
	a = allocate(1, true, machine_ladder(machine)->nominal);
	assert_applied(&a, UINT32_MAX);
	assert_cpus(CGROUP_OWN "/" SERVICE, &a, 0);
	assert_cpus(CGROUP_OWN "/" BATCH, &a, ALLOCATION_BE);
	assert_applied(&a, 0);
	a = allocate(topo.nr_cores, false, machine_ladder(machine)->nominal);
	assert_applied(&a, UINT32_MAX);
	assert_cpus(CGROUP_OWN "/" SERVICE, &a, 0);
	close_machine();
}

static void best_effort_without_a_core_is_frozen_and_thawed_with_one(void **state)
{
	struct allocation a;

	(void)state;
	prepare();
	open_machine();
	a = allocate(1, false, 0);
	assert_applied(&a, UINT32_MAX);
	assert_true(is_frozen(CGROUP_OWN "/" BATCH));
	a = allocate(1, true, 0);
	if (topo.nr_cores > 1) {
		assert_applied(&a, UINT32_MAX);
		assert_false(is_frozen(CGROUP_OWN "/" BATCH));
		a = allocate(1, false, 0);
		assert_applied(&a, UINT32_MAX);
	}
	close_machine(); /* frozen */
}

static void bandwidth_limits_time_and_the_full_share_is_no_limit(void **state)
{
	bool v2;
	struct allocation a;

	(void)state;
	prepare();
	opts.speed = CONFIG_SPEED_BANDWIDTH;
	open_machine();
	v2 = live.mounts.kinds[CGROUP_CPU].version == 2;
	assert_int_equal(machine_ladder(machine)->kind, SPEED_BANDWIDTH);
	assert_non_null(strstr(machine_describe(machine), "period=12.5ms"));
	a = allocate(1, false, 4);
	assert_applied(&a, UINT32_MAX);
	if (cpulist_count(&topo.cores[0].cpus) == 1)
		assert_string_equal(live_get(CGROUP_CPU, CGROUP_OWN "/" SERVICE, v2 ? "cpu.max" : "cpu.cfs_quota_us"),
				    v2 ? "6250 12500" : "6250");
	a = allocate(1, false, 9);
	assert_applied(&a, UINT32_MAX);
	assert_string_equal(live_get(CGROUP_CPU, CGROUP_OWN "/" SERVICE, v2 ? "cpu.max" : "cpu.cfs_quota_us"),
			    v2 ? "max 12500" : "-1");
	close_machine();
}

static void cpu_time_and_throttling_are_counted_from_the_opening(void **state)
{
	struct throttle throttle = { 0 };
	struct allocation a;
	uint64_t cpu_ns, begin_ns;

	(void)state;
	prepare();
	service_pids = live_pids(live_spawn(1, true));
	free(before);
	before = live_picture();
	live_pause_ms(300);
	opts.speed = CONFIG_SPEED_BANDWIDTH;
	begin_ns = loop_now_ns();
	open_machine();
	throttle_follow(&throttle, &live.mounts.kinds[CGROUP_CPU], "", &service_pids);
	assert_int_equal(machine_usage(machine, 0, &cpu_ns), 0);
	assert_true(cpu_ns < loop_now_ns() - begin_ns + 50000000);
	a = allocate(1, false, 0);
	assert_applied(&a, UINT32_MAX);
	live_pause_ms(600);
	assert_int_equal(machine_usage(machine, 0, &cpu_ns), 0);
	assert_true(cpu_ns > 5000000);
	assert_true(throttle_read_ns(&throttle) > 50000000);
	throttle_close(&throttle);
	assert_int_equal(machine_usage(machine, 1, &cpu_ns), -EINVAL);
	close_machine();
}

static void set_of_service(const char *cpus)
{
	char path[KNOB_PATH_SIZE + 64];

	snprintf(path, sizeof(path), "%s/" CGROUP_OWN "/" SERVICE "/cpuset.cpus", live.mounts.kinds[CGROUP_CPUSET].dir);
	assert_int_equal(knob_write_path(path, cpus), 0);
}

static void what_others_change_is_put_back_and_after_five_times_left_to_them(void **state)
{
	struct allocation a;
	struct outcome outcome;

	(void)state;
	prepare();
	open_machine();
	if (topo.nr_cores < 2) {
		print_message("# skip: needs two cores\n");
		skip();
	}
	a = allocate(1, false, machine_ladder(machine)->nominal);
	assert_applied(&a, UINT32_MAX);
	for (int i = 1; i <= DRIFT_MAX; i++) {
		set_of_service("1");
		outcome = apply(&a);
		assert_int_equal(outcome.error, 0);
		assert_non_null(strstr(outcome.note, i < DRIFT_MAX ? SERVICE ": somebody else changed its CPUs; put back"
								   : SERVICE ": somebody else keeps changing its CPUs"));
		assert_cpus(CGROUP_OWN "/" SERVICE, &a, 0);
		outcome = apply(&a);
		assert_string_equal(outcome.note, "");
	}
	set_of_service("1");
	for (int i = 2; i < DRIFT_SPAN; i++) { /* the step after the fifth time was the first */
		outcome = apply(&a);
		assert_int_equal(outcome.error, 0);
		assert_string_equal(live_get(CGROUP_CPUSET, CGROUP_OWN "/" SERVICE, "cpuset.cpus"), "1");
	}
	outcome = apply(&a);
	assert_cpus(CGROUP_OWN "/" SERVICE, &a, 0);
	close_machine();
}

/* Version 1 refuses a share above the parent's; the CPUs have moved by then and must come back. */
static void a_step_that_fails_half_way_is_rolled_back(void **state)
{
	struct allocation a, full;
	struct outcome outcome;

	(void)state;
	prepare();
	if (live.mounts.kinds[CGROUP_CPU].version != 1 || topo.nr_cores < 2) {
		print_message("# skip: only version 1 of the cpu controller refuses a share above the parent's\n");
		skip();
	}
	live_make_group(CGROUP_CPU, LIVE_HOME);
	live_make_group(CGROUP_CPU, LIVE_HOME "/inner");
	tree_put(live.mounts.kinds[CGROUP_CPU].dir, "25000", LIVE_HOME "/cpu.cfs_quota_us");
	live_move(CGROUP_CPU, LIVE_HOME "/inner", service_pids.pids[0]);
	service.match = name_group(LIVE_HOME "/inner");
	opts.speed = CONFIG_SPEED_BANDWIDTH;
	free(before);
	before = live_picture();
	open_machine();
	a = allocate(1, true, 1);
	assert_applied(&a, UINT32_MAX);
	full = allocate(2, false, 8);
	outcome = apply(&full);
	assert_int_equal(outcome.error, -EINVAL);
	assert_int_equal(outcome.nr_writes, 0);
	assert_non_null(strstr(outcome.where, "cpu.cfs_quota_us"));
	assert_cpus(CGROUP_OWN "/" SERVICE, &a, 0);
	assert_cpus(CGROUP_OWN "/" BATCH, &a, ALLOCATION_BE);
	assert_false(is_frozen(CGROUP_OWN "/" BATCH));
	assert_applied(&a, 0);
	close_machine();
}

static void an_opening_that_fails_half_way_leaves_everything_as_it_was(void **state)
{
	(void)state;
	prepare();
	batch.name = "cgroup.procs"; /* a file of that name is there already */
	assert_int_equal(machine_open(&machine, &opts, error, sizeof(error)), -EEXIST);
	assert_non_null(strstr(error, "cgroup.procs"));
	assert_as_before();
	assert_string_equal(tree_get(live.state_dir, "journal"), "");
	batch.name = "../" BATCH;
	assert_int_equal(machine_open(&machine, &opts, error, sizeof(error)), -EINVAL);
	batch.name = SERVICE;
	assert_int_equal(machine_open(&machine, &opts, error, sizeof(error)), -EINVAL);
	assert_as_before();
}

static void a_dry_machine_writes_nothing(void **state)
{
	struct allocation a;
	char *during;

	(void)state;
	prepare();
	opts.dry = true;
	open_machine();
	a = allocate(1, false, 0);
	assert_applied(&a, 0);
	assert_int_equal(machine_adopt(machine, false, 0, &service_pids), 0);
	during = live_picture();
	assert_string_equal(during, before);
	free(during);
	assert_int_equal(rmdir(live.state_dir), 0); /* still empty */
	assert_int_equal(mkdir(live.state_dir, 0700), 0);
	close_machine();
}

static uint32_t speed_of(unsigned int cpu)
{
	char path[64];

	snprintf(path, sizeof(path), "cpu%u/cpufreq/scaling_setspeed", cpu);
	return (uint32_t)atoi(tree_get("/sys/devices/system/cpu", path));
}

/* Where there are P-states: the service's cores at its speed, the pool at the lowest, best effort at nominal. */
static void every_core_runs_at_its_owners_speed(void **state)
{
	const struct speed_ladder *l;
	struct allocation a;

	(void)state;
	prepare();
	opts.speed = CONFIG_SPEED_AUTO;
	open_machine();
	l = machine_ladder(machine);
	if (l->kind != SPEED_FREQ || topo.nr_cores < 3 || !strstr(machine_describe(machine), "by=userspace")) {
		print_message("# skip: needs CPUs whose speed can be set, three cores of them\n");
		skip();
	}
	a = allocate(1, true, 1);
	a.owner[topo.nr_cores - 1] = ALLOCATION_IDLE;
	assert_applied(&a, UINT32_MAX);
	for (uint32_t i = 0; i < topo.nr_cores; i++) {
		uint32_t step = i == 0 ? 1 : i == topo.nr_cores - 1 ? 0 : l->nominal;

		for (unsigned int cpu = 0; cpu < CPULIST_MAX_CPUS; cpu++)
			if (cpulist_has(&topo.cores[i].cpus, cpu))
				assert_int_equal(speed_of(cpu), l->value[step]);
	}
	assert_applied(&a, 0);
	close_machine();
	assert_string_not_equal(tree_get("/sys/devices/system/cpu/cpu0/cpufreq", "scaling_governor"), "userspace");
}

/* The rest needs no rights: trees that stand in for "/". */
static char root[TREE_PATH_SIZE];

static int make_tree(void **state)
{
	(void)state;
	tree_make(root);
	tree_put(root, "20 1 0:3 / /proc rw - proc proc rw\n", "proc/self/mountinfo");
	machine = NULL;
	memset(&topo, 0, sizeof(topo));
	topo.nr_cores = 2;
	for (unsigned int cpu = 0; cpu < 2; cpu++)
		cpulist_add(&topo.cores[cpu].cpus, cpu);
	service_pids.nr = batch_pids.nr = 0;
	service = (struct machine_group){ .name = SERVICE, .target_ns = 60000000, .pids = &service_pids };
	batch = (struct machine_group){ .name = BATCH, .pids = &batch_pids };
	opts = (struct machine_opts){ .root = root, .state_dir = root, .topology = &topo, .speed = CONFIG_SPEED_AUTO,
				      .dry = true, .nr_services = 1, .nr_batches = 1,
				      .services = &service, .batches = &batch };
	return 0;
}

static int remove_tree(void **state)
{
	(void)state;
	machine_close(machine);
	machine = NULL;
	tree_remove(root);
	return 0;
}

static void put_version_2(const char *controllers, const char *cpus)
{
	tree_put(root, "30 20 0:30 / /cg rw - cgroup2 cgroup2 rw\n", "proc/self/mountinfo");
	tree_put(root, controllers, "cg/cgroup.controllers");
	tree_put(root, cpus, "cg/cpuset.cpus.effective");
}

static void assert_refused(int err, const char *what)
{
	assert_int_equal(machine_open(&machine, &opts, error, sizeof(error)), err);
	assert_null(machine);
	if (!strstr(error, what))
		fail_msg("\"%s\" does not say \"%s\"", error, what);
}

static void a_machine_without_cpusets_says_what_to_mount(void **state)
{
	(void)state;
	opts.affinity = CONFIG_AFFINITY_NO;
	assert_refused(-ENOTSUP, "mount");
	put_version_2("cpu memory\n", "0-1\n");
	assert_refused(-ENOTSUP, "cpuset");
	opts.dry = false;
	assert_refused(-ENOTSUP, "cpuset");
	assert_string_equal(tree_get(root, "lock"), "");
	assert_string_equal(tree_get(root, "journal"), "");
}

static void without_cpusets_threads_are_pinned_unless_that_is_forbidden(void **state)
{
	struct machine *m;

	(void)state;
	put_version_2("cpu memory\n", "0-1\n");
	assert_int_equal(machine_open(&m, &opts, error, sizeof(error)), 0);
	assert_non_null(strstr(machine_describe(m), "cpuset=none,affinity freezer=v2 speed=bandwidth"));
	machine_close(m);
	put_version_2("cpu cpuset\n", "0-1\n");
	assert_int_equal(machine_open(&m, &opts, error, sizeof(error)), 0);
	assert_non_null(strstr(machine_describe(m), "cpuset=v2"));
	machine_close(m);
	opts.affinity = CONFIG_AFFINITY_YES;
	assert_int_equal(machine_open(&m, &opts, error, sizeof(error)), 0);
	assert_non_null(strstr(machine_describe(m), "cpuset=none,affinity"));
	machine_close(m);
}

static void cpus_that_the_container_may_not_use_are_named(void **state)
{
	(void)state;
	put_version_2("cpu cpuset\n", "0\n");
	assert_refused(-ENOTSUP, "CPUs 1");
}

static void a_speed_that_is_asked_for_and_not_there_is_refused(void **state)
{
	(void)state;
	put_version_2("cpuset\n", "0-1\n");
	opts.speed = CONFIG_SPEED_CPUFREQ;
	assert_refused(-ENOTSUP, "bandwidth");
	opts.speed = CONFIG_SPEED_BANDWIDTH;
	assert_refused(-ENOTSUP, "cpu controller");
}

static void without_a_knob_for_speed_cores_alone_are_steered(void **state)
{
	(void)state;
	put_version_2("cpuset\n", "0-1\n");
	open_machine();
	assert_int_equal(machine_ladder(machine)->kind, SPEED_NONE);
	assert_int_equal(machine_ladder(machine)->nr_steps, 0);
	assert_string_equal(machine_describe(machine), "cpuset=v2 freezer=v2 speed=none");
}

static void what_is_used_is_described_in_a_line(void **state)
{
	struct allocation a;
	struct outcome outcome;

	(void)state;
	put_version_2("cpuset cpu\n", "0-1\n");
	open_machine();
	assert_string_equal(machine_describe(machine), "cpuset=v2 freezer=v2 speed=bandwidth period=20ms");
	a = allocate(1, true, 0);
	assert_applied(&a, 0);
	a.nr_services = 2;
	outcome = apply(&a);
	assert_int_equal(outcome.error, -EINVAL);
	machine_close(NULL);
}

static int run(void)
{
#define TREE_TEST(f) cmocka_unit_test_setup_teardown(f, make_tree, remove_tree)
#define LIVE_TEST(f) cmocka_unit_test_setup_teardown(f, rig_start, rig_finish)
	const struct CMUnitTest tests[] = {
		LIVE_TEST(every_thread_moves_in_and_back_again),
		LIVE_TEST(cores_follow_the_allocation_and_equal_allocations_write_nothing),
		LIVE_TEST(best_effort_without_a_core_is_frozen_and_thawed_with_one),
		LIVE_TEST(bandwidth_limits_time_and_the_full_share_is_no_limit),
		LIVE_TEST(cpu_time_and_throttling_are_counted_from_the_opening),
		LIVE_TEST(what_others_change_is_put_back_and_after_five_times_left_to_them),
		LIVE_TEST(a_step_that_fails_half_way_is_rolled_back),
		LIVE_TEST(an_opening_that_fails_half_way_leaves_everything_as_it_was),
		LIVE_TEST(a_dry_machine_writes_nothing),
		LIVE_TEST(every_core_runs_at_its_owners_speed),
		TREE_TEST(a_machine_without_cpusets_says_what_to_mount),
		TREE_TEST(without_cpusets_threads_are_pinned_unless_that_is_forbidden),
		TREE_TEST(cpus_that_the_container_may_not_use_are_named),
		TREE_TEST(a_speed_that_is_asked_for_and_not_there_is_refused),
		TREE_TEST(without_a_knob_for_speed_cores_alone_are_steered),
		TREE_TEST(what_is_used_is_described_in_a_line),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("machine", tests, NULL, NULL);
}

int main(void)
{
	return live_guard(run);
}
