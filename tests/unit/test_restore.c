/* SPDX-License-Identifier: GPL-2.0 */
/*
 * test_restore.c - putting back: from hand-written journals on a fake tree, and after kill -9 on this machine, as root.
 * wrap: pwrite
 * waits: groups
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "fixtures/fault.h"
#include "fixtures/live.h"
#include "inject.h"
#include "restore.h"

static char root[TREE_PATH_SIZE], error[512];

static int make_tree(void **state)
{
	(void)state;
	tree_make(root);
	return 0;
}

static int remove_tree(void **state)
{
	(void)state;
	fault_set(NULL, NULL, 0);
	tree_remove(root);
	return 0;
}

/* Writes root/journal: a header and `lines`, in which every @ is replaced by the root. */
static void put_journal(const char *lines)
{
	char text[8192];
	size_t len = (size_t)snprintf(text, sizeof(text), "parties journal 1\n");

	for (; *lines; lines++) {
		bool is_root = *lines == '@';

		len += (size_t)snprintf(text + len, sizeof(text) - len, "%.*s", is_root ? (int)strlen(root) : 1,
					is_root ? root : lines);
	}
	tree_put(root, text, "journal");
}

static bool journal_is_there(void)
{
	return tree_get(root, "journal")[0];
}

static void no_journal_means_nothing_to_do(void **state)
{
	(void)state;
	assert_int_equal(restore_journal("", root, error, sizeof(error)), 0);
	assert_int_equal(restore_killed_run("", "/nonexistent/parties", error, sizeof(error)), 0);
	assert_string_equal(error, "");
}

static void values_are_put_back_and_right_ones_left_alone(void **state)
{
	(void)state;
	tree_put(root, "5\n", "a");
	tree_put(root, "6\n", "b");
	put_journal("value\t@/a\t4\nvalue\t@/b\t6\nwrite\t@/c\tx\n");
	assert_int_equal(restore_journal("", root, error, sizeof(error)), 1);
	assert_string_equal(tree_get(root, "a"), "4");
	assert_string_equal(tree_get(root, "b"), "6");
	assert_false(journal_is_there());
	assert_int_equal(restore_journal("", root, error, sizeof(error)), 0);
}

static void the_first_line_about_a_file_is_its_original(void **state)
{
	(void)state;
	tree_put(root, "5\n", "a");
	put_journal("value\t@/a\t3\nvalue\t@/a\t4\n");
	assert_true(restore_journal("", root, error, sizeof(error)) > 0);
	assert_string_equal(tree_get(root, "a"), "3");
}

static void a_line_that_was_cut_off_was_never_acted_on(void **state)
{
	(void)state;
	tree_put(root, "5\n", "a");
	put_journal("value\t@/a\t4");
	assert_int_equal(restore_journal("", root, error, sizeof(error)), 0);
	assert_string_equal(tree_get(root, "a"), "5");
	assert_false(journal_is_there());
}

static void a_journal_that_cannot_be_read_to_its_end_is_kept(void **state)
{
	(void)state;
	tree_put(root, "9\n", "a");
	put_journal("value\t@/a\t1\n");
	assert_int_equal(inject_add("/journal read EIO", root, error, sizeof(error)), 0);
	assert_int_equal(restore_journal("", root, error, sizeof(error)), -EIO);
	assert_true(journal_is_there());
	inject_clear();
	assert_int_equal(restore_journal("", root, error, sizeof(error)), 1);
	assert_string_equal(tree_get(root, "a"), "1");
}

static void a_journal_that_was_cut_off_in_its_first_line_is_empty(void **state)
{
	(void)state;
	tree_put(root, "parties jour", "journal");
	assert_int_equal(restore_journal("", root, error, sizeof(error)), 0);
	assert_false(journal_is_there());
}

static void files_that_are_gone_are_fine(void **state)
{
	(void)state;
	put_journal("value\t@/a\t4\ngroup\t@/g\t@\ntask\t1\t2\t@/g\t@/h\n");
	assert_int_equal(restore_journal("", root, error, sizeof(error)), 0);
	assert_false(journal_is_there());
}

