// SPDX-License-Identifier: GPL-2.0
/*
 * test_step_cost.c - what one interval costs with 64 services on 512 CPUs: time, and calls of the kernel when nothing
 * changes.  The files are in memory; those of a kernel take about as long (0.9 us a read).
 * wrap: pread pwrite open access fork
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <sched.h>
#include <sys/mount.h>
#include <time.h>

#include "fixtures/steered.h"
#include "frequency.h"
#include "sensor_wave.h"

enum { NR_SERVICES = 64, NR_BATCHES = 4, NR_STEPS = 200 };
#ifdef __SANITIZE_ADDRESS__
enum { LIMIT_US = 50000 };
#else
enum { LIMIT_US = 5000 };
#endif

static struct steered steered;
static struct sensor_wave wave;
static struct { uint32_t reads, writes, opens, looks, forks; } calls;

ssize_t __real_pread(int fd, void *buf, size_t len, off_t offset);
ssize_t __wrap_pread(int fd, void *buf, size_t len, off_t offset);
ssize_t __real_pwrite(int fd, const void *buf, size_t len, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *buf, size_t len, off_t offset);
int __real_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, mode_t mode);
int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
pid_t __real_fork(void);
pid_t __wrap_fork(void);

ssize_t __wrap_pread(int fd, void *buf, size_t len, off_t offset)
{
	calls.reads++;
	return __real_pread(fd, buf, len, offset);
}

ssize_t __wrap_pwrite(int fd, const void *buf, size_t len, off_t offset)
{
	calls.writes++;
	return __real_pwrite(fd, buf, len, offset);
}

int __wrap_open(const char *path, int flags, mode_t mode)
{
	calls.opens++;
	return __real_open(path, flags, mode);
}

int __wrap_access(const char *path, int mode)
{
	calls.looks++;
	return __real_access(path, mode);
}

pid_t __wrap_fork(void)
{
	calls.forks++;
	return __real_fork();
}

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* The wave, and what a run reads of each group besides. */
static int read_samples(void *ctx, uint64_t now_ns, struct sample *samples, uint32_t nr_services)
{
	struct sensor sensor = sensor_wave_port(&wave);
	int err = sensor.read(sensor.ctx, now_ns, samples, nr_services);

	(void)ctx;
	for (uint32_t i = 0; i < nr_services && !err; i++)
		err = machine_usage(steered.machine, i, &samples[i].cpu_ns);
	return err;
}

static int lay_out(void **state)
{
	(void)state;
	steered_lay_out(&steered, "cores-512", NR_SERVICES, NR_BATCHES);
	wave = (struct sensor_wave){ .config = &steered.config };
	return 0;
}

static int clear_away(void **state)
{
	(void)state;
	steered_remove(&steered);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	return steered_close(&steered);
}

static void start(const struct policy_ops *policy)
{
	int err = steered_open(&steered, policy, (struct sensor){ NULL, read_samples });

	if (err)
		fail_msg("%s", steered.error);
	assert_int_equal(steered_step(&steered), 0);
}

static void an_interval_without_a_change_reads_what_is_open_and_nothing_else(void **state)
{
	uint64_t least_us = UINT64_MAX;
	uint32_t nr_groups = NR_SERVICES + NR_BATCHES;

	(void)state;
	start(&policy_static);
	for (int i = 0; i < NR_STEPS / 4; i++) {
		uint64_t begin_us = now_us(), us;

		memset(&calls, 0, sizeof(calls));
		assert_int_equal(steered_step(&steered), 0);
		us = now_us() - begin_us;
		least_us = us < least_us ? us : least_us;
		assert_int_equal(calls.writes, 0);
		assert_int_equal(calls.opens, 0);
		assert_int_equal(calls.forks, 0);
		/* Is the group there, and has it its two controllers? */
		assert_in_range(calls.looks, 0, 3 * nr_groups);
		/* Set twice and thrice over, quota, use, freezer; online and allowed CPUs. */
		assert_in_range(calls.reads, 1, 5 * nr_groups + 5);
	}
	print_message("# %u services, 512 CPUs: %u reads, %u looks, %lu us\n", NR_SERVICES, calls.reads, calls.looks,
		      (unsigned long)least_us);
	assert_in_range(least_us, 0, LIMIT_US);
}

