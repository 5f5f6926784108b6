// SPDX-License-Identifier: GPL-2.0
/*
 * test_inject.c - rules of faults, and that knobs obey them as they would the kernel.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "fixtures/tree.h"
#include "inject.h"
#include "knob.h"

static char root[TREE_PATH_SIZE], error[256];

static int make_tree(void **state)
{
	(void)state;
	tree_make(root);
	tree_put(root, "1\n", "sys/a");
	return 0;
}

static int remove_tree(void **state)
{
	(void)state;
	inject_clear();
	tree_remove(root);
	return 0;
}

static void rule(const char *text)
{
	assert_int_equal(inject_add(text, root, error, sizeof(error)), 0);
}

static int write_a(const char *text)
{
	char path[TREE_PATH_SIZE + 16];

	snprintf(path, sizeof(path), "%s/sys/a", root);
	return knob_write_path(path, text);
}

static int read_a(void)
{
	char path[TREE_PATH_SIZE + 16], text[16];

	snprintf(path, sizeof(path), "%s/sys/a", root);
	return knob_read_path(path, text, sizeof(text));
}

static void without_rules_nothing_fails(void **state)
{
	(void)state;
	assert_int_equal(write_a("2"), 0);
	assert_int_equal(read_a(), 1);
	assert_string_equal(tree_line(root, "sys/a"), "2");
}

static void each_operation_fails_with_its_own_error(void **state)
{
	(void)state;
	rule("/sys/a write EBUSY");
	assert_int_equal(write_a("2"), -EBUSY);
	assert_int_equal(read_a(), 1);
	inject_clear();
	rule("*/a read EPERM");
	assert_int_equal(write_a("2"), 0);
	assert_int_equal(read_a(), -EPERM);
	inject_clear();
	rule("/s?s/[ab] open ENOENT");
	assert_int_equal(write_a("2"), -ENOENT);
	assert_int_equal(read_a(), -ENOENT);
}

static void other_files_and_paths_above_the_root_are_left_alone(void **state)
{
	(void)state;
	rule("/sys/b write EBUSY");
	rule("/a write EBUSY");
	assert_int_equal(write_a("2"), 0);
}

static void a_rule_applies_so_often_and_after_so_many(void **state)
{
	(void)state;
	rule("/sys/a write EIO 2 1");
	assert_int_equal(write_a("2"), 0);
	assert_int_equal(write_a("3"), -EIO);
	assert_int_equal(write_a("3"), -EIO);
	assert_int_equal(write_a("4"), 0);
}

static void an_ignored_write_is_noticed_by_reading_back(void **state)
{
	struct undo *undo = calloc(1, sizeof(*undo));
	struct outcome outcome = { 0 };
	struct knob k;

	(void)state;
	rule("/sys/a write ignored");
	assert_int_equal(knob_open(&k, &knob_plain, root, "sys/a"), 0);
	assert_int_equal(knob_change(undo, &k, "2", &outcome), -EIO);
	assert_non_null(strstr(outcome.where, "wrote '2', reads '1'"));
	assert_string_equal(tree_line(root, "sys/a"), "1");
	knob_close(&k);
	free(undo);
}

static void a_file_that_may_only_be_read_is_opened_all_the_same(void **state)
{
	struct knob k;

	(void)state;
	rule("/sys/a open EROFS 1");
	assert_int_equal(knob_open(&k, &knob_plain, root, "sys/a"), 0);
	assert_int_equal(knob_write(&k, "2"), -EROFS);
	knob_close(&k);
}

static void what_makes_no_sense_is_refused_with_its_place(void **state)
{
	static const char *const wrong[] = { "/a write", "/a shout EIO", "/a write ENOSUCH", "/a read ignored",
					     "/a write EIO x", "/a write EIO 1 -1", "/a write EIO 1 2 3" };
	char path[TREE_PATH_SIZE + 16];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(inject_add(wrong[i], root, error, sizeof(error)), -EINVAL);
	tree_put(root, "# faults\n\n/sys/a write EIO # for ever\n/sys/a writes EIO\n", "rules");
	snprintf(path, sizeof(path), "%s/rules", root);
	assert_int_equal(inject_load(path, root, error, sizeof(error)), -EINVAL);
	assert_non_null(strstr(error, "/rules:4: the operation"));
	assert_int_equal(inject_nr_rules(), 1);
	assert_int_equal(inject_load("/nonexistent", root, error, sizeof(error)), -ENOENT);
}

static void rules_have_a_limit(void **state)
{
	(void)state;
	for (int i = 0; i < INJECT_MAX_RULES; i++)
		rule("/b write EIO");
	assert_int_equal(inject_add("/b write EIO", root, error, sizeof(error)), -E2BIG);
}

int main(void)
{
#define TREE_TEST(f) cmocka_unit_test_setup_teardown(f, make_tree, remove_tree)
	const struct CMUnitTest tests[] = {
		TREE_TEST(without_rules_nothing_fails),
		TREE_TEST(each_operation_fails_with_its_own_error),
		TREE_TEST(other_files_and_paths_above_the_root_are_left_alone),
		TREE_TEST(a_rule_applies_so_often_and_after_so_many),
		TREE_TEST(an_ignored_write_is_noticed_by_reading_back),
		TREE_TEST(a_file_that_may_only_be_read_is_opened_all_the_same),
		TREE_TEST(what_makes_no_sense_is_refused_with_its_place),
		TREE_TEST(rules_have_a_limit),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("inject", tests, NULL, NULL);
}