static void what_cannot_be_put_back_is_told_and_the_rest_is_put_back(void **state)
{
	(void)state;
	tree_put(root, "5\n", "a");
	tree_put(root, "5\n", "bad");
	tree_put(root, "5\n", "z");
	put_journal("value\t@/a\t4\nvalue\t@/bad\t1\nvalue\t@/z\t4\n");
	fault_set("/bad", NULL, EACCES);
	assert_int_equal(restore_journal("", root, error, sizeof(error)), -EACCES);
	assert_non_null(strstr(error, "/bad"));
	assert_string_equal(tree_get(root, "a"), "4");
	assert_string_equal(tree_get(root, "z"), "4");
	assert_true(journal_is_there());
	fault_set(NULL, NULL, 0);
	assert_int_equal(restore_journal("", root, error, sizeof(error)), 1);
	assert_string_equal(tree_get(root, "bad"), "1");
	assert_false(journal_is_there());
}

/* Here the highest speed may not go below the lowest, as on old kernels. */
/* The kernel refuses an empty set for a group with tasks in it. */
static void a_set_that_cannot_be_emptied_limits_nothing(void **state)
{
	(void)state;
	tree_put(root, "1\n", "g/cpuset.cpus");
	tree_put(root, "0-3\n", "sys/devices/system/cpu/possible");
	put_journal("value\t@/g/cpuset.cpus\t\n");
	fault_set("/g/cpuset.cpus", "\n", ENOSPC);
	assert_int_equal(restore_journal(root, root, error, sizeof(error)), 1);
	assert_string_equal(tree_line(root, "g/cpuset.cpus"), "0-3");
	assert_false(journal_is_there());
	put_journal("value\t@/g/other\t\n");
	tree_put(root, "1\n", "g/other");
	fault_set("/g/other", "\n", ENOSPC);
	assert_int_equal(restore_journal(root, root, error, sizeof(error)), -ENOSPC);
}

/* Somebody hands it on by now. */
static void a_controller_that_is_in_use_below_stays_on(void **state)
{
	(void)state;
	tree_put(root, "cpuset\n", "cgroup.subtree_control");
	tree_put(root, "1\n", "a");
	put_journal("value\t@/a\t2\nwrite\t@/cgroup.subtree_control\t-cpuset\n");
	fault_set("/cgroup.subtree_control", NULL, EBUSY);
	assert_int_equal(restore_journal("", root, error, sizeof(error)), 1);
	assert_string_equal(tree_line(root, "a"), "2");
	assert_false(journal_is_there());
}

static void values_that_bind_each_other_are_tried_again(void **state)
{
	(void)state;
	tree_put(root, "5\n", "first");
	tree_put(root, "5\n", "second");
	put_journal("value\t@/first\t4\nvalue\t@/second\t4\n");
	fault_set("/second", NULL, EINVAL);
	fault_until("/first");
	assert_int_equal(restore_journal("", root, error, sizeof(error)), 2);
	assert_string_equal(tree_get(root, "first"), "4");
	assert_string_equal(tree_get(root, "second"), "4");
}

static void a_journal_of_another_version_is_left_alone(void **state)
{
	(void)state;
	tree_put(root, "parties journal 2\nvalue\t/dev/null\tx\n", "journal");
	assert_int_equal(restore_journal("", root, error, sizeof(error)), -EPROTO);
	assert_true(journal_is_there());
}

static void a_line_without_sense_is_told_and_the_others_count(void **state)
{
	(void)state;
	tree_put(root, "5\n", "a");
	put_journal("rubbish\nvalue\t@/a\t4\n");
	assert_int_equal(restore_journal("", root, error, sizeof(error)), -EBADMSG);
	assert_string_equal(tree_get(root, "a"), "4");
	assert_true(journal_is_there());
}

static void somebody_elses_journal_is_not_obeyed(void **state)
{
	char path[PATH_MAX];

	(void)state;
	if (geteuid())
		skip();
	tree_put(root, "5\n", "a");
	put_journal("value\t@/a\t4\n");
	snprintf(path, sizeof(path), "%s/journal", root);
	assert_int_equal(chown(path, 65534, 65534), 0);
	assert_int_equal(restore_journal("", root, error, sizeof(error)), -EPERM);
	assert_string_equal(tree_get(root, "a"), "5");
}

