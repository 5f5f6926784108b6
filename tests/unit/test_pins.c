// SPDX-License-Identifier: GPL-2.0
/*
 * test_pins.c - cores by the masks of threads: real processes of two CPUs or more, with cpusets left alone.
 * wrap: affinity_set
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "affinity.h"
#include "fixtures/rig.h"
#include "pins.h"

static struct cpulist all, first; /* CPUs of the machine, and of its first core */

static pthread_t newborn;
static bool is_due; /* a thread is born under the next mask that is set */

int __real_affinity_set(pid_t tid, const struct cpulist *mask);
int __wrap_affinity_set(pid_t tid, const struct cpulist *mask);
int __wrap_affinity_set(pid_t tid, const struct cpulist *mask)
{
	if (is_due)
		pthread_create(&newborn, NULL, live_thread, NULL);
	is_due = false;
	return __real_affinity_set(tid, mask);
}

static void begin(void)
{
	prepare();
	opts.affinity = CONFIG_AFFINITY_YES;
	opts.speed = CONFIG_SPEED_NONE;
	topology_cpus(&topo, &all);
	first = topo.cores[0].cpus;
	if (topo.nr_cores < 2 || affinity_read(service_pids.pids[0], &all)) {
		print_message("# skip: needs two cores\n");
		skip();
	}
}

/* Threads of a process; how many of them have another mask. */
static uint32_t count_threads(pid_t pid, const struct cpulist *want, uint32_t *ret_nr_others)
{
	uint32_t nr = 0, nr_others = 0;
	struct cpulist have;
	struct dirent *e;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	assert_non_null(dir);
	while ((e = readdir(dir))) {
		if (e->d_name[0] == '.' || affinity_read(atoi(e->d_name), &have))
			continue;
		nr_others += !cpulist_equal(&have, want);
		nr++;
	}
	closedir(dir);
	*ret_nr_others = nr_others;
	return nr;
}

/* Every thread of a process has this mask; how many there are. */
static uint32_t assert_masks(pid_t pid, const struct cpulist *want)
{
	uint32_t nr_others, nr = count_threads(pid, want, &nr_others);

	assert_int_equal(nr_others, 0);
	return nr;
}

static pid_t child_of(pid_t pid)
{
	char path[64];
	pid_t child = 0;

	kill(pid, SIGUSR1);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	for (int i = 0; i < 100 && !child; i++) {
		live_pause_ms(5);
		child = atoi(tree_get("", path));
	}
	assert_true(child > 0);
	return child;
}

static struct cpulist rest_of(const struct allocation *a)
{
	struct cpulist cpus;

	allocation_cpus(a, &topo, ALLOCATION_BE, &cpus);
	return cpus;
}

static void every_thread_is_pinned_and_gets_its_mask_back(void **state)
{
	struct allocation one, other;
	struct cpulist rest;
	pid_t child;

	(void)state;
	begin();
	one = allocate(1, true, 0);
	rest = rest_of(&one);
	open_machine();
	assert_non_null(strstr(machine_describe(machine), "cpuset=none,affinity"));
	assert_false(live.mounts.kinds[CGROUP_CPUSET].version == 1 && live_has_group(CGROUP_CPUSET, CGROUP_OWN));
	assert_applied(&one, 100);
	assert_int_equal(assert_masks(service_pids.pids[0], &first), 8);
	assert_int_equal(assert_masks(batch_pids.pids[0], &rest), 3);
	assert_applied(&one, 0); /* nothing to do */
	child = child_of(service_pids.pids[0]);
	assert_masks(child, &first);
	other = one;
	for (uint32_t i = 0; i < other.nr_cores; i++)
		other.owner[i] = (int16_t)(i ? 0 : ALLOCATION_BE);
	assert_applied(&other, 100);
	assert_int_equal(assert_masks(service_pids.pids[0], &rest), 8);
	assert_masks(child, &first); /* not known yet */
	service_pids.nr = 2;
	service_pids.pids[1] = child;
	assert_true(machine_adopt(machine, false, 0, &service_pids) >= 0);
	assert_applied(&other, 100);
	assert_masks(child, &rest);
	close_machine();
	assert_masks(child, &all);
}

/* Its child is not in the journal; it has the mask of whoever made it. */
static void a_run_that_was_killed_is_undone(void **state)
{
	struct allocation one;
	pid_t run, child;

	(void)state;
	begin();
	one = allocate(1, false, 0);
	opts.nr_batches = 0;
	run = fork();
	if (run == 0) {
		open_machine();
		assert_applied(&one, 100);
		_exit(0); /* as if killed: nothing is put back */
	}
	assert_int_equal(waitpid(run, NULL, 0), run);
	assert_int_equal(assert_masks(service_pids.pids[0], &first), 8);
	child = child_of(service_pids.pids[0]);
	assert_masks(child, &first);
	assert_true(restore_killed_run("", live.state_dir, error, sizeof(error)) >= 9);
	assert_masks(child, &all);
	assert_as_before();
	assert_int_equal(restore_killed_run("", live.state_dir, error, sizeof(error)), 0);
}

