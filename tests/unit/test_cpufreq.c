/* SPDX-License-Identifier: GPL-2.0 */
/*
 * test_cpufreq.c - frequency.c on fake trees, which a private mount namespace puts in the place of the sysfs that
 * libcpupower hard-codes, and on this machine where it has P-states.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <sys/prctl.h>
#include <sys/wait.h>

#include "fixtures/cpufreq.h"
#include "machine.h"
#include "restore.h"

static void a_machine_without_cpufreq_says_so(void **state)
{
	(void)state;
	tree_put(root, "0-1\n", "cpu/online");
	bind_tree();
	assert_int_equal(cpulist_parse("0-1", &cpus), 0);
	assert_int_equal(frequency_open(&frequency, "", &cpus), -ENODEV);
}

static void a_cpu_without_cpufreq_spoils_it_for_all(void **state)
{
	(void)state;
	put_cpu(0, "0\n", NULL, "userspace\n");
	bind_tree();
	assert_int_equal(cpulist_parse("0-1", &cpus), 0);
	assert_int_equal(frequency_open(&frequency, "", &cpus), -ENODEV);
}

static void listed_speeds_make_the_ladder(void **state)
{
	const struct speed_ladder *l;

	(void)state;
	put_cpu(0, "0\n", "2450000 2000000 1500000 \n", "performance userspace \n");
	bind_tree();
	open_cpus("0");
	l = frequency_ladder(frequency);
	assert_int_equal(l->kind, SPEED_FREQ);
	assert_int_equal(l->nr_steps, 3);
	assert_int_equal(l->value[0], 1500000);
	assert_int_equal(l->value[2], 2450000);
	assert_int_equal(l->nominal, 2);
	assert_int_equal(frequency_way(frequency), LADDER_USERSPACE);
}

static void a_turbo_mark_is_one_step_above_nominal(void **state)
{
	(void)state;
	put_cpu(0, "0\n", "2201000 2200000 2100000 1500000 \n", "userspace \n");
	bind_tree();
	open_cpus("0");
	assert_int_equal(frequency_ladder(frequency)->nr_steps, 4);
	assert_int_equal(frequency_ladder(frequency)->nominal, 2);
}

static void a_boost_speed_is_a_step_only_while_boost_is_on(void **state)
{
	(void)state;
	put_cpu(0, "0\n", "2200000 1500000 \n", "userspace \n");
	put(0, "scaling_boost_frequencies", "2800000 \n");
	tree_put(root, "1\n", "cpu/cpufreq/boost");
	bind_tree();
	open_cpus("0");
	assert_int_equal(frequency_ladder(frequency)->nr_steps, 3);
	assert_int_equal(frequency_ladder(frequency)->value[2], 2800000);
	assert_int_equal(frequency_ladder(frequency)->nominal, 1);
	frequency_close(frequency);
	frequency = NULL;
	tree_put(root, "0\n", "cpu/cpufreq/boost");
	open_cpus("0");
	assert_int_equal(frequency_ladder(frequency)->nr_steps, 2);
}

static void without_a_list_steps_are_100_mhz_up_to_the_base_speed(void **state)
{
	const struct speed_ladder *l;

	(void)state;
	put_cpu(0, "0\n", NULL, "performance powersave\n");
	put(0, "base_frequency", "2250000\n");
	bind_tree();
	open_cpus("0");
	l = frequency_ladder(frequency);
	assert_int_equal(l->value[0], 1500000);
	assert_int_equal(l->value[1], 1600000);
	assert_int_equal(l->value[l->nominal], 2250000);
	assert_int_equal(l->nominal, l->nr_steps - 2);
	assert_int_equal(l->value[l->nr_steps - 1], 3000000);
	assert_int_equal(frequency_way(frequency), LADDER_CAP);
}

static void with_the_governor_userspace_a_speed_is_set_exactly(void **state)
{
	uint32_t khz[CPULIST_MAX_CPUS] = { 2450000, 1500000 };

	(void)state;
	put_cpu(0, "0\n", "2450000 2000000 1500000 \n", "userspace \n");
	put_cpu(1, "1\n", "2450000 2000000 1500000 \n", "userspace \n");
	bind_tree();
	open_cpus("0-1");
	take_over();
	assert_string_equal(get(0, "scaling_governor"), "userspace");
	assert_string_equal(get(0, "scaling_min_freq"), "1500000");
	assert_string_equal(get(0, "scaling_max_freq"), "3000000");
	assert_int_equal(frequency_apply(frequency, khz, &cpus, undo, &outcome), 0);
	assert_int_equal(atoi(get(0, "scaling_setspeed")), 2450000);
	assert_int_equal(atoi(get(1, "scaling_setspeed")), 1500000);
	outcome.nr_writes = 0;
	assert_int_equal(frequency_apply(frequency, khz, &cpus, undo, &outcome), 0);
	assert_int_equal(outcome.nr_writes, 0);
}

static void without_it_the_highest_speed_is_capped(void **state)
{
	uint32_t khz[CPULIST_MAX_CPUS] = { 1600000 };

	(void)state;
	put_cpu(0, "0\n", NULL, "performance schedutil\n");
	bind_tree();
	open_cpus("0");
	take_over();
	assert_string_equal(get(0, "scaling_governor"), "schedutil");
	assert_string_equal(get(0, "scaling_min_freq"), "1500000");
	assert_int_equal(frequency_apply(frequency, khz, &cpus, undo, &outcome), 0);
	assert_string_equal(get(0, "scaling_max_freq"), "1600000");
	undo_rollback(undo);
	assert_string_equal(get(0, "scaling_max_freq"), "2500000");
}

static void cpus_that_are_clocked_together_get_the_fastest_speed_asked_for(void **state)
{
	uint32_t khz[CPULIST_MAX_CPUS] = { 1500000, 2000000 };

	(void)state;
	put_cpu(0, "0 1\n", "2450000 2000000 1500000 \n", "userspace \n");
	put_cpu(1, "0 1\n", "2450000 2000000 1500000 \n", "userspace \n");
	bind_tree();
	open_cpus("0-1");
	take_over();
	assert_int_equal(frequency_apply(frequency, khz, &cpus, undo, &outcome), 0);
	assert_int_equal(atoi(get(0, "scaling_setspeed")), 2000000);
	assert_string_equal(get(1, "scaling_governor"), "schedutil"); /* one domain, one file */
}

