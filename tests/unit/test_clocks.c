// SPDX-License-Identifier: GPL-2.0
/*
 * test_clocks.c - clocks.c: averages on a tree, and counters of perf events that a test writes itself.
 * wrap: syscall knob_read_path
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <linux/perf_event.h>
#include <sys/syscall.h>

#include "clocks.h"
#include "fixtures/tree.h"
#include "knob.h"

enum { NR_CPUS = 4 };

static char root[TREE_PATH_SIZE];
static struct clocks *clocks;
static struct cpulist cpus;
static bool has_events;
static int refusal;        /* errno of perf_event_open */
static int leaders[NR_CPUS]; /* where a CPU's counts are written to */

long __wrap_syscall(long nr, struct perf_event_attr *attr, int pid, int cpu, int group, unsigned long flags);
long __wrap_syscall(long nr, struct perf_event_attr *attr, int pid, int cpu, int group, unsigned long flags)
{
	int ends[2];

	(void)flags;
	assert_int_equal(nr, SYS_perf_event_open);
	assert_int_equal(attr->type, 9);
	assert_int_equal(pid, -1);
	if (refusal) {
		errno = refusal;
		return -1;
	}
	if (pipe(ends))
		return -1;
	if (group == -1) {
		assert_int_equal(attr->config, 2); /* mperf leads */
		leaders[cpu] = ends[1];
	} else {
		close(ends[1]);
	}
	return ends[0];
}

int __real_knob_read_path(const char *path, char *text, size_t size);
int __wrap_knob_read_path(const char *path, char *text, size_t size);
int __wrap_knob_read_path(const char *path, char *text, size_t size)
{
	static const struct { const char *path, *text; } device[] = {
		{ "/sys/bus/event_source/devices/msr/type", "9" },
		{ "/sys/bus/event_source/devices/msr/events/tsc", "event=0x00" },
		{ "/sys/bus/event_source/devices/msr/events/aperf", "event=0x01" },
		{ "/sys/bus/event_source/devices/msr/events/mperf", "event=0x02" },
	};

	for (size_t i = 0; i < sizeof(device) / sizeof(device[0]); i++)
		if (!strcmp(path, device[i].path))
			return has_events ? snprintf(text, size, "%s", device[i].text) : -ENOENT;
	return __real_knob_read_path(path, text, size);
}

static int set_up(void **state)
{
	(void)state;
	tree_make(root);
	clocks = NULL;
	has_events = false;
	refusal = 0;
	memset(leaders, 0, sizeof(leaders));
	return cpulist_parse("0-3", &cpus);
}

static int tear_down(void **state)
{
	(void)state;
	clocks_close(clocks);
	for (int i = 0; i < NR_CPUS; i++)
		if (leaders[i])
			close(leaders[i]);
	tree_remove(root);
	return 0;
}

static void put_average(unsigned int cpu, const char *text)
{
	tree_put(root, text, "sys/devices/system/cpu/cpu%u/cpufreq/cpuinfo_avg_freq", cpu);
}

static uint32_t read_window(const char *list)
{
	struct cpulist of;

	assert_int_equal(cpulist_parse(list, &of), 0);
	clocks_end_window(clocks);
	return clocks_read_khz(clocks, &of);
}

/* Seconds since the start, awake seconds, and GHz while awake, of a TSC of 2 GHz. */
static void put_counts(int cpu, double at_s, double awake_s, double cycles_g)
{
	uint64_t counts[5] = { 3, (uint64_t)(at_s * 1e9), (uint64_t)(awake_s * 2e9), (uint64_t)(cycles_g * 1e9),
			       (uint64_t)(at_s * 2e9) };

	assert_int_equal(write(leaders[cpu], counts, sizeof(counts)), sizeof(counts));
}

static void a_machine_that_tells_no_speed_says_so(void **state)
{
	(void)state;
	assert_int_equal(clocks_find(root, 0), CLOCKS_NONE);
	assert_int_equal(clocks_open(&clocks, root, &cpus), -ENOTSUP);
	/* What was asked for is not what is. */
	tree_put(root, "2000000\n", "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq");
	assert_int_equal(clocks_open(&clocks, root, &cpus), -ENOTSUP);
}

static void averages_of_cpus_that_were_awake_make_the_mean(void **state)
{
	(void)state;
	put_average(0, "2400000\n");
	put_average(1, "2000000\n");
	put_average(2, "\n"); /* as with EAGAIN: it slept */
	put_average(3, "1500000\n");
	assert_int_equal(clocks_open(&clocks, root, &cpus), 0);
	assert_string_equal(clocks_source_name(clocks_source(clocks)), "cpuinfo_avg_freq");
	assert_int_equal(read_window("0-2"), 2200000);
	assert_int_equal(read_window("2"), 0);
	assert_int_equal(read_window("3"), 1500000);
}

static void counters_are_weighed_by_the_time_awake(void **state)
{
	(void)state;
	has_events = true;
	assert_int_equal(clocks_open(&clocks, "", &cpus), 0);
	assert_string_equal(clocks_source_name(clocks_source(clocks)), "aperf/mperf");
	put_counts(0, 1.0, 0.5, 1.0);
	put_counts(1, 1.0, 0.5, 1.0);
	assert_int_equal(read_window("0-1"), 0); /* nothing to subtract from */
	/* One was awake for 0.3 s at 3 GHz, the other for 0.1 s at 1 GHz. */
	put_counts(0, 1.5, 0.8, 1.9);
	put_counts(1, 1.5, 0.6, 1.1);
	assert_in_range(read_window("0-1"), 2499990, 2500010);
}

static void a_cpu_that_was_not_read_a_window_ago_says_nothing(void **state)
{
	(void)state;
	has_events = true;
	assert_int_equal(clocks_open(&clocks, "", &cpus), 0);
	put_counts(0, 1.0, 0.5, 1.0);
	assert_int_equal(read_window("0"), 0);
	clocks_end_window(clocks); /* it was somebody else's */
	put_counts(0, 2.0, 1.0, 2.0);
	assert_int_equal(read_window("0"), 0);
	put_counts(0, 2.5, 1.2, 2.2);
	assert_in_range(read_window("0"), 999990, 1000010);
}

static void a_cpu_that_slept_or_went_offline_says_nothing(void **state)
{
	(void)state;
	has_events = true;
	assert_int_equal(clocks_open(&clocks, "", &cpus), 0);
	put_counts(2, 1.0, 0.5, 1.0);
	read_window("2");
	put_counts(2, 1.5, 0.5, 1.0);
	assert_int_equal(read_window("2"), 0);
	close(leaders[2]);
	leaders[2] = 0;
	assert_int_equal(read_window("2"), 0);
}

static void counters_that_are_refused_are_told_with_their_error(void **state)
{
	(void)state;
	has_events = true;
	refusal = EACCES;
	assert_int_equal(clocks_open(&clocks, "", &cpus), -EACCES);
	assert_null(clocks);
}

int main(void)
{
#define CLOCK_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CLOCK_TEST(a_machine_that_tells_no_speed_says_so),
		CLOCK_TEST(averages_of_cpus_that_were_awake_make_the_mean),
		CLOCK_TEST(counters_are_weighed_by_the_time_awake),
		CLOCK_TEST(a_cpu_that_was_not_read_a_window_ago_says_nothing),
		CLOCK_TEST(a_cpu_that_slept_or_went_offline_says_nothing),
		CLOCK_TEST(counters_that_are_refused_are_told_with_their_error),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
