// SPDX-License-Identifier: GPL-2.0
/*
 * group_place.c - finds the group of a service in one hierarchy.  Port: reads /proc.
 * Making and filling it is group.c's.
 */
#include "group_place.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "match_path.h"
#include "tasks.h"

/* Limits of a parent bind its children on version 1, so only a group without children is adopted there. */
static bool can_adopt(const char *dir, int version)
{
	struct stat st;

	return stat(dir, &st) == 0 && S_ISDIR(st.st_mode) && (version == 2 || st.st_nlink <= 2);
}

/*
 * The group that the match names, if that is one: where its processes are, or above.  Those that are elsewhere, children of
 * them that somebody moved, are left where they are.
 */
static int find_named(const char *root, const struct cgroup_mount *mount, const struct match *match,
		      const struct match_pids *pids, char *ret_dir, size_t size)
{
	size_t top = strlen(mount->dir), length, found = 0;
	char dir[KNOB_PATH_SIZE];

	for (uint32_t i = 0; match && i < pids->nr; i++) {
		if (cgroup_read_task(root, mount, pids->pids[i], dir, sizeof(dir)))
			continue;
		length = match_path_covered(match, dir + top);
		if (!length)
			continue;
		if (found && (found != top + length || strncmp(dir, ret_dir, found)))
			return -ENOENT;
		found = top + length;
		snprintf(ret_dir, size, "%.*s", (int)found, dir);
	}
	return found ? 0 : -ENOENT;
}

int group_place_find(struct group_place *p, const char *root, const struct cgroup_mount *mount, const char *name,
		     const struct match *match, const struct match_pids *pids)
{
	p->mount = mount;
	p->own = false;
	if (!find_named(root, mount, match, pids, p->dir, sizeof(p->dir)) && can_adopt(p->dir, mount->version))
		return 0;
	if (mount->version == 2 && !tasks_find_group(root, mount, pids, p->dir, sizeof(p->dir)))
		return 0;
	p->own = true;
	return snprintf(p->dir, sizeof(p->dir), "%s/" CGROUP_OWN "/%s", mount->home, name) < (int)sizeof(p->dir) ?
	       0 : -ENAMETOOLONG;
}

bool group_place_is_inhabited(const struct group_place *p, const char *root, const struct match_pids *pids)
{
	size_t length = strlen(p->dir);
	char dir[KNOB_PATH_SIZE];

	for (uint32_t i = 0; i < pids->nr; i++)
		if (!cgroup_read_task(root, p->mount, pids->pids[i], dir, sizeof(dir)) && !strncmp(dir, p->dir, length) &&
		    (!dir[length] || dir[length] == '/'))
			return true;
	return false;
}