static struct topology topo;
static pid_t service, batch;

/* Opens the machine and squeezes everybody, `nr_steps` times, then says so and waits for the end. */
static void hold_machine(int say, int nr_steps)
{
	static struct match_pids service_pids, batch_pids;
	struct machine_group services = { .name = "live-service", .target_ns = 10000000, .pids = &service_pids };
	struct machine_group batches = { .name = "live-batch", .pids = &batch_pids };
	struct machine_opts opts = { .root = "", .state_dir = live.state_dir, .topology = &topo,
				     .speed = CONFIG_SPEED_AUTO, .nr_services = 1, .nr_batches = 1,
				     .services = &services, .batches = &batches };
	struct machine *machine;
	struct outcome outcome;

	service_pids = live_pids(service);
	batch_pids = live_pids(batch);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (machine_open(&machine, &opts, error, sizeof(error)))
		_exit(1);
	for (int i = 0; i < nr_steps; i++) {
		struct actuator actuator = machine_actuator(machine);
		struct allocation a;

		allocation_init(&a, &topo, 1, 0);
		a.owner[0] = 0;
		if (topo.nr_cores > 1)
			a.owner[1] = (int16_t)(i % 2 ? ALLOCATION_BE : ALLOCATION_IDLE);
		a.speed[0] = (uint32_t)i % machine_ladder(machine)->nr_steps;
		actuator.apply(actuator.ctx, &a, &outcome);
	}
	if (write(say, "x", 1) == 1)
		pause();
	_exit(0);
}

static pid_t start_holder(int nr_steps, bool wait)
{
	char byte = 0;
	int ready[2];
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0)
		hold_machine(ready[1], nr_steps);
	close(ready[1]);
	if (wait)
		assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static char *prepare(void)
{
	const char *reason = live_unable();

	if (reason) {
		print_message("# skip: %s\n", reason);
		skip();
	}
	assert_int_equal(topology_read("", &topo), 0);
	service = live_spawn(6, false);
	batch = live_spawn(2, false);
	return live_picture();
}

static void assert_as(char *before)
{
	char *after = live_picture();

	assert_string_equal(after, before);
	free(after);
	assert_false(live_has_group(CGROUP_CPUSET, CGROUP_OWN));
	assert_string_equal(tree_get(live.state_dir, "journal"), "");
}

static void a_killed_run_is_undone_and_a_second_restore_finds_nothing(void **state)
{
	char *before = prepare();
	pid_t holder;

	(void)state;
	for (int steps = 0; steps < 4; steps++) {
		holder = start_holder(steps, true);
		assert_true(live_has_group(CGROUP_CPUSET, CGROUP_OWN "/live-service"));
		live_kill(holder);
		assert_true(restore_killed_run("", live.state_dir, error, sizeof(error)) > 0);
		assert_as(before);
		assert_int_equal(restore_killed_run("", live.state_dir, error, sizeof(error)), 0);
	}
	free(before);
}

static void a_run_killed_at_any_moment_is_undone(void **state)
{
	char *before = prepare();

	(void)state;
	for (long us = 500; us < 30000; us += us / 3) {
		struct timespec t = { .tv_nsec = us * 1000 };
		pid_t holder = start_holder(1000, false);

		nanosleep(&t, NULL);
		live_kill(holder);
		if (restore_killed_run("", live.state_dir, error, sizeof(error)) < 0)
			fail_msg("after %ld us: %s", us, error);
		assert_as(before);
	}
	free(before);
}

static void a_run_that_is_alive_is_named_and_left_alone(void **state)
{
	static struct match_pids pids;
	struct machine_group group = { .name = "second", .target_ns = 10000000, .pids = &pids };
	struct machine_opts opts = { .root = "", .state_dir = live.state_dir, .topology = &topo,
				     .speed = CONFIG_SPEED_AUTO, .nr_services = 1, .services = &group };
	char *before = prepare(), pid[32];
	struct machine *machine = NULL;
	pid_t holder;

	(void)state;
	pids = live_pids(service);
	holder = start_holder(1, true);
	snprintf(pid, sizeof(pid), "pid %d ", (int)holder);
	assert_int_equal(restore_killed_run("", live.state_dir, error, sizeof(error)), -EBUSY);
	assert_non_null(strstr(error, pid));
	assert_int_equal(machine_open(&machine, &opts, error, sizeof(error)), -EBUSY);
	assert_non_null(strstr(error, pid));
	assert_true(live_has_group(CGROUP_CPUSET, CGROUP_OWN "/live-service"));
	live_kill(holder);
	assert_true(restore_killed_run("", live.state_dir, error, sizeof(error)) > 0);
	assert_as(before);
	free(before);
}

