/* SPDX-License-Identifier: GPL-2.0 */
/*
 * test_cgroup.c - hierarchies of version 1, 2, both and in containers, on fake trees; making a group on this machine.
 * waits: groups
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "cgroup.h"
#include "fixtures/tree.h"

static char root[TREE_PATH_SIZE];
static struct cgroup_mounts mounts;

static int make_tree(void **state)
{
	(void)state;
	memset(&mounts, 0, sizeof(mounts));
	tree_make(root);
	return 0;
}

static int remove_tree(void **state)
{
	(void)state;
	tree_remove(root);
	return 0;
}

static void assert_mount(enum cgroup_kind kind, int version, const char *dir)
{
	char full[KNOB_PATH_SIZE];

	assert_int_equal(mounts.kinds[kind].version, version);
	if (!version)
		return;
	snprintf(full, sizeof(full), "%s%s", root, dir);
	assert_string_equal(mounts.kinds[kind].dir, full);
}

static void version_1_controllers_are_found_apart_and_together(void **state)
{
	(void)state;
	tree_put(root,
		 "20 1 0:3 / /proc rw - proc proc rw\n"
		 "30 20 0:30 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"
		 "31 20 0:31 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
		 "32 20 0:32 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n",
		 "proc/self/mountinfo");
	assert_int_equal(cgroup_read_mounts(root, &mounts), 0);
	assert_mount(CGROUP_CPUSET, 1, "/sys/fs/cgroup/cpuset");
	assert_mount(CGROUP_CPU, 1, "/sys/fs/cgroup/cpu,cpuacct");
	assert_mount(CGROUP_CPUACCT, 1, "/sys/fs/cgroup/cpu,cpuacct");
	assert_mount(CGROUP_FREEZER, 0, NULL);
}

static void version_2_has_what_its_controllers_file_says_and_can_always_freeze(void **state)
{
	(void)state;
	tree_put(root, "30 20 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "proc/self/mountinfo");
	tree_put(root, "cpuset io memory\n", "sys/fs/cgroup/cgroup.controllers");
	assert_int_equal(cgroup_read_mounts(root, &mounts), 0);
	assert_mount(CGROUP_CPUSET, 2, "/sys/fs/cgroup");
	assert_mount(CGROUP_CPU, 0, NULL); /* "cpuset" is not "cpu" */
	assert_mount(CGROUP_CPUACCT, 2, "/sys/fs/cgroup");
	assert_mount(CGROUP_FREEZER, 2, "/sys/fs/cgroup");
}

static void on_a_hybrid_system_each_controller_is_where_it_is_bound(void **state)
{
	(void)state;
	tree_put(root,
		 "30 20 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
		 "31 20 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n",
		 "proc/self/mountinfo");
	tree_put(root, "cpu\n", "sys/fs/cgroup/unified/cgroup.controllers");
	assert_int_equal(cgroup_read_mounts(root, &mounts), 0);
	assert_mount(CGROUP_CPUSET, 1, "/sys/fs/cgroup/cpuset");
	assert_mount(CGROUP_CPU, 2, "/sys/fs/cgroup/unified");
	assert_mount(CGROUP_FREEZER, 2, "/sys/fs/cgroup/unified");
}

static void a_machine_without_hierarchies_says_so(void **state)
{
	(void)state;
	tree_put(root, "20 1 0:3 / /proc rw - proc proc rw\n", "proc/self/mountinfo");
	assert_int_equal(cgroup_read_mounts(root, &mounts), -ENOENT);
}

static void escaped_mount_points_are_read_as_they_are(void **state)
{
	(void)state;
	tree_put(root, "31 20 0:31 / /mnt/my\\040sets rw - cgroup cgroup rw,cpuset\n", "proc/self/mountinfo");
	assert_int_equal(cgroup_read_mounts(root, &mounts), 0);
	assert_mount(CGROUP_CPUSET, 1, "/mnt/my sets");
}

static void assert_task_dir(enum cgroup_kind kind, const char *dir)
{
	char full[KNOB_PATH_SIZE], found[KNOB_PATH_SIZE];

	snprintf(full, sizeof(full), "%s%s", root, dir);
	assert_int_equal(cgroup_read_task(root, &mounts.kinds[kind], 7, found, sizeof(found)), 0);
	assert_string_equal(found, full);
}

