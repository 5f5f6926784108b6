/* SPDX-License-Identifier: GPL-2.0 */
/*
 * test_be_limits.c - limits of best-effort work: as text, and in the files of a tree.
 *
 * shares: yes
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "be_limits.h"
#include "fixtures/tree.h"
#include "inject.h"
#include "limit_files.h"
#include "restore.h"

static struct limits limits;
static struct limit_files files;
static char reason[LIMITS_TEXT_SIZE], error[512], text[LIMITS_TEXT_SIZE];

static void sizes_are_bytes_or_have_a_unit(void **state)
{
	static const char *const bad[] = { "x", "5T", "1.5G", "-1M", "1023K", "0", "99999999999999999999", "17179869184G", "1G " };

	(void)state;
	assert_int_equal(limits_parse_memory("512M", &limits, reason), 0);
	assert_int_equal(limits.memory_high_bytes, 512 << 20);
	limits_format_memory(&limits, text, sizeof(text));
	assert_string_equal(text, "512M");
	assert_int_equal(limits_parse_memory("1048577", &limits, reason), 0);
	limits_format_memory(&limits, text, sizeof(text));
	assert_string_equal(text, "1048577");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(limits_parse_memory(bad[i], &limits, reason), -EINVAL);
	assert_int_equal(limits.memory_high_bytes, 1048577);
	assert_int_equal(limits_parse_memory("", &limits, reason), 0);
	limits_format_memory(&limits, text, sizeof(text));
	assert_string_equal(text, "");
}

static void limits_of_a_disk_are_written_as_the_kernel_wants_them(void **state)
{
	static const char *const bad[] = { "259:0", "259 rbps=1", "259:0rbps=1", "259:0 rbps", "259:0 rbps=", "259:0 rbps=0",
					   "259:0 rbps=1 rbps=2", "259:0 speed=1", "259:0 rbps=1x", ":0 rbps=1", "a:b rbps=1",
					   "259:0 rbps=maximal", "12345678901:1234567 rbps=1", "259:0 " };

	(void)state;
	assert_int_equal(limits_parse_io("259:0  rbps=100M\twiops=1000 wbps=max", &limits, reason), 0);
	assert_string_equal(limits.io_max, "259:0 rbps=104857600 wiops=1000 wbps=max");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(limits_parse_io(bad[i], &limits, reason), -EINVAL);
	assert_string_equal(limits.io_max, "259:0 rbps=104857600 wiops=1000 wbps=max");
	assert_non_null(strstr(reason, "lsblk"));
	assert_int_equal(limits_parse_io("", &limits, reason), 0);
	assert_string_equal(limits.io_max, "");
}

static void memory_bandwidth_is_percent_or_gigabytes_a_second(void **state)
{
	static const char *const bad[] = { "50", "0%", "101%", "256GB/s", "5MB/s", "5KGB/s", "%", "1.5GB/s" };

	(void)state;
	assert_int_equal(limits_parse_bandwidth("35%", &limits, reason), 0);
	assert_int_equal(limits.bandwidth_percent, 35);
	assert_int_equal(limits_parse_bandwidth("20GB/s", &limits, reason), 0);
	assert_int_equal(limits.bandwidth_percent, 0);
	assert_int_equal(limits.bandwidth_gbps, 20);
	limits_format_bandwidth(&limits, text, sizeof(text));
	assert_string_equal(text, "20GB/s");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(limits_parse_bandwidth(bad[i], &limits, reason), -EINVAL);
	assert_int_equal(limits_parse_bandwidth("", &limits, reason), 0);
	limits_format_bandwidth(&limits, text, sizeof(text));
	assert_string_equal(text, "");
}

static void a_rate_to_send_at_is_bits_or_left_to_the_rule(void **state)
{
	static const char *const bad[] = { "1Gb", "1G", "0Mbit", "999kbit", "1001Gbit", "1.5Gbit", "Gbit", "automatic", "1Gbit ",
					   "9999999999Gbit" };

	(void)state;
	limits = (struct limits){ 0 };
	assert_false(limits_have_egress(NULL) || limits_have_egress(&limits));
	assert_int_equal(limits_parse_egress("500Mbit", &limits, reason), 0);
	assert_int_equal(limits.egress_bps, 500000000);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(limits_parse_egress(bad[i], &limits, reason), -EINVAL);
	assert_true(limits_have_egress(&limits));
	limits_format_egress(&limits, text, sizeof(text));
	assert_string_equal(text, "500Mbit");
	assert_int_equal(limits_parse_egress("auto", &limits, reason), 0);
	assert_true(limits_have_egress(&limits) && !limits.egress_bps);
	limits_format_egress(&limits, text, sizeof(text));
	assert_string_equal(text, "auto");
	assert_int_equal(limits_parse_egress("", &limits, reason), 0);
	assert_false(limits_have_egress(&limits));
	limits_format_egress(&limits, text, sizeof(text));
	assert_string_equal(text, "");
}

static void a_share_is_of_every_number_and_never_nothing(void **state)
{
	struct limits share;

	(void)state;
	limits = (struct limits){ .memory_high_bytes = UINT64_MAX, .io_max = "259:0 rbps=104857600 wbps=max riops=5 wiops=1000" };
	limits_scale(&limits, 10, 10, &share);
	assert_memory_equal(&share, &limits, sizeof(limits));
	limits_scale(&limits, 5, 3, &share);
	assert_int_equal(share.memory_high_bytes, UINT64_MAX / 10 * 5 + 2);
	assert_string_equal(share.io_max, "259:0 rbps=31457280 wbps=max riops=1 wiops=300");
	limits_scale(&limits, 0, 0, &share);
	assert_memory_equal(&share, &limits, sizeof(limits));
	limits_scale(&limits, 1, 1, &share);
	assert_string_equal(share.io_max, "259:0 rbps=10485760 wbps=max riops=1 wiops=100");
}

static char root[TREE_PATH_SIZE], dir[TREE_PATH_SIZE + 16];
static struct journal *journal;

static int make_tree(void **state)
{
	(void)state;
	tree_make(root);
	snprintf(dir, sizeof(dir), "%s/cg/index", root);
	tree_put(root, "cpuset cpu io memory\n", "cg/cgroup.controllers");
	tree_put(root, "max\n", "cg/index/memory.high");
	tree_put(root, "", "cg/index/io.max");
	limits = (struct limits){ .memory_high_bytes = 512 << 20, .io_max = "259:0 rbps=1048576" };
	journal = NULL;
	limit_files_init(&files);
	assert_int_equal(journal_open(&journal, root), 0);
	return 0;
}

static int remove_tree(void **state)
{
	(void)state;
	inject_clear();
	limit_files_close(&files);
	journal_close(journal);
	tree_remove(root);
	return 0;
}

static void limits_are_set_and_put_back(void **state)
{
	(void)state;
	assert_int_equal(limit_files_set(&files, &limits, dir, journal, error, sizeof(error)), 0);
	assert_string_equal(tree_line(root, "cg/index/memory.high"), "536870912");
	assert_string_equal(tree_line(root, "cg/index/io.max"), "259:0 rbps=1048576");
	assert_int_equal(restore_journal(root, root, error, sizeof(error)), 2);
	assert_string_equal(tree_line(root, "cg/index/memory.high"), "max");
	assert_string_equal(tree_line(root, "cg/index/io.max"), "259:0 rbps=max wbps=max riops=max wiops=max");
}

static void a_limit_that_a_disk_had_before_comes_back(void **state)
{
	const char *before = "8:0 rbps=5 wbps=max riops=max wiops=max\n259:0 rbps=7 wbps=max riops=max wiops=9\n";

	(void)state;
	tree_put(root, before, "cg/index/io.max");
	assert_int_equal(inject_add("*/io.max write ignored", root, error, sizeof(error)), 0);
	assert_int_equal(limit_files_set(&files, &limits, dir, journal, error, sizeof(error)), -EIO);
	assert_non_null(strstr(error, "io_max: cannot be set"));
	inject_clear();
	assert_true(restore_journal(root, root, error, sizeof(error)) > 0);
	assert_string_equal(tree_line(root, "cg/index/io.max"), "259:0 rbps=7 wbps=max riops=max wiops=9");
}

