// SPDX-License-Identifier: GPL-2.0
/*
 * test_churn.c - hours of a machine on which everything comes and goes, an interval after the other without a pause:
 * services, control groups, CPUs, what others write, files that fail.  What must hold is looked at at every write and
 * after every interval.  Run under the sanitizers, too.
 * wrap: pread pwrite
 *
 *   test_churn             600 intervals; two hours of them (14,400) when all tests are wanted
 *   test_churn NUMBER SEED
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <time.h>

#include "fixtures/steered.h"
#include "fixtures/watched_writes.h"
#include "knob.h"
#include "rng.h"

enum { NR_SERVICES = 6, NR_BATCHES = 2, NR_GROUPS = NR_SERVICES + NR_BATCHES, NR_CPUS = 32, CALM = 150, ROLLBACKS = 60 };
enum { MEDDLED_SERVICE = 0 }; /* somebody insists on its values; on the others' only now and then */

static struct steered world;
static struct rng dice;
static uint64_t nr_intervals = 600, seed;
static struct cpulist online;
static struct {
	bool there, alive; /* the group, the process */
} groups[NR_GROUPS];
static const char *const files[] = { "cpuset.cpus", "cpu.max", "cgroup.freeze", "cpu.stat", "cgroup.procs" };
static const char *const originals[] = { "0-31", "max 100000", "0", "usage_usec 1", NULL };
enum { NR_FILES = 5, NR_OURS = 3 }; /* those that we write */
static uint32_t nr_steps_that_failed, nr_checked;

static uint32_t roll(uint32_t sides)
{
	return rng_below(&dice, sides);
}

/* ---- what happens -------------------------------------------------------------------------------------------------- */

static void put_group(uint32_t group)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%u\n", STEERED_PID + group);
	for (int f = 0; f < NR_FILES; f++)
		steered_put(&world, group, files[f], originals[f] ? originals[f] : pid);
	groups[group].there = true;
}

static void adopt(uint32_t group)
{
	static struct match_pids pids;
	bool batch = group >= NR_SERVICES;

	pids.nr = groups[group].alive;
	pids.pids[0] = (pid_t)(STEERED_PID + group);
	machine_adopt(world.machine, batch, batch ? group - NR_SERVICES : group, &pids);
}

static void remove_or_remake_group(uint32_t group)
{
	char path[TREE_PATH_SIZE + 136];

	if (!groups[group].there) {
		put_group(group);
		return;
	}
	snprintf(path, sizeof(path), "%s/%s", world.root, steered_path(&world, group, ""));
	tree_remove(path);
	groups[group].there = false;
}

static void exit_or_restart(uint32_t group)
{
	groups[group].alive = !groups[group].alive;
	adopt(group);
}

static void put_online(void)
{
	char text[KNOB_TEXT_SIZE];

	cpulist_format(&online, text, sizeof(text));
	strcat(text, "\n");
	tree_put(world.root, text, "sys/devices/system/cpu/online");
	tree_put(world.root, text, "sys/fs/cgroup/cpuset.cpus.effective");
}

/* Not so many that services lose their floors: that has a test of its own. */
static void switch_cpu(void)
{
	uint32_t cpu = roll(NR_CPUS);

	if (!cpulist_has(&online, cpu))
		cpulist_add(&online, cpu);
	else if (cpulist_count(&online) > NR_CPUS * 3 / 4)
		cpulist_remove(&online, cpu);
	put_online();
}

static void meddle(uint32_t group)
{
	static const char *const values[NR_OURS][3] = { { "0-3", "31", "0-31" },
							{ "max 100000", "50000 100000", "10000 20000" },
							{ "0", "1", "0" } };
	uint32_t file = group >= NR_SERVICES ? 0 : roll(2);

	if (groups[group].there)
		steered_put(&world, group, files[file], values[file][roll(3)]);
}

static void break_file(uint32_t group)
{
	static const char *const faults[] = { "write EBUSY", "write EACCES", "write ENOSPC", "write EINVAL", "write ignored",
					      "read EIO", "read ENOMEM", "write EINTR" };

	char rule[256];

	if (inject_nr_rules() == INJECT_MAX_RULES)
		inject_clear();
	snprintf(rule, sizeof(rule), "/%s %s %u %u", steered_path(&world, group, files[roll(NR_OURS)]), faults[roll(8)],
		 1 + roll(4), roll(4));
	assert_int_equal(inject_add(rule, world.root, world.error, sizeof(world.error)), 0);
}

static void something_happens(void)
{
	if (!roll(25))
		switch_cpu();
	for (uint32_t g = 0; g < NR_GROUPS; g++) { /* away for a while, and back */
		if (!roll(groups[g].there ? 400 : 8))
			remove_or_remake_group(g);
		if (!roll(groups[g].alive ? 200 : 8))
			exit_or_restart(g);
	}
	if (!roll(4))
		meddle(MEDDLED_SERVICE);
	if (!roll(150))
		meddle(roll(NR_GROUPS));
	if (!roll(12))
		break_file(roll(NR_GROUPS));
}

