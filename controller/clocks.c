// SPDX-License-Identifier: GPL-2.0
/*
 * clocks.c - port: perf events of the msr device and cpuinfo_avg_freq.  It judges nothing (effective.c).
 */
#include "clocks.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "knob.h"

#define MSR_DEVICE "sys/bus/event_source/devices/msr"

enum { MPERF, APERF, TSC, NR_EVENTS };
static const char *const event_names[NR_EVENTS] = { "mperf", "aperf", "tsc" };

/* As the kernel gives the group of events of a CPU. */
struct counts {
	uint64_t nr, enabled_ns;
	uint64_t values[NR_EVENTS];
};

struct clock {
	uint64_t window; /* of the last reading */
	int fds[NR_EVENTS];
	struct counts last;
	struct knob average;
};

struct clocks {
	char root[KNOB_PATH_SIZE];
	enum clocks_source source;
	uint64_t window;
	struct clock *cpus[CPULIST_MAX_CPUS];
};

static int average_path(const char *root, unsigned int cpu, char *ret, size_t size)
{
	return snprintf(ret, size, "%.400s/sys/devices/system/cpu/cpu%u/cpufreq", root, cpu);
}

/* "event=0x01" and the device's number. */
static int read_event(const char *name, uint64_t *ret_config)
{
	char path[96], text[64], *end;
	int err;

	snprintf(path, sizeof(path), "/" MSR_DEVICE "/events/%s", name);
	err = knob_read_path(path, text, sizeof(text));
	if (err < 0)
		return err;
	if (strncmp(text, "event=", 6))
		return -EINVAL;
	*ret_config = strtoull(text + 6, &end, 0);
	return end == text + 6 ? -EINVAL : 0;
}

enum clocks_source clocks_find(const char *root, unsigned int cpu)
{
	char path[KNOB_PATH_SIZE + 32];
	uint64_t config;

	if (!root[0] && !read_event("aperf", &config) && !read_event("mperf", &config))
		return CLOCKS_APERF;
	average_path(root, cpu, path, sizeof(path));
	strcat(path, "/cpuinfo_avg_freq");
	return access(path, F_OK) ? CLOCKS_NONE : CLOCKS_CPUFREQ;
}

const char *clocks_source_name(enum clocks_source source)
{
	static const char *const names[] = { "unknown", "aperf/mperf", "cpuinfo_avg_freq" };

	return names[source];
}

static int open_events(struct clock *clock, int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED,
	};
	char text[32];
	uint64_t config;
	int err = knob_read_path("/" MSR_DEVICE "/type", text, sizeof(text));

	if (err < 0)
		return err;
	attr.type = (uint32_t)strtoul(text, NULL, 10);
	for (int i = 0; i < NR_EVENTS; i++) {
		err = read_event(event_names[i], &config);
		if (err)
			return err;
		attr.config = config;
		clock->fds[i] = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, i ? clock->fds[0] : -1,
					     PERF_FLAG_FD_CLOEXEC);
		if (clock->fds[i] < 0)
			return -errno;
	}
	return 0;
}

static int open_average(struct clock *clock, const char *root, unsigned int cpu)
{
	char dir[KNOB_PATH_SIZE];

	average_path(root, cpu, dir, sizeof(dir));
	return knob_open(&clock->average, &knob_plain, dir, "cpuinfo_avg_freq");
}

static int open_cpu(struct clocks *c, unsigned int cpu)
{
	struct clock *clock = c->cpus[cpu] = calloc(1, sizeof(*clock));

	if (!clock)
		return -ENOMEM;
	for (int i = 0; i < NR_EVENTS; i++)
		clock->fds[i] = -1;
	clock->average.fd = -1;
	return c->source == CLOCKS_APERF ? open_events(clock, (int)cpu) : open_average(clock, c->root, cpu);
}

int clocks_open(struct clocks **ret, const char *root, const struct cpulist *cpus)
{
	struct clocks *c = calloc(1, sizeof(*c));
	int err = 0;

	if (!c)
		return -ENOMEM;
	snprintf(c->root, sizeof(c->root), "%s", root);
	c->source = clocks_find(root, (unsigned int)cpulist_next(cpus, 0));
	c->window = 1;
	if (c->source == CLOCKS_NONE)
		err = -ENOTSUP;
	for (int cpu = cpulist_next(cpus, 0); cpu >= 0 && !err; cpu = cpulist_next(cpus, (unsigned int)cpu + 1))
		err = open_cpu(c, (unsigned int)cpu);
	if (!err)
		*ret = c;
	else
		clocks_close(c);
	return err;
}

enum clocks_source clocks_source(const struct clocks *c)
{
	return c->source;
}

void clocks_end_window(struct clocks *c)
{
	c->window++;
}

struct sum {
	double khz, weight;
};

/* APERF counts at the CPU's speed while it is awake, MPERF then at the TSC's. */
static void add_counts(struct clocks *c, struct clock *clock, struct sum *sum)
{
	struct counts now, was = clock->last;
	double tsc_khz, awake;

	/* An event whose CPU went offline reads as nothing. */
	if (read(clock->fds[0], &now, sizeof(now)) != sizeof(now) || now.nr != NR_EVENTS)
		return;
	clock->last = now;
	if (clock->window + 1 == c->window && now.enabled_ns > was.enabled_ns) {
		awake = (double)(now.values[MPERF] - was.values[MPERF]);
		tsc_khz = (double)(now.values[TSC] - was.values[TSC]) * 1e6 / (double)(now.enabled_ns - was.enabled_ns);
		sum->khz += (double)(now.values[APERF] - was.values[APERF]) * tsc_khz;
		sum->weight += awake;
	}
	clock->window = c->window;
}

/* A CPU that slept says nothing (EAGAIN). */
static void add_average(const struct clock *clock, struct sum *sum)
{
	char text[32];
	unsigned long khz = knob_read(&clock->average, text, sizeof(text)) > 0 ? strtoul(text, NULL, 10) : 0;

	sum->khz += khz;
	sum->weight += khz > 0;
}

uint32_t clocks_read_khz(struct clocks *c, const struct cpulist *cpus)
{
	struct sum sum = { 0 };

	for (int cpu = cpulist_next(cpus, 0); cpu >= 0; cpu = cpulist_next(cpus, (unsigned int)cpu + 1)) {
		if (!c->cpus[cpu])
			continue;
		if (c->source == CLOCKS_APERF)
			add_counts(c, c->cpus[cpu], &sum);
		else
			add_average(c->cpus[cpu], &sum);
	}
	return sum.weight > 0 ? (uint32_t)(sum.khz / sum.weight + 0.5) : 0;
}

static void close_cpu(struct clocks *c, unsigned int cpu)
{
	struct clock *clock = c->cpus[cpu];

	for (int i = 0; clock && i < NR_EVENTS; i++)
		if (clock->fds[i] >= 0)
			close(clock->fds[i]);
	if (clock)
		knob_close(&clock->average);
	free(clock);
	c->cpus[cpu] = NULL;
}

void clocks_add(struct clocks *c, const struct cpulist *cpus)
{
	for (int cpu = cpulist_next(cpus, 0); cpu >= 0; cpu = cpulist_next(cpus, (unsigned int)cpu + 1))
		if (!c->cpus[cpu] && open_cpu(c, (unsigned int)cpu))
			close_cpu(c, (unsigned int)cpu);
}

void clocks_close(struct clocks *c)
{
	for (unsigned int cpu = 0; c && cpu < CPULIST_MAX_CPUS; cpu++)
		close_cpu(c, cpu);
	free(c);
}