static bool is_pinned(void)
{
	struct cpulist have;

	return !affinity_read(service_pids.pids[0], &have) && !cpulist_equal(&have, &all);
}

/* Killed at any moment, while it opens, moves cores to and fro, or has just begun to pin. */
static void a_run_that_is_killed_at_any_moment_is_undone(void **state)
{
	int nr_pinned = 0;

	(void)state;
	begin();
	opts.nr_batches = 0;
	srandom((unsigned int)getpid());
	for (int i = 0; i < 15; i++) {
		pid_t run = fork();

		if (run == 0) {
			struct allocation one = allocate(1, false, 0), other = one;

			for (uint32_t c = 0; c < other.nr_cores; c++)
				other.owner[c] = (int16_t)(c ? 0 : ALLOCATION_IDLE);
			open_machine();
			for (int step = 0;; step++)
				apply(step % 2 ? &other : &one);
		}
		/* Every other one not before it has pinned somebody. */
		for (int ms = 0; i % 2 && ms < 2000 && !is_pinned(); ms++)
			live_pause_ms(1);
		live_pause_ms(random() % 20);
		kill(run, SIGKILL);
		assert_int_equal(waitpid(run, NULL, 0), run);
		nr_pinned += is_pinned();
		if (restore_killed_run("", live.state_dir, error, sizeof(error)) < 0)
			fail_msg("%s", error);
		assert_as_before();
	}
	print_message("# killed 15 times, %d of them while threads were pinned\n", nr_pinned);
	assert_true(nr_pinned > 2);
}

/* Within its service's cores a thread that had pinned itself stays where it was; outside of them it follows. */
static void who_had_pinned_itself_keeps_what_both_have_in_common(void **state)
{
	struct pins pins = { 0 };
	struct cpulist have;
	struct outcome outcome = { 0 };
	struct journal *j;
	pid_t pid;

	(void)state;
	begin();
	pid = service_pids.pids[0];
	assert_int_equal(affinity_set(pid, &first), 0);
	assert_int_equal(journal_open(&j, live.state_dir), 0);
	assert_int_equal(pins_note(&pins, "", &service_pids, j), 0);
	pins.target = all;
	assert_int_equal(pins_apply(&pins, "", &service_pids, j, &outcome), 0);
	assert_int_equal(outcome.nr_writes, 0);
	assert_int_equal(affinity_count_apart(&service_pids, &pins.target), 1);
	pins.target = topo.cores[1].cpus;
	assert_int_equal(pins_apply(&pins, "", &service_pids, j, &outcome), 0);
	assert_int_equal(affinity_count_apart(&service_pids, &pins.target), 0);
	assert_int_equal(assert_masks(pid, &topo.cores[1].cpus), 8);
	pins.target = all;
	assert_int_equal(pins_apply(&pins, "", &service_pids, j, &outcome), 0);
	assert_int_equal(affinity_read(pid, &have), 0);
	assert_true(cpulist_equal(&have, &first));
	assert_int_equal(affinity_count_apart(&service_pids, &pins.target), 1);
	pins_close(&pins);
	journal_close(j);
	assert_true(restore_killed_run("", live.state_dir, error, sizeof(error)) >= 0);
	affinity_set(pid, &all);
	assert_as_before();
}

static void a_step_that_fails_afterwards_is_taken_back(void **state)
{
	struct pins pins = { 0 };
	struct outcome outcome = { 0 };
	struct journal *j;

	(void)state;
	begin();
	assert_int_equal(journal_open(&j, live.state_dir), 0);
	pins.target = first;
	assert_int_equal(pins_apply(&pins, "", &service_pids, j, &outcome), 0);
	assert_int_equal(outcome.nr_writes, 8);
	pins_rollback(&pins);
	assert_int_equal(assert_masks(service_pids.pids[0], &all), 8);
	assert_false(pins_drifted(&pins));
	assert_int_equal(pins_apply(&pins, "", &service_pids, j, &outcome), 0);
	assert_false(pins_drifted(&pins));
	assert_int_equal(assert_masks(service_pids.pids[0], &first), 8);
	pins_close(&pins);
	journal_close(j);
	assert_true(restore_killed_run("", live.state_dir, error, sizeof(error)) > 0);
	assert_as_before();
}

