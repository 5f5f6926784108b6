// SPDX-License-Identifier: GPL-2.0
/*
 * doctor_look.c - port: control groups, rights, the state of other runs, and what belongs to no CPU.  It judges
 * nothing.
 */
#include "doctor_look.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpuset.h"
#include "limit_files.h"
#include "lock.h"
#include "rapl.h"
#include "resctrl.h"
#include "restore.h"
#include "rights.h"
#include "subtree.h"

int doctor_read(const char *root, char *text, size_t size, const char *path_format, ...)
{
	char path[KNOB_PATH_SIZE], rest[KNOB_PATH_SIZE];
	va_list args;
	int len = -ENAMETOOLONG;

	va_start(args, path_format);
	vsnprintf(rest, sizeof(rest), path_format, args);
	va_end(args);
	if (snprintf(path, sizeof(path), "%s/%s", root, rest) < (int)sizeof(path))
		len = knob_read_path(path, text, size);
	if (len < 0)
		text[0] = '\0';
	return len;
}

static bool is_there(const char *root, const char *path)
{
	char full[KNOB_PATH_SIZE];

	return snprintf(full, sizeof(full), "%s/%s", root, path) < (int)sizeof(full) && !access(full, F_OK);
}

/* 0, or why a directory cannot be written. */
static int may_write(const char *dir)
{
	return faccessat(AT_FDCWD, dir, W_OK, AT_EACCESS) ? -errno : 0;
}

/* Whether a line of <root>/<path> has all the words, each with a blank or the line's end around it. */
static bool has_word(const char *root, const char *path, const char *word)
{
	char full[KNOB_PATH_SIZE], *line = NULL;
	bool found = false;
	size_t size = 0;
	FILE *file;

	snprintf(full, sizeof(full), "%.400s/%s", root, path);
	file = fopen(full, "re");
	while (file && !found && getline(&line, &size, file) > 0)
		for (char *save, *at = strtok_r(line, " \t\n", &save); at && !found;
		     at = strtok_r(NULL, " \t\n", &save))
			found = !strcmp(at, word);
	free(line);
	if (file)
		fclose(file);
	return found;
}

/* /proc/cgroups: "cpuset 3 1 1", the hierarchy and whether it is enabled.  Newer kernels list only version 1's there.
 */
static enum doctor_absence find_absence(const char *root, const char *name, const struct cgroup_mount *v2)
{
	char path[KNOB_PATH_SIZE + 16], line[256], word[32];
	unsigned int hierarchy, enabled;
	enum doctor_absence why = v2->version == 2 ? DOCTOR_NOT_BUILT : DOCTOR_NOT_MOUNTED;
	FILE *file;

	snprintf(path, sizeof(path), "%.480s/cgroup.type", v2->dir);
	if (v2->version == 2 && !access(path, F_OK))
		why = DOCTOR_NOT_DELEGATED;
	snprintf(path, sizeof(path), "%.480s/proc/cgroups", root);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%31s %u %*u %u", word, &hierarchy, &enabled) != 3 || strcmp(word, name))
			continue;
		if (!enabled)
			why = DOCTOR_DISABLED;
		else if (hierarchy)
			why = DOCTOR_ELSEWHERE;
	}
	if (file)
		fclose(file);
	return why;
}

static void look_groups(const char *root, const struct config *config, struct doctor_facts *ret)
{
	static const char *const names[CGROUP_NR_KINDS] = { "cpuset", "cpu", "cpuacct", "freezer", "sockets" };
	struct cgroup_mounts mounts = { 0 };
	const struct cgroup_mount *cpuset = &mounts.kinds[CGROUP_CPUSET];
	char missing[64];

	cgroup_read_mounts(root, &mounts); /* none at all: every one is absent */
	ret->subtree_err = subtree_find(root, config ? config->subtree : NULL, &mounts, ret->subtree_why,
					sizeof(ret->subtree_why));
	snprintf(ret->subtree, sizeof(ret->subtree), "%s", cpuset->home + strlen(cpuset->dir));
	for (enum cgroup_kind kind = 0; kind < CGROUP_NR_KINDS; kind++) {
		const struct cgroup_mount *mount = &mounts.kinds[kind];
		struct doctor_cgroup *group = &ret->groups[kind];

		group->version = mount->version;
		if (!mount->version) {
			group->absence = find_absence(root, names[kind], &mounts.kinds[CGROUP_FREEZER]);
			continue;
		}
		snprintf(group->dir, sizeof(group->dir), "%s", mount->dir + strlen(root));
		group->access_err = may_write(mount->home);
		group->handed_out =
			mount->version == 1 || kind >= CGROUP_CPUACCT ||
			(!cgroup_missing_controllers(mount->home, names[kind], missing, sizeof(missing)) && !missing[0]);
	}
	if (cpuset->version)
		ret->allowed_err = cpuset_read_effective(cpuset->home, &ret->allowed);
}

static void look_cache(const char *root, const struct config *config, struct doctor_cache *ret)
{
	struct resctrl resctrl = { 0 };
	char text[64];

	ret->in_kernel = has_word(root, "proc/filesystems", "resctrl");
	ret->l3_flag = has_word(root, "proc/cpuinfo", "cat_l3");
	ret->mba_flag = has_word(root, "proc/cpuinfo", "mba");
	ret->mounted = is_there(root, "sys/fs/resctrl/info");
	ret->has_mba = is_there(root, "sys/fs/resctrl/info/MB");
	if (doctor_read(root, text, sizeof(text), "sys/fs/resctrl/info/L3/cbm_mask") > 0)
		ret->nr_ways = (uint32_t)__builtin_popcountl(strtoul(text, NULL, 16));
	if (doctor_read(root, text, sizeof(text), "sys/fs/resctrl/info/L3/num_closids") > 0)
		ret->nr_classes = (uint32_t)strtoul(text, NULL, 10);
	resctrl_check(&resctrl, root, config ? config->nr_services : 1, config ? config->nr_batches : 0, ret->why,
		      sizeof(ret->why));
}

static void look_state(const char *root, struct doctor_state *ret)
{
	char parent[KNOB_PATH_SIZE] = RESTORE_STATE_DIR, path[KNOB_PATH_SIZE + 16];

	*strrchr(parent, '/') = '\0';
	snprintf(path, sizeof(path), "%.400s%.80s", root, parent);
	ret->access_err = may_write(path);
	ret->lock_err = lock_look(root, RESTORE_STATE_DIR, ret->holder);
	ret->has_journal = !ret->lock_err && is_there(root, RESTORE_STATE_DIR "/journal");
}

void doctor_look(const char *root, const struct config *config, struct doctor_facts *ret)
{
	struct rapl rapl = { 0 };

	memset(ret, 0, sizeof(*ret));
	ret->is_tree = root[0];
	ret->config = config;
	doctor_look_cpus(root, ret);
	look_groups(root, config, ret);
	doctor_look_bpf(root, config ? config->nr_services : POLICY_MAX_SERVICES, &ret->bpf);
	if (!ret->is_tree)
		rights_check(RIGHTS_STEER, ret->rights, sizeof(ret->rights));
	look_cache(root, config, &ret->cache);
	doctor_look_limits(root, ret);
	ret->energy_err = rapl_open(&rapl, root);
	rapl_close(&rapl);
	if (limit_files_available(root, &ret->available_bytes))
		ret->available_bytes = 0;
	if (managers_find(root, &ret->managers))
		ret->managers.nr = 0;
	look_state(root, &ret->state);
	ret->has_systemd = is_there(root, "run/systemd/system");
	if (config)
		doctor_look_services(root, ret);
}