/* Performance and efficiency cores: one more domain with other limits, and one with three listed steps. */
static void domains_with_other_limits_run_at_the_nearest_of_their_own_steps(void **state)
{
	static const struct { uint32_t ask, first, second, third; } rows[] = {
		{ 0, 1500000, 1000000, 1400000 }, { 2000000, 2000000, 2000000, 2200000 },
		{ 2900000, 2900000, 2600000, 2700000 }, { 3000000, 3000000, 2600000, 2700000 },
	};
	uint32_t khz[CPULIST_MAX_CPUS];

	(void)state;
	for (unsigned int cpu = 0; cpu < 3; cpu++) {
		char own[8];

		snprintf(own, sizeof(own), "%u\n", cpu);
		put_cpu(cpu, own, cpu == 2 ? "2700000 2200000 1400000 \n" : NULL, "userspace \n");
	}
	put(1, "cpuinfo_min_freq", "1000000\n");
	put(1, "cpuinfo_max_freq", "2600000\n");
	put(2, "cpuinfo_max_freq", "2700000\n");
	put(2, "cpuinfo_min_freq", "1400000\n");
	bind_tree();
	open_cpus("0-2");
	assert_int_equal(frequency_ladder(frequency)->value[frequency_ladder(frequency)->nr_steps - 1], 3000000);
	take_over();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		khz[0] = khz[1] = khz[2] = rows[i].ask;
		assert_int_equal(frequency_apply(frequency, khz, &cpus, undo, &outcome), 0);
		assert_int_equal(atoi(get(0, "scaling_setspeed")), rows[i].first);
		assert_int_equal(atoi(get(1, "scaling_setspeed")), rows[i].second);
		assert_int_equal(atoi(get(2, "scaling_setspeed")), rows[i].third);
	}
	assert_int_equal(atoi(get(1, "scaling_max_freq")), 2600000);
	assert_int_equal(atoi(get(2, "scaling_min_freq")), 1400000);
	cpulist_parse("1", &cpus);
	assert_int_equal(frequency_asked_khz(frequency, &cpus), 2600000);
}