static void a_limit_that_is_not_taken_is_told(void **state)
{
	(void)state;
	assert_int_equal(inject_add("*/memory.high write ignored", root, error, sizeof(error)), 0);
	assert_int_equal(limit_files_set(&files, &limits, dir, journal, error, sizeof(error)), -EIO);
	assert_non_null(strstr(error, "memory_high: cannot be set"));
	assert_int_equal(inject_add("*/io.max write ENODEV", root, error, sizeof(error)), 0);
	limits.memory_high_bytes = 0;
	assert_int_equal(limit_files_set(&files, &limits, dir, journal, error, sizeof(error)), -ENODEV);
	assert_non_null(strstr(error, "lsblk"));
	assert_int_equal(limit_files_set(&files, NULL, dir, journal, error, sizeof(error)), 0);
}

static struct undo undo;
static struct outcome outcome;

static void limits_are_moved_by_tenths_and_put_back(void **state)
{
	(void)state;
	tree_put(root, "259:0 rbps=7 wbps=max riops=max wiops=9\n", "cg/index/io.max");
	assert_int_equal(limit_files_set(&files, &limits, dir, journal, error, sizeof(error)), 0);
	undo_begin(&undo);
	outcome = (struct outcome){ 0 };
	assert_int_equal(limit_files_apply(&files, &limits, 10, 10, &undo, &outcome), 0);
	assert_int_equal(outcome.nr_writes, 0);
	assert_int_equal(limit_files_apply(&files, &limits, 7, 2, &undo, &outcome), 0);
	assert_int_equal(outcome.nr_writes, 2);
	assert_string_equal(tree_line(root, "cg/index/memory.high"), "375809638");
	assert_string_equal(tree_line(root, "cg/index/io.max"), "259:0 rbps=209715");
	assert_false(limit_files_drifted(&files));
	assert_int_equal(undo_rollback(&undo), 0);
	assert_string_equal(tree_line(root, "cg/index/memory.high"), "536870912");
	assert_true(restore_journal(root, root, error, sizeof(error)) > 0);
	assert_string_equal(tree_line(root, "cg/index/memory.high"), "max");
	assert_string_equal(tree_line(root, "cg/index/io.max"), "259:0 rbps=7 wbps=max riops=max wiops=9");
}

