/* SPDX-License-Identifier: GPL-2.0 */
/*
 * affinity.c - masks of threads.  Port.
 * Who is to be pinned, and to what, is pins.c's; beside cpusets nobody is that was not before.
 */
#include "affinity.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpuset.h"

_Static_assert(sizeof(cpu_set_t) == sizeof(struct cpulist), "both are words of as many bits");

int affinity_read(pid_t tid, struct cpulist *ret)
{
	cpu_set_t mask;

	CPU_ZERO(&mask);
	if (sched_getaffinity(tid, sizeof(mask), &mask))
		return -errno;
	memcpy(ret, &mask, sizeof(*ret));
	return 0;
}

int affinity_set(pid_t tid, const struct cpulist *cpus)
{
	cpu_set_t mask;

	memcpy(&mask, cpus, sizeof(mask));
	return sched_setaffinity(tid, sizeof(mask), &mask) ? -errno : 0;
}

static uint32_t count_apart(pid_t pid, const struct cpulist *cpus)
{
	struct cpulist mask;
	struct dirent *entry;
	uint32_t nr = 0;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && !affinity_read(atoi(entry->d_name), &mask))
			nr += !cpulist_subset(cpus, &mask);
	if (dir)
		closedir(dir);
	return nr;
}

uint32_t affinity_count_apart(const struct match_pids *pids, const struct cpulist *cpus)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < pids->nr; i++)
		nr += count_apart(pids->pids[i], cpus);
	return nr;
}

int affinity_note(pid_t tid, uint64_t start, const char *dir, struct journal *j)
{
	struct journal_entry entry = { .kind = JOURNAL_AFFINITY, .tid = tid, .start = start };
	struct cpulist mask, allowed;
	int err = affinity_read(tid, &mask);

	if (err)
		return err == -ESRCH ? 0 : err;
	err = cpuset_read_effective(dir, &allowed);
	if (err || cpulist_equal(&mask, &allowed))
		return err == -ENOENT ? 0 : err; /* a group that has just gone */
	snprintf(entry.path, sizeof(entry.path), "%s", dir);
	err = cpulist_format(&mask, entry.text, sizeof(entry.text));
	return err < 0 ? err : journal_add(j, &entry);
}

int affinity_put_back(const struct journal_entry *entry)
{
	struct cpulist mask, now;
	int err = cpulist_parse(entry->text, &mask);

	if (!err)
		err = affinity_read(entry->tid, &now);
	if (err || cpulist_equal(&mask, &now))
		return err;
	err = affinity_set(entry->tid, &mask);
	return !err ? 1 : err == -EINVAL ? 0 : err;
}