static int compare_us(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static void an_interval_that_changes_things_is_as_short(void **state)
{
	static uint64_t us[NR_STEPS];
	uint32_t nr_writes = 0, nr_changes = 0;

	(void)state;
	start(&policy_parties_paper);
	for (int i = 0; i < NR_STEPS; i++) {
		uint64_t begin_us = now_us();

		memset(&calls, 0, sizeof(calls));
		assert_int_equal(steered_step(&steered), 0);
		us[i] = now_us() - begin_us;
		nr_writes += calls.writes;
		nr_changes += steered.tick.report.outcome.nr_writes;
		assert_int_equal(calls.opens, 0);
		assert_int_equal(calls.forks, 0);
	}
	assert_int_equal(nr_writes, nr_changes);
	assert_in_range(nr_changes, NR_STEPS / 10, UINT32_MAX);
	qsort(us, NR_STEPS, sizeof(us[0]), compare_us);
	print_message("# %u writes in %u intervals: half of them below %lu us, nine of ten below %lu us\n", nr_writes,
		      NR_STEPS, (unsigned long)us[NR_STEPS / 2], (unsigned long)us[NR_STEPS * 9 / 10]);
	assert_in_range(us[NR_STEPS / 2], 0, LIMIT_US);
}

/* 512 domains, as libcpupower sees them: in the place of the sysfs that it hard-codes. */
static void speeds_that_do_not_change_are_read_and_not_written(void **state)
{
	static uint32_t khz_by_cpu[CPULIST_MAX_CPUS];
	struct undo *undo = calloc(1, sizeof(*undo));
	struct outcome outcome = { 0 };
	struct frequency *f;
	char dir[TREE_PATH_SIZE + 32];
	uint64_t least_us = UINT64_MAX;
	int err;

	(void)state;
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
		free(undo);
		print_message("# skip: a private mount namespace needs root\n");
		skip();
	}
	machines_make(steered.root, "cores-512");
	snprintf(dir, sizeof(dir), "%s/sys/devices/system/cpu", steered.root);
	assert_int_equal(mount(dir, "/sys/devices/system/cpu", NULL, MS_BIND, NULL), 0);
	assert_int_equal(frequency_open(&f, "", &steered.topology.online), 0);
	undo_begin(undo);
	err = frequency_start(f, undo, &outcome);
	for (int cpu = 0; cpu < 512; cpu++)
		khz_by_cpu[cpu] = frequency_ladder(f)->value[0];
	for (int i = 0; i < 20 && !err; i++) {
		uint64_t begin_us = now_us(), us;

		memset(&calls, 0, sizeof(calls));
		undo_begin(undo);
		err = frequency_apply(f, khz_by_cpu, &steered.topology.online, undo, &outcome);
		us = now_us() - begin_us;
		least_us = us < least_us ? us : least_us;
		assert_int_equal(outcome.nr_writes > 0 && i, 0);
		outcome = (struct outcome){ 0 };
	}
	assert_int_equal(err, 0);
	assert_int_equal(calls.writes + calls.opens + calls.forks, 0);
	print_message("# 512 speeds: %u reads, %lu us\n", calls.reads, (unsigned long)least_us);
	assert_in_range(least_us, 0, LIMIT_US);
	frequency_close(f);
	umount2("/sys/devices/system/cpu", MNT_DETACH);
	free(undo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(an_interval_without_a_change_reads_what_is_open_and_nothing_else, stop),
		cmocka_unit_test_teardown(an_interval_that_changes_things_is_as_short, stop),
		cmocka_unit_test(speeds_that_do_not_change_are_read_and_not_written),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("step cost", tests, lay_out, clear_away);
}
