// SPDX-License-Identifier: GPL-2.0
/*
 * test_throttle.c - throttled time of groups and those above, on fake trees of both versions.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "fixtures/tree.h"
#include "throttle.h"

#define MS 1000000ull

static char root[TREE_PATH_SIZE];
static struct cgroup_mounts mounts;
static struct throttle throttle;
static struct match_pids pids;

static void set_groups(int version)
{
	tree_put(root, version == 1 ? "1 1 0:1 / /sys/cpu rw - cgroup cgroup rw,cpu\n" : "1 1 0:1 / /sys/cpu rw - cgroup2 cgroup2 rw\n",
		 "proc/self/mountinfo");
	tree_put(root, "cpuset cpu\n", "sys/cpu/cgroup.controllers");
	assert_int_equal(cgroup_read_mounts(root, &mounts), 0);
}

static void set_process(int version, pid_t pid, const char *group)
{
	char line[64];

	snprintf(line, sizeof(line), "%s%s\n", version == 1 ? "1:cpu:" : "0::", group);
	tree_put(root, line, "proc/%d/cgroup", (int)pid);
	pids.pids[pids.nr++] = pid;
}

/* Of version 1: ns; of version 2: us. */
static void set_throttled(int version, const char *group, uint64_t ms)
{
	char text[96];

	snprintf(text, sizeof(text), version == 1 ? "nr_periods 9\nnr_throttled 3\nthrottled_time %llu\n" :
						    "usage_usec 5\nnr_throttled 3\nthrottled_usec %llu\nnr_bursts 0\n",
		 (unsigned long long)(version == 1 ? ms * MS : ms * 1000));
	tree_put(root, text, "sys/cpu%s/cpu.stat", group);
}

static void follow(void)
{
	throttle_follow(&throttle, &mounts.kinds[CGROUP_CPU], root, &pids);
}

static int set_up(void **state)
{
	(void)state;
	tree_make(root);
	pids.nr = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	throttle_close(&throttle);
	tree_remove(root);
	return 0;
}

static void throttling_counts_from_the_first_look(int version)
{
	set_groups(version);
	set_throttled(version, "/a", 100);
	set_process(version, 7, "/a");
	follow();
	assert_int_equal(throttle_read_ns(&throttle), 0);
	set_throttled(version, "/a", 140);
	assert_int_equal(throttle_read_ns(&throttle), 40 * MS);
	assert_int_equal(throttle_read_ns(&throttle), 0);
}

static void throttling_of_version_1_counts_from_the_first_look(void **state)
{
	(void)state;
	throttling_counts_from_the_first_look(1);
}

static void throttling_of_version_2_counts_from_the_first_look(void **state)
{
	(void)state;
	throttling_counts_from_the_first_look(2);
}

static void quotas_of_the_groups_above_count(void **state)
{
	(void)state;
	set_groups(2);
	set_throttled(2, "", 0); /* a container sees the group with its quota as the root */
	set_throttled(2, "/pod", 0);
	set_throttled(2, "/pod/web", 0);
	set_process(2, 7, "/pod/web");
	follow();
	set_throttled(2, "", 1);
	set_throttled(2, "/pod", 20);
	set_throttled(2, "/pod/web", 300);
	assert_int_equal(throttle_read_ns(&throttle), 321 * MS);
}

static void a_group_that_two_processes_share_counts_once(void **state)
{
	(void)state;
	set_groups(1);
	set_throttled(1, "/pod", 0);
	set_throttled(1, "/pod/a", 0);
	set_throttled(1, "/pod/b", 0);
	set_process(1, 7, "/pod/a");
	set_process(1, 8, "/pod/b");
	set_process(1, 9, "/pod/b");
	follow();
	set_throttled(1, "/pod", 5);
	set_throttled(1, "/pod/b", 30);
	assert_int_equal(throttle_read_ns(&throttle), 35 * MS);
}

static void a_process_that_moves_is_followed_and_known_groups_go_on(void **state)
{
	(void)state;
	set_groups(1);
	set_throttled(1, "/pod", 0);
	set_throttled(1, "/pod/a", 0);
	set_throttled(1, "/pod/b", 900);
	set_process(1, 7, "/pod/a");
	follow();
	pids.nr = 0;
	set_process(1, 7, "/pod/b");
	set_throttled(1, "/pod", 5);
	follow();
	set_throttled(1, "/pod/a", 77); /* nobody of ours */
	set_throttled(1, "/pod/b", 930);
	assert_int_equal(throttle_read_ns(&throttle), 35 * MS);
}

static void no_process_and_no_hierarchy_are_no_throttling(void **state)
{
	struct cgroup_mount none = { 0 };

	(void)state;
	set_groups(1);
	follow();
	assert_int_equal(throttle_read_ns(&throttle), 0);
	pids.pids[pids.nr++] = 7;
	follow();
	throttle_follow(&throttle, &none, root, &pids);
	assert_int_equal(throttle.nr, 0);
	assert_int_equal(throttle_read_ns(&throttle), 0);
}

static void more_groups_than_there_is_room_for_are_left_out(void **state)
{
	char group[64] = "";

	(void)state;
	set_groups(1);
	for (int i = 0; i < THROTTLE_MAX_GROUPS + 3; i++) {
		strcat(group, "/g");
		set_throttled(1, group, 0);
	}
	set_process(1, 7, group);
	follow();
	assert_int_equal(throttle.nr, THROTTLE_MAX_GROUPS);
	set_throttled(1, group, 8);
	assert_int_equal(throttle_read_ns(&throttle), 8 * MS); /* the nearest come first */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(throttling_of_version_1_counts_from_the_first_look),
		TEST(throttling_of_version_2_counts_from_the_first_look),
		TEST(quotas_of_the_groups_above_count),
		TEST(a_group_that_two_processes_share_counts_once),
		TEST(a_process_that_moves_is_followed_and_known_groups_go_on),
		TEST(no_process_and_no_hierarchy_are_no_throttling),
		TEST(more_groups_than_there_is_room_for_are_left_out),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
