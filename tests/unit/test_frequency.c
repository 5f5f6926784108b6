// SPDX-License-Identifier: GPL-2.0
/*
 * test_frequency.c - the ways of frequency.c on trees that have what each driver has.  test_cpufreq.c has what is common.
 * wrap: cpufreq_modify_policy_governor
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "fixtures/cpufreq.h"
#include "inject.h"
#include "restore.h"

#define GENERIC "conservative ondemand userspace powersave performance schedutil \n"
#define ALL_EPP "default performance balance_performance balance_power power \n"

static int clear_faults(void **state)
{
	inject_clear();
	return remove_tree(state);
}

static void fault(const char *rule)
{
	char error[128];

	assert_int_equal(inject_add(rule, SYSFS, error, sizeof(error)), 0);
}

/* What scaling_driver says decides nothing, so it is only for the reader. */
static void put_driver(const char *driver, unsigned int nr)
{
	bool is_active = strstr(driver, "epp") || !strcmp(driver, "intel_pstate");

	for (unsigned int cpu = 0; cpu < nr; cpu++) {
		char own[16];

		snprintf(own, sizeof(own), "%u\n", cpu);
		put_cpu(cpu, own, !strncmp(driver, "acpi", 4) ? "2450000 2000000 1500000 \n" : NULL,
			is_active ? "performance powersave\n" : GENERIC);
		put(cpu, "scaling_driver", driver);
		put(cpu, "scaling_governor", is_active ? "powersave\n" : "schedutil\n");
		if (!strncmp(driver, "intel", 5))
			put(cpu, "base_frequency", "2500000\n");
		if (!strncmp(driver, "amd", 3))
			tree_put(root, "2450\n", "cpu/cpu%u/acpi_cppc/nominal_freq", cpu);
		if (is_active) {
			put(cpu, "energy_performance_available_preferences", ALL_EPP);
			put(cpu, "energy_performance_preference", "balance_performance\n");
		}
	}
	if (!strncmp(driver, "intel", 5))
		tree_put(root, "0\n", "cpu/intel_pstate/no_turbo");
	else
		tree_put(root, "1\n", "cpu/cpufreq/boost");
}

static void clear_cpus(void)
{
	static const char *const dirs[] = { "cpu0", "cpu1", "cpufreq", "intel_pstate" };
	char path[TREE_PATH_SIZE + 32];

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		snprintf(path, sizeof(path), "%s/cpu/%s", root, dirs[i]);
		tree_remove(path);
	}
}

static void apply(uint32_t first, uint32_t others)
{
	uint32_t khz[CPULIST_MAX_CPUS];

	for (int i = 0; i < CPULIST_MAX_CPUS; i++)
		khz[i] = i ? others : first;
	undo_begin(undo);
	memset(&outcome, 0, sizeof(outcome));
	assert_int_equal(frequency_apply(frequency, khz, &cpus, undo, &outcome), 0);
}

static void every_driver_has_its_way_and_its_ladder(void **state)
{
	static const struct {
		const char *driver;
		enum ladder_way way;
		uint32_t nr_steps, nominal_khz, top_khz;
	} all[] = {
		{ "acpi-cpufreq", LADDER_USERSPACE, 3, 2450000, 2450000 },
		{ "amd-pstate", LADDER_USERSPACE, 12, 2450000, 3000000 }, /* passive and guided: the same files */
		{ "amd-pstate-epp", LADDER_CAP, 12, 2450000, 3000000 },
		{ "intel_pstate", LADDER_CAP, 12, 2500000, 3000000 },
		{ "intel_cpufreq", LADDER_USERSPACE, 12, 2500000, 3000000 },
		{ "cppc_cpufreq", LADDER_USERSPACE, 16, 3000000, 3000000 },
	};

	(void)state;
	tree_put(root, "0-1\n", "cpu/online");
	bind_tree();
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const struct speed_ladder *l;

		clear_cpus();
		put_driver(all[i].driver, 2);
		open_cpus("0-1");
		l = frequency_ladder(frequency);
		print_message("# %s: %s, %u steps\n", all[i].driver, ladder_way_name(frequency_way(frequency)), l->nr_steps);
		assert_int_equal(frequency_way(frequency), all[i].way);
		assert_int_equal(l->nr_steps, all[i].nr_steps);
		assert_int_equal(l->value[l->nominal], all[i].nominal_khz);
		assert_int_equal(l->value[l->nr_steps - 1], all[i].top_khz);
		take_over();
		apply(2000000, 1500000);
		assert_int_equal(atoi(get(0, all[i].way == LADDER_CAP ? "scaling_max_freq" : "scaling_setspeed")), 2000000);
		assert_int_equal(atoi(get(1, all[i].way == LADDER_CAP ? "scaling_max_freq" : "scaling_setspeed")), 1500000);
		frequency_close(frequency);
		frequency = NULL;
	}
}

