// SPDX-License-Identifier: GPL-2.0
/*
 * subtree.c - finds the subtree that was delegated to us and hands controllers down.  Port.
 * Which groups are made there, and who is moved into them, is group.c's.
 */
#include "subtree.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "match_path.h"
#include "tasks.h"

/* Processes may be born while a group is being emptied. */
enum { MAX_TRIES = 10 };

bool subtree_is_delegated(const char *dir)
{
	static const char *const names[] = { "user.delegate", "trusted.delegate" }; /* the second needs CAP_SYS_ADMIN */
	char value[4];

	for (int i = 0; i < 2; i++)
		if (getxattr(dir, names[i], value, sizeof(value)) == 1 && value[0] == '1')
			return true;
	return false;
}

/* The first group that is the unit of this name. */
static int find_unit(const struct cgroup_mount *mount, const char *name, char *ret_dir, size_t size)
{
	char *dirs[] = { (char *)mount->dir, NULL };
	struct match unit = { .kind = MATCH_UNIT };
	FTS *tree = fts_open(dirs, FTS_PHYSICAL | FTS_NOCHDIR | FTS_NOSTAT, NULL);
	size_t top = strlen(mount->dir);
	int err = -ENOENT;

	if (!tree)
		return -errno;
	snprintf(unit.text, sizeof(unit.text), "%s", name);
	for (FTSENT *at; err == -ENOENT && (at = fts_read(tree));)
		if (at->fts_info == FTS_D && match_path_covered(&unit, at->fts_path + top))
			err = snprintf(ret_dir, size, "%s", at->fts_path) < (int)size ? 0 : -ENAMETOOLONG;
	fts_close(tree);
	return err;
}

/* Without these below it a group is of no use to us. */
static bool has_controllers(const char *dir)
{
	char path[KNOB_PATH_SIZE + 32], text[KNOB_TEXT_SIZE], padded[KNOB_TEXT_SIZE + 2];

	snprintf(path, sizeof(path), "%s/cgroup.controllers", dir);
	if (knob_read_path(path, text, sizeof(text)) < 0)
		return false;
	snprintf(padded, sizeof(padded), " %s ", text);
	return strstr(padded, " cpuset ") && strstr(padded, " cpu ");
}

static int find_home(const char *root, const char *wanted, const struct cgroup_mount *mount, char *dir, char *why,
		     size_t size)
{
	size_t top = strlen(mount->dir);
	int err;

	if (!strcmp(wanted, SUBTREE_AUTO)) {
		err = cgroup_read_task(root, mount, 0, dir, KNOB_PATH_SIZE);
		if (err)
			snprintf(why, size, "our own control group cannot be read: %s", strerror(-err));
	} else {
		err = find_unit(mount, wanted, dir, KNOB_PATH_SIZE);
		if (err)
			snprintf(why, size, "unit %.200s has no control group; start it first", wanted);
	}
	if (err)
		return err;
	if (!subtree_is_delegated(dir))
		snprintf(why, size, "%.400s is not delegated; Delegate=yes in its unit does it", dir[top] ? dir + top : "/");
	else if (!has_controllers(dir))
		snprintf(why, size, "%.400s is delegated without the controllers cpuset and cpu; Delegate=yes gives all",
			 dir[top] ? dir + top : "/");
	return why[0] ? -EPERM : 0;
}

int subtree_find(const char *root, const char *wanted, struct cgroup_mounts *mounts, char *why, size_t size)
{
	const struct cgroup_mount *cpuset = &mounts->kinds[CGROUP_CPUSET];
	char dir[KNOB_PATH_SIZE];
	int err;

	why[0] = '\0';
	if (!wanted || !wanted[0])
		wanted = SUBTREE_AUTO;
	if (cpuset->version != 2 || !strcmp(wanted, SUBTREE_TOP))
		return 0;
	err = find_home(root, wanted, cpuset, dir, why, size);
	if (err)
		return strcmp(wanted, SUBTREE_AUTO) ? err : 0;
	for (enum cgroup_kind kind = 0; kind < CGROUP_NR_KINDS; kind++)
		if (mounts->kinds[kind].version == 2)
			snprintf(mounts->kinds[kind].home, KNOB_PATH_SIZE, "%s", dir);
	return 0;
}

