/* SPDX-License-Identifier: GPL-2.0 */
/*
 * test_cpuset.c - the order in which CPUs move between sets, on a fake tree that a checker looks at after every write.
 * wrap: pwrite
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "cpuset.h"
#include "fixtures/fault.h"
#include "fixtures/tree.h"
#include "rng.h"

static char root[TREE_PATH_SIZE], mount_dir[TREE_PATH_SIZE + 8];
static struct journal *journal;
static struct undo *undo;
static struct outcome outcome;
static struct cpusets *sets;

static int make_tree(void **state)
{
	(void)state;
	tree_make(root);
	snprintf(mount_dir, sizeof(mount_dir), "%s/cpuset", root);
	undo = calloc(1, sizeof(*undo));
	sets = calloc(1, sizeof(*sets));
	memset(&outcome, 0, sizeof(outcome));
	return journal_open(&journal, root);
}

static int remove_tree(void **state)
{
	(void)state;
	fault_set(NULL, NULL, 0);
	cpusets_close(sets);
	journal_close(journal);
	free(sets);
	free(undo);
	tree_remove(root);
	return 0;
}

static void put_group(const char *group, const char *cpus)
{
	tree_put(mount_dir, cpus, "%s/cpuset.cpus", group);
}

static int add(const char *group)
{
	char dir[KNOB_PATH_SIZE];

	snprintf(dir, sizeof(dir), "%s/%s", mount_dir, group);
	return cpusets_add(sets, mount_dir, dir, journal);
}

static const char *cpus_of(const char *group)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/cpuset.cpus", group);
	return tree_line(mount_dir, path);
}

static void aim(int set, const char *cpus)
{
	assert_int_equal(cpulist_parse(cpus, &sets->sets[set].target), 0);
}

static int apply(void)
{
	memset(&outcome, 0, sizeof(outcome));
	undo_begin(undo);
	return cpusets_apply(sets, undo, &outcome);
}

/* Name and old text of a write of the last step. */
static void assert_wrote(uint32_t i, const char *group, const char *before)
{
	assert_true(i < undo->nr);
	assert_non_null(strstr(undo->writes[i].knob->path, group));
	assert_string_equal(undo->writes[i].before, before);
}

static void victims_shrink_before_winners_grow(void **state)
{
	int a, b;

	(void)state;
	put_group("a", "0-1\n");
	put_group("b", "2-3\n");
	a = add("a");
	b = add("b");
	aim(a, "0-2");
	aim(b, "3");
	assert_int_equal(apply(), 0);
	assert_int_equal(outcome.nr_writes, 2);
	assert_wrote(0, "/b/", "2-3");
	assert_wrote(1, "/a/", "0-1");
	assert_string_equal(cpus_of("a"), "0-2");
	assert_string_equal(cpus_of("b"), "3");
}

static void what_is_right_already_is_not_written(void **state)
{
	int a;

	(void)state;
	put_group("a", "0-1\n");
	a = add("a");
	aim(a, "0-1");
	assert_int_equal(apply(), 0);
	assert_int_equal(outcome.nr_writes, 0);
	put_group("a", "0-3\n"); /* somebody else rewrites it */
	assert_int_equal(apply(), 0);
	assert_int_equal(outcome.nr_writes, 1);
	assert_string_equal(cpus_of("a"), "0-1");
}

static void a_group_with_no_target_is_left_alone(void **state)
{
	int a;

	(void)state;
	put_group("a", "0-1\n");
	put_group("b", "2\n");
	a = add("a");
	add("b");
	aim(a, "0");
	assert_int_equal(apply(), 0);
	assert_string_equal(cpus_of("b"), "2");
}

static void ancestors_widen_first_and_narrow_last(void **state)
{
	int inner;

	(void)state;
	put_group("top", "0-3\n");
	put_group("top/mid", "0-1\n");
	put_group("top/mid/in", "0\n");
	inner = add("top/mid/in");
	aim(inner, "3");
	assert_int_equal(apply(), 0);
	assert_int_equal(undo->nr, 2);
	assert_wrote(0, "/mid/cpuset", "0-1");
	assert_wrote(1, "/in/", "0");
	assert_string_equal(cpus_of("top/mid"), "0-1,3"); /* what it had before us, and what its child needs */
	aim(inner, "1");
	assert_int_equal(apply(), 0);
	assert_wrote(0, "/in/", "3");
	assert_wrote(1, "/mid/cpuset", "0-1,3");
	assert_string_equal(cpus_of("top/mid"), "0-1");
	assert_string_equal(cpus_of("top"), "0-3");
}

static void an_ancestor_that_says_nothing_limits_nothing(void **state)
{
	int a;

	(void)state;
	put_group("top", "\n");
	put_group("top/a", "\n");
	a = add("top/a");
	aim(a, "1");
	assert_int_equal(apply(), 0);
	assert_string_equal(cpus_of("top"), "");
	assert_string_equal(cpus_of("top/a"), "1");
}