/* CPU 1 has its files a little later; CPU 2 never gets the governor that is used. */
static void a_cpu_that_comes_is_taken_over_when_its_files_are_there(void **state)
{
	uint32_t khz[CPULIST_MAX_CPUS] = { 2000000, 2000000, 2000000 };
	char error[256];

	(void)state;
	put_cpu(0, "0\n", "2450000 2000000 1500000 \n", "userspace \n");
	put_cpu(2, "2\n", "2450000 2000000 1500000 \n", "performance \n");
	bind_tree();
	open_cpus("0");
	take_over();
	cpulist_parse("0-2", &cpus);
	assert_int_equal(frequency_add(frequency, &cpus, journal), 0);
	assert_int_equal(frequency_apply(frequency, khz, &cpus, undo, &outcome), 0);
	put_cpu(1, "1\n", "2450000 2000000 1500000 \n", "userspace \n");
	for (int i = 0; i < 50; i++)
		assert_int_equal(frequency_add(frequency, &cpus, journal), 0);
	assert_int_equal(frequency_apply(frequency, khz, &cpus, undo, &outcome), 0);
	assert_int_equal(atoi(get(0, "scaling_setspeed")), 2000000);
	assert_int_equal(atoi(get(1, "scaling_setspeed")), 2000000);
	assert_string_equal(get(2, "scaling_setspeed"), "<unsupported>");
	assert_string_equal(get(2, "scaling_governor"), "schedutil");
	assert_true(restore_journal("", root, error, sizeof(error)) > 0);
	assert_string_equal(get(1, "scaling_governor"), "schedutil");
	assert_int_equal(atoi(get(1, "scaling_max_freq")), 2500000);
}

static void an_offline_cpu_is_left_alone_and_taken_over_again_when_it_is_back(void **state)
{
	uint32_t khz[CPULIST_MAX_CPUS] = { 2000000, 2000000 };
	struct cpulist online;

	(void)state;
	put_cpu(0, "0\n", "2450000 2000000 1500000 \n", "userspace \n");
	put_cpu(1, "1\n", "2450000 2000000 1500000 \n", "userspace \n");
	bind_tree();
	open_cpus("0-1");
	take_over();
	assert_int_equal(frequency_apply(frequency, khz, &cpus, undo, &outcome), 0);
	put(1, "scaling_governor", "schedutil\n");
	put(1, "scaling_max_freq", "2000000\n");
	cpulist_parse("0", &online);
	khz[0] = khz[1] = 1500000;
	assert_int_equal(frequency_apply(frequency, khz, &online, undo, &outcome), 0);
	assert_int_equal(atoi(get(0, "scaling_setspeed")), 1500000);
	assert_int_equal(atoi(get(1, "scaling_setspeed")), 2000000);
	assert_string_equal(get(1, "scaling_governor"), "schedutil");
	assert_int_equal(frequency_apply(frequency, khz, &cpus, undo, &outcome), 0);
	assert_string_equal(get(1, "scaling_governor"), "userspace");
	assert_int_equal(atoi(get(1, "scaling_max_freq")), 3000000);
	assert_int_equal(atoi(get(1, "scaling_setspeed")), 1500000);
	assert_false(frequency_drifted(frequency)); /* the kernel's doing, nobody's */
}