/* Its maker had not been pinned again, and the threads had been listed. */
static void a_thread_that_is_born_during_a_move_is_pinned_in_that_step(void **state)
{
	static struct match_pids self;
	struct pins pins = { 0 };
	struct outcome out = { 0 };
	struct journal *j;

	(void)state;
	begin();
	self = live_pids(getpid());
	assert_int_equal(journal_open(&j, live.state_dir), 0);
	pins.target = first;
	assert_int_equal(pins_apply(&pins, "", &self, j, &out), 0);
	pins.target = topo.cores[1].cpus;
	is_due = true;
	assert_int_equal(pins_apply(&pins, "", &self, j, &out), 0);
	assert_int_equal(assert_masks(getpid(), &topo.cores[1].cpus), 2);
	pins_close(&pins);
	journal_close(j);
	assert_true(restore_killed_run("", live.state_dir, error, sizeof(error)) >= 2);
	assert_int_equal(assert_masks(getpid(), &all), 2);
	pthread_cancel(newborn);
	pthread_join(newborn, NULL);
}

static void a_mask_that_is_changed_meanwhile_is_put_back_and_told(void **state)
{
	struct allocation one;
	struct outcome outcome;

	(void)state;
	begin();
	one = allocate(1, false, 0);
	opts.nr_batches = 0;
	open_machine();
	assert_applied(&one, 100);
	assert_int_equal(affinity_set(service_pids.pids[0], &all), 0);
	outcome = apply(&one);
	assert_int_equal(outcome.error, 0);
	assert_int_equal(outcome.nr_writes, 1);
	assert_string_equal(outcome.note, SERVICE ": somebody else changed its CPUs; put back");
	assert_int_equal(assert_masks(service_pids.pids[0], &first), 8);
	close_machine();
}

/* They are born and gone while we look; who was missed is found by one of the next steps. */
static void threads_that_are_born_all_the_time_are_pinned(void **state)
{
	struct allocation one, two;
	struct cpulist rest;

	(void)state;
	begin();
	service_pids = live_pids(live_spawn_breeder(5));
	one = allocate(1, false, 0);
	two = one;
	for (uint32_t i = 0; i < two.nr_cores; i++)
		two.owner[i] = (int16_t)(i ? 0 : ALLOCATION_IDLE);
	allocation_cpus(&two, &topo, 0, &rest);
	opts.nr_batches = 0;
	open_machine();
	for (int i = 0; i < 10; i++) {
		uint32_t nr_others = 1;

		for (int step = 0; nr_others && step < 50; step++) {
			assert_int_equal(apply(i % 2 ? &two : &one).error, 0);
			assert_true(count_threads(service_pids.pids[0], i % 2 ? &rest : &first, &nr_others) > 0);
		}
		assert_int_equal(nr_others, 0);
	}
	assert_int_equal(machine_close(machine), 0);
	machine = NULL;
	assert_true(assert_masks(service_pids.pids[0], &all) > 0);
}

/* In cpusets, too, where the kernel keeps the masks of those that are moved (6.2). */
static void threads_that_do_not_follow_are_counted(void **state)
{
	struct allocation whole;
	struct actuator actuator;
	static struct trouble trouble;
	struct cpulist have;

	(void)state;
	begin();
	opts.affinity = CONFIG_AFFINITY_NO;
	opts.nr_batches = 0;
	assert_int_equal(affinity_set(service_pids.pids[0], &first), 0);
	free(before);
	before = live_picture();
	whole = allocate(topo.nr_cores, false, 0);
	open_machine();
	actuator = machine_actuator(machine);
	for (int i = 0; i < POLICY_MAX_SERVICES; i++) /* each service's turn comes once in so many steps */
		assert_applied(&whole, 100);
	actuator.trouble(actuator.ctx, &trouble);
	assert_int_equal(affinity_read(service_pids.pids[0], &have), 0);
	assert_int_equal(trouble.nr_apart[0], cpulist_equal(&have, &first));
	close_machine();
}

static int run(void)
{
#define PINS_TEST(f) cmocka_unit_test_setup_teardown(f, rig_start, rig_finish)
	const struct CMUnitTest tests[] = {
		PINS_TEST(every_thread_is_pinned_and_gets_its_mask_back),
		PINS_TEST(a_run_that_was_killed_is_undone),
		PINS_TEST(a_run_that_is_killed_at_any_moment_is_undone),
		PINS_TEST(who_had_pinned_itself_keeps_what_both_have_in_common),
		PINS_TEST(a_step_that_fails_afterwards_is_taken_back),
		PINS_TEST(a_thread_that_is_born_during_a_move_is_pinned_in_that_step),
		PINS_TEST(a_mask_that_is_changed_meanwhile_is_put_back_and_told),
		PINS_TEST(threads_that_do_not_follow_are_counted),
		PINS_TEST(threads_that_are_born_all_the_time_are_pinned),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("pins", tests, NULL, NULL);
}

int main(void)
{
	if (!access("/dev/shm", W_OK)) /* the journal is synced, and a disk takes its time */
		setenv("TMPDIR", "/dev/shm", 1);
	return live_guard(run);
}
