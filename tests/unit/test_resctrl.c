/* SPDX-License-Identifier: GPL-2.0 */
/*
 * test_resctrl.c - ways of the cache and memory bandwidth, on trees whose files answer as the kernel's do.
 *
 * shares: yes
 * wrap: mkdir rmdir pwrite ftruncate
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "fixtures/fake_resctrl.h"
#include "inject.h"
#include "resctrl.h"
#include "restore.h"

static struct match_pids pids[3];
static struct limits limits;
static struct machine_group services[2], batch;
static struct machine_opts opts;
static struct resctrl resctrl;
static struct journal *journal;
static struct undo undo;
static char error[512];

static int start(void **state)
{
	static const char *const names[] = { "search", "mail" };

	(void)state;
	fake_start();
	memset(&limits, 0, sizeof(limits));
	memset(&resctrl, 0, sizeof(resctrl));
	for (int i = 0; i < 3; i++) {
		pids[i] = (struct match_pids){ .nr = 1, .pids = { 101 + i } };
		fake_put_task(101 + i, 101 + i, "/");
	}
	for (int i = 0; i < 2; i++)
		services[i] = (struct machine_group){ .name = names[i], .target_ns = 25000000, .pids = &pids[i] };
	batch = (struct machine_group){ .name = "work", .pids = &pids[2], .limits = &limits };
	opts = (struct machine_opts){ .root = root, .cache = CONFIG_CACHE_RESCTRL, .nr_services = 2, .nr_batches = 1,
				      .services = services, .batches = &batch };
	journal = NULL;
	assert_int_equal(journal_open(&journal, root), 0);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	inject_clear();
	resctrl_close(&resctrl);
	journal_close(journal);
	fake_stop();
	return 0;
}

static int enter(void)
{
	int err = resctrl_find(&resctrl, &opts, error, sizeof(error));

	for (uint32_t i = 0; i < 3 && !err; i++)
		err = resctrl_enter(&resctrl, i, root, &pids[i], journal, error, sizeof(error));
	return err;
}

static struct outcome apply(uint32_t search, uint32_t mail, uint32_t be, uint64_t step)
{
	struct allocation want = { .nr_services = 2, .ways = { search, mail }, .be_ways = be };
	struct outcome outcome = { 0 };

	undo_begin(&undo);
	resctrl_apply(&resctrl, &want, step, &undo, &outcome);
	resctrl_look_for_drift(&resctrl, step, &outcome);
	if (outcome.error)
		undo_rollback(&undo);
	return outcome;
}

static void assert_applied(uint32_t search, uint32_t mail, uint32_t be, uint32_t nr_writes)
{
	struct outcome outcome = apply(search, mail, be, 1);

	assert_string_equal(outcome.where, "");
	assert_int_equal(outcome.error, 0);
	assert_int_equal(outcome.nr_writes, nr_writes);
}

static void assert_group(const char *group, const char *lines)
{
	char path[128];

	snprintf(path, sizeof(path), "sys/fs/resctrl/%s/schemata", group);
	assert_string_equal(tree_get(root, path), lines);
}

static void assert_refused(const char *what)
{
	assert_int_equal(resctrl_find(&resctrl, &opts, error, sizeof(error)), -ENOTSUP);
	if (!strstr(error, what))
		fail_msg("\"%s\" does not say \"%s\"", error, what);
}

static void remove_dir(const char *below)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/sys/fs/resctrl/%s", root, below);
	tree_remove(path);
}

static void everybody_gets_ways_of_their_own_and_devices_keep_theirs(void **state)
{
	(void)state;
	assert_int_equal(enter(), 0);
	assert_int_equal(resctrl.ways.nr, 8);
	assert_int_equal(resctrl.ways.floor, 1);
	assert_applied(4, 4, 0, 3);
	assert_group("parties-search", "    L3:0=f;1=f\n    MB:0=100;1=100");
	assert_group("parties-mail", "    L3:0=f0;1=f0\n    MB:0=100;1=100");
	assert_group("parties-work", "    L3:0=100;1=100\n    MB:0=100;1=100");
	assert_group("", "    L3:0=7ff;1=7ff\n    MB:0= 100;1= 100");
	assert_applied(4, 4, 0, 0);
	assert_applied(3, 4, 1, 3);
	assert_group("parties-mail", "    L3:0=78;1=78\n    MB:0=100;1=100");
	assert_group("parties-work", "    L3:0=180;1=180\n    MB:0=100;1=100");
	assert_true(fake_has_task("/parties-search", 101));
	assert_true(fake_has_task("/parties-work", 103));
}

static void ways_of_nobody_are_in_no_mask(void **state)
{
	(void)state;
	opts.nr_batches = 0;
	assert_int_equal(resctrl_find(&resctrl, &opts, error, sizeof(error)), 0);
	assert_int_equal(resctrl.ways.nr, 9);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(resctrl_enter(&resctrl, i, root, &pids[i], journal, error, sizeof(error)), 0);
	assert_applied(2, 3, 0, 2);
	assert_group("parties-search", "    L3:0=3;1=3\n    MB:0=100;1=100");
	assert_group("parties-mail", "    L3:0=1c;1=1c\n    MB:0=100;1=100");
}

static void code_and_data_get_the_same_ways_where_they_are_apart(void **state)
{
	(void)state;
	fake.schemata = "L3DATA:0=7ff;1=7ff\nL3CODE:0=7ff;1=7ff\n";
	tree_put(root, fake.schemata, "sys/fs/resctrl/schemata");
	tree_put(root, "7ff\n", "sys/fs/resctrl/info/L3CODE/cbm_mask");
	tree_put(root, "2\n", "sys/fs/resctrl/info/L3CODE/min_cbm_bits");
	tree_put(root, "8\n", "sys/fs/resctrl/info/L3CODE/num_closids");
	remove_dir("info/L3");
	fake.min_bits = 2;
	assert_int_equal(enter(), 0);
	assert_int_equal(resctrl.ways.nr, 9); /* all 11, but two that best effort keeps */
	assert_int_equal(resctrl.ways.floor, 2);
	assert_applied(5, 4, 0, 3);
	assert_group("parties-search", "    L3DATA:0=1f;1=1f\n    L3CODE:0=1f;1=1f");
	assert_group("parties-work", "    L3DATA:0=600;1=600\n    L3CODE:0=600;1=600");
	assert_int_equal(apply(1, 4, 4, 1).error, -EINVAL);
	assert_group("parties-search", "    L3DATA:0=1f;1=1f\n    L3CODE:0=1f;1=1f");
}

