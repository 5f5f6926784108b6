/* SPDX-License-Identifier: GPL-2.0 */
/*
 * test_doctor_limits.c - what the doctor says of limits of best-effort work, and when a run cannot do without.
 *
 * shares: yes
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "doctor_knobs.h"
#include "doctor_look.h"
#include "fixtures/tree.h"

static struct doctor_facts facts;
static struct doctor_knob knob;
static struct config config;

static int clear(void **state)
{
	(void)state;
	memset(&facts, 0, sizeof(facts));
	memset(&knob, 0, sizeof(knob));
	config = (struct config){ .nr_batches = 1 };
	facts.config = &config;
	return 0;
}

static void limits_need_both_controllers_and_a_run_only_those_it_asks_for(void **state)
{
	(void)state;
	assert_false(doctor_judge_limits(&facts, &knob));
	assert_false(knob.usable);
	assert_string_equal(knob.reason, "memory_high and io_max of a batch cannot be set");
	assert_non_null(strstr(knob.advice, "cgroup_no_v1"));
	facts.limits.memory = true;
	config.batches[0].limits.memory_high_bytes = 1 << 20;
	assert_true(doctor_judge_limits(&facts, &knob));
	assert_string_equal(knob.reason, "io_max of a batch cannot be set");
	facts.limits.io = true;
	memset(&knob, 0, sizeof(knob));
	assert_true(doctor_judge_limits(&facts, &knob));
	assert_true(knob.usable);
	assert_string_equal(knob.reason, "");
}

static void egress_needs_version_2_and_the_program(void **state)
{
	(void)state;
	assert_false(doctor_judge_egress(&facts, &knob));
	assert_false(knob.usable);
	assert_non_null(strstr(knob.advice, "mount -t cgroup2"));
	facts.groups[CGROUP_SOCKETS].version = 2;
	facts.limits.egress_err = -EPERM;
	strcpy(facts.limits.egress_error, "the kernel refuses; run as root");
	config.batches[0].limits.egress_auto = true;
	assert_true(doctor_judge_egress(&facts, &knob));
	assert_false(knob.usable);
	assert_string_equal(knob.reason, "the kernel refuses");
	assert_string_equal(knob.advice, "run as root");
	facts.limits.egress_err = 0;
	strcpy(facts.groups[CGROUP_SOCKETS].dir, "/cg");
	strcpy(facts.limits.links, "eth0 10Gbit");
	memset(&knob, 0, sizeof(knob));
	assert_true(doctor_judge_egress(&facts, &knob));
	assert_true(knob.usable);
	assert_string_equal(knob.found, "version 2 at /cg; links: eth0 10Gbit");
}

static void controllers_and_links_are_found_in_a_tree(void **state)
{
	char root[TREE_PATH_SIZE];

	(void)state;
	tree_make(root);
	tree_put(root, "cpuset cpu io memory hugetlb\n", "cg/cgroup.controllers");
	tree_put(root, "25000\n", "sys/class/net/eth0/speed");
	tree_put(root, "-1\n", "sys/class/net/lo/speed");
	facts.groups[CGROUP_SOCKETS].version = 2;
	strcpy(facts.groups[CGROUP_SOCKETS].dir, "/cg");
	doctor_look_limits(root, &facts);
	assert_true(facts.limits.memory && facts.limits.io);
	assert_string_equal(facts.limits.links, "eth0 25Gbit");
	tree_put(root, "cpuset cpu iomem memoryless\n", "cg/cgroup.controllers");
	tree_put(root, "-1\n", "sys/class/net/eth0/speed");
	doctor_look_limits(root, &facts);
	assert_false(facts.limits.memory || facts.limits.io);
	assert_string_equal(facts.limits.links, "eth0");
	tree_remove(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(limits_need_both_controllers_and_a_run_only_those_it_asks_for, clear),
		cmocka_unit_test_setup(egress_needs_version_2_and_the_program, clear),
		cmocka_unit_test_setup(controllers_and_links_are_found_in_a_tree, clear),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("doctor_limits", tests, NULL, NULL);
}
