/* SPDX-License-Identifier: GPL-2.0 */
/*
 * affinity.c - masks of pinned threads.  Port.
 * It never pins a thread that was not pinned.
 */
#include "affinity.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>

#include "cpuset.h"

static int read_mask(pid_t tid, struct cpulist *ret)
{
	cpu_set_t mask;

	CPU_ZERO(&mask);
	if (sched_getaffinity(tid, sizeof(mask), &mask))
		return -errno;
	cpulist_clear(ret);
	for (unsigned int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &mask))
			cpulist_add(ret, cpu);
	return 0;
}

int affinity_note(pid_t tid, uint64_t start, const char *dir, struct journal *j)
{
	struct journal_entry entry = { .kind = JOURNAL_AFFINITY, .tid = tid, .start = start };
	struct cpulist mask, allowed;
	int err = read_mask(tid, &mask);

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
	cpu_set_t wanted;
	int err = cpulist_parse(entry->text, &mask);

	if (!err)
		err = read_mask(entry->tid, &now);
	if (err || cpulist_equal(&mask, &now))
		return err;
	CPU_ZERO(&wanted);
	for (int cpu = cpulist_next(&mask, 0); cpu >= 0; cpu = cpulist_next(&mask, (unsigned int)cpu + 1))
		CPU_SET((unsigned int)cpu, &wanted);
	if (!sched_setaffinity(entry->tid, sizeof(wanted), &wanted))
		return 1;
	return errno == EINVAL ? 0 : -errno;
}