static void what_others_have_for_themselves_is_not_touched(void **state)
{
	(void)state;
	tree_put(root, "0=XXSSSSSSSSS;1=XXSSSSEESSS\n", "sys/fs/resctrl/info/L3/bit_usage");
	opts.nr_batches = 0;
	assert_int_equal(resctrl_find(&resctrl, &opts, error, sizeof(error)), 0);
	assert_int_equal(resctrl.ways.nr, 4);
	assert_int_equal(resctrl.first, 5);
}

static void what_is_missing_is_told_with_what_to_do(void **state)
{
	(void)state;
	fake.nr_classes = 4;
	tree_put(root, "3\n", "sys/fs/resctrl/info/MB/num_closids");
	assert_refused("3 classes of service, 1 are taken, and 3 more are needed");
	tree_put(root, "4\n", "sys/fs/resctrl/info/MB/num_closids");
	assert_int_equal(resctrl_find(&resctrl, &opts, error, sizeof(error)), 0);
	tree_put(root, "", "sys/fs/resctrl/theirs/tasks");
	assert_refused("2 are taken");
	opts.cache = CONFIG_CACHE_AUTO;
	assert_int_equal(resctrl_find(&resctrl, &opts, error, sizeof(error)), 0);
	assert_int_equal(resctrl.ways.nr, 0);
	assert_string_equal(resctrl.groups[0].dir, "");
	assert_int_equal(apply(0, 0, 0, 1).error, 0);
	opts.cache = CONFIG_CACHE_RESCTRL;
	tree_put(root, "3\n", "sys/fs/resctrl/info/L3/cbm_mask");
	assert_refused("2 ways of the cache lie side by side and are free, and 3 are needed");
	tree_put(root, "x\n", "sys/fs/resctrl/info/L3/cbm_mask");
	assert_refused("cbm_mask makes no sense");
}

static void a_file_system_that_is_not_mounted_is_not_mounted_by_us(void **state)
{
	(void)state;
	remove_dir("");
	assert_refused("mount -t resctrl resctrl /sys/fs/resctrl");
	tree_put(root, "nodev\tproc\n", "proc/filesystems");
	assert_refused("neither CPU nor kernel");
}