static void one_way_after_the_other_is_given_up(void **state)
{
	char error[256];

	(void)state;
	put_driver("amd-pstate-epp", 2);
	bind_tree();
	open_cpus("0-1");
	take_over();
	apply(2000000, 1500000);
	assert_string_equal(get(0, "energy_performance_preference"), "balance_performance");

	assert_int_equal(frequency_fall(frequency, journal), LADDER_EPP);
	apply(3000000, 1500000);
	assert_false(frequency_drifted(frequency));
	assert_int_equal(atoi(get(0, "scaling_max_freq")), 3000000);
	assert_int_equal(atoi(get(1, "scaling_max_freq")), 3000000);
	assert_string_equal(get(0, "energy_performance_preference"), "performance");
	assert_string_equal(get(1, "energy_performance_preference"), "power");
	assert_string_equal(get(0, "scaling_governor"), "powersave");

	assert_int_equal(frequency_fall(frequency, journal), LADDER_BOOST);
	apply(2450000, 1500000);
	assert_string_equal(tree_line(root, "cpu/cpufreq/boost"), "0");
	apply(2450000, 3000000);
	assert_string_equal(tree_line(root, "cpu/cpufreq/boost"), "1");
	apply(1500000, 1500000);

	assert_int_equal(frequency_fall(frequency, journal), LADDER_NOTHING);
	apply(1500000, 1500000);
	assert_string_equal(tree_line(root, "cpu/cpufreq/boost"), "1");
	assert_int_equal(frequency_fall(frequency, journal), LADDER_NOTHING);

	assert_true(restore_journal("", root, error, sizeof(error)) > 0);
	for (unsigned int cpu = 0; cpu < 2; cpu++) {
		assert_string_equal(get(cpu, "energy_performance_preference"), "balance_performance");
		assert_string_equal(get(cpu, "scaling_governor"), "powersave");
		assert_string_equal(get(cpu, "scaling_max_freq"), "2500000");
		assert_string_equal(get(cpu, "scaling_min_freq"), "2000000");
	}
}

static void preferences_are_taken_from_the_governor_performance_and_given_back(void **state)
{
	char error[256];

	(void)state;
	put_driver("intel_pstate", 1);
	put(0, "scaling_governor", "performance\n");
	put(0, "energy_performance_preference", "performance\n");
	bind_tree();
	open_cpus("0");
	take_over();
	assert_string_equal(get(0, "scaling_governor"), "performance");
	assert_int_equal(frequency_fall(frequency, journal), LADDER_EPP);
	apply(2000000, 0);
	assert_string_equal(get(0, "scaling_governor"), "powersave");
	assert_string_equal(get(0, "energy_performance_preference"), "balance_power");
	assert_true(restore_journal("", root, error, sizeof(error)) > 0);
	assert_string_equal(get(0, "scaling_governor"), "performance");
	assert_string_equal(get(0, "energy_performance_preference"), "performance");
}

static void a_preference_that_is_refused_for_now_is_skipped(void **state)
{
	(void)state;
	put_driver("intel_pstate", 2);
	bind_tree();
	open_cpus("0-1");
	take_over();
	frequency_fall(frequency, journal);
	fault("/cpu0/cpufreq/energy_performance_preference write EBUSY 1");
	apply(3000000, 3000000);
	assert_string_equal(get(0, "energy_performance_preference"), "balance_performance");
	assert_string_equal(get(1, "energy_performance_preference"), "performance");
	apply(3000000, 3000000);
	assert_string_equal(get(0, "energy_performance_preference"), "performance");
	assert_false(frequency_drifted(frequency));
}

static void what_was_never_needed_is_not_undone(void **state)
{
	char error[256];

	(void)state;
	put_driver("amd-pstate-epp", 1);
	bind_tree();
	open_cpus("0");
	take_over();
	apply(2000000, 0);
	put(0, "energy_performance_preference", "power\n"); /* somebody's choice meanwhile */
	tree_put(root, "0\n", "cpu/cpufreq/boost");
	assert_true(restore_journal("", root, error, sizeof(error)) > 0);
	assert_string_equal(get(0, "energy_performance_preference"), "power");
	assert_string_equal(tree_line(root, "cpu/cpufreq/boost"), "0");
}

