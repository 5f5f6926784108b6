/* SPDX-License-Identifier: GPL-2.0 */
/* test_topology.c - sysfs trees of machines of many shapes. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "fixtures/tree.h"
#include "topology.h"

static char root[TREE_PATH_SIZE];
static struct topology topo;

static int make_tree(void **state)
{
	(void)state;
	memset(&topo, 0, sizeof(topo));
	tree_make(root);
	return 0;
}

static int remove_tree(void **state)
{
	(void)state;
	tree_remove(root);
	return 0;
}

static void put_cpu(unsigned int cpu, const char *siblings, const char *package, const char *l3)
{
	tree_put(root, siblings, "sys/devices/system/cpu/cpu%u/topology/core_cpus_list", cpu);
	tree_put(root, package, "sys/devices/system/cpu/cpu%u/topology/physical_package_id", cpu);
	tree_put(root, "2\n", "sys/devices/system/cpu/cpu%u/cache/index0/level", cpu);
	tree_put(root, siblings, "sys/devices/system/cpu/cpu%u/cache/index0/shared_cpu_list", cpu);
	if (!l3)
		return;
	tree_put(root, "3\n", "sys/devices/system/cpu/cpu%u/cache/index1/level", cpu);
	tree_put(root, l3, "sys/devices/system/cpu/cpu%u/cache/index1/shared_cpu_list", cpu);
}

static void put_sets(const char *online, const char *isolated)
{
	tree_put(root, online, "sys/devices/system/cpu/online");
	tree_put(root, isolated, "sys/devices/system/cpu/isolated");
}

static void assert_core(uint32_t i, const char *cpus, uint16_t l3, uint16_t package, uint16_t node)
{
	char text[256];

	assert_true(i < topo.nr_cores);
	cpulist_format(&topo.cores[i].cpus, text, sizeof(text));
	assert_string_equal(text, cpus);
	assert_int_equal(topo.cores[i].first_cpu, cpulist_next(&topo.cores[i].cpus, 0));
	assert_int_equal(topo.cores[i].l3, l3);
	assert_int_equal(topo.cores[i].package, package);
	assert_int_equal(topo.cores[i].node, node);
}

static void without_smt_every_cpu_is_a_core(void **state)
{
	(void)state;
	put_sets("0-1\n", "\n");
	put_cpu(0, "0\n", "0\n", "0-1\n");
	put_cpu(1, "1\n", "0\n", "0-1\n");
	assert_int_equal(topology_read(root, &topo), 0);
	assert_int_equal(topo.nr_cores, 2);
	assert_core(0, "0", 0, 0, 0);
	assert_core(1, "1", 0, 0, 0);
}

static void smt_siblings_make_one_core(void **state)
{
	(void)state;
	put_sets("0-3\n", "\n");
	for (unsigned int cpu = 0; cpu < 4; cpu++)
		put_cpu(cpu, cpu % 2 ? "1,3\n" : "0,2\n", "0\n", "0-3\n");
	assert_int_equal(topology_read(root, &topo), 0);
	assert_int_equal(topo.nr_cores, 2);
	assert_core(0, "0,2", 0, 0, 0);
	assert_core(1, "1,3", 0, 0, 0);
}

static void two_sockets_are_ordered_by_package_then_l3_domain(void **state)
{
	(void)state;
	put_sets("0-7\n", "\n");
	for (unsigned int cpu = 0; cpu < 8; cpu++) {
		static const char *const siblings[] = { "0\n", "1\n", "2\n", "3\n", "4\n", "5\n", "6\n", "7\n" };

		/* Even CPUs are package 0.  Each package has two domains. */
		put_cpu(cpu, siblings[cpu], cpu % 2 ? "1\n" : "0\n",
			cpu < 4 ? cpu % 2 ? "1,3\n" : "0,2\n" : cpu % 2 ? "5,7\n" : "4,6\n");
	}
	tree_put(root, "0-1\n", "sys/devices/system/node/online");
	tree_put(root, "0,2,4,6\n", "sys/devices/system/node/node0/cpulist");
	tree_put(root, "1,3,5,7\n", "sys/devices/system/node/node1/cpulist");
	assert_int_equal(topology_read(root, &topo), 0);
	assert_int_equal(topo.nr_cores, 8);
	assert_core(0, "0", 0, 0, 0);
	assert_core(1, "2", 0, 0, 0);
	assert_core(2, "4", 1, 0, 0);
	assert_core(3, "6", 1, 0, 0);
	assert_core(4, "1", 2, 1, 1);
	assert_core(5, "3", 2, 1, 1);
	assert_core(6, "5", 3, 1, 1);
	assert_core(7, "7", 3, 1, 1);
}