/* Latencies wander; a service without process or group is idle, some windows are lost or stalled. */
static int read_samples(void *ctx, uint64_t now_ns, struct sample *samples, uint32_t nr_services)
{
	static uint64_t wander_ns[NR_SERVICES];

	(void)ctx, (void)now_ns;
	if (!roll(200))
		return -EIO;
	for (uint32_t i = 0; i < nr_services; i++) {
		struct sample *s = &samples[i];

		memset(s, 0, sizeof(*s));
		s->window_ns = world.config.interval_ns;
		wander_ns[i] = (wander_ns[i] * 7 + (5 + roll(25)) * 1000000ull) / 8;
		if (!groups[i].alive || !groups[i].there)
			continue;
		s->nr_arrived = 500 + roll(1000);
		s->nr_completed = roll(100) ? s->nr_arrived : 0;
		s->nr_in_flight = s->nr_arrived - s->nr_completed;
		s->oldest_ns = s->nr_in_flight ? 300000000 : 0;
		s->steer_ns = s->p99_ns = s->nr_completed ? wander_ns[i] : 0;
		s->signal = roll(100) ? 0 : POLICY_LOST;
		s->cpu_ns = (uint64_t)(1 + roll(4)) * world.config.interval_ns;
	}
	return 0;
}

/* ---- what must hold ------------------------------------------------------------------------------------------------ */

static uint32_t count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	uint32_t nr = 0;

	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

static char *read_journal(void)
{
	return strdup(tree_get(world.root, "run/parties/journal"));
}

/* Every value that is to be put back is the one from before. */
static void check_journal(const char *text)
{
	uint32_t nr = 0;

	for (const char *line = strchr(text, '\n'); line && line[1]; line = strchr(line + 1, '\n')) {
		char path[KNOB_PATH_SIZE], value[64];

		assert_int_equal(sscanf(line + 1, "value\t%511[^\t]\t%63[^\n]", path, value), 2);
		for (int f = 0; f < NR_OURS; f++)
			if (!strcmp(strrchr(path, '/') + 1, files[f])) {
				assert_string_equal(value, originals[f]);
				nr++;
			}
	}
	assert_int_equal(nr, NR_GROUPS + NR_SERVICES + NR_BATCHES);
}

static bool is_left_to_others(uint32_t group)
{
	struct trouble trouble;

	world.tick.actuator.trouble(world.tick.actuator.ctx, &trouble);
	return group < NR_SERVICES ? trouble.services[group].left : trouble.batches.left;
}

/* The set of a group that is steered is that of the allocation.  One that was left to others keeps what it has. */
static void check_set(uint32_t group, struct cpulist *seen)
{
	const char *text = steered_get(&world, group, "cpuset.cpus");
	struct cpulist have, want, common;

	if (!groups[group].there)
		return;
	if (cpulist_parse(text, &have) || cpulist_empty(&have))
		fail_msg("%s has the set \"%s\"", world.names[group], text);
	if (group == MEDDLED_SERVICE || is_left_to_others(group))
		return;
	allocation_cpus(&world.tick.allocation, world.tick.topology, group < NR_SERVICES ? (int)group : ALLOCATION_BE, &want);
	cpulist_and(&want, &online);
	if (group < NR_SERVICES && groups[group].alive == 0)
		return; /* whoever starts in it may count all CPUs */
	if (group >= NR_SERVICES && cpulist_empty(&want)) {
		assert_string_equal(steered_get(&world, group, "cgroup.freeze"), "1");
		return;
	}
	if (!cpulist_equal(&have, &want))
		fail_msg("%s has %s, not what was decided", world.names[group], text);
	common = have;
	cpulist_and(&common, seen);
	if (group < NR_SERVICES && !cpulist_empty(&common))
		fail_msg("%s shares CPUs", world.names[group]);
	cpulist_or(seen, &have);
	nr_checked++;
}

static void check_floors(void)
{
	const struct policy_view *v = &world.tick.report.view;

	for (uint32_t i = 0; i < v->nr_services && v->nr_cores >= NR_SERVICES; i++)
		if (world.tick.report.decision.shares[i].cores < v->services[i].min.cores)
			fail_msg("%s is given less than its floor", world.names[i]);
}

static bool step_and_check(void)
{
	struct cpulist seen;
	bool ends = steered_step(&world) != 0;
	const struct outcome *outcome = &world.tick.report.outcome;

	cpulist_clear(&seen);
	if (nr_wrong_writes)
		fail_msg("wrong write: %s", wrong_write);
	check_floors();
	if (outcome->error) {
		assert_string_not_equal(outcome->where, "");
		nr_steps_that_failed++;
		return !ends;
	}
	for (uint32_t g = 0; g < NR_GROUPS; g++)
		check_set(g, &seen);
	return !ends;
}

static void check_tree_is_as_before(void)
{
	for (uint32_t g = 0; g < NR_GROUPS; g++)
		for (int f = 0; f < NR_OURS && groups[g].there; f++) {
			/* A limit that was never ours is not put back: batches have no quota. */
			if (f == 1 && g >= NR_SERVICES)
				continue;
			if (f == 2 && g < NR_SERVICES)
				continue;
			assert_string_equal(steered_get(&world, g, files[f]), originals[f]);
		}
	assert_string_equal(tree_get(world.root, "run/parties/journal"), "");
	assert_string_equal(tree_get(world.root, "run/parties/lock"), "");
}

