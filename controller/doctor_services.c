// SPDX-License-Identifier: GPL-2.0
/*
 * doctor_services.c - port: whether the processes of a configuration are there, which threads pinned themselves, and in which units
 * they are.
 */
#include "doctor_look.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocation.h"
#include "cpuset.h"
#include "group_place.h"
#include "match.h"
#include "match_path.h"

/* The CPUs a thread may run on, by its own mask and its group's together. */
static int read_allowed(const char *root, pid_t pid, pid_t tid, struct cpulist *ret)
{
	char path[KNOB_PATH_SIZE], *line = NULL;
	int err = -ESRCH;
	size_t size = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%.400s/proc/%d/task/%d/status", root, (int)pid, (int)tid);
	file = fopen(path, "re");
	while (file && err == -ESRCH && getline(&line, &size, file) > 0)
		if (!strncmp(line, "Cpus_allowed_list:\t", 19))
			err = cpulist_parse(line + 19, ret);
	free(line);
	if (file)
		fclose(file);
	return err;
}

/* Pinned: its mask is narrower than what its group may use. */
static bool is_pinned(const char *root, const struct cgroup_mount *mount, pid_t pid, pid_t tid,
		      const struct cpulist *online)
{
	struct cpulist mask, group;
	char dir[KNOB_PATH_SIZE];

	if (read_allowed(root, pid, tid, &mask))
		return false;
	if (!mount->version || cgroup_read_task(root, mount, tid, dir, sizeof(dir)) ||
	    cpuset_read_effective(dir, &group))
		group = *online;
	cpulist_and(&group, online);
	cpulist_andnot(&group, &mask);
	return !cpulist_empty(&group);
}

static void count_pinned(const char *root, const struct cgroup_mount *mount, pid_t pid, const struct cpulist *online,
			 uint32_t *nr_threads, uint32_t *nr_pinned)
{
	char path[KNOB_PATH_SIZE];
	DIR *dir;

	snprintf(path, sizeof(path), "%.400s/proc/%d/task", root, (int)pid);
	dir = opendir(path);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

		if (tid <= 0)
			continue;
		++*nr_threads;
		*nr_pinned += is_pinned(root, mount, pid, tid, online);
	}
	if (dir)
		closedir(dir);
}

static void look_pinned(const char *root, struct doctor_facts *ret)
{
	struct match_pids *pids = calloc(1, sizeof(*pids));
	struct cgroup_mounts mounts = { 0 };
	size_t len = 0;

	cgroup_read_mounts(root, &mounts);
	for (uint32_t i = 0; pids && i < ret->config->nr_services && len < sizeof(ret->pinned); i++) {
		const struct config_service *service = &ret->config->services[i];
		uint32_t nr_threads = 0, nr_pinned = 0;

		if (match_resolve(root, &service->match, pids))
			continue;
		for (uint32_t p = 0; p < pids->nr; p++)
			count_pinned(root, &mounts.kinds[CGROUP_CPUSET], pids->pids[p], &ret->topology.online,
				     &nr_threads, &nr_pinned);
		if (nr_pinned)
			len += (size_t)snprintf(ret->pinned + len, sizeof(ret->pinned) - len, "%s%s: %u of %u threads",
						len ? ", " : "", service->name, nr_pinned, nr_threads);
	}
	free(pids);
}

/* Notes the unit whose group a service or batch would be steered in, and whether that limits its CPUs. */
static void look_unit(const char *root, const struct cgroup_mount *cpuset, const char *name, const struct match *match,
		      const struct match_pids *pids, struct doctor_facts *ret)
{
	size_t len = strlen(ret->units);
	struct group_place place;
	char unit[256], cpus[64];

	if (cpuset->version != 2 || group_place_find(&place, root, cpuset, name, match, pids) || place.own ||
	    strstr(place.dir, "/" CGROUP_OWN "/") || !match_path_unit(place.dir + strlen(cpuset->dir), unit, sizeof(unit)))
		return; /* it has none, or is in one of a run's by now */
	snprintf(ret->units + len, sizeof(ret->units) - len, "%s%s in %s", len ? ", " : "", name, unit);
	/* During a run it is that which limits them. */
	if (!ret->limited[0] && ret->state.lock_err != -EBUSY && doctor_read("", cpus, sizeof(cpus), "%s/cpuset.cpus", place.dir) > 0)
		snprintf(ret->limited, sizeof(ret->limited), "%s", unit);
}

static void look_units(const char *root, struct doctor_facts *ret)
{
	struct match_pids *pids = calloc(1, sizeof(*pids));
	struct cgroup_mounts mounts = { 0 };

	cgroup_read_mounts(root, &mounts);
	for (uint32_t i = 0; pids && i < ret->config->nr_services + ret->config->nr_batches; i++) {
		bool batch = i >= ret->config->nr_services;
		const struct config_service *service = &ret->config->services[i];
		const struct config_batch *work = &ret->config->batches[batch ? i - ret->config->nr_services : 0];
		const struct match *match = batch ? &work->match : &service->match;

		if (!match_resolve(root, match, pids))
			look_unit(root, &mounts.kinds[CGROUP_CPUSET], batch ? work->name : service->name, match, pids, ret);
	}
	free(pids);
}

void doctor_look_services(const char *root, struct doctor_facts *ret)
{
	if (ret->topology_err)
		return;
	if (!match_check(root, ret->config, allocation_assignable(&ret->topology, ret->config->reserved_cpus),
			 ret->config_error, sizeof(ret->config_error))) {
		look_pinned(root, ret);
		look_units(root, ret);
	}
}
