// SPDX-License-Identifier: GPL-2.0
/*
 * match.c - from what a configuration says (pid, port, cgroup, unit, executable) to the processes it means now.
 * Port over procfs.  It judges nothing: two services may match one process here; match_check.c refuses that.
 */
#include "match.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "match_path.h"
#include "match_scan.h"
#include "rights.h"

static bool usable(const struct procfs_process *process)
{
	return !process->kernel && !process->dead;
}

static void want_port(struct match_scan *scan, const struct match *match)
{
	if (match->kind == MATCH_PORT)
		scan->ports[match->number / 64] |= 1ULL << match->number % 64;
}

int match_scan_open(struct match_scan *scan, const char *root)
{
	scan->root = root;
	memset(scan->ports, 0, sizeof(scan->ports));
	return procfs_open(&scan->procfs, root);
}

void match_scan_want(struct match_scan *scan, const struct config *config)
{
	for (uint32_t i = 0; i < config->nr_services; i++)
		want_port(scan, &config->services[i].match);
	for (uint32_t i = 0; i < config->nr_batches; i++)
		want_port(scan, &config->batches[i].match);
}

void match_scan_close(struct match_scan *scan)
{
	procfs_close(&scan->procfs);
}

static int choose_pid(struct match_scan *scan, pid_t pid)
{
	int i = procfs_find(&scan->procfs, pid);

	if (i < 0 || !usable(&scan->procfs.list[i]))
		return -ENOENT;
	scan->chosen[i] = true;
	return 0;
}

/* PID 1 keeps a copy of every socket it hands out; it is the holder only where nobody else is. */
static int choose_port(struct match_scan *scan, uint16_t port)
{
	const struct procfs *p = &scan->procfs;
	int init = -1, rc = procfs_read_listeners(&scan->procfs, scan->ports);
	uint32_t nr_found = 0;
	bool listens = false;

	if (rc)
		return rc;
	for (uint32_t i = 0; i < p->nr_listeners; i++)
		listens |= p->listeners[i].port == port;
	for (uint32_t i = 0; i < p->nr_holders; i++) {
		if (p->holders[i].port != port)
			continue;
		if (p->list[p->holders[i].process].pid == 1) {
			init = p->holders[i].process;
			continue;
		}
		scan->chosen[p->holders[i].process] = true;
		nr_found++;
	}
	if (!nr_found && init >= 0) {
		scan->chosen[init] = true;
		nr_found++;
	}
	if (nr_found)
		return 0;
	return listens ? -EACCES : -ENOENT;
}

/* Looks in every hierarchy the process is in: lines "id:controllers:path". */
static bool in_cgroup(const struct match_scan *scan, pid_t pid, const struct match *match)
{
	char text[8192], *next, *path;

	if (procfs_cgroups(&scan->procfs, pid, text, sizeof(text)))
		return false;
	for (char *line = text; *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		path = strchr(line, ':');
		path = path ? strchr(path + 1, ':') : NULL;
		if (path && match_path_covered(match, path + 1))
			return true;
	}
	return false;
}

/* sd_booted(3)'s test. */
static bool has_systemd(const char *root)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/run/systemd/system", root);
	return !access(path, F_OK);
}

static int choose_cgroup(struct match_scan *scan, const struct match *match)
{
	const struct procfs *p = &scan->procfs;
	int rc = -ENOENT;

	if (match->kind == MATCH_UNIT && !has_systemd(scan->root))
		return -ENOSYS;
	for (uint32_t i = 0; i < p->nr; i++) {
		if (!usable(&p->list[i]) || !in_cgroup(scan, p->list[i].pid, match))
			continue;
		scan->chosen[i] = true;
		rc = 0;
	}
	return rc;
}

/* What /proc/PID/exe will say for a path: links on the way are followed there. */
static void resolve_links(const char *root, const char *text, char buf[PATH_MAX])
{
	char path[PATH_MAX], real[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s", root, text);
	snprintf(buf, PATH_MAX, "%s", realpath(path, real) ? real + strlen(root) : text);
}

static int choose_exe(struct match_scan *scan, const char *text)
{
	const struct procfs *p = &scan->procfs;
	char wanted[PATH_MAX], exe[PATH_MAX], missing[256];
	const char *compared, *slash;
	int rc = -ENOENT, err;

	if (strchr(text, '/'))
		resolve_links(scan->root, text, wanted);
	else
		snprintf(wanted, sizeof(wanted), "%s", text);
	for (uint32_t i = 0; i < p->nr; i++) {
		if (!usable(&p->list[i]))
			continue;
		err = procfs_exe(p, p->list[i].pid, exe, sizeof(exe));
		if (err == -EACCES && rc == -ENOENT)
			rc = -EACCES; /* it may be this one */
		if (err)
			continue;
		slash = strrchr(exe, '/');
		compared = strchr(text, '/') || !slash ? exe : slash + 1;
		if (strcmp(compared, wanted))
			continue;
		scan->chosen[i] = true;
		rc = 0;
	}
	/* A sandbox hides its first process even from who may see all. */
	return rc == -EACCES && !rights_check(RIGHTS_SEE_OTHERS, missing, sizeof(missing)) ? -ENOENT : rc;
}

/* A parent has a lower pid than its child until numbers wrap around; a second pass is then needed, seldom more. */
static void choose_descendants(struct match_scan *scan)
{
	const struct procfs *p = &scan->procfs;
	bool changed;
	int parent;

	do {
		changed = false;
		for (uint32_t i = 0; i < p->nr; i++) {
			if (scan->chosen[i] || !usable(&p->list[i]))
				continue;
			parent = procfs_find(p, p->list[i].parent);
			if (parent < 0 || !scan->chosen[parent])
				continue;
			scan->chosen[i] = changed = true;
		}
	} while (changed);
}

int match_scan_choose(struct match_scan *scan, const struct match *match)
{
	int rc = 0;

	memset(scan->chosen, 0, scan->procfs.nr * sizeof(scan->chosen[0]));
	switch (match->kind) {
	case MATCH_PID:
		rc = choose_pid(scan, match->number);
		break;
	case MATCH_PORT:
		rc = choose_port(scan, match->number);
		break;
	case MATCH_CGROUP:
	case MATCH_UNIT:
		rc = choose_cgroup(scan, match);
		break;
	case MATCH_EXE:
		rc = choose_exe(scan, match->text);
		break;
	}
	if (!rc)
		choose_descendants(scan);
	return rc;
}

static int collect(struct match_scan *scan, const struct match *match, struct match_pids *ret)
{
	int rc = match_scan_choose(scan, match);
	uint32_t nr = 0;

	if (rc)
		return rc;
	for (uint32_t i = 0; i < scan->procfs.nr; i++)
		nr += scan->chosen[i];
	if (nr > MATCH_MAX_PIDS)
		return -E2BIG;
	ret->nr = 0;
	for (uint32_t i = 0; i < scan->procfs.nr; i++)
		if (scan->chosen[i])
			ret->pids[ret->nr++] = scan->procfs.list[i].pid;
	return 0;
}

int match_resolve(const char *root, const struct match *match, struct match_pids *ret)
{
	struct match_scan scan;
	int rc = match_scan_open(&scan, root);

	if (rc)
		return rc;
	want_port(&scan, match);
	rc = collect(&scan, match, ret);
	match_scan_close(&scan);
	return rc;
}

bool match_all_alive(const struct match_pids *pids)
{
	for (uint32_t i = 0; i < pids->nr; i++)
		if (kill(pids->pids[i], 0) < 0 && errno == ESRCH)
			return false;
	return pids->nr > 0;
}