static void classes_that_run_out_at_the_last_moment_leave_nothing(void **state)
{
	(void)state;
	fake.nr_classes = 2;
	assert_int_equal(enter(), -ENOSPC);
	assert_non_null(strstr(error, "Out of CLOSIDs"));
	assert_true(fake_has_task("/parties-search", 101));
	assert_true(restore_journal(root, root, error, sizeof(error)) > 0);
	assert_true(fake_has_task("/", 101));
	assert_string_equal(tree_get(root, "sys/fs/resctrl/parties-search/schemata"), "");
}

static void a_mask_that_the_kernel_refuses_is_told_in_its_words_and_taken_back(void **state)
{
	struct outcome outcome;

	(void)state;
	assert_int_equal(enter(), 0);
	assert_applied(4, 4, 0, 3);
	fake.min_bits = 3;
	outcome = apply(5, 2, 1, 2);
	assert_int_equal(outcome.error, -EINVAL);
	assert_non_null(strstr(outcome.where, "non-consecutive"));
	assert_group("parties-search", "    L3:0=f;1=f\n    MB:0=100;1=100");
}

static void a_write_that_fails_or_does_nothing_is_noticed(void **state)
{
	(void)state;
	assert_int_equal(enter(), 0);
	assert_int_equal(inject_add("*/parties-mail/schemata write ignored", root, error, sizeof(error)), 0);
	assert_int_equal(apply(4, 4, 0, 1).error, -EIO);
	assert_group("parties-search", "    L3:0=7ff;1=7ff\n    MB:0=100;1=100");
	inject_clear();
	assert_int_equal(inject_add("*/parties-work/schemata write EROFS", root, error, sizeof(error)), 0);
	assert_int_equal(apply(4, 4, 0, 1).error, -EROFS);
	inject_clear();
	assert_applied(4, 4, 0, 3);
}

static void threads_go_back_to_the_group_they_came_from(void **state)
{
	(void)state;
	fake_put_group("/theirs");
	fake_put_task(101, 111, "/theirs");
	fake_put_task(101, 112, "/");
	fake_set_tasks("/theirs", (int[]){ 111 }, 1);
	assert_int_equal(enter(), 0);
	assert_true(fake_has_task("/parties-search", 111));
	assert_true(fake_has_task("/parties-search", 112));
	fake_put_task(102, 120, "/");
	fake_put_task(102, 121, "/");
	assert_int_equal(resctrl_adopt(&resctrl, 1, root, &pids[1], journal), 2);
	assert_int_equal(resctrl_adopt(&resctrl, 1, root, &pids[1], journal), 0);
	assert_true(restore_journal(root, root, error, sizeof(error)) > 0);
	assert_true(fake_has_task("/theirs", 111));
	assert_true(fake_has_task("/", 112));
	assert_true(fake_has_task("/", 121));
	assert_string_equal(tree_get(root, "sys/fs/resctrl/parties-mail/schemata"), "");
	assert_int_equal(restore_journal(root, root, error, sizeof(error)), 0);
}

static void threads_that_are_born_during_the_move_are_caught_and_dead_ones_are_no_failure(void **state)
{
	char path[PATH_MAX];

	(void)state;
	fake.born_by = 101;
	fake_put_task(102, 130, "/");
	snprintf(path, sizeof(path), "%s/proc/130", root);
	tree_remove(path); /* listed a moment ago */
	pids[2].pids[0] = 999;
	assert_int_equal(enter(), 0);
	assert_true(fake_has_task("/parties-search", 151));
}

static void a_group_that_somebody_removed_is_left_alone(void **state)
{
	(void)state;
	assert_int_equal(enter(), 0);
	assert_applied(4, 4, 0, 3);
	remove_dir("parties-mail");
	assert_applied(3, 5, 0, 1);
	assert_int_equal(resctrl_adopt(&resctrl, 1, root, &pids[1], journal), 0);
}

static void what_others_change_is_put_back_and_told(void **state)
{
	struct outcome outcome;

	(void)state;
	assert_int_equal(enter(), 0);
	assert_applied(4, 4, 0, 3);
	tree_put(root, "    L3:0=7ff;1=f\n    MB:0=100;1=100\n", "sys/fs/resctrl/parties-search/schemata");
	outcome = apply(4, 4, 0, 2);
	assert_string_equal(outcome.note, "search: somebody else changed its cache or memory bandwidth; put back");
	assert_group("parties-search", "    L3:0=f;1=f\n    MB:0=100;1=100");
}