static void what_another_manager_of_power_changes_is_put_back(void **state)
{
	static const char *const files[] = { "scaling_governor", "scaling_min_freq", "scaling_max_freq", "scaling_setspeed" };
	static const char *const theirs[] = { "powersave\n", "2000000\n", "2000000\n", "1500000\n" };
	uint32_t khz[CPULIST_MAX_CPUS] = { 2450000 };

	(void)state;
	put_cpu(0, "0\n", "2450000 2000000 1500000 \n", "userspace \n");
	bind_tree();
	open_cpus("0");
	take_over();
	assert_int_equal(frequency_apply(frequency, khz, &cpus, undo, &outcome), 0);
	for (int i = 0; i < 4; i++) {
		char ours[64];

		snprintf(ours, sizeof(ours), "%s", get(0, files[i]));
		assert_false(frequency_drifted(frequency));
		put(0, files[i], theirs[i]);
		assert_int_equal(frequency_apply(frequency, khz, &cpus, undo, &outcome), 0);
		if (i == 0)
			assert_string_equal(get(0, files[i]), ours);
		else
			assert_int_equal(atoi(get(0, files[i])), atoi(ours));
		assert_true(frequency_drifted(frequency));
	}
}

static void a_speed_that_cannot_be_written_is_told_with_its_reason(void **state)
{
	uint32_t khz[CPULIST_MAX_CPUS] = { 2000000 };
	(void)state;
	put_cpu(0, "0\n", "2450000 2000000 1500000 \n", "userspace \n");
	bind_tree();
	open_cpus("0");
	take_over();
	lock_tree();
	assert_int_equal(frequency_apply(frequency, khz, &cpus, undo, &outcome), -EROFS);
	assert_non_null(strstr(outcome.where, "scaling_setspeed"));
	assert_non_null(strstr(outcome.where, strerror(EROFS)));
}

static void a_read_only_sysfs_has_no_speed_to_set(void **state)
{
	(void)state;
	put_cpu(0, "0\n", "2450000 2000000 1500000 \n", "userspace \n");
	bind_tree();
	assert_int_equal(mount(NULL, SYSFS, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL), 0);
	assert_int_equal(cpulist_parse("0", &cpus), 0);
	assert_int_equal(frequency_open(&frequency, "", &cpus), -EROFS);
}

/* Speeds are not fought over, unless that is asked for. */
static void a_machine_whose_speeds_another_program_sets_is_refused(void **state)
{
	static struct topology topo = { .nr_cores = 1, .cores[0].cpus.bits[0] = 1 };
	struct machine_opts opts = { .root = "", .topology = &topo, .dry = true, .speed = CONFIG_SPEED_AUTO };
	struct machine *machine = NULL;
	char error[512], name[64];
	int gate[2];
	pid_t pid;

	(void)state;
	put_cpu(0, "0\n", "2450000 2000000 1500000 \n", "userspace \n");
	bind_tree();
	assert_int_equal(pipe(gate), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_NAME, "cpufreqd");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(write(gate[1], "", 1) != 1 || pause());
	}
	assert_int_equal(read(gate[0], name, 1), 1);
	assert_int_equal(machine_open(&machine, &opts, error, sizeof(error)), -ENOTSUP);
	snprintf(name, sizeof(name), "cpufreqd (pid %d) sets speeds, too: ", (int)pid);
	assert_non_null(strstr(error, name));
	opts.force = true;
	assert_int_equal(machine_open(&machine, &opts, error, sizeof(error)), 0);
	assert_non_null(strstr(machine_describe(machine), "speed=cpufreq by=userspace steps=3"));
	machine_close(machine);
	opts.force = false;
	opts.speed = CONFIG_SPEED_NONE;
	assert_int_equal(machine_open(&machine, &opts, error, sizeof(error)), 0);
	machine_close(machine);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(gate[0]);
	close(gate[1]);
}

