/* SPDX-License-Identifier: GPL-2.0 */
/*
 * test_be_limits_live.c - limits of a batch on a machine that is opened on real processes: they are in a group of version 2
 * that has the program which holds packets back, wherever their other groups are; memory.high is moved; and everything is as
 * before afterwards.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <bpf/bpf.h>

#include "controller/egress.h"
#include "fixtures/rig.h"

static const struct network_link no_link;
static struct limits limits;
static struct allocation allocation;

static void prepare_limited(void)
{
	prepare();
	if (live.mounts.kinds[CGROUP_SOCKETS].version != 2) {
		print_message("# skip: version 2 of control groups is not mounted\n");
		skip();
	}
	limits = (struct limits){ .egress_bps = 20000000 };
	batch.limits = &limits;
	opts.link = &no_link;
}

static uint32_t nr_programs(const char *group)
{
	uint32_t ids[8], nr = 8;
	char dir[KNOB_PATH_SIZE];
	int fd;

	snprintf(dir, sizeof(dir), "%.400s/%s", live.mounts.kinds[CGROUP_SOCKETS].dir, group);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(bpf_prog_query(fd, BPF_CGROUP_INET_EGRESS, 0, NULL, ids, &nr), 0);
	close(fd);
	return nr;
}

static void the_processes_are_in_a_group_that_has_the_program(void **state)
{
	char dir[KNOB_PATH_SIZE];

	(void)state;
	prepare_limited();
	open_machine();
	assert_int_equal(nr_programs(CGROUP_OWN "/" BATCH), 1);
	assert_int_equal(cgroup_read_task("", &live.mounts.kinds[CGROUP_SOCKETS], batch_pids.pids[0], dir, sizeof(dir)), 0);
	assert_string_equal(strrchr(dir, '/'), "/" BATCH);
	assert_non_null(strstr(machine_describe(machine), " egress"));
	close_machine();
}

static void a_group_that_is_named_is_limited_where_it_is(void **state)
{
	(void)state;
	prepare_limited();
	live_make_group(CGROUP_SOCKETS, LIVE_HOME);
	live_move(CGROUP_SOCKETS, LIVE_HOME, batch_pids.pids[0]);
	free(before);
	before = live_picture();
	batch.match = name_group(LIVE_HOME);
	open_machine();
	assert_int_equal(nr_programs(LIVE_HOME), 1);
	close_machine();
	assert_int_equal(nr_programs(LIVE_HOME), 0);
}

static void every_step_tells_the_limit(void **state)
{
	struct outcome outcome;
	struct actuator actuator;

	(void)state;
	prepare_limited();
	open_machine();
	actuator = machine_actuator(machine);
	allocation_init(&allocation, &topo, 1, 0);
	for (uint32_t i = 0; i < topo.nr_cores; i++)
		allocation.owner[i] = 0;
	assert_int_equal(actuator.apply(actuator.ctx, &allocation, &outcome), 0);
	assert_int_equal(outcome.egress.limit_bps, 20000000);
	assert_false(outcome.egress.has_be);
	close_machine();
}

static void memory_is_moved_by_tenths(void **state)
{
	struct actuator actuator;
	struct outcome outcome;
	int err;

	(void)state;
	prepare_limited();
	limits = (struct limits){ .memory_high_bytes = 64 << 20 };
	err = machine_open(&machine, &opts, error, sizeof(error));
	if (err == -ENOTSUP) {
		print_message("# skip: %s\n", error);
		skip();
	}
	assert_int_equal(err, 0);
	assert_string_equal(live_get(CGROUP_SOCKETS, CGROUP_OWN "/" BATCH, "memory.high"), "67108864");
	actuator = machine_actuator(machine);
	allocation_init(&allocation, &topo, 1, 0);
	for (uint32_t i = 0; i < topo.nr_cores; i++)
		allocation.owner[i] = 0;
	for (uint32_t units = LIMITS_UNITS; units >= 1; units--) {
		allocation.be_memory = units;
		assert_int_equal(actuator.apply(actuator.ctx, &allocation, &outcome), 0);
		assert_in_range((64 << 20) / LIMITS_UNITS * units - strtoull(live_get(CGROUP_SOCKETS, CGROUP_OWN "/" BATCH,
				"memory.high"), NULL, 10) + 10, 0, 4106);
	}
	close_machine();
}

static void without_version_2_it_is_said_what_to_do(void **state)
{
	static struct egress egress;
	const struct cgroup_mount nowhere = { 0 };

	(void)state;
	limits = (struct limits){ .egress_bps = 20000000 };
	batch = (struct machine_group){ .name = BATCH, .limits = &limits };
	opts = (struct machine_opts){ .root = "", .nr_batches = 1, .batches = &batch, .link = &no_link };
	assert_int_equal(egress_find(&egress, &opts, &nowhere, error, sizeof(error)), -ENOTSUP);
	assert_non_null(strstr(error, "mount -t cgroup2"));
	egress_close(&egress);
}

static int run(void)
{
#define LIVE_TEST(f) cmocka_unit_test_setup_teardown(f, rig_start, rig_finish)
	const struct CMUnitTest tests[] = {
		LIVE_TEST(the_processes_are_in_a_group_that_has_the_program),
		LIVE_TEST(a_group_that_is_named_is_limited_where_it_is),
		LIVE_TEST(every_step_tells_the_limit),
		LIVE_TEST(memory_is_moved_by_tenths),
		cmocka_unit_test(without_version_2_it_is_said_what_to_do),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("be_limits_live", tests, NULL, NULL);
}

int main(void)
{
	return live_guard(run);
}
