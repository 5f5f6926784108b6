/* SPDX-License-Identifier: GPL-2.0 */
/* test_journal.c - lines of the journal, and that they are in the file before anybody goes on. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "fixtures/tree.h"
#include "inject.h"
#include "journal.h"

static char root[TREE_PATH_SIZE];
static struct journal *journal;

static int make_tree(void **state)
{
	(void)state;
	tree_make(root);
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

/* The `nr`th line of the file, the header being 0. */
static const char *line(int nr)
{
	char *text = (char *)tree_get(root, "journal");

	for (; nr; nr--) {
		text = strchr(text, '\n');
		assert_non_null(text++);
	}
	text[strcspn(text, "\n")] = '\0';
	return text;
}

static void a_new_journal_is_a_header_and_nothing_else(void **state)
{
	struct journal *second;

	(void)state;
	assert_string_equal(tree_get(root, "journal"), "parties journal 1");
	assert_int_equal(journal_open(&second, root), -EEXIST);
}

static void a_journal_in_a_directory_that_is_not_there_is_refused(void **state)
{
	struct journal *j;

	(void)state;
	assert_int_equal(journal_open(&j, "/nonexistent/parties"), -ENOENT);
}

static void what_is_added_reads_back_the_same(void **state)
{
	const struct journal_entry entries[] = {
		{ .kind = JOURNAL_VALUE, .path = "/a b/c", .text = "0-3,8" },
		{ .kind = JOURNAL_VALUE, .path = "/empty", .text = "" },
		{ .kind = JOURNAL_WRITE, .path = "/w", .text = "-cpuset -cpu" },
		{ .kind = JOURNAL_GROUP, .path = "/g", .text = "/home" },
		{ .kind = JOURNAL_TASK, .tid = 4194304, .start = UINT64_MAX, .path = "/g", .text = "/origin" },
	};
	struct journal_entry back;

	(void)state;
	for (int i = 0; i < 5; i++) {
		assert_int_equal(journal_add(journal, &entries[i]), 0);
		assert_int_equal(journal_parse_line(line(i + 1), &back), 0);
		assert_memory_equal(&back, &entries[i], sizeof(back));
	}
	assert_int_equal(journal_sync(journal), 0);
}

static void a_knob_is_added_with_what_it_says_now(void **state)
{
	char expected[256];
	struct knob k;

	(void)state;
	tree_put(root, "max 100000\n", "cpu.max");
	assert_int_equal(knob_open(&k, &knob_plain, root, "cpu.max"), 0);
	assert_int_equal(journal_add_knob(journal, &k), 0);
	knob_close(&k);
	snprintf(expected, sizeof(expected), "value\t%s/cpu.max\tmax 100000", root);
	assert_string_equal(line(1), expected);
}

static void fail_sync(int after)
{
	char rule[40], error[200];

	inject_clear();
	snprintf(rule, sizeof(rule), "* sync EIO 1 %d", after);
	assert_int_equal(inject_add(rule, root, error, sizeof(error)), 0);
}

static void what_the_disk_does_not_take_is_told(void **state)
{
	const struct journal_entry entry = { .kind = JOURNAL_VALUE, .path = "/a", .text = "1" };
	const bool postponed = true;

	(void)state;
	fail_sync(0);
	assert_int_equal(journal_sync(journal), -EIO);
	/* The new file and its name, what it says, and that it has taken the old one's place. */
	for (int nth = 0; nth < 4; nth++) {
		fail_sync(nth);
		assert_int_equal(journal_postpone(root, &entry, &postponed, 1), -EIO);
	}
	assert_int_equal(journal_postpone(root, &entry, &postponed, 1), 0);
}

static void fields_that_would_break_a_line_are_refused(void **state)
{
	struct journal_entry entry = { .kind = JOURNAL_VALUE, .path = "/a\nb", .text = "x" };

	(void)state;
	assert_int_equal(journal_add(journal, &entry), -EINVAL);
	strcpy(entry.path, "/a");
	strcpy(entry.text, "x\ty");
	assert_int_equal(journal_add(journal, &entry), -EINVAL);
	assert_string_equal(tree_get(root, "journal"), "parties journal 1");
}

static void bad_lines_are_refused_and_leave_the_output_alone(void **state)
{
	static const char *const bad[] = {
		"", "\n", "value", "value\t", "value\t/a", "value\ta\tb", "value\t/a\tb\tc",
		"value\t/a\tb\nvalue\t/c\td", "Value\t/a\tb", "valuable\t/a\tb", "task\t/a\t/b",
		"task\t1\t/a\t/b", "task\tx\t1\t/a\t/b", "task\t-1\t1\t/a\t/b", "task\t2147483648\t1\t/a\t/b",
		"task\t1\t18446744073709551616\t/a\t/b", "task\t1 \t1\t/a\t/b", "task\t1\t1\t/a",
		"group\t\t/b", "parties journal 1",
	};
	struct journal_entry entry, before;
	char big[KNOB_TEXT_SIZE + 64];

	(void)state;
	memset(&entry, 0x5a, sizeof(entry));
	before = entry;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(journal_parse_line(bad[i], &entry), -EINVAL);
	memset(big, 'x', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	memcpy(big, "value\t/a\t", 9);
	assert_int_equal(journal_parse_line(big, &entry), -EINVAL);
	assert_memory_equal(&entry, &before, sizeof(entry));
}

int main(void)
{
#define TREE_TEST(f) cmocka_unit_test_setup_teardown(f, make_tree, remove_tree)
	const struct CMUnitTest tests[] = {
		TREE_TEST(a_new_journal_is_a_header_and_nothing_else),
		TREE_TEST(a_journal_in_a_directory_that_is_not_there_is_refused),
		TREE_TEST(what_is_added_reads_back_the_same),
		TREE_TEST(a_knob_is_added_with_what_it_says_now),
		TREE_TEST(what_the_disk_does_not_take_is_told),
		TREE_TEST(fields_that_would_break_a_line_are_refused),
		TREE_TEST(bad_lines_are_refused_and_leave_the_output_alone),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("journal", tests, NULL, NULL);
}