static void whoever_changes_a_limit_is_noticed(void **state)
{
	(void)state;
	assert_int_equal(limit_files_set(&files, &limits, dir, journal, error, sizeof(error)), 0);
	undo_begin(&undo);
	assert_int_equal(limit_files_apply(&files, &limits, 10, 10, &undo, &outcome), 0);
	assert_false(limit_files_drifted(&files));
	tree_put(root, "max\n", "cg/index/memory.high");
	undo_begin(&undo);
	assert_int_equal(limit_files_apply(&files, &limits, 10, 10, &undo, &outcome), 0);
	assert_true(limit_files_drifted(&files));
	assert_false(limit_files_drifted(&files));
	assert_string_equal(tree_line(root, "cg/index/memory.high"), "536870912");
	assert_int_equal(inject_add("*/io.max write EACCES", root, error, sizeof(error)), 0);
	assert_int_equal(limit_files_apply(&files, &limits, 10, 9, &undo, &outcome), -EACCES);
	assert_non_null(strstr(outcome.where, "io.max"));
}

static void free_memory_is_what_the_kernel_calls_available(void **state)
{
	uint64_t bytes = 1;

	(void)state;
	assert_int_equal(limit_files_available(root, &bytes), -ENOENT);
	tree_put(root, "MemTotal: 9 kB\nMemFree: 3 kB\n", "proc/meminfo");
	assert_int_equal(limit_files_available(root, &bytes), -ENODATA);
	assert_int_equal(bytes, 1);
	tree_put(root, "MemTotal: 9 kB\nMemFree: 3 kB\nMemAvailable:   7 kB\n", "proc/meminfo");
	assert_int_equal(limit_files_available(root, &bytes), 0);
	assert_int_equal(bytes, 7168);
}

static void version_1_has_no_such_limits_and_says_so(void **state)
{
	char mount[TREE_PATH_SIZE + 8];

	(void)state;
	snprintf(mount, sizeof(mount), "%s/cg", root);
	assert_int_equal(limit_files_check(&limits, mount, error, sizeof(error)), 0);
	assert_int_equal(limit_files_check(&limits, NULL, error, sizeof(error)), -ENOTSUP);
	assert_non_null(strstr(error, "only version 1 is mounted"));
	tree_put(root, "cpuset cpu memory\n", "cg/cgroup.controllers");
	assert_int_equal(limit_files_check(&limits, mount, error, sizeof(error)), -ENOTSUP);
	limits.io_max[0] = '\0';
	assert_int_equal(limit_files_check(&limits, mount, error, sizeof(error)), 0);
	assert_int_equal(limit_files_check(NULL, NULL, error, sizeof(error)), 0);
}

int main(void)
{
#define TREE_TEST(f) cmocka_unit_test_setup_teardown(f, make_tree, remove_tree)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_bytes_or_have_a_unit),
		cmocka_unit_test(limits_of_a_disk_are_written_as_the_kernel_wants_them),
		cmocka_unit_test(memory_bandwidth_is_percent_or_gigabytes_a_second),
		cmocka_unit_test(a_rate_to_send_at_is_bits_or_left_to_the_rule),
		cmocka_unit_test(a_share_is_of_every_number_and_never_nothing),
		TREE_TEST(limits_are_moved_by_tenths_and_put_back),
		TREE_TEST(whoever_changes_a_limit_is_noticed),
		TREE_TEST(free_memory_is_what_the_kernel_calls_available),
		TREE_TEST(limits_are_set_and_put_back),
		TREE_TEST(a_limit_that_a_disk_had_before_comes_back),
		TREE_TEST(a_limit_that_is_not_taken_is_told),
		TREE_TEST(version_1_has_no_such_limits_and_says_so),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("be_limits", tests, NULL, NULL);
}
