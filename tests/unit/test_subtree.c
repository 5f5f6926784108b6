/* SPDX-License-Identifier: GPL-2.0 */
/*
 * test_subtree.c - making groups in the part of the hierarchy that is ours to use, as root; leaves nothing.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <sys/mount.h>
#include <sys/xattr.h>

#include "fixtures/rig.h"

/*
 * What a container with its own view of version 2 looks like: the top of the view is a group full of processes, which
 * the kernel does not let hand out controllers.  Runs in a child, which says in one character what went wrong.
 */
static char try_in_container(void)
{
	char *there;
	int err;

	if (unshare(CLONE_NEWCGROUP | CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    umount2(live.mounts.kinds[CGROUP_CPUSET].dir, MNT_DETACH) ||
	    mount("none", live.mounts.kinds[CGROUP_CPUSET].dir, "cgroup2", 0, NULL))
		return 'n';
	there = live_picture();
	err = machine_open(&machine, &opts, error, sizeof(error));
	if (err) {
		print_message("# %s\n", error);
		return 'o';
	}
	if (!live_has_group(CGROUP_CPUSET, CGROUP_OWN "/" SERVICE))
		return 'g';
	err = machine_close(machine);
	if (err)
		return 'c';
	return strcmp(there, live_picture()) || live_has_group(CGROUP_CPUSET, CGROUP_OWN) ? 'l' : 'k';
}

/* Likewise: a part of the hierarchy that systemd gave to us, in which we are ourselves. */
static char try_delegated(void)
{
	char home[KNOB_PATH_SIZE + 16], was[KNOB_PATH_SIZE], is[KNOB_PATH_SIZE];
	const struct cgroup_mount *mount = &live.mounts.kinds[CGROUP_CPUSET];
	struct allocation a = allocate(1, true, 3);

	snprintf(home, sizeof(home), "%s/" LIVE_HOME, mount->dir);
	if (setxattr(home, "user.delegate", "1", 1, 0) && setxattr(home, "trusted.delegate", "1", 1, 0))
		return 'x';
	if (machine_open(&machine, &opts, error, sizeof(error))) {
		print_message("# %s\n", error);
		return 'o';
	}
	if (!live_has_group(CGROUP_CPUSET, LIVE_HOME "/" CGROUP_OWN "/" SERVICE) || live_has_group(CGROUP_CPUSET, CGROUP_OWN) ||
	    !strstr(machine_describe(machine), " subtree=/" LIVE_HOME " "))
		return 'g';
	assert_applied(&a, UINT32_MAX);
	assert_cpus(LIVE_HOME "/" CGROUP_OWN "/" SERVICE, &a, 0);
	if (cgroup_read_task("", mount, 0, is, sizeof(is)) || !strcmp(is, home))
		return 'm';
	if (machine_close(machine) || live_has_group(CGROUP_CPUSET, LIVE_HOME "/" CGROUP_OWN))
		return 'c';
	if (cgroup_read_task("", mount, 0, was, sizeof(was)) || strcmp(was, home))
		return 'h';
	return live_get(CGROUP_CPUSET, LIVE_HOME, "cgroup.subtree_control")[0] ? 's' : 'k';
}

static void put_everybody_into(const char *group, pid_t container)
{
	live_move(CGROUP_CPUSET, group, service_pids.pids[0]);
	live_move(CGROUP_CPUSET, group, batch_pids.pids[0]);
	live_move(CGROUP_CPUSET, group, container);
}

/* Runs `try` in a child that is, with our processes, in LIVE_HOME, which may hand out what it likes. */
static void try_inside(char (*try)(void))
{
	int go[2], said[2];
	char verdict = 0;
	pid_t child;

	prepare();
	if (live.mounts.kinds[CGROUP_CPUSET].version != 2) {
		print_message("# skip: the cpuset controller is version 1\n");
		skip();
	}
	assert_int_equal(pipe(go) || pipe(said), 0);
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(go[0], &verdict, 1) == 1)
			verdict = try();
		_exit(write(said[1], &verdict, 1) != 1);
	}
	live.children[live.nr_children++] = child;
	tree_put(live.mounts.kinds[CGROUP_CPUSET].dir, "+cpuset +cpu", "cgroup.subtree_control");
	live_make_group(CGROUP_CPUSET, LIVE_HOME);
	put_everybody_into(LIVE_HOME, child);
	assert_int_equal(write(go[1], "x", 1), 1);
	assert_int_equal(read(said[0], &verdict, 1), 1);
	tree_put(live.mounts.kinds[CGROUP_CPUSET].dir, "-cpuset -cpu", "cgroup.subtree_control");
	assert_int_equal(verdict, 'k');
}

static void in_a_container_the_processes_at_the_top_make_room(void **state)
{
	(void)state;
	try_inside(try_in_container);
}

static void a_subtree_that_was_delegated_to_us_is_where_our_groups_are(void **state)
{
	(void)state;
	try_inside(try_delegated);
}

static int run(void)
{
#define LIVE_TEST(f) cmocka_unit_test_setup_teardown(f, rig_start, rig_finish)
	const struct CMUnitTest tests[] = {
		LIVE_TEST(in_a_container_the_processes_at_the_top_make_room),
		LIVE_TEST(a_subtree_that_was_delegated_to_us_is_where_our_groups_are),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("subtree", tests, NULL, NULL);
}

int main(void)
{
	return live_guard(run);
}
