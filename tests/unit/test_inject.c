// SPDX-License-Identifier: GPL-2.0
/*
 * test_inject.c - rules of faults, and that every call obeys them as it would the kernel.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <sys/wait.h>

#include "fixtures/tree.h"
#include "inject.h"
#include "inject_calls.h"
#include "knob.h"
#include "loop.h"
#include "procfs.h"
#include "rng.h"

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

/* ---- every call -------------------------------------------------------------------------------------------------- */

static const char *path_to(const char *name)
{
	static char path[TREE_PATH_SIZE + 32];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	return path;
}

/* What a call about what `operation` is about says: 0 or negative errno. */
static int call(const char *operation)
{
	char buf[8], entries[512] __attribute__((aligned(8)));
	struct stat st;
	int fd = open(path_to("sys/a"), O_RDWR), dir_fd = open(path_to("sys"), O_RDONLY | O_DIRECTORY), code;
	DIR *dir = opendir(path_to("sys"));

	errno = 0;
	code = !strcmp(operation, "open") ? inject_open(path_to("sys/a"), O_RDONLY | O_CLOEXEC) :
	       !strcmp(operation, "openat") ? inject_openat(dir_fd, "a", O_RDONLY | O_CLOEXEC) :
	       !strcmp(operation, "read") ? (int)inject_read(fd, buf, sizeof(buf)) :
	       !strcmp(operation, "pread") ? (int)inject_pread(fd, buf, sizeof(buf), 0) :
	       !strcmp(operation, "write") ? (int)inject_write(fd, "1\n", 2) :
	       !strcmp(operation, "pwrite") ? (int)inject_pwrite(fd, "1\n", 2, 0) :
	       !strcmp(operation, "ftruncate") ? inject_ftruncate(fd, 2) :
	       !strcmp(operation, "fsync") ? inject_fsync(fd) :
	       !strcmp(operation, "fdatasync") ? inject_fdatasync(fd) :
	       !strcmp(operation, "stat") ? inject_stat(path_to("sys/a"), &st) :
	       !strcmp(operation, "access") ? inject_access(path_to("sys/a"), F_OK) :
	       !strcmp(operation, "faccessat") ? inject_faccessat(dir_fd, "a", F_OK, 0) :
	       !strcmp(operation, "readlink") ? (int)inject_readlink(path_to("link"), buf, sizeof(buf)) :
	       !strcmp(operation, "mkdir") ? inject_mkdir(path_to("new"), 0755) :
	       !strcmp(operation, "rmdir") ? inject_rmdir(path_to("new")) :
	       !strcmp(operation, "rename") ? inject_rename(path_to("sys/a"), path_to("sys/a")) :
	       !strcmp(operation, "unlink") ? inject_unlink(path_to("link")) :
	       !strcmp(operation, "getdents64") ? (int)inject_getdents64(dir_fd, entries, sizeof(entries)) :
	       !strcmp(operation, "readdir") ? inject_readdir(dir) ? 0 : -1 : 99;
	if (!strncmp(operation, "open", 4) && code >= 0)
		close(code);
	code = code < 0 ? -errno : 0;
	close(fd);
	close(dir_fd);
	closedir(dir);
	return code;
}

static void every_call_has_its_operation(void **state)
{
	static const char *const calls[][2] = {
		{ "open", "open" }, { "openat", "open" }, { "read", "read" }, { "pread", "read" }, { "write", "write" },
		{ "pwrite", "write" }, { "ftruncate", "write" }, { "fsync", "sync" }, { "stat", "stat" },
		{ "access", "stat" },
		{ "faccessat", "stat" }, { "readdir", "readdir" }, { "getdents64", "readdir" },
		{ "readlink", "readlink" },
		{ "fdatasync", "sync" }, { "mkdir", "mkdir" }, { "rmdir", "rmdir" }, { "rename", "rename" },
		{ "unlink", "unlink" },
	};
	char text[64];

	(void)state;
	assert_int_equal(symlink("target", path_to("link")), 0);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		snprintf(text, sizeof(text), "* %s EXDEV 1", calls[i][1]);
		rule(text);
		assert_int_equal(call(calls[i][0]), -EXDEV);
		assert_int_equal(call(calls[i][0]), 0);
		inject_clear();
		snprintf(text, sizeof(text), "* any EL3HLT");
		rule(text);
		if (strcmp(calls[i][0], "unlink")) /* it is gone */
			assert_int_equal(call(calls[i][0]), -EL3HLT);
		inject_clear();
	}
	rule("/sys opendir EMFILE");
	assert_null(inject_opendir(path_to("sys")));
	assert_int_equal(errno, EMFILE);
}