static void the_journal_puts_governor_and_limits_back(void **state)
{
	uint32_t khz[CPULIST_MAX_CPUS] = { 2000000 };
	char error[256];

	(void)state;
	put_cpu(0, "0\n", "2450000 2000000 1500000 \n", "userspace \n");
	bind_tree();
	open_cpus("0");
	take_over();
	assert_int_equal(frequency_apply(frequency, khz, &cpus, undo, &outcome), 0);
	assert_int_equal(restore_journal("", root, error, sizeof(error)), 3);
	assert_string_equal(get(0, "scaling_governor"), "schedutil");
	assert_string_equal(get(0, "scaling_min_freq"), "2000000");
	assert_string_equal(get(0, "scaling_max_freq"), "2500000");
}

/* No tree: real P-states, every step. */
static void this_machine_runs_at_every_step_and_gets_its_own_back(void **state)
{
	uint32_t khz[CPULIST_MAX_CPUS] = { 0 };
	char governor[64], max[64], error[256];

	(void)state;
	assert_int_equal(cpulist_parse("0", &cpus), 0);
	if (geteuid() || frequency_open(&frequency, "", &cpus)) {
		print_message("# skip: needs root and CPUs whose speed can be set\n");
		skip();
	}
	snprintf(governor, sizeof(governor), "%s", tree_get(SYSFS, "cpu0/cpufreq/scaling_governor"));
	snprintf(max, sizeof(max), "%s", tree_get(SYSFS, "cpu0/cpufreq/scaling_max_freq"));
	take_over();
	for (uint32_t i = 0; i < frequency_ladder(frequency)->nr_steps; i++) {
		bool exact = frequency_way(frequency) == LADDER_USERSPACE;
		const char *file = exact ? "cpu0/cpufreq/scaling_setspeed" : "cpu0/cpufreq/scaling_max_freq";
		uint32_t want = khz[0] = frequency_ladder(frequency)->value[i];

		assert_int_equal(frequency_apply(frequency, khz, &cpus, undo, &outcome), 0);
		assert_int_equal(atoi(tree_get(SYSFS, file)), want);
		if (exact)
			assert_int_equal(atoi(tree_get(SYSFS, "cpu0/cpufreq/scaling_cur_freq")), want);
	}
	assert_true(restore_journal("", root, error, sizeof(error)) > 0);
	assert_string_equal(tree_get(SYSFS, "cpu0/cpufreq/scaling_governor"), governor);
	assert_string_equal(tree_get(SYSFS, "cpu0/cpufreq/scaling_max_freq"), max);
}

int main(void)
{
#define TREE_TEST(f) cmocka_unit_test_setup_teardown(f, make_tree, remove_tree)
	const struct CMUnitTest tests[] = {
		TREE_TEST(a_machine_without_cpufreq_says_so),
		TREE_TEST(a_cpu_without_cpufreq_spoils_it_for_all),
		TREE_TEST(listed_speeds_make_the_ladder),
		TREE_TEST(a_turbo_mark_is_one_step_above_nominal),
		TREE_TEST(a_boost_speed_is_a_step_only_while_boost_is_on),
		TREE_TEST(without_a_list_steps_are_100_mhz_up_to_the_base_speed),
		TREE_TEST(with_the_governor_userspace_a_speed_is_set_exactly),
		TREE_TEST(without_it_the_highest_speed_is_capped),
		TREE_TEST(cpus_that_are_clocked_together_get_the_fastest_speed_asked_for),
		TREE_TEST(domains_with_other_limits_run_at_the_nearest_of_their_own_steps),
		TREE_TEST(a_cpu_that_comes_is_taken_over_when_its_files_are_there),
		TREE_TEST(an_offline_cpu_is_left_alone_and_taken_over_again_when_it_is_back),
		TREE_TEST(what_another_manager_of_power_changes_is_put_back),
		TREE_TEST(a_speed_that_cannot_be_written_is_told_with_its_reason),
		TREE_TEST(a_read_only_sysfs_has_no_speed_to_set),
		TREE_TEST(a_machine_whose_speeds_another_program_sets_is_refused),
		TREE_TEST(the_journal_puts_governor_and_limits_back),
		TREE_TEST(this_machine_runs_at_every_step_and_gets_its_own_back),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("cpufreq", tests, NULL, NULL);
}
