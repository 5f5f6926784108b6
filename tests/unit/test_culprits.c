// SPDX-License-Identifier: GPL-2.0
/*
 * test_culprits.c - groups of this machine by their ids, as root.
 * waits: groups
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroup.h"
#include "culprits.h"

static struct cgroup_names *names;
static char dir[KNOB_PATH_SIZE], made[KNOB_PATH_SIZE + 300];

/* A group whose name has so many letters, with one below; its id, or 0 where none can be made. */
static uint64_t make_group(size_t nr_letters)
{
	struct cgroup_mounts mounts;
	char name[300];
	struct stat st;

	if (cgroup_read_mounts("", &mounts) || !mounts.kinds[CGROUP_CPU].version)
		return 0;
	snprintf(dir, sizeof(dir), "%s", mounts.kinds[CGROUP_CPU].dir);
	memset(name, 'n', nr_letters);
	snprintf(name + nr_letters, sizeof(name) - nr_letters, "-%d", (int)getpid());
	snprintf(made, sizeof(made), "%s/%s", dir, name);
	if (mkdir(made, 0755) || stat(made, &st))
		return 0;
	return st.st_ino;
}

static int set_up(void **state)
{
	(void)state;
	made[0] = '\0';
	names = cgroup_names_open();
	return !names;
}

static int tear_down(void **state)
{
	(void)state;
	cgroup_names_close(names);
	if (made[0])
		rmdir(made);
	return 0;
}

#define NEEDS_GROUP(id)                                                                                                \
	do {                                                                                                           \
		if (geteuid() || !(id)) {                                                                              \
			print_message("# skip: needs root and a cpu controller\n");                                    \
			skip();                                                                                        \
		}                                                                                                      \
	} while (0)

static void a_group_is_found_by_its_id_and_remembered(void **state)
{
	uint64_t id = make_group(5);
	char path[CULPRIT_CGROUP_SIZE];

	(void)state;
	NEEDS_GROUP(id);
	cgroup_names_find(names, id, path, sizeof(path));
	assert_string_equal(path, made + strlen(dir));
	rmdir(made);
	cgroup_names_find(names, id, path, sizeof(path));
	assert_string_equal(path, made + strlen(dir));
}

static void a_long_path_keeps_its_end(void **state)
{
	uint64_t id = make_group(200);
	char path[CULPRIT_CGROUP_SIZE], end[16];

	(void)state;
	NEEDS_GROUP(id);
	cgroup_names_find(names, id, path, sizeof(path));
	snprintf(end, sizeof(end), "-%d", (int)getpid());
	assert_int_equal(strlen(path), sizeof(path) - 1);
	assert_memory_equal(path, "...nnn", 6);
	assert_string_equal(path + strlen(path) - strlen(end), end);
}

static void an_id_that_nobody_has_is_no_path(void **state)
{
	char path[CULPRIT_CGROUP_SIZE] = "x";

	(void)state;
	cgroup_names_find(names, 0x7fffffffffff, path, sizeof(path));
	assert_string_equal(path, "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_group_is_found_by_its_id_and_remembered),
		TEST(a_long_path_keeps_its_end),
		TEST(an_id_that_nobody_has_is_no_path),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
