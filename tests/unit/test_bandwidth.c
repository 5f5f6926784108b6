/* SPDX-License-Identifier: GPL-2.0 */
/*
 * test_bandwidth.c - periods, quotas and the files they go to, on a fake tree.
 * wrap: pwrite
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "bandwidth.h"
#include "fixtures/fault.h"
#include "fixtures/tree.h"

static char root[TREE_PATH_SIZE];
static struct journal *journal;
static struct undo *undo;
static struct outcome outcome;
static struct bandwidth bandwidth;

static int make_tree(void **state)
{
	(void)state;
	tree_make(root);
	undo = calloc(1, sizeof(*undo));
	memset(&outcome, 0, sizeof(outcome));
	return journal_open(&journal, root);
}

static int remove_tree(void **state)
{
	(void)state;
	fault_set(NULL, NULL, 0);
	bandwidth_close(&bandwidth);
	journal_close(journal);
	free(undo);
	tree_remove(root);
	return 0;
}

static void the_period_is_half_the_target_between_5_and_20_ms(void **state)
{
	(void)state;
	assert_int_equal(bandwidth_period_us(0), 5000);
	assert_int_equal(bandwidth_period_us(600000), 5000);
	assert_int_equal(bandwidth_period_us(10000000), 5000);
	assert_int_equal(bandwidth_period_us(25000000), 12500);
	assert_int_equal(bandwidth_period_us(40000000), 20000);
	assert_int_equal(bandwidth_period_us(UINT64_MAX), 20000);
}

static void the_quota_is_a_share_of_every_cpu_and_never_below_a_millisecond(void **state)
{
	(void)state;
	assert_int_equal(bandwidth_quota_us(12500, 1, 500), 6250);
	assert_int_equal(bandwidth_quota_us(12500, 4, 300), 15000);
	assert_int_equal(bandwidth_quota_us(5000, 1, 100), 1000);
	assert_int_equal(bandwidth_quota_us(20000, 512, 1000), 10240000);
}

static void the_ladder_has_ten_even_steps_and_the_last_is_nominal(void **state)
{
	const struct speed_ladder ladder = bandwidth_ladder;

	(void)state;
	assert_int_equal(ladder.kind, SPEED_BANDWIDTH);
	assert_int_equal(ladder.nr_steps, 10);
	assert_int_equal(ladder.nominal, 9);
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(ladder.value[i], 100 * (i + 1));
}

static void version_2_writes_quota_and_period_together(void **state)
{
	(void)state;
	tree_put(root, "max 100000\n", "cpu.max");
	assert_int_equal(bandwidth_open(&bandwidth, 2, root, 25000000, journal), 0);
	assert_int_equal(bandwidth_apply(&bandwidth, 2, 500, undo, &outcome), 0);
	assert_string_equal(tree_line(root, "cpu.max"), "12500 12500");
	assert_int_equal(bandwidth_apply(&bandwidth, 2, 1000, undo, &outcome), 0);
	assert_string_equal(tree_line(root, "cpu.max"), "max 12500");
	assert_int_equal(outcome.nr_writes, 2);
	assert_int_equal(bandwidth_apply(&bandwidth, 3, 1000, undo, &outcome), 0);
	assert_int_equal(outcome.nr_writes, 2);
}

static void version_1_changes_the_period_while_there_is_no_quota(void **state)
{
	(void)state;
	tree_put(root, "50000\n", "cpu.cfs_quota_us");
	tree_put(root, "100000\n", "cpu.cfs_period_us");
	assert_int_equal(bandwidth_open(&bandwidth, 1, root, 10000000, journal), 0);
	assert_int_equal(bandwidth_apply(&bandwidth, 1, 300, undo, &outcome), 0);
	assert_int_equal(undo->nr, 3);
	assert_string_equal(undo->writes[0].before, "50000");
	assert_string_equal(undo->writes[1].before, "100000");
	assert_int_equal(atoi(undo->writes[2].before), -1);
	assert_int_equal(atoi(tree_line(root, "cpu.cfs_quota_us")), 1500);
	assert_int_equal(atoi(tree_line(root, "cpu.cfs_period_us")), 5000);
}

static void originals_are_in_the_journal_before_anything_is_written(void **state)
{
	struct journal_entry quota, period;
	const char *text;

	(void)state;
	tree_put(root, "50000\n", "cpu.cfs_quota_us");
	tree_put(root, "100000\n", "cpu.cfs_period_us");
	assert_int_equal(bandwidth_open(&bandwidth, 1, root, 10000000, journal), 0);
	text = strchr(tree_get(root, "journal"), '\n') + 1;
	assert_int_equal(journal_parse_line(strchr(text, '\n') + 1, &period), 0);
	*strchr(text, '\n') = '\0';
	assert_int_equal(journal_parse_line(text, &quota), 0);
	assert_string_equal(quota.text, "50000");
	assert_string_equal(period.text, "100000");
	assert_string_equal(period.path, bandwidth.period.path);
}

static void a_failed_write_names_the_file_and_rolls_back(void **state)
{
	(void)state;
	tree_put(root, "50000\n", "cpu.cfs_quota_us");
	tree_put(root, "100000\n", "cpu.cfs_period_us");
	assert_int_equal(bandwidth_open(&bandwidth, 1, root, 10000000, journal), 0);
	fault_set("cpu.cfs_quota_us", "1500", EINVAL);
	assert_int_equal(bandwidth_apply(&bandwidth, 1, 300, undo, &outcome), -EINVAL);
	assert_int_equal(outcome.error, -EINVAL);
	assert_non_null(strstr(outcome.where, "cpu.cfs_quota_us"));
	assert_int_equal(atoi(tree_line(root, "cpu.cfs_period_us")), 5000);
	fault_set(NULL, NULL, 0);
	assert_int_equal(undo_rollback(undo), 0);
	assert_int_equal(atoi(tree_line(root, "cpu.cfs_quota_us")), 50000);
	assert_string_equal(tree_line(root, "cpu.cfs_period_us"), "100000");
}

static void a_write_that_is_accepted_but_not_obeyed_is_noticed(void **state)
{
	(void)state;
	tree_put(root, "max 100000\n", "cpu.max");
	assert_int_equal(bandwidth_open(&bandwidth, 2, root, 10000000, journal), 0);
	fault_set("cpu.max", NULL, 0);
	assert_int_equal(bandwidth_apply(&bandwidth, 1, 300, undo, &outcome), -EIO);
	assert_non_null(strstr(outcome.where, "max 100000"));
	assert_int_equal(outcome.nr_writes, 0);
}

static void a_group_without_the_controller_is_refused(void **state)
{
	(void)state;
	assert_int_equal(bandwidth_open(&bandwidth, 2, root, 10000000, journal), -ENOENT);
	tree_put(root, "100000\n", "cpu.cfs_period_us");
	assert_int_equal(bandwidth_open(&bandwidth, 1, root, 10000000, journal), -ENOENT);
}

int main(void)
{
#define TREE_TEST(f) cmocka_unit_test_setup_teardown(f, make_tree, remove_tree)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_period_is_half_the_target_between_5_and_20_ms),
		cmocka_unit_test(the_quota_is_a_share_of_every_cpu_and_never_below_a_millisecond),
		cmocka_unit_test(the_ladder_has_ten_even_steps_and_the_last_is_nominal),
		TREE_TEST(version_2_writes_quota_and_period_together),
		TREE_TEST(version_1_changes_the_period_while_there_is_no_quota),
		TREE_TEST(originals_are_in_the_journal_before_anything_is_written),
		TREE_TEST(a_failed_write_names_the_file_and_rolls_back),
		TREE_TEST(a_write_that_is_accepted_but_not_obeyed_is_noticed),
		TREE_TEST(a_group_without_the_controller_is_refused),
	};

	bandwidth.limit.fd = bandwidth.period.fd = -1;
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("bandwidth", tests, NULL, NULL);
}