static void an_offline_sibling_is_left_out(void **state)
{
	(void)state;
	put_sets("0-2\n", "\n");
	for (unsigned int cpu = 0; cpu < 3; cpu++)
		put_cpu(cpu, cpu % 2 ? "1,3\n" : "0,2\n", "0\n", "0-3\n");
	assert_int_equal(topology_read(root, &topo), 0);
	assert_core(0, "0,2", 0, 0, 0);
	assert_core(1, "1", 0, 0, 0);
}

static void holes_and_odd_ids_are_no_trouble(void **state)
{
	(void)state;
	put_sets("1,7,100,1023\n", "\n");
	put_cpu(1, "1,100\n", "3\n", "1,100\n");
	put_cpu(100, "1,100\n", "3\n", "1,100\n");
	put_cpu(7, "7,1023\n", "65535\n", "7,1023\n");
	put_cpu(1023, "7,1023\n", "65535\n", "7,1023\n");
	assert_int_equal(topology_read(root, &topo), 0);
	assert_int_equal(topo.nr_cores, 2);
	assert_core(0, "1,100", 0, 3, 0);
	assert_core(1, "7,1023", 1, 65535, 0);
}

static void isolated_cpus_are_listed_but_make_no_core(void **state)
{
	(void)state;
	put_sets("0-3\n", "2-3\n");
	for (unsigned int cpu = 0; cpu < 4; cpu++)
		put_cpu(cpu, cpu < 2 ? "0-1\n" : "2-3\n", "0\n", "0-3\n");
	assert_int_equal(topology_read(root, &topo), 0);
	assert_int_equal(topo.nr_cores, 1);
	assert_core(0, "0-1", 0, 0, 0);
	assert_true(cpulist_has(&topo.isolated, 2));
	assert_true(cpulist_has(&topo.online, 2));
}

static void cores_without_l3_information_share_domain_0(void **state)
{
	(void)state;
	put_sets("0-2\n", "\n");
	put_cpu(0, "0\n", "0\n", NULL);
	put_cpu(1, "1\n", "0\n", NULL);
	put_cpu(2, "2\n", "1\n", "2\n");
	assert_int_equal(topology_read(root, &topo), 0);
	assert_core(0, "0", 0, 0, 0);
	assert_core(1, "1", 0, 0, 0);
	assert_core(2, "2", 1, 1, 0);
}

static void old_kernels_name_siblings_differently_and_know_no_isolated(void **state)
{
	(void)state;
	tree_put(root, "0-1\n", "sys/devices/system/cpu/online");
	tree_put(root, "0-1\n", "sys/devices/system/cpu/cpu0/topology/thread_siblings_list");
	tree_put(root, "0-1\n", "sys/devices/system/cpu/cpu1/topology/thread_siblings_list");
	assert_int_equal(topology_read(root, &topo), 0);
	assert_int_equal(topo.nr_cores, 1);
	assert_core(0, "0-1", 0, 0, 0);
}

static void a_package_id_of_minus_one_is_unknown(void **state)
{
	(void)state;
	put_sets("0\n", "\n");
	put_cpu(0, "0\n", "-1\n", "0\n");
	assert_int_equal(topology_read(root, &topo), 0);
	assert_core(0, "0", 0, 0, 0);
}

static void a_tree_that_makes_no_sense_is_refused_and_the_output_untouched(void **state)
{
	(void)state;
	assert_int_equal(topology_read(root, &topo), -ENOENT);
	put_sets("0-\n", "\n");
	assert_int_equal(topology_read(root, &topo), -EINVAL);
	put_sets("0\n", "0\n");
	assert_int_equal(topology_read(root, &topo), -ENODEV);
	put_sets("0\n", "\n");
	put_cpu(0, "0,x\n", "0\n", NULL);
	assert_int_equal(topology_read(root, &topo), -EINVAL);
	assert_int_equal(topo.nr_cores, 0);
}

