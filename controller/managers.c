// SPDX-License-Identifier: GPL-2.0
/*
 * managers.c - port: knows them by the name of their process, or by what they leave in /run.  It stops none of them.
 */
#include "managers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "procfs.h"

/* The kernel keeps 15 characters of a process's name. */
static const struct {
	const char *comm, *mark, *name, *remedy;
	enum manager_of of;
} known[] = {
	{ "tuned", NULL, "tuned", "systemctl stop tuned", MANAGER_SPEED },
	{ NULL, "run/tlp", "TLP", "systemctl disable --now tlp, then remove /run/tlp", MANAGER_SPEED },
	{ "power-profiles-", NULL, "power-profiles-daemon", "systemctl stop power-profiles-daemon", MANAGER_SPEED },
	{ "auto-cpufreq", NULL, "auto-cpufreq", "systemctl stop auto-cpufreq", MANAGER_SPEED },
	{ "system76-power", NULL, "system76-power", "systemctl stop com.system76.PowerDaemon", MANAGER_SPEED },
	{ "cpufreqd", NULL, "cpufreqd", "systemctl stop cpufreqd", MANAGER_SPEED },
	{ "kubelet", NULL, "kubelet", "keep its CPU manager's policy at none, or name no group of its own",
	  MANAGER_CPUSET },
	{ "cgrulesengd", NULL, "cgrulesengd", "systemctl stop cgred", MANAGER_CPUSET },
	{ "irqbalance", NULL, "irqbalance", "systemctl stop irqbalance", MANAGER_INTERRUPTS },
};
enum { NR_KNOWN = sizeof(known) / sizeof(known[0]) };
_Static_assert((int)NR_KNOWN <= (int)MANAGERS_MAX, "all may run at once");

/* The first process of each kind. */
static void find_processes(const struct procfs *p, pid_t pids[NR_KNOWN])
{
	char comm[PROCFS_COMM_SIZE];

	for (uint32_t i = 0; i < p->nr; i++) {
		if (p->list[i].kernel || p->list[i].dead || procfs_comm(p, p->list[i].pid, comm))
			continue;
		for (size_t which = 0; which < NR_KNOWN; which++)
			if (known[which].comm && !pids[which] && !strcmp(comm, known[which].comm))
				pids[which] = p->list[i].pid;
	}
}

int managers_find(const char *root, struct managers *ret)
{
	struct procfs *p = malloc(sizeof(*p));
	int err = p ? procfs_open(p, root) : -ENOMEM;
	pid_t pids[NR_KNOWN] = { 0 };
	char path[512];

	if (err) {
		free(p);
		return err;
	}
	find_processes(p, pids);
	procfs_close(p);
	free(p);
	ret->nr = 0;
	for (size_t which = 0; which < NR_KNOWN; which++) {
		if (known[which].mark)
			snprintf(path, sizeof(path), "%s/%s", root, known[which].mark);
		if (pids[which] || (known[which].mark && !access(path, F_OK)))
			ret->list[ret->nr++] = (struct manager){
				.name = known[which].name,
				.remedy = known[which].remedy,
				.of = known[which].of,
				.pid = pids[which],
			};
	}
	return 0;
}

void managers_print(const struct managers *m, enum manager_of of, char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	for (uint32_t i = 0; i < m->nr && len < size; i++) {
		if (m->list[i].of != of)
			continue;
		len += (size_t)snprintf(buf + len, size - len, "%s%s", len ? ", " : "", m->list[i].name);
		if (m->list[i].pid && len < size)
			len += (size_t)snprintf(buf + len, size - len, " (pid %d)", (int)m->list[i].pid);
	}
}

int managers_refuse(const char *root, char *error, size_t error_size)
{
	struct managers managers;
	char names[256];

	if (managers_find(root, &managers))
		return 0;
	managers_print(&managers, MANAGER_SPEED, names, sizeof(names));
	if (!names[0])
		return 0;
	snprintf(error, error_size,
		 "%s set%s speeds, too: stop it first (see `parties doctor`), use speed = bandwidth, or go on beside it "
		 "with --force",
		 names, strchr(names, ',') ? "" : "s");
	return -ENOTSUP;
}