static void the_next_start_puts_back_before_it_looks_at_anything(void **state)
{
	static struct match_pids pids;
	struct machine_group group = { .name = "second", .target_ns = 10000000, .pids = &pids };
	struct machine_opts opts = { .root = "", .state_dir = live.state_dir, .topology = &topo,
				     .speed = CONFIG_SPEED_AUTO, .nr_services = 1, .services = &group };
	char *before = prepare();
	struct machine *machine;

	(void)state;
	live_kill(start_holder(3, true));
	pids = live_pids(service);
	assert_int_equal(machine_open(&machine, &opts, error, sizeof(error)), 0);
	assert_false(live_has_group(CGROUP_CPUSET, CGROUP_OWN "/live-service"));
	assert_int_equal(machine_close(machine), 0);
	assert_as(before);
	free(before);
}

/* Born inside our groups, so without a line of its own. */
static void a_child_of_a_moved_process_goes_home_with_it(void **state)
{
	char *before = prepare(), *after;
	pid_t holder;

	(void)state;
	free(before);
	live_make_group(CGROUP_CPUSET, LIVE_HOME);
	live_move(CGROUP_CPUSET, LIVE_HOME, service);
	kill(service, SIGUSR1); /* forks */
	live_pause_ms(100);
	before = live_picture();
	holder = start_holder(1, true);
	kill(service, SIGUSR1);
	live_pause_ms(100);
	live_kill(holder);
	assert_true(restore_killed_run("", live.state_dir, error, sizeof(error)) > 0);
	after = live_picture();
	assert_string_equal(after, before);
	assert_non_null(strchr(live_get(CGROUP_CPUSET, LIVE_HOME, "cgroup.procs"), '\n')); /* it and its children */
	free(after);
	free(before);
}

static int run(void)
{
#define TREE_TEST(f) cmocka_unit_test_setup_teardown(f, make_tree, remove_tree)
#define LIVE_TEST(f) cmocka_unit_test_setup_teardown(f, live_start, live_clean)
	const struct CMUnitTest tests[] = {
		TREE_TEST(no_journal_means_nothing_to_do),
		TREE_TEST(values_are_put_back_and_right_ones_left_alone),
		TREE_TEST(the_first_line_about_a_file_is_its_original),
		TREE_TEST(a_line_that_was_cut_off_was_never_acted_on),
		TREE_TEST(a_journal_that_was_cut_off_in_its_first_line_is_empty),
		TREE_TEST(a_journal_that_cannot_be_read_to_its_end_is_kept),
		TREE_TEST(files_that_are_gone_are_fine),
		TREE_TEST(what_cannot_be_put_back_is_told_and_the_rest_is_put_back),
		TREE_TEST(values_that_bind_each_other_are_tried_again),
		TREE_TEST(a_set_that_cannot_be_emptied_limits_nothing),
		TREE_TEST(a_controller_that_is_in_use_below_stays_on),
		TREE_TEST(a_journal_of_another_version_is_left_alone),
		TREE_TEST(a_line_without_sense_is_told_and_the_others_count),
		TREE_TEST(somebody_elses_journal_is_not_obeyed),
		LIVE_TEST(a_killed_run_is_undone_and_a_second_restore_finds_nothing),
		LIVE_TEST(a_run_killed_at_any_moment_is_undone),
		LIVE_TEST(a_run_that_is_alive_is_named_and_left_alone),
		LIVE_TEST(the_next_start_puts_back_before_it_looks_at_anything),
		LIVE_TEST(a_child_of_a_moved_process_goes_home_with_it),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("restore", tests, NULL, NULL);
}

int main(void)
{
	return live_guard(run);
}