static void this_machine_has_cores_that_cover_its_online_cpus_once(void **state)
{
	struct cpulist seen;
	unsigned int nr = 0;

	(void)state;
	cpulist_clear(&seen);
	assert_int_equal(topology_read("", &topo), 0);
	for (uint32_t i = 0; i < topo.nr_cores; i++) {
		nr += cpulist_count(&topo.cores[i].cpus);
		cpulist_or(&seen, &topo.cores[i].cpus);
	}
	assert_int_equal(nr, cpulist_count(&seen));
	cpulist_or(&seen, &topo.isolated);
	cpulist_and(&seen, &topo.online);
	assert_true(cpulist_equal(&seen, &topo.online));
}

static void grow(const char *online)
{
	struct topology now;

	put_sets(online, "\n");
	assert_int_equal(topology_read(root, &now), 0);
	topology_grow(&topo, &now);
}

/* Two domains of two cores of two threads; a CPU's siblings are those that are online. */
static void cpus_that_come_join_their_core_or_make_one_and_no_core_moves(void **state)
{
	(void)state;
	for (unsigned int cpu = 0; cpu < 8; cpu++) {
		char siblings[8];

		snprintf(siblings, sizeof(siblings), "%u,%u\n", cpu % 4, cpu % 4 + 4);
		put_cpu(cpu, siblings, "0\n", cpu % 4 < 2 ? "0-1,4-5\n" : "2-3,6-7\n");
	}
	put_sets("2,6\n", "\n");
	assert_int_equal(topology_read(root, &topo), 0);
	assert_core(0, "2,6", 0, 0, 0);
	grow("1-2,6\n");
	assert_int_equal(topo.nr_cores, 2);
	assert_core(0, "2,6", 0, 0, 0);
	assert_core(1, "1", 1, 0, 0);
	grow("0-3\n"); /* SMT off: nothing goes away */
	assert_int_equal(topo.nr_cores, 4);
	assert_core(0, "2,6", 0, 0, 0);
	assert_core(2, "0", 1, 0, 0);
	assert_core(3, "3", 0, 0, 0);
	grow("0-7\n"); /* and on */
	assert_int_equal(topo.nr_cores, 4);
	assert_core(0, "2,6", 0, 0, 0);
	assert_core(1, "1,5", 1, 0, 0);
	assert_core(2, "0,4", 1, 0, 0);
	assert_core(3, "3,7", 0, 0, 0);
	assert_int_equal(cpulist_count(&topo.online), 8);
}

static void siblings_that_come_one_without_the_other_are_in_one_core_each(void **state)
{
	(void)state;
	for (unsigned int cpu = 0; cpu < 4; cpu++)
		put_cpu(cpu, cpu % 2 ? "1,3\n" : "0,2\n", "0\n", NULL);
	put_sets("0,2\n", "\n");
	assert_int_equal(topology_read(root, &topo), 0);
	grow("0,1,2\n");
	grow("0,2-3\n"); /* 1 is gone when 3 comes */
	grow("0-3\n");
	assert_int_equal(topo.nr_cores, 3);
	assert_core(1, "1", 0, 0, 0);
	assert_core(2, "3", 0, 0, 0);
}

int main(void)
{
#define TREE_TEST(f) cmocka_unit_test_setup_teardown(f, make_tree, remove_tree)
	const struct CMUnitTest tests[] = {
		TREE_TEST(without_smt_every_cpu_is_a_core),
		TREE_TEST(smt_siblings_make_one_core),
		TREE_TEST(two_sockets_are_ordered_by_package_then_l3_domain),
		TREE_TEST(an_offline_sibling_is_left_out),
		TREE_TEST(holes_and_odd_ids_are_no_trouble),
		TREE_TEST(isolated_cpus_are_listed_but_make_no_core),
		TREE_TEST(cores_without_l3_information_share_domain_0),
		TREE_TEST(old_kernels_name_siblings_differently_and_know_no_isolated),
		TREE_TEST(a_package_id_of_minus_one_is_unknown),
		TREE_TEST(a_tree_that_makes_no_sense_is_refused_and_the_output_untouched),
		cmocka_unit_test(this_machine_has_cores_that_cover_its_online_cpus_once),
		TREE_TEST(cpus_that_come_join_their_core_or_make_one_and_no_core_moves),
		TREE_TEST(siblings_that_come_one_without_the_other_are_in_one_core_each),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("topology", tests, NULL, NULL);
}