static void a_tasks_group_is_found_in_every_hierarchy(void **state)
{
	char found[KNOB_PATH_SIZE];

	(void)state;
	tree_put(root,
		 "31 20 0:31 / /c/cpuset rw - cgroup cgroup rw,cpuset\n"
		 "32 20 0:32 / /c/cpu rw - cgroup cgroup rw,cpuacct,cpu\n"
		 "33 20 0:33 / /c/unified rw - cgroup2 cgroup2 rw\n",
		 "proc/self/mountinfo");
	tree_put(root, "4:cpuset:/\n3:cpuacct,cpu:/a:b/c\n0::/user.slice\n", "proc/7/cgroup");
	assert_int_equal(cgroup_read_mounts(root, &mounts), 0);
	assert_task_dir(CGROUP_CPUSET, "/c/cpuset");
	assert_task_dir(CGROUP_CPU, "/c/cpu/a:b/c");
	assert_task_dir(CGROUP_FREEZER, "/c/unified/user.slice");
	assert_int_equal(cgroup_read_task(root, &mounts.kinds[0], 8, found, sizeof(found)), -ESRCH);
	assert_int_equal(cgroup_read_task(root, &mounts.kinds[0], 7, found, 5), -ENAMETOOLONG);
}

static void a_container_that_sees_a_part_has_paths_below_its_mount(void **state)
{
	(void)state;
	tree_put(root, "31 20 0:31 /docker/abc /c/cpuset ro - cgroup cgroup rw,cpuset\n", "proc/self/mountinfo");
	tree_put(root, "4:cpuset:/docker/abc/x\n", "proc/7/cgroup");
	assert_int_equal(cgroup_read_mounts(root, &mounts), 0);
	assert_task_dir(CGROUP_CPUSET, "/c/cpuset/x");
	tree_put(root, "4:cpuset:/docker/abc\n", "proc/7/cgroup");
	assert_task_dir(CGROUP_CPUSET, "/c/cpuset");
}

static void missing_controllers_are_named_as_the_kernel_wants_them(void **state)
{
	char missing[32] = "";

	(void)state;
	tree_put(root, "memory cpuset pids\n", "g/cgroup.subtree_control");
	snprintf(root + strlen(root), 3, "/g");
	assert_int_equal(cgroup_missing_controllers(root, "cpuset cpu", missing, sizeof(missing)), 0);
	assert_string_equal(missing, "+cpu");
	assert_int_equal(cgroup_missing_controllers(root, "cpu io", missing, sizeof(missing)), 0);
	assert_string_equal(missing, "+cpu +io");
	assert_int_equal(cgroup_missing_controllers(root, "cpuset", missing, sizeof(missing)), 0);
	assert_string_equal(missing, "");
	root[strlen(root) - 2] = '\0';
	assert_int_equal(cgroup_missing_controllers(root, "cpuset", missing, sizeof(missing)), -ENOENT);
}

static void a_group_is_made_once_and_silently(void **state)
{
	char path[KNOB_PATH_SIZE + 64];

	(void)state;
	if (geteuid() || cgroup_read_mounts("", &mounts) || !mounts.kinds[CGROUP_CPUSET].version) {
		print_message("# skip: needs root and a cpuset controller\n");
		skip();
	}
	snprintf(path, sizeof(path), "%s/parties-test-make", mounts.kinds[CGROUP_CPUSET].dir);
	assert_int_equal(cgroup_make(&mounts.kinds[CGROUP_CPUSET], "parties-test-make"), 0);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(cgroup_make(&mounts.kinds[CGROUP_CPUSET], "parties-test-make"), 0);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(cgroup_make(&mounts.kinds[CGROUP_CPUSET], "cgroup.procs"), -EEXIST);
}

int main(void)
{
#define TREE_TEST(f) cmocka_unit_test_setup_teardown(f, make_tree, remove_tree)
	const struct CMUnitTest tests[] = {
		TREE_TEST(version_1_controllers_are_found_apart_and_together),
		TREE_TEST(version_2_has_what_its_controllers_file_says_and_can_always_freeze),
		TREE_TEST(on_a_hybrid_system_each_controller_is_where_it_is_bound),
		TREE_TEST(a_machine_without_hierarchies_says_so),
		TREE_TEST(escaped_mount_points_are_read_as_they_are),
		TREE_TEST(a_tasks_group_is_found_in_every_hierarchy),
		TREE_TEST(a_container_that_sees_a_part_has_paths_below_its_mount),
		TREE_TEST(missing_controllers_are_named_as_the_kernel_wants_them),
		TREE_TEST(a_group_is_made_once_and_silently),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("cgroup", tests, NULL, NULL);
}
