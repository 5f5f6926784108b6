/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cgroup.c - control group hierarchies, through libcgroup where that is right.  Port.
 * It moves nobody (tasks.c) and sets no limit (cpuset.c, bandwidth.c).
 *
 * libcgroup 2.0.2 makes the groups of version 1.  The rest is done directly, because the library
 *   - on version 2 enables controllers in a group's ancestors by itself, before anybody could write down that they were
 *     off, and then fails with ENOENT to add a second controller below the same parent;
 *   - knows no hierarchy without a controller (the version 2 half of a hybrid system, which can freeze and count CPU
 *     time), no container's partial mount, and only the mounts of "/";
 *   - moves one thread of a process on version 1 (cgroup_attach_task_pid), so tasks.c moves them one by one;
 *   - prints to stdout unless a logger is set before cgroup_init;
 *   - gives the text of an unrelated error for code 0 (cgroup_strerror), so it is not asked for texts.
 */
#include "cgroup.h"

#include <errno.h>
#include <libcgroup.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const kind_names[CGROUP_NR_KINDS] = { "cpuset", "cpu", "cpuacct", "freezer", "sockets" };

/* Whether `word` is in `list`, whose words are separated by `separator`. */
static bool has_word(const char *list, char separator, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; at; at = strchr(at, separator), at = at ? at + 1 : NULL)
		if (!strncmp(at, word, len) && (at[len] == '\0' || at[len] == separator))
			return true;
	return false;
}

static bool v2_has(const char *dir, enum cgroup_kind kind)
{
	char path[KNOB_PATH_SIZE + 32], text[KNOB_TEXT_SIZE];

	if (kind >= CGROUP_CPUACCT)
		return true;
	snprintf(path, sizeof(path), "%s/cgroup.controllers", dir);
	return knob_read_path(path, text, sizeof(text)) >= 0 && has_word(text, ' ', kind_names[kind]);
}

/* mountinfo writes space, tab, newline and backslash as three octal digits. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		unsigned int code;

		if (from[0] == '\\' && sscanf(from + 1, "%3o", &code) == 1) {
			*to = (char)code;
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

static void take_mount(const char *root, const char *type, const char *dir, const char *top, const char *options,
		       struct cgroup_mounts *ret)
{
	int version = !strcmp(type, "cgroup") ? 1 : !strcmp(type, "cgroup2") ? 2 : 0;
	char full[KNOB_PATH_SIZE];

	if (!version || snprintf(full, sizeof(full), "%s%s", root, dir) >= (int)sizeof(full))
		return;
	for (enum cgroup_kind kind = 0; kind < CGROUP_NR_KINDS; kind++) {
		struct cgroup_mount *mount = &ret->kinds[kind];

		if (version == 1 ? !has_word(options, ',', kind_names[kind]) : !v2_has(full, kind))
			continue;
		if (mount->version && mount->version <= version)
			continue; /* the first mount of the better version */
		mount->version = version;
		snprintf(mount->name, sizeof(mount->name), "%s", kind_names[kind]);
		snprintf(mount->dir, sizeof(mount->dir), "%s", full);
		snprintf(mount->top, sizeof(mount->top), "%s", top);
		snprintf(mount->home, sizeof(mount->home), "%s", full);
	}
}

int cgroup_read_mounts(const char *root, struct cgroup_mounts *ret)
{
	char path[KNOB_PATH_SIZE], *line = NULL;
	struct cgroup_mounts found = { 0 };
	size_t size = 0;
	int err = -ENOENT;
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/self/mountinfo", root);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (getline(&line, &size, file) > 0) {
		char top[KNOB_PATH_SIZE], dir[KNOB_PATH_SIZE], type[32], options[256];
		const char *rest = strstr(line, " - ");

		if (!rest || sscanf(line, "%*s %*s %*s %511s %511s", top, dir) != 2 ||
		    sscanf(rest, " - %31s %*s %255s", type, options) != 2)
			continue;
		unescape(top);
		unescape(dir);
		take_mount(root, type, dir, top, options, &found);
	}
	free(line);
	fclose(file);
	for (enum cgroup_kind kind = 0; kind < CGROUP_NR_KINDS; kind++)
		if (found.kinds[kind].version)
			err = 0;
	if (!err)
		*ret = found;
	return err;
}

/* `path` of one line of /proc/<pid>/cgroup, when the line is about `mount`; NULL otherwise. */
static const char *match_line(const struct cgroup_mount *mount, char *line)
{
	char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;

	if (mount->version == CGROUP_RESCTRL) {
		line[strcspn(line, "\n")] = '\0';
		return !strncmp(line, "res:/", 5) ? line + 4 : NULL;
	}
	if (!path)
		return NULL;
	*path++ = '\0';
	path[strcspn(path, "\n")] = '\0';
	if (mount->version == 2 ? strcmp(line, "0:") : !has_word(controllers + 1, ',', mount->name))
		return NULL;
	return path;
}

