// SPDX-License-Identifier: GPL-2.0
/*
 * test_late_quota.c - quotas that take the place of speeds while real processes are steered: the machine's control groups,
 * and a tree in place of the sysfs of its CPUs whose files stop working.
 * wrap: cpufreq_modify_policy_governor
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "bandwidth.h"
#include "fixtures/rig.h"
#include "fixtures/cpufreq.h" /* after it: its globals have names that rig.h gives to locals */
#include "inject.h"

static int set_up(void **state)
{
	rig_start(state);
	return make_tree(state);
}

static int tear_down(void **state)
{
	inject_clear();
	rig_finish(state);
	return remove_tree(state);
}

static void copy(const char *file)
{
	char path[128], text[256];

	snprintf(path, sizeof(path), SYSFS "/%s", file);
	snprintf(text, sizeof(text), "%s\n", tree_get("", path));
	tree_put(root, text, "cpu/%s", file);
}

/* The CPUs there are, with P-states. */
static void put_cpus(void)
{
	copy("online");
	topology_cpus(&topo, &cpus);
	for (int cpu = cpulist_next(&cpus, 0); cpu >= 0; cpu = cpulist_next(&cpus, (unsigned int)cpu + 1)) {
		char file[64], own[16];

		snprintf(file, sizeof(file), "cpu%d/topology/thread_siblings_list", cpu);
		copy(file);
		snprintf(own, sizeof(own), "%d\n", cpu);
		put_cpu((unsigned int)cpu, own, "2450000 2000000 1500000 \n", "userspace performance schedutil \n");
	}
	bind_tree();
}

static void a_quota_takes_over_and_everything_is_put_back(void **state)
{
	const struct cgroup_mount *cpu;
	struct allocation slow, half;
	struct outcome out;
	uint64_t want_us;
	char quota[32];
	int steps = 0;

	(void)state;
	prepare();
	cpu = &live.mounts.kinds[CGROUP_CPU];
	if (!cpu->version) {
		print_message("# skip: there is no cpu controller\n");
		skip();
	}
	put_cpus();
	opts.force = true;
	open_machine();
	assert_non_null(strstr(machine_describe(machine), "speed=cpufreq by=userspace steps=3"));
	slow = allocate(1, true, 0);
	assert_applied(&slow, 100);
	assert_int_equal(atoi(get(0, "scaling_setspeed")), 1500000);
	assert_false(cpu->version == 1 && live_has_group(CGROUP_CPU, CGROUP_OWN "/" SERVICE));
	assert_int_equal(inject_add("/cpu*/cpufreq/scaling_setspeed write EPERM", SYSFS, error, sizeof(error)), 0);
	assert_int_equal(inject_add("/cpu*/cpufreq/scaling_max_freq write EPERM", SYSFS, error, sizeof(error)), 0);
	do {
		slow.speed[0] = !slow.speed[0];
		out = apply(&slow);
	} while (out.speed != OUTCOME_SPEED_BANDWIDTH && ++steps < 40);
	print_message("# after %d steps: %s\n", steps, out.note);
	assert_int_equal(out.speed, OUTCOME_SPEED_BANDWIDTH);
	assert_non_null(strstr(out.note, "its files cannot be written; bandwidth takes its place"));
	inject_clear();
	half = allocate(1, true, 4);
	assert_applied(&half, 100);
	want_us = bandwidth_quota_us(bandwidth_period_us(service.target_ns), cpulist_count(&topo.cores[0].cpus), 500);
	snprintf(quota, sizeof(quota), "%llu", (unsigned long long)want_us);
	assert_int_equal(strncmp(live_get(CGROUP_CPU, CGROUP_OWN "/" SERVICE, cpu->version == 1 ? "cpu.cfs_quota_us" : "cpu.max"),
				 quota, strlen(quota)), 0);
	assert_applied(&half, 0);
	assert_int_equal(cgroup_read_task("", cpu, service_pids.pids[0], error, sizeof(error)), 0);
	assert_string_equal(error + strlen(cpu->dir), "/" CGROUP_OWN "/" SERVICE);
	close_machine();
	assert_string_equal(get(0, "scaling_governor"), "schedutil");
	assert_int_equal(atoi(get(0, "scaling_max_freq")), 2500000);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_quota_takes_over_and_everything_is_put_back, set_up, tear_down),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("late_quota", tests, NULL, NULL);
}

int main(void)
{
	return live_guard(run);
}