/* ---- a life -------------------------------------------------------------------------------------------------------- */

static void remake_all(void)
{
	for (uint32_t g = 0; g < NR_GROUPS; g++)
		if (!groups[g].there)
			put_group(g);
}

/* A group that is not there at the start would be made, which takes a kernel. */
static void open_world(const struct policy_ops *policy)
{
	int err = topology_read(world.root, &world.topology);

	remake_all();
	if (!err)
		err = steered_open(&world, policy, (struct sensor){ NULL, read_samples });
	if (err)
		fail_msg("%s", world.error);
}

/* Without disturbance what others wrote now and then is put right. */
static void check_calm(void)
{
	inject_clear();
	remake_all();
	for (int i = 0; i < CALM; i++)
		assert_true(step_and_check());
	assert_int_equal(world.tick.report.outcome.error, 0);
}

static char *picture(void)
{
	static char text[NR_GROUPS * NR_OURS * 64];
	size_t len = 0;

	for (uint32_t g = 0; g < NR_GROUPS; g++)
		for (int f = 0; f < NR_OURS; f++)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s %s %s\n", world.names[g], files[f],
						steered_get(&world, g, files[f]));
	return strdup(text);
}

/* A step that fails once, at whichever write, leaves everything as it was before it. */
static void check_rollback(void)
{
	uint32_t nr_failed = 0;

	for (int i = 0; i < ROLLBACKS || (!nr_failed && i < 50 * ROLLBACKS); i++) { /* a policy may find nothing to do */
		char *before = picture(), *after, rule[64];

		snprintf(rule, sizeof(rule), "/sys/fs/cgroup/* write EBUSY 1 %u", roll(3));
		assert_int_equal(inject_add(rule, world.root, world.error, sizeof(world.error)), 0);
		steered_step(&world);
		after = picture();
		if (world.tick.report.outcome.error)
			assert_string_equal(after, before);
		nr_failed += world.tick.report.outcome.error != 0;
		inject_clear();
		assert_true(step_and_check());
		free(before);
		free(after);
	}
	assert_true(nr_failed > 0);
}

static void live(const struct policy_ops *policy)
{
	uint32_t nr_descriptors = count_descriptors(), nr_lives = 0;
	char *before, *after;

	for (uint64_t done = 0; done < nr_intervals; nr_lives++) {
		open_world(policy);
		before = read_journal();
		check_journal(before);
		for (bool goes_on = true; goes_on && done < nr_intervals && roll(2000); done++) {
			something_happens();
			goes_on = step_and_check();
		}
		if (done >= nr_intervals)
			check_calm();
		if (done >= nr_intervals)
			check_rollback();
		inject_clear();
		after = read_journal();
		assert_string_equal(after, before);
		free(before);
		free(after);
		assert_int_equal(steered_close(&world), 0);
		check_tree_is_as_before();
		assert_int_equal(count_descriptors(), nr_descriptors);
	}
	print_message("# %s: %u runs, %u steps of %lu failed, %u sets looked at\n", policy->name, nr_lives,
		      nr_steps_that_failed, (unsigned long)nr_intervals, nr_checked);
	assert_in_range(nr_steps_that_failed, 1, nr_intervals / 2);
	assert_in_range(nr_checked, nr_intervals, UINT32_MAX);
}

static int make_world(void **state)
{
	(void)state;
	rng_seed(&dice, seed);
	steered_lay_out(&world, "epyc-7302", NR_SERVICES, NR_BATCHES);
	watched_root = world.root;
	watched_nr_cpus = NR_CPUS;
	cpulist_parse("0-31", &online);
	put_online();
	for (uint32_t g = 0; g < NR_GROUPS; g++) {
		put_group(g);
		groups[g].alive = true;
	}
	nr_wrong_writes = nr_steps_that_failed = nr_checked = 0;
	return 0;
}

static int end_world(void **state)
{
	(void)state;
	steered_remove(&world);
	return 0;
}

static void parties_paper_lives_with_it(void **state)
{
	(void)state;
	live(&policy_parties_paper);
}

static void adaptive_lives_with_it(void **state)
{
	(void)state;
	live(&policy_adaptive);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(parties_paper_lives_with_it, make_world, end_world),
		cmocka_unit_test_setup_teardown(adaptive_lives_with_it, make_world, end_world),
	};

	seed = (uint64_t)time(NULL);
	if (getenv("TEST_ALL") && *getenv("TEST_ALL"))
		nr_intervals = 14400;
	if (argc == 3) {
		nr_intervals = strtoull(argv[1], NULL, 10);
		seed = strtoull(argv[2], NULL, 10);
	}
	cmocka_set_message_output(CM_OUTPUT_TAP);
	print_message("# test_churn %lu %lu\n", (unsigned long)nr_intervals, (unsigned long)seed);
	return cmocka_run_group_tests_name("churn", tests, NULL, NULL);
}
