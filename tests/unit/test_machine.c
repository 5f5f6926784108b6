/* SPDX-License-Identifier: GPL-2.0 */
/*
 * test_machine.c - the actuators on this machine, as root: with version 1, version 2 or both, whatever is mounted.
 * Uses two processes of its own and control groups below `parties` and `parties-test`; leaves nothing.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "fixtures/live.h"

#define SERVICE "live-service"
#define BATCH "live-batch"

static struct topology topo;
static struct machine *machine;
static struct match_pids service_pids, batch_pids;
static struct machine_group service, batch;
static struct machine_opts opts;
static char error[512];
static char *before;

static int start(void **state)
{
	live_start(state);
	machine = NULL;
	before = NULL;
	return 0;
}

static int finish(void **state)
{
	machine_close(machine);
	machine_restore("", live.state_dir, error, sizeof(error));
	live_clean(state);
	free(before);
	return 0;
}

/* A service with 8 threads and a batch process, and options for them.  Skips where nothing can be tested. */
static void prepare(void)
{
	const char *reason = live_unable();

	if (reason) {
		print_message("# skip: %s\n", reason);
		skip();
	}
	assert_int_equal(topology_read("", &topo), 0);
	service_pids = live_pids(live_spawn(8, false));
	batch_pids = live_pids(live_spawn(3, false));
	service = (struct machine_group){ .name = SERVICE, .target_ns = 25000000, .pids = &service_pids };
	batch = (struct machine_group){ .name = BATCH, .pids = &batch_pids };
	opts = (struct machine_opts){ .root = "", .state_dir = live.state_dir, .topology = &topo, .speed = CONFIG_SPEED_AUTO,
				      .nr_services = 1, .nr_batches = 1, .services = &service, .batches = &batch };
	before = live_picture();
}

static void open_machine(void)
{
	int err = machine_open(&machine, &opts, error, sizeof(error));

	if (err)
		print_message("# %s\n", error);
	assert_int_equal(err, 0);
}

static void assert_as_before(void)
{
	char *after = live_picture();

	assert_string_equal(after, before);
	free(after);
	for (enum cgroup_kind kind = 0; kind < CGROUP_NR_KINDS; kind++)
		if (live.mounts.kinds[kind].version)
			assert_false(live_has_group(kind, CGROUP_OWN));
}

static void close_machine(void)
{
	int err = machine_close(machine);

	machine = NULL;
	assert_int_equal(err, 0);
	assert_as_before();
	assert_string_equal(tree_get(live.state_dir, "lock"), "");
	assert_string_equal(tree_get(live.state_dir, "journal"), "");
}

