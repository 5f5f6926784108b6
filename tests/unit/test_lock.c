/* SPDX-License-Identifier: GPL-2.0 */
/* test_lock.c - one instance at a time, named, and nothing left behind. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <sys/wait.h>

#include "fixtures/tree.h"
#include "lock.h"

static char root[TREE_PATH_SIZE], dir[TREE_PATH_SIZE + 8], error[256];
static struct lock lock;

static int make_tree(void **state)
{
	(void)state;
	tree_make(root);
	snprintf(dir, sizeof(dir), "%s/state", root);
	lock.fd = -1;
	return 0;
}

static int remove_tree(void **state)
{
	(void)state;
	lock_release(&lock);
	tree_remove(root);
	return 0;
}

static void a_directory_that_was_made_is_removed_again(void **state)
{
	(void)state;
	assert_int_equal(lock_take(&lock, dir, true, error, sizeof(error)), 0);
	assert_int_equal(atoi(tree_get(dir, "lock")), getpid());
	lock_release(&lock);
	assert_int_equal(access(dir, F_OK), -1);
	lock_release(&lock);
}

static void a_directory_that_was_there_stays(void **state)
{
	(void)state;
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(lock_take(&lock, dir, true, error, sizeof(error)), 0);
	lock_release(&lock);
	assert_int_equal(rmdir(dir), 0); /* empty */
}

static void without_leave_to_make_it_a_missing_directory_is_an_answer(void **state)
{
	(void)state;
	assert_int_equal(lock_take(&lock, dir, false, error, sizeof(error)), -ENOENT);
	assert_int_equal(access(dir, F_OK), -1);
}

static void a_directory_that_cannot_be_made_is_told(void **state)
{
	(void)state;
	assert_int_equal(lock_take(&lock, "/nonexistent/parties", true, error, sizeof(error)), -ENOENT);
	assert_non_null(strstr(error, "/nonexistent/parties"));
}

static void the_second_one_is_told_the_pid_of_the_first(void **state)
{
	struct lock second;
	char pid[32];

	(void)state;
	assert_int_equal(lock_take(&lock, dir, true, error, sizeof(error)), 0);
	assert_int_equal(lock_take(&second, dir, true, error, sizeof(error)), -EBUSY);
	snprintf(pid, sizeof(pid), "pid %d ", (int)getpid());
	assert_non_null(strstr(error, pid));
}

static void a_look_names_the_holder_and_takes_nothing(void **state)
{
	char holder[16] = "";

	(void)state;
	assert_int_equal(lock_look("", dir, holder), 0); /* no directory */
	assert_int_equal(lock_take(&lock, dir, true, error, sizeof(error)), 0);
	assert_int_equal(lock_look("", dir, holder), -EBUSY);
	assert_int_equal(atoi(holder), getpid());
	lock_release(&lock);
	tree_put(dir, "1\n", "lock"); /* left by one that was killed */
	assert_int_equal(lock_look("", dir, holder), 0);
	assert_int_equal(lock_take(&lock, dir, true, error, sizeof(error)), 0);
}

static void a_dead_holders_directory_is_still_ours_to_remove(void **state)
{
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(lock_take(&lock, dir, true, error, sizeof(error)) != 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(atoi(tree_get(dir, "lock")), pid);
	assert_int_equal(lock_take(&lock, dir, false, error, sizeof(error)), 0);
	lock_release(&lock);
	assert_int_equal(access(dir, F_OK), -1);
}

static void a_directory_in_which_something_waits_is_removed_when_that_is_done(void **state)
{
	char path[TREE_PATH_SIZE + 32];

	(void)state;
	assert_int_equal(lock_take(&lock, dir, true, error, sizeof(error)), 0);
	tree_put(dir, "waits\n", "journal");
	lock_release(&lock);
	assert_int_equal(access(dir, F_OK), 0);
	assert_int_equal(lock_take(&lock, dir, false, error, sizeof(error)), 0);
	snprintf(path, sizeof(path), "%s/journal", dir);
	assert_int_equal(unlink(path), 0);
	lock_release(&lock);
	assert_int_equal(access(dir, F_OK), -1);
}

static void a_lock_file_that_is_a_link_is_not_followed(void **state)
{
	char path[TREE_PATH_SIZE + 16];

	(void)state;
	tree_put(root, "precious\n", "precious");
	assert_int_equal(mkdir(dir, 0700), 0);
	snprintf(path, sizeof(path), "%s/lock", dir);
	assert_int_equal(symlink("../precious", path), 0);
	assert_int_equal(lock_take(&lock, dir, true, error, sizeof(error)), -ELOOP);
	assert_string_equal(tree_get(root, "precious"), "precious");
}

int main(void)
{
#define TREE_TEST(f) cmocka_unit_test_setup_teardown(f, make_tree, remove_tree)
	const struct CMUnitTest tests[] = {
		TREE_TEST(a_directory_that_was_made_is_removed_again),
		TREE_TEST(a_directory_that_was_there_stays),
		TREE_TEST(without_leave_to_make_it_a_missing_directory_is_an_answer),
		TREE_TEST(a_directory_that_cannot_be_made_is_told),
		TREE_TEST(the_second_one_is_told_the_pid_of_the_first),
		TREE_TEST(a_look_names_the_holder_and_takes_nothing),
		TREE_TEST(a_dead_holders_directory_is_still_ours_to_remove),
		TREE_TEST(a_directory_in_which_something_waits_is_removed_when_that_is_done),
		TREE_TEST(a_lock_file_that_is_a_link_is_not_followed),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("lock", tests, NULL, NULL);
}