static void shared_ancestors_serve_all_their_groups(void **state)
{
	int a, b;

	(void)state;
	put_group("top", "0\n");
	put_group("top/a", "0\n");
	put_group("top/b", "0\n");
	a = add("top/a");
	b = add("top/b");
	assert_int_equal(sets->nr, 3);
	aim(a, "1");
	aim(b, "2");
	assert_int_equal(apply(), 0);
	assert_string_equal(cpus_of("top"), "0-2");
}

static void what_is_dropped_makes_room_and_is_not_written(void **state)
{
	int a, b;

	(void)state;
	put_group("top", "0\n");
	put_group("top/a", "0\n");
	put_group("pod", "0\n");
	put_group("pod/b", "0\n");
	a = add("top/a");
	for (int i = 0; i < 2 * CPUSET_MAX_SETS; i++)
		cpusets_drop(sets, add(i % 2 ? "pod/b" : "top/a"));
	assert_int_equal(sets->nr, 2);
	a = add("top/a");
	b = add("pod/b");
	assert_true(sets->sets[a].parent < a && sets->sets[b].parent < b);
	aim(a, "1");
	aim(b, "2");
	assert_int_equal(apply(), 0);
	assert_string_equal(cpus_of("top"), "0-1");
	assert_string_equal(cpus_of("pod"), "0,2");
	cpusets_drop(sets, a);
	put_group("top", "3\n");
	put_group("top/a", "3\n");
	aim(b, "1");
	assert_int_equal(apply(), 0);
	assert_string_equal(cpus_of("top"), "3");
	assert_string_equal(cpus_of("top/a"), "3");
	assert_string_equal(cpus_of("pod"), "0-1");
	cpusets_drop(sets, b);
	assert_int_equal(apply(), 0);
	assert_int_equal(outcome.nr_writes, 0);
}

static void a_move_that_fails_in_the_middle_is_taken_back_whole(void **state)
{
	int a, b;

	(void)state;
	put_group("top", "0-1\n");
	put_group("top/a", "0\n");
	put_group("b", "2-3\n");
	a = add("top/a");
	b = add("b");
	aim(a, "0,2");
	aim(b, "3");
	fault_set("/a/", "0,2", ENOSPC);
	assert_int_equal(apply(), -ENOSPC);
	assert_int_equal(outcome.error, -ENOSPC);
	assert_non_null(strstr(outcome.where, "/a/cpuset.cpus"));
	assert_string_equal(cpus_of("top"), "0-2");
	assert_string_equal(cpus_of("b"), "3");
	assert_int_equal(undo_rollback(undo), 0);
	assert_string_equal(cpus_of("top"), "0-1");
	assert_string_equal(cpus_of("top/a"), "0");
	assert_string_equal(cpus_of("b"), "2-3");
}

static void a_set_that_is_not_in_effect_is_a_failure(void **state)
{
	int a;

	(void)state;
	put_group("a", "0-3\n");
	tree_put(mount_dir, "0-3\n", "a/cpuset.cpus.effective");
	a = add("a");
	aim(a, "2-3");
	assert_int_equal(apply(), -EIO);
	assert_non_null(strstr(outcome.where, "effective"));
	undo_rollback(undo);
	assert_string_equal(cpus_of("a"), "0-3");
	tree_put(mount_dir, "2-3\n", "a/cpuset.cpus.effective");
	assert_int_equal(apply(), 0);
}

static const char *denied(void)
{
	static char text[KNOB_TEXT_SIZE];

	cpulist_format(&sets->denied, text, sizeof(text));
	return text;
}

static void cpus_that_stay_out_of_effect_are_not_planned_with_for_a_while(void **state)
{
	int a;

	(void)state;
	put_group("a", "0-3\n");
	tree_put(mount_dir, "0-3\n", "a/cpuset.cpus.effective");
	a = add("a");
	aim(a, "2-4");
	assert_int_equal(apply(), -EIO); /* 4 may just have gone offline */
	assert_string_equal(denied(), "");
	assert_int_equal(apply(), -EIO);
	assert_string_equal(denied(), "4");
	aim(a, "2-3");
	tree_put(mount_dir, "2-3\n", "a/cpuset.cpus.effective");
	for (int i = 1; i < CPUSET_DENIED_STEPS; i++)
		assert_int_equal(apply(), 0);
	assert_string_equal(denied(), "4");
	assert_int_equal(apply(), 0);
	assert_string_equal(denied(), "");
}

static void cpus_that_a_group_may_not_use_are_named(void **state)
{
	struct cpulist cpus;
	char dir[KNOB_PATH_SIZE], error[200] = "";

	(void)state;
	snprintf(dir, sizeof(dir), "%s/a", mount_dir);
	assert_int_equal(cpulist_parse("0-4", &cpus), 0);
	put_group("a", "0-1\n");
	assert_int_equal(cpuset_check_allowed(dir, &cpus, error, sizeof(error)), 0); /* it does not say */
	tree_put(mount_dir, "0-4\n", "a/cpuset.cpus.effective");
	assert_int_equal(cpuset_check_allowed(dir, &cpus, error, sizeof(error)), 0);
	assert_string_equal(error, "");
	tree_put(mount_dir, "0-1,4\n", "a/cpuset.cpus.effective");
	assert_int_equal(cpuset_check_allowed(dir, &cpus, error, sizeof(error)), -ENOTSUP);
	assert_non_null(strstr(error, "may not use CPUs 2-3:"));
	tree_put(mount_dir, "none\n", "a/cpuset.cpus.effective");
	assert_int_equal(cpuset_check_allowed(dir, &cpus, error, sizeof(error)), -EINVAL);
	assert_non_null(strstr(error, "cannot read which CPUs"));
}