static void assert_all_threads_in(pid_t pid, const char *group)
{
	char path[64], line[256];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	assert_non_null(dir);
	while ((e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		assert_int_equal(cgroup_read_task("", &live.mounts.kinds[CGROUP_CPUSET], atoi(e->d_name), line, sizeof(line)), 0);
		assert_string_equal(line + strlen(live.mounts.kinds[CGROUP_CPUSET].dir), group);
	}
	closedir(dir);
}

/* `cores` to the service, the rest to best effort or nobody. */
static struct allocation allocate(uint32_t cores, bool be, uint32_t speed)
{
	struct allocation a;

	allocation_init(&a, &topo, 1, 0);
	for (uint32_t i = 0; i < a.nr_cores; i++)
		a.owner[i] = (int16_t)(i < cores ? 0 : be ? ALLOCATION_BE : ALLOCATION_IDLE);
	a.speed[0] = speed;
	return a;
}

static struct outcome apply(const struct allocation *a)
{
	struct actuator actuator = machine_actuator(machine);
	struct outcome outcome;
	int err = actuator.apply(actuator.ctx, a, &outcome);

	assert_int_equal(err, outcome.error);
	return outcome;
}

static void assert_applied(const struct allocation *a, uint32_t max_writes)
{
	struct outcome outcome = apply(a);

	if (outcome.error)
		print_message("# %s\n", outcome.where);
	assert_int_equal(outcome.error, 0);
	assert_true(outcome.nr_writes <= max_writes);
}

static void assert_cpus(const char *group, const struct allocation *a, int owner)
{
	struct cpulist cpus;
	char text[KNOB_TEXT_SIZE];

	allocation_cpus(a, &topo, owner, &cpus);
	cpulist_format(&cpus, text, sizeof(text));
	assert_string_equal(live_get(CGROUP_CPUSET, group, "cpuset.cpus"), text);
}

static bool is_frozen(const char *group)
{
	bool v2 = live.mounts.kinds[CGROUP_FREEZER].version == 2;

	for (int i = 0; i < 100; i++) {
		const char *text = live_get(CGROUP_FREEZER, group, v2 ? "cgroup.events" : "freezer.state");

		if (v2 ? strstr(text, "frozen 1") != NULL : !strcmp(text, "FROZEN"))
			return true;
		if (v2 ? !strcmp(live_get(CGROUP_FREEZER, group, "cgroup.freeze"), "0") : !strcmp(text, "THAWED"))
			return false;
		live_pause_ms(10);
	}
	return false;
}

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
	uint64_t cpu_ns, throttled_ns;
	struct allocation a;

	(void)state;
	prepare();
	service_pids = live_pids(live_spawn(1, true));
	free(before);
	before = live_picture();
	live_pause_ms(300);
	opts.speed = CONFIG_SPEED_BANDWIDTH;
	open_machine();
	assert_int_equal(machine_usage(machine, 0, &cpu_ns, &throttled_ns), 0);
	assert_true(cpu_ns < 250000000);
	a = allocate(1, false, 0);
	assert_applied(&a, UINT32_MAX);
	live_pause_ms(600);
	assert_int_equal(machine_usage(machine, 0, &cpu_ns, &throttled_ns), 0);
	assert_true(cpu_ns > 5000000);
	assert_true(throttled_ns > 50000000);
	assert_int_equal(machine_usage(machine, 1, &cpu_ns, &throttled_ns), -EINVAL);
	close_machine();
}

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
	(void)state;
	prepare();
	for (enum cgroup_kind kind = 0; kind < CGROUP_NR_KINDS; kind++) {
		live_make_group(kind, LIVE_HOME);
		live_move(kind, LIVE_HOME, service_pids.pids[0]);
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
	service.cgroup = "/" LIVE_HOME;
	open_machine();
	assert_all_threads_in(service_pids.pids[0], "/" LIVE_HOME);
	a = allocate(1, false, 2);
	assert_applied(&a, UINT32_MAX);
	assert_cpus(LIVE_HOME, &a, 0);
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
	service.cgroup = "/" LIVE_HOME "/inner";
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

static int run(void)
{
#define LIVE_TEST(f) cmocka_unit_test_setup_teardown(f, start, finish)
	const struct CMUnitTest tests[] = {
		LIVE_TEST(every_thread_moves_in_and_back_again),
		LIVE_TEST(cores_follow_the_allocation_and_equal_allocations_write_nothing),
		LIVE_TEST(best_effort_without_a_core_is_frozen_and_thawed_with_one),
		LIVE_TEST(bandwidth_limits_time_and_the_full_share_is_no_limit),
		LIVE_TEST(cpu_time_and_throttling_are_counted_from_the_opening),
		LIVE_TEST(a_process_that_appears_is_adopted_and_goes_home_too),
		LIVE_TEST(processes_that_are_gone_are_no_failure),
		LIVE_TEST(threads_return_to_the_group_they_came_from),
		LIVE_TEST(a_group_that_is_named_is_adopted_and_its_values_put_back),
		LIVE_TEST(a_step_that_fails_half_way_is_rolled_back),
		LIVE_TEST(an_opening_that_fails_half_way_leaves_everything_as_it_was),
		LIVE_TEST(a_dry_machine_writes_nothing),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("machine", tests, NULL, NULL);
}

int main(void)
{
	return live_guard(run);
}