/* A group's path as the kernel says it, below the mount point that shows `top`. */
static int path_to_dir(const struct cgroup_mount *mount, const char *path, char *ret_dir, size_t size)
{
	size_t len = strlen(mount->top);

	if (strcmp(mount->top, "/") && !strncmp(path, mount->top, len) && (path[len] == '/' || path[len] == '\0'))
		path += len;
	if (!strcmp(path, "/"))
		path = "";
	return snprintf(ret_dir, size, "%s%s", mount->dir, path) < (int)size ? 0 : -ENAMETOOLONG;
}

int cgroup_read_task(const char *root, const struct cgroup_mount *mount, pid_t tid, char *ret_dir, size_t size)
{
	bool resctrl = mount->version == CGROUP_RESCTRL;
	char path[KNOB_PATH_SIZE], *line = NULL;
	size_t line_size = 0;
	int err = -ESRCH;
	FILE *file;

	if (tid)
		snprintf(path, sizeof(path), "%s/proc/%d/%s", root, (int)tid, resctrl ? "cpu_resctrl_groups" : "cgroup");
	else
		snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	file = fopen(path, "re");
	if (!file && errno == ENOENT && resctrl) /* kernels before 5.6 do not say; at the top is who was not moved */
		return path_to_dir(mount, "/", ret_dir, size);
	if (!file)
		return errno == ENOENT ? -ESRCH : -errno;
	while (err == -ESRCH && getline(&line, &line_size, file) > 0) {
		const char *group = match_line(mount, line);

		if (group)
			err = path_to_dir(mount, group, ret_dir, size);
	}
	free(line);
	fclose(file);
	return err;
}

static void stay_silent(void *userdata, int level, const char *format, va_list args)
{
	(void)userdata, (void)level, (void)format, (void)args;
}

/* The library's codes say where it failed; the kernel's reason is beside them only for ECGOTHER. */
static int library_error(int code)
{
	switch (code) {
	case 0:
		return 0;
	case ECGOTHER:
		return cgroup_get_last_errno() ? -cgroup_get_last_errno() : -EIO;
	case ECGROUPNOTALLOWED:
	case ECGROUPNOTOWNER:
		return -EPERM;
	case ECGROUPNOTMOUNTED:
	case ECGROUPSUBSYSNOTMOUNTED:
		return -ENODEV;
	default:
		return -EIO;
	}
}

/* Whether the library would make groups where we mean. */
static bool library_knows(const struct cgroup_mount *mount)
{
	char *dir = NULL;
	bool same;

	cgroup_set_logger(stay_silent, CGROUP_LOG_ERROR, NULL);
	if (mount->version != 1 || cgroup_init() || cgroup_get_subsys_mount_point(mount->name, &dir))
		return false;
	same = !strcmp(dir, mount->dir);
	free(dir);
	return same;
}

static int make_by_library(const struct cgroup_mount *mount, const char *name)
{
	struct cgroup *group = cgroup_new_cgroup(name);
	int code = ECGOTHER;

	if (group && cgroup_add_controller(group, mount->name))
		code = cgroup_create_cgroup(group, 1);
	cgroup_free(&group);
	return library_error(code);
}

int cgroup_make(const struct cgroup_mount *mount, const char *name)
{
	char path[KNOB_PATH_SIZE];
	struct stat st;

	if (snprintf(path, sizeof(path), "%s/%s", mount->dir, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	if (stat(path, &st) == 0)
		return S_ISDIR(st.st_mode) ? 0 : -EEXIST;
	if (library_knows(mount))
		return make_by_library(mount, name);
	return mkdir(path, 0755) ? -errno : 0;
}

int cgroup_missing_controllers(const char *dir, const char *controllers, char *ret, size_t size)
{
	char path[KNOB_PATH_SIZE + 32], enabled[KNOB_TEXT_SIZE], words[64], *save = NULL;
	size_t len = 0;
	int err;

	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", dir);
	err = knob_read_path(path, enabled, sizeof(enabled));
	if (err < 0)
		return err;
	snprintf(words, sizeof(words), "%s", controllers);
	ret[0] = '\0';
	for (char *word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save))
		if (!has_word(enabled, ' ', word))
			len += (size_t)snprintf(ret + len, size > len ? size - len : 0, "%s+%s", len ? " " : "", word);
	return len < size ? 0 : -ENOSPC;
}