int subtree_make(const struct cgroup_mount *mount, const char *name, struct journal *j)
{
	struct journal_entry entry = { .kind = JOURNAL_GROUP };
	struct stat st;
	int err;

	snprintf(entry.path, sizeof(entry.path), "%.400s/%.80s", mount->home, name);
	snprintf(entry.text, sizeof(entry.text), "%s", mount->dir);
	if (stat(entry.path, &st) == 0)
		return S_ISDIR(st.st_mode) ? 0 : -EEXIST;
	err = journal_add(j, &entry);
	if (!err)
		err = journal_sync(j);
	return err ? err : cgroup_make(mount, entry.path + strlen(mount->dir) + 1);
}

/*
 * Only the real root may hold processes and hand out controllers.  (Given cpuset and cpu alone the kernel would turn a
 * populated group into the root of a threaded subtree, in which ours cannot live.)  Our home holds at least ourselves, and the
 * top of a container looks like the root but is not: their processes move to a leaf of ours.
 */
static int make_room(const struct cgroup_mount *mount, const char *root, const char *dir, struct journal *j)
{
	char others[KNOB_PATH_SIZE], type[KNOB_PATH_SIZE];
	struct match_pids pids;
	int err = 0;

	snprintf(type, sizeof(type), "%.480s/cgroup.type", dir);
	snprintf(others, sizeof(others), "%.400s/" CGROUP_OWN "/.others", mount->home);
	if (access(type, F_OK))
		return 0; /* the real root */
	for (int i = 0; !err && i < MAX_TRIES; i++) {
		err = tasks_read_processes(dir, &pids);
		if (err || !pids.nr)
			return err;
		if (strcmp(dir, mount->home))
			return -EBUSY;
		err = subtree_make(mount, CGROUP_OWN, j);
		if (!err)
			err = subtree_make(mount, CGROUP_OWN "/.others", j);
		if (!err)
			err = tasks_move_in(root, mount, others, &pids, j);
		err = err < 0 ? err : 0;
	}
	return err ? err : -EBUSY;
}

/* What undoes it is journalled after whatever had to move for it, so that it is undone first. */
static int enable_in(const struct cgroup_mount *mount, const char *root, const char *dir, const char *missing,
		     struct journal *j)
{
	struct journal_entry entry = { .kind = JOURNAL_WRITE };
	int err = make_room(mount, root, dir, j);

	snprintf(entry.path, sizeof(entry.path), "%.480s/cgroup.subtree_control", dir);
	snprintf(entry.text, sizeof(entry.text), "%s", missing);
	for (char *plus = strchr(entry.text, '+'); plus; plus = strchr(plus, '+'))
		*plus = '-';
	if (!err)
		err = journal_add(j, &entry);
	if (!err)
		err = journal_sync(j);
	return err ? err : knob_write_path(entry.path, missing);
}

int subtree_hand_out(const struct cgroup_mount *mount, const char *root, const char *dir, const char *controllers,
		     struct journal *j, char *error, size_t error_size)
{
	char at[KNOB_PATH_SIZE], missing[64] = "";
	size_t home = strlen(mount->home), length = strlen(mount->dir);
	int err = 0;

	if (!strncmp(dir, mount->home, home) && dir[home] == '/')
		length = home;
	while (!err && dir[length] == '/') {
		snprintf(at, sizeof(at), "%.*s", (int)length, dir);
		err = cgroup_missing_controllers(at, controllers, missing, sizeof(missing));
		if (!err && missing[0])
			err = enable_in(mount, root, at, missing, j);
		length += 1 + strcspn(dir + length + 1, "/");
	}
	if (err == -EBUSY)
		snprintf(error, error_size, "%s holds processes itself and so cannot hand out \"%s\": move them to a group "
			 "below it", at, missing);
	else if (err)
		snprintf(error, error_size, "cannot enable \"%s\" in %s: %s", missing, at, strerror(-err));
	return err;
}
