/* SPDX-License-Identifier: GPL-2.0 */
/*
 * burners.h - processes that burn on the last CPU, in two control groups with weight and quota, for tests of waiting for a
 * CPU.  However the test ends, nothing of it is left.
 */
#ifndef TESTS_BURNERS_H
#define TESTS_BURNERS_H

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>

#include "bpf/server.h"
#include "cgroup.h"

#define MS 1000000ull

enum { SERVICE_GROUP, BURNER_GROUP, NR_GROUPS };
static char groups[NR_GROUPS][600];
static struct cgroup_mounts mounts;
static const char *no_groups; /* why */
static int cpu;
static pid_t children[4]; /* of one test */
static pid_t cleaner;
static int alive = -1; /* inherited by all we start: the cleaner waits until nobody has it open any more */

static void burn_for_us(uint64_t us)
{
	for (uint64_t end = clock_us() + us; clock_us() < end;)
		;
}

static void pin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void *burn(void *arg)
{
	for (;;)
		burn_for_us(1000000);
	return arg;
}

static bool put(const char *dir, const char *file, const char *text)
{
	char path[700];
	int fd;
	bool done;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_WRONLY);
	done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return done;
}

static void join(const char *dir)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	if (!put(dir, "cgroup.procs", pid))
		_exit(1);
}

static pid_t start_child(void)
{
	pid_t pid = fork();

	for (size_t i = 0; pid > 0; i++)
		if (!children[i]) {
			children[i] = pid;
			break;
		}
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/* A process of that name with as many burning threads, in a group of ours, on the one CPU. */
static pid_t start_burning(const char *name, int group, int nr_threads)
{
	pid_t pid = start_child();
	pthread_t thread;

	if (pid)
		return pid;
	prctl(PR_SET_NAME, name);
	pin();
	join(groups[group]);
	while (--nr_threads > 0)
		pthread_create(&thread, NULL, burn, NULL);
	burn(NULL);
	_exit(0);
}

static int stop_children(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(children) / sizeof(children[0]); i++)
		if (children[i])
			server_stop(children[i]);
	memset(children, 0, sizeof(children));
	return 0;
}

static bool is_v2(void)
{
	return mounts.kinds[CGROUP_CPU].version == 2;
}

/* As version 1 says it: 1024 is usual, 262144 the most. */
static void weigh(int group, unsigned int shares)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", is_v2() ? (shares - 2) * 9999 / 262142 + 1 : shares);
	assert_true(put(groups[group], is_v2() ? "cpu.weight" : "cpu.shares", text));
}

/* 8 ms of every 20, or no limit. */
static void limit(bool limited)
{
	if (is_v2()) {
		assert_true(put(groups[SERVICE_GROUP], "cpu.max", limited ? "8000 20000" : "max 20000"));
	} else {
		assert_true(put(groups[SERVICE_GROUP], "cpu.cfs_period_us", "20000"));
		assert_true(put(groups[SERVICE_GROUP], "cpu.cfs_quota_us", limited ? "8000" : "-1"));
	}
}

static uint64_t throttled_ns(void)
{
	char path[700], line[128];
	unsigned long long value = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/cpu.stat", groups[SERVICE_GROUP]);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "throttled_time %llu", &value) != 1 && sscanf(line, "throttled_usec %llu", &value) == 1)
			value *= 1000;
	fclose(file);
	return value;
}

static uint64_t group_id(int group)
{
	struct stat st;

	assert_int_equal(stat(groups[group], &st), 0);
	return st.st_ino;
}

/* What schedstat says of a process's main thread. */
static uint64_t schedstat_ns(pid_t pid)
{
	unsigned long long delay = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%*u %llu", &delay), 1);
	fclose(file);
	return delay;
}

/* CPU time of a process; 0 for none. */
static uint64_t cpu_ns(pid_t pid)
{
	struct timespec used;
	clockid_t clock;

	if (!pid)
		return 0;
	assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
	assert_int_equal(clock_gettime(clock, &used), 0);
	return (uint64_t)used.tv_sec * 1000 * MS + (uint64_t)used.tv_nsec;
}

static void make_groups(void)
{
	static const char *const names[] = { "rq-service", "rq-burner" };
	const struct cgroup_mount *mount = &mounts.kinds[CGROUP_CPU];

	if (cgroup_read_mounts("", &mounts) || !mount->version) {
		no_groups = "there is no cpu controller here";
		return;
	}
	for (int i = 0; i < NR_GROUPS; i++) {
		snprintf(groups[i], sizeof(groups[i]), "%s/%s-%d", mount->dir, names[i], (int)getpid());
		if (mkdir(groups[i], 0755)) {
			groups[i][0] = '\0';
			no_groups = "control groups cannot be made here";
		} else if (!no_groups && !put(groups[i], is_v2() ? "cpu.weight" : "cpu.shares", is_v2() ? "100" : "1024")) {
			no_groups = "the root of cgroup version 2 does not hand the cpu controller down";
		}
	}
}

static void remove_groups(void)
{
	for (int i = 0; i < NR_GROUPS; i++)
		for (int tries = 0; groups[i][0] && rmdir(groups[i]) && errno == EBUSY && tries < 100; tries++)
			sleep_us(10000); /* a process just killed is in it for a moment */
}

/* However this program ends: when the last of it is gone, so are its groups. */
static void start_cleaner(void)
{
	int ends[2];
	char byte;

	if (pipe(ends))
		abort();
	alive = ends[1];
	cleaner = fork();
	if (cleaner) {
		close(ends[0]);
		return;
	}
	setsid(); /* Ctrl-C is not for it */
	close(ends[1]);
	while (read(ends[0], &byte, 1) > 0)
		;
	remove_groups();
	_exit(0);
}

static void start_burners(void)
{
	cpu_set_t allowed;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &allowed))
			cpu = i; /* the last */
	make_groups();
	start_cleaner();
}

static int end_burners(void)
{
	close(alive);
	waitpid(cleaner, NULL, 0);
	return 0;
}

#endif