static void a_batch_has_its_memory_bandwidth_capped_in_the_units_of_the_hardware(void **state)
{
	(void)state;
	opts.cache = CONFIG_CACHE_NO;
	limits.bandwidth_percent = 35;
	assert_int_equal(enter(), 0);
	assert_string_equal(resctrl.groups[0].dir, "");
	assert_true(fake_has_task("/", 101));
	assert_true(fake_has_task("/parties-work", 103));
	assert_applied(0, 0, 0, 1);
	assert_group("parties-work", "    L3:0=7ff;1=7ff\n    MB:0=40;1=40");
	assert_applied(0, 0, 0, 0);
}

static void amd_counts_memory_bandwidth_in_eighths_of_a_gigabyte_a_second(void **state)
{
	(void)state;
	fake.schemata = "    L3:0=ffff\n    MB:0=2048\n";
	fake_put_group("");
	tree_put(root, "ffff\n", "sys/fs/resctrl/info/L3/cbm_mask");
	tree_put(root, "0\n", "sys/fs/resctrl/info/L3/shareable_bits");
	tree_put(root, "0=SSSSSSSSSSSSSSSS\n", "sys/fs/resctrl/info/L3/bit_usage");
	tree_put(root, "0\n", "sys/fs/resctrl/info/MB/delay_linear");
	tree_put(root, "1\n", "sys/fs/resctrl/info/MB/bandwidth_gran");
	tree_put(root, "0\n", "sys/fs/resctrl/info/MB/min_bandwidth");
	limits.bandwidth_percent = 50;
	assert_refused("counts memory bandwidth in GB/s");
	limits = (struct limits){ .bandwidth_gbps = 20 };
	assert_int_equal(enter(), 0);
	assert_applied(8, 7, 0, 3);
	assert_group("parties-work", "    L3:0=8000\n    MB:0=160");
	assert_group("parties-search", "    L3:0=ff\n    MB:0=2048");
}

static void bandwidth_that_cannot_be_capped_is_an_error(void **state)
{
	(void)state;
	opts.cache = CONFIG_CACHE_NO;
	limits.bandwidth_gbps = 20;
	assert_refused("counts memory bandwidth in percent");
	limits = (struct limits){ .bandwidth_percent = 50 };
	tree_put(root, "    L3:0=7ff;1=7ff\n    MB:0=4294967295;1=4294967295\n", "sys/fs/resctrl/schemata");
	assert_refused("mba_MBps");
	remove_dir("info/MB");
	assert_refused("work: memory_bandwidth: memory bandwidth cannot be limited here");
}

int main(void)
{
#define TREE_TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)
	const struct CMUnitTest tests[] = {
		TREE_TEST(everybody_gets_ways_of_their_own_and_devices_keep_theirs),
		TREE_TEST(ways_of_nobody_are_in_no_mask),
		TREE_TEST(code_and_data_get_the_same_ways_where_they_are_apart),
		TREE_TEST(what_others_have_for_themselves_is_not_touched),
		TREE_TEST(what_is_missing_is_told_with_what_to_do),
		TREE_TEST(a_file_system_that_is_not_mounted_is_not_mounted_by_us),
		TREE_TEST(classes_that_run_out_at_the_last_moment_leave_nothing),
		TREE_TEST(a_mask_that_the_kernel_refuses_is_told_in_its_words_and_taken_back),
		TREE_TEST(a_write_that_fails_or_does_nothing_is_noticed),
		TREE_TEST(threads_go_back_to_the_group_they_came_from),
		TREE_TEST(threads_that_are_born_during_the_move_are_caught_and_dead_ones_are_no_failure),
		TREE_TEST(a_group_that_somebody_removed_is_left_alone),
		TREE_TEST(what_others_change_is_put_back_and_told),
		TREE_TEST(a_batch_has_its_memory_bandwidth_capped_in_the_units_of_the_hardware),
		TREE_TEST(amd_counts_memory_bandwidth_in_eighths_of_a_gigabyte_a_second),
		TREE_TEST(bandwidth_that_cannot_be_capped_is_an_error),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("resctrl", tests, NULL, NULL);
}
