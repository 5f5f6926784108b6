// SPDX-License-Identifier: GPL-2.0
/*
 * test_tasks.c - processes that cannot be moved, on a fake tree.  Those that can are in test_group.c, which takes a kernel.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "fixtures/tree.h"
#include "inject.h"
#include "tasks.h"

static char root[TREE_PATH_SIZE], error[128];
static struct journal *journal;
static struct cgroup_mount mount;
static struct match_pids pids;

static int make_tree(void **state)
{
	(void)state;
	tree_make(root);
	mount = (struct cgroup_mount){ .version = 2, .name = "cpuset", .top = "/" };
	snprintf(mount.dir, sizeof(mount.dir), "%s/cg", root);
	tree_put(root, "", "cg/own/cgroup.procs");
	tree_put(root, "7 (some thread) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 99 0\n", "proc/7/stat");
	tree_put(root, "0::/\n", "proc/7/cgroup");
	pids.nr = 1;
	pids.pids[0] = 7;
	return journal_open(&journal, root);
}

static int remove_tree(void **state)
{
	(void)state;
	inject_clear();
	journal_close(journal);
	tree_remove(root);
	return 0;
}

static int move_in(const char *rule)
{
	char dir[TREE_PATH_SIZE + 16];

	snprintf(dir, sizeof(dir), "%s/cg/own", root);
	if (rule)
		assert_int_equal(inject_add(rule, root, error, sizeof(error)), 0);
	return tasks_move_in(root, &mount, dir, &pids, journal);
}

/* Per-CPU kernel threads answer EINVAL for ever. */
static void who_cannot_be_moved_is_skipped(void **state)
{
	(void)state;
	assert_int_equal(move_in("/cg/own/cgroup.procs write EINVAL"), 0);
}

static void who_ends_meanwhile_is_skipped(void **state)
{
	(void)state;
	assert_int_equal(move_in("/cg/own/cgroup.procs write ESRCH"), 0);
}

static void a_group_that_nobody_may_join_is_told(void **state)
{
	(void)state;
	assert_int_equal(move_in("/cg/own/cgroup.procs write EACCES"), -EACCES);
	inject_clear();
	assert_int_equal(move_in("/cg/own/cgroup.procs write ENOSPC"), -ENOSPC); /* a set without CPUs or nodes */
}

static void who_is_always_outside_ends_the_search(void **state)
{
	(void)state;
	assert_int_equal(move_in("/cg/own/cgroup.procs write ignored"), -EAGAIN);
}

static void where_each_was_is_on_disk_before_it_is_moved(void **state)
{
	(void)state;
	assert_int_equal(move_in("/cg/own/cgroup.procs write EACCES"), -EACCES);
	assert_non_null(strstr(tree_get(root, "journal"), "task\t7\t99\t"));
}

int main(void)
{
#define TREE_TEST(f) cmocka_unit_test_setup_teardown(f, make_tree, remove_tree)
	const struct CMUnitTest tests[] = {
		TREE_TEST(who_cannot_be_moved_is_skipped),
		TREE_TEST(who_ends_meanwhile_is_skipped),
		TREE_TEST(a_group_that_nobody_may_join_is_told),
		TREE_TEST(who_is_always_outside_ends_the_search),
		TREE_TEST(where_each_was_is_on_disk_before_it_is_moved),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("tasks", tests, NULL, NULL);
}