static void boost_that_is_off_stays_off(void **state)
{
	(void)state;
	put_driver("intel_cpufreq", 1);
	tree_put(root, "1\n", "cpu/intel_pstate/no_turbo");
	bind_tree();
	open_cpus("0");
	take_over();
	assert_int_equal(frequency_fall(frequency, journal), LADDER_CAP);
	assert_int_equal(frequency_fall(frequency, journal), LADDER_NOTHING);
	apply(3000000, 3000000);
	assert_string_equal(tree_line(root, "cpu/intel_pstate/no_turbo"), "1");
}

static void turbo_of_intel_is_switched_by_its_contrary(void **state)
{
	(void)state;
	put_driver("intel_cpufreq", 1);
	bind_tree();
	open_cpus("0");
	take_over();
	frequency_fall(frequency, journal);
	assert_int_equal(frequency_fall(frequency, journal), LADDER_BOOST);
	apply(2500000, 0);
	assert_string_equal(tree_line(root, "cpu/intel_pstate/no_turbo"), "1");
	apply(3000000, 0);
	assert_string_equal(tree_line(root, "cpu/intel_pstate/no_turbo"), "0");
}

static void a_cap_replaces_the_governor_that_was_to_set_speeds(void **state)
{
	(void)state;
	put_driver("acpi-cpufreq", 1);
	bind_tree();
	open_cpus("0");
	take_over();
	apply(2000000, 0);
	assert_string_equal(get(0, "scaling_governor"), "userspace");
	assert_int_equal(frequency_fall(frequency, journal), LADDER_CAP);
	apply(1500000, 0);
	assert_string_equal(get(0, "scaling_governor"), "performance");
	assert_int_equal(atoi(get(0, "scaling_max_freq")), 1500000);
	assert_false(frequency_drifted(frequency));
}

/* Files for every CPU, and one clock for several. */
static void cpus_with_files_of_their_own_that_share_a_clock_get_the_fastest_speed(void **state)
{
	struct cpulist one;

	(void)state;
	put_driver("acpi-cpufreq", 3);
	put(0, "freqdomain_cpus", "0 1\n");
	put(1, "freqdomain_cpus", "0 1\n");
	put(2, "freqdomain_cpus", "2\n");
	bind_tree();
	open_cpus("0-2");
	take_over();
	apply(2450000, 1500000);
	assert_int_equal(atoi(get(0, "scaling_setspeed")), 2450000);
	assert_int_equal(atoi(get(1, "scaling_setspeed")), 2450000);
	assert_int_equal(atoi(get(2, "scaling_setspeed")), 1500000);
	assert_int_equal(cpulist_parse("1", &one), 0);
	assert_int_equal(frequency_asked_khz(frequency, &one), 2450000);
	assert_int_equal(cpulist_parse("2", &one), 0);
	assert_int_equal(frequency_asked_khz(frequency, &one), 1500000);
}

static void a_cpu_that_heat_or_firmware_holds_back_is_told_once_and_no_failure(void **state)
{
	(void)state;
	put_driver("amd-pstate-epp", 1);
	put(0, "scaling_max_freq", "1800000\n");
	bind_tree();
	open_cpus("0");
	take_over();
	fault("/cpu0/cpufreq/scaling_max_freq write ignored 2");
	apply(2450000, 0);
	assert_string_equal(outcome.note, "CPU 0: held at 1800000 kHz instead of 2450000, by heat or firmware");
	apply(2450000, 0);
	assert_string_equal(outcome.note, "");
	assert_int_equal(outcome.error, 0);
	apply(1500000, 0);
	apply(2450000, 0);
	assert_int_equal(atoi(get(0, "scaling_max_freq")), 2450000);
}

int main(void)
{
#define TREE_TEST(f) cmocka_unit_test_setup_teardown(f, make_tree, clear_faults)
	const struct CMUnitTest tests[] = {
		TREE_TEST(every_driver_has_its_way_and_its_ladder),
		TREE_TEST(one_way_after_the_other_is_given_up),
		TREE_TEST(preferences_are_taken_from_the_governor_performance_and_given_back),
		TREE_TEST(a_preference_that_is_refused_for_now_is_skipped),
		TREE_TEST(what_was_never_needed_is_not_undone),
		TREE_TEST(boost_that_is_off_stays_off),
		TREE_TEST(turbo_of_intel_is_switched_by_its_contrary),
		TREE_TEST(a_cap_replaces_the_governor_that_was_to_set_speeds),
		TREE_TEST(cpus_with_files_of_their_own_that_share_a_clock_get_the_fastest_speed),
		TREE_TEST(a_cpu_that_heat_or_firmware_holds_back_is_told_once_and_no_failure),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
