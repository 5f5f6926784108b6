// SPDX-License-Identifier: GPL-2.0
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "fixtures/tree.h"
#include "inject.h"
#include "rapl.h"

static char root[TREE_PATH_SIZE];
static struct rapl rapl;

static int make_tree(void **state)
{
	(void)state;
	tree_make(root);
	rapl = (struct rapl){ 0 };
	return 0;
}

static int remove_tree(void **state)
{
	(void)state;
	rapl_close(&rapl);
	inject_clear();
	tree_remove(root);
	return 0;
}

static void put_energy(const char *zone, uint64_t uj)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)uj);
	tree_put(root, text, "sys/class/powercap/%s/energy_uj", zone);
}

static void put_zone(const char *zone, const char *name, uint64_t uj)
{
	tree_put(root, name, "sys/class/powercap/%s/name", zone);
	tree_put(root, "262143328850\n", "sys/class/powercap/%s/max_energy_range_uj", zone);
	put_energy(zone, uj);
}

static void packages_are_added_up_and_their_parts_are_not_counted_again(void **state)
{
	(void)state;
	put_zone("intel-rapl:0", "package-0\n", 1000000);
	put_zone("intel-rapl:0:0", "core\n", 500000);
	put_zone("intel-rapl:1", "package-1\n", 7000000);
	put_zone("intel-rapl:2", "psys\n", 20000000);
	put_zone("intel-rapl-mmio:0", "package-0\n", 1000000);
	assert_int_equal(rapl_open(&rapl, root), 0);
	assert_int_equal(rapl.nr, 2);
	rapl_read(&rapl);
	assert_float_equal(rapl.joules, 0, 1e-9);
	put_energy("intel-rapl:0", 3500000);
	put_energy("intel-rapl:1", 8000000);
	put_energy("intel-rapl:2", 90000000);
	rapl_read(&rapl);
	rapl_read(&rapl);
	assert_float_equal(rapl.joules, 3.5, 1e-9);
}

static void a_meter_that_starts_again_at_zero_goes_on_counting(void **state)
{
	(void)state;
	put_zone("intel-rapl:0", "package-0\n", 262143000000);
	assert_int_equal(rapl_open(&rapl, root), 0);
	put_energy("intel-rapl:0", 1671150);
	rapl_read(&rapl);
	assert_float_equal(rapl.joules, 2.0, 1e-6);
}

static void a_meter_that_is_silent_for_a_moment_loses_nothing(void **state)
{
	char error[128];

	(void)state;
	put_zone("intel-rapl:0", "package-0\n", 0);
	assert_int_equal(rapl_open(&rapl, root), 0);
	assert_int_equal(inject_add("*/energy_uj read EIO 1", root, error, sizeof(error)), 0);
	put_energy("intel-rapl:0", 1000000);
	rapl_read(&rapl);
	assert_float_equal(rapl.joules, 0, 1e-9);
	put_energy("intel-rapl:0", 3000000);
	rapl_read(&rapl);
	assert_float_equal(rapl.joules, 3.0, 1e-9);
}

static void a_machine_without_meters_or_with_one_that_is_refused_has_no_sum(void **state)
{
	char error[128];

	(void)state;
	assert_int_equal(rapl_open(&rapl, root), -ENOENT);
	put_zone("intel-rapl:0", "package-0\n", 0);
	put_zone("intel-rapl:1", "package-1\n", 0);
	assert_int_equal(inject_add("*:1/energy_uj read EACCES", root, error, sizeof(error)), 0);
	assert_int_equal(rapl_open(&rapl, root), -EACCES);
	assert_int_equal(rapl.nr, 0);
	rapl_read(&rapl);
	rapl_close(&rapl);
}

int main(void)
{
#define TREE_TEST(f) cmocka_unit_test_setup_teardown(f, make_tree, remove_tree)
	const struct CMUnitTest tests[] = {
		TREE_TEST(packages_are_added_up_and_their_parts_are_not_counted_again),
		TREE_TEST(a_meter_that_starts_again_at_zero_goes_on_counting),
		TREE_TEST(a_meter_that_is_silent_for_a_moment_loses_nothing),
		TREE_TEST(a_machine_without_meters_or_with_one_that_is_refused_has_no_sum),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