static void groups_outside_of_the_mount_are_refused(void **state)
{
	(void)state;
	put_group("a", "0\n");
	assert_int_equal(cpusets_add(sets, "/nowhere", mount_dir, journal), -EINVAL);
	assert_int_equal(cpusets_add(sets, mount_dir, mount_dir, journal), -EINVAL);
	assert_int_equal(add("missing"), -ENOENT);
}

static void a_new_group_gets_what_its_parent_has(void **state)
{
	char dir[KNOB_PATH_SIZE];

	(void)state;
	put_group("", "0-3\n");
	tree_put(mount_dir, "0\n", "cpuset.mems");
	put_group("new", "\n");
	tree_put(mount_dir, "\n", "new/cpuset.mems");
	snprintf(dir, sizeof(dir), "%s/new", mount_dir);
	assert_int_equal(cpuset_fill(dir, mount_dir), 0);
	assert_string_equal(cpus_of("new"), "0-3");
	assert_string_equal(tree_line(mount_dir, "new/cpuset.mems"), "0");
	put_group("", "0-1\n");
	assert_int_equal(cpuset_fill(dir, mount_dir), 0);
	assert_string_equal(cpus_of("new"), "0-3");
}

/* Replays the undo log backwards: at every moment no group is empty and every child is inside its parent. */
static void assert_every_moment_legal(void)
{
	struct cpulist now[CPUSET_MAX_SETS];

	for (uint32_t i = 0; i < sets->nr; i++)
		assert_int_equal(cpulist_parse(tree_line("", sets->sets[i].cpus.path), &now[i]), 0);
	for (uint32_t step = undo->nr; ; step--) {
		for (uint32_t i = 0; i < sets->nr; i++) {
			assert_false(cpulist_empty(&now[i]));
			if (sets->sets[i].parent >= 0)
				assert_true(cpulist_subset(&now[i], &now[sets->sets[i].parent]));
		}
		if (!step)
			return;
		for (uint32_t i = 0; i < sets->nr; i++)
			if (&sets->sets[i].cpus == undo->writes[step - 1].knob)
				assert_int_equal(cpulist_parse(undo->writes[step - 1].before, &now[i]), 0);
	}
}

static void random_moves_are_legal_at_every_moment(void **state)
{
	static const char *const groups[] = { "x", "top/a", "top/b", "top/mid/c", "top/mid/d" };
	struct rng rng;

	(void)state;
	rng_seed(&rng, 3);
	put_group("top", "0-1\n");
	put_group("top/mid", "0\n");
	for (int i = 0; i < 5; i++) {
		put_group(groups[i], "0\n");
		assert_true(add(groups[i]) >= 0);
	}
	for (int round = 0; round < 300; round++) {
		for (uint32_t i = 0; i < sets->nr; i++) {
			cpulist_clear(&sets->sets[i].target);
			for (uint64_t nr = 1 + rng_below(&rng, 4); nr; nr--)
				cpulist_add(&sets->sets[i].target, (unsigned int)rng_below(&rng, 12));
		}
		assert_int_equal(apply(), 0);
		assert_every_moment_legal();
	}
}

int main(void)
{
#define TREE_TEST(f) cmocka_unit_test_setup_teardown(f, make_tree, remove_tree)
	const struct CMUnitTest tests[] = {
		TREE_TEST(victims_shrink_before_winners_grow),
		TREE_TEST(what_is_right_already_is_not_written),
		TREE_TEST(a_group_with_no_target_is_left_alone),
		TREE_TEST(ancestors_widen_first_and_narrow_last),
		TREE_TEST(an_ancestor_that_says_nothing_limits_nothing),
		TREE_TEST(shared_ancestors_serve_all_their_groups),
		TREE_TEST(what_is_dropped_makes_room_and_is_not_written),
		TREE_TEST(a_move_that_fails_in_the_middle_is_taken_back_whole),
		TREE_TEST(a_set_that_is_not_in_effect_is_a_failure),
		TREE_TEST(cpus_that_stay_out_of_effect_are_not_planned_with_for_a_while),
		TREE_TEST(cpus_that_a_group_may_not_use_are_named),
		TREE_TEST(groups_outside_of_the_mount_are_refused),
		TREE_TEST(a_new_group_gets_what_its_parent_has),
		TREE_TEST(random_moves_are_legal_at_every_moment),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("cpuset", tests, NULL, NULL);
}