/* Our objects make no other call than those: the procfs reader, which no knob is, meets them as well. */
static void no_reader_gets_around_the_rules(void **state)
{
	struct procfs *proc = calloc(1, sizeof(*proc));
	char text[64];

	(void)state;
	tree_put(root, "0::/a\n", "proc/7/cgroup");
	assert_int_equal(procfs_open(proc, root), 0);
	rule("/proc/7/* open EMFILE 1");
	rule("/proc/7/* read ESRCH 1");
	assert_int_equal(procfs_cgroups(proc, 7, text, sizeof(text)), -EMFILE);
	assert_int_equal(procfs_cgroups(proc, 7, text, sizeof(text)), -ESRCH);
	assert_int_equal(procfs_cgroups(proc, 7, text, sizeof(text)), 0);
	assert_string_equal(text, "0::/a\n");
	rule("/proc/7/exe readlink text=/bin/a");
	assert_int_equal(procfs_exe(proc, 7, text, sizeof(text)), 0);
	assert_string_equal(text, "/bin/a");
	procfs_close(proc);
	free(proc);
}

static void a_text_is_read_in_place_of_what_is_there(void **state)
{
	char text[32] = "";
	int fd = open(path_to("sys/a"), O_RDONLY);
	FILE *stream;

	(void)state;
	rule("/sys/a read text=\"0 1\\n2\"");
	assert_int_equal(knob_read_path(path_to("sys/a"), text, sizeof(text)), 3);
	assert_string_equal(text, "0 1");
	assert_int_equal(inject_pread(fd, text, sizeof(text), 0), 6);
	assert_memory_equal(text, "0 1\n2\n", 6);
	assert_int_equal(inject_read(fd, text, sizeof(text)), 6);
	assert_int_equal(inject_read(fd, text, sizeof(text)), 0);
	close(fd);
	stream = inject_fopen(path_to("sys/a"), "re");
	assert_non_null(fgets(text, sizeof(text), stream));
	assert_string_equal(text, "0 1\n");
	assert_non_null(fgets(text, sizeof(text), stream));
	assert_string_equal(text, "2\n");
	assert_null(fgets(text, sizeof(text), stream));
	fclose(stream);
	rule("*link readlink text=elsewhere");
	assert_int_equal(inject_readlink(path_to("link"), text, 4), 4);
	assert_memory_equal(text, "else", 4);
}

static void streams_fail_as_their_files_do(void **state)
{
	FILE *stream;

	(void)state;
	rule("/sys/a open EACCES 1");
	assert_null(inject_fopen(path_to("sys/a"), "re"));
	assert_int_equal(errno, EACCES);
	rule("/sys/a read EIO 1");
	stream = inject_fopen(path_to("sys/a"), "re");
	assert_int_equal(fgetc(stream), EOF);
	assert_true(ferror(stream));
	fclose(stream);
	rule("/sys/a write ENOSPC 1");
	stream = inject_fopen(path_to("sys/a"), "ae");
	fputs("2\n", stream);
	assert_int_equal(fclose(stream), EOF);
	assert_string_equal(tree_line(root, "sys/a"), "1");
}

static void short_calls_do_a_part(void **state)
{
	char text[8];
	int fd = open(path_to("sys/a"), O_RDWR);

	(void)state;
	assert_int_equal(write(fd, "12345\n", 6), 6);
	rule("/sys/a read short=2");
	rule("/sys/a write short=1 1");
	assert_int_equal(inject_pread(fd, text, sizeof(text), 3), 2);
	assert_memory_equal(text, "45", 2);
	assert_int_equal(inject_pwrite(fd, "98", 2, 0), 1);
	assert_int_equal(inject_pwrite(fd, "98", 2, 0), 2);
	close(fd);
}

static void what_is_gone_is_not_there_and_no_device(void **state)
{
	struct stat st;
	int fd = open(path_to("sys/a"), O_RDONLY);
	char text[8];

	(void)state;
	rule("/sys/* any gone 4 1");
	assert_int_equal(inject_stat(path_to("sys/a"), &st), 0);
	assert_int_equal(inject_stat(path_to("sys/a"), &st), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(inject_pread(fd, text, sizeof(text), 0), -1);
	assert_int_equal(errno, ENODEV);
	assert_int_equal(knob_write_path(path_to("sys/a"), "1"), -ENOENT);
	assert_int_equal(inject_mkdir(path_to("sys/b"), 0755), -1);
	assert_int_equal(inject_mkdir(path_to("sys/b"), 0755), 0); /* back */
	close(fd);
}

static void a_delay_takes_its_time(void **state)
{
	uint64_t before = loop_now_ns();

	(void)state;
	rule("/sys/a write delay=20ms 1");
	assert_int_equal(write_a("2"), 0);
	assert_true(loop_now_ns() - before >= 20000000);
	assert_string_equal(tree_line(root, "sys/a"), "2");
}

static void who_is_killed_has_not_done_it(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (child == 0) {
		rule("/sys/a write killed 1 1");
		write_a("2");
		write_a("3");
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_string_equal(tree_line(root, "sys/a"), "2");
}

static void every_errno_has_its_name(void **state)
{
	static const char *const others[] = { "EWOULDBLOCK", "ENOTSUP", "EDEADLOCK", "ENOTSUPP" };
	char text[64];

	(void)state;
	for (int err = 1; err < 134; err++) {
		if (!strerrorname_np(err))
			continue;
		snprintf(text, sizeof(text), "/sys/a write %s", strerrorname_np(err));
		rule(text);
		assert_int_equal(write_a("2"), err == EBADF ? -EROFS : -err);
		inject_clear();
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		snprintf(text, sizeof(text), "/sys/a write %s", others[i]);
		rule(text);
		assert_true(write_a("2") < 0);
		inject_clear();
	}
}

/* ---- what is written wrong -------------------------------------------------------------------------------------- */

static void what_makes_no_sense_is_refused_with_its_key(void **state)
{
	static const char *const wrong[][2] = {
		{ "/a write", "rule: " }, { "/a read text=\"1 2", "rule: a quotation" },
		{ "/a write EIO 1 2 3", "rule: " },
		{ "a write EIO", "glob: 'a'" },
		{ "/a shout EIO", "operation: 'shout'" }, { "/a rite EIO", "did you mean write" },
		{ "/a write ENOSUCH", "fault: 'ENOSUCH'" }, { "/a write ignoredly", "fault: 'ignoredly'" },
		{ "/a read ignored", "fault: only what changes" }, { "/a any ignored", "fault: only what changes" },
		{ "/a write text=1", "fault: only read" }, { "/a open short=1", "fault: only read" },
		{ "/a read short=0", "fault: '0'" }, { "/a read short=", "fault: ''" },
		{ "/a read delay=3", "fault: '3'" },
		{ "/a write EIO x", "times: 'x'" }, { "/a write EIO 1 -1", "after: '-1'" },
		{ "/a write EIO 99999999999999999999", "times: " },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(inject_add(wrong[i][0], root, error, sizeof(error)), -EINVAL);
		assert_non_null(strstr(error, wrong[i][1]));
	}
}

static void whatever_is_written_is_a_rule_or_refused_with_a_key(void **state)
{
	static const char *const words[] = { "/a", "*", "[", "\"", "#", "\\n", "any", "read", "text=", "text=\"a",
					     "short=9", "gone", "delay=1h", "EIO", "0", "18446744073709551615", "%s%n",
					     "\t", "" };
	struct rng dice;
	char line[512];

	(void)state;
	rng_seed(&dice, 1);
	for (int i = 0; i < 20000; i++) {
		size_t len = 0;

		for (uint32_t nr = rng_below(&dice, 8); nr; nr--)
			len += (size_t)snprintf(line + len, sizeof(line) - len, "%s%s", words[rng_below(&dice, 19)],
						rng_below(&dice, 5) ? " " : "");
		line[len] = '\0';
		if (inject_add(line, root, error, sizeof(error)))
			assert_non_null(strstr(error, ": "));
		inject_clear();
	}
}

static void a_file_of_rules_is_refused_with_the_place(void **state)
{
	(void)state;
	tree_put(root, "# faults\n\n/sys/a write EIO # for ever\n/sys/a writes EIO\n", "rules");
	assert_int_equal(inject_load(path_to("rules"), root, error, sizeof(error)), -EINVAL);
	assert_non_null(strstr(error, "/rules:4: operation: 'writes'"));
	assert_int_equal(inject_nr_rules(), 1);
	assert_int_equal(inject_load("/nonexistent", root, error, sizeof(error)), -ENOENT);
}

static void a_rule_that_nothing_was_about_is_known(void **state)
{
	(void)state;
	tree_put(root, "/sys/a write EIO 1 5\n/sys/b write EIO\n", "rules");
	assert_int_equal(inject_load(path_to("rules"), root, error, sizeof(error)), 0);
	assert_int_equal(write_a("2"), 0);
	assert_null(inject_unused(0));
	assert_non_null(strstr(inject_unused(1), "/rules:2"));
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
		TREE_TEST(every_call_has_its_operation),
		TREE_TEST(no_reader_gets_around_the_rules),
		TREE_TEST(a_text_is_read_in_place_of_what_is_there),
		TREE_TEST(streams_fail_as_their_files_do),
		TREE_TEST(short_calls_do_a_part),
		TREE_TEST(what_is_gone_is_not_there_and_no_device),
		TREE_TEST(a_delay_takes_its_time),
		TREE_TEST(who_is_killed_has_not_done_it),
		TREE_TEST(every_errno_has_its_name),
		TREE_TEST(what_makes_no_sense_is_refused_with_its_key),
		TREE_TEST(whatever_is_written_is_a_rule_or_refused_with_a_key),
		TREE_TEST(a_file_of_rules_is_refused_with_the_place),
		TREE_TEST(a_rule_that_nothing_was_about_is_known),
		TREE_TEST(rules_have_a_limit),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("inject", tests, NULL, NULL);
}
