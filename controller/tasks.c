/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tasks.c - moves threads between groups.  Port.
 * It makes no group and chooses no process.
 *
 * Version 1 moves one thread per write to `tasks` (and so does cgroup_attach_task_pid of libcgroup, which is why it is
 * not used); version 2 moves a whole process per write to `cgroup.procs`.
 */
#include "tasks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "affinity.h"

enum { MAX_LOOKS = 50, MAX_ANCESTORS = 64 };

struct ids {
	pid_t *ids;
	size_t nr, size;
};

static int ids_add(struct ids *ids, pid_t id)
{
	if (ids->nr == ids->size) {
		size_t size = ids->size ? ids->size * 2 : 256;
		pid_t *new = realloc(ids->ids, size * sizeof(*new));

		if (!new)
			return -ENOMEM;
		ids->ids = new;
		ids->size = size;
	}
	ids->ids[ids->nr++] = id;
	return 0;
}

static int compare_ids(const void *left, const void *right)
{
	pid_t a = *(const pid_t *)left, b = *(const pid_t *)right;

	return a < b ? -1 : a > b;
}

/* Whoever is in a group, ascending. */
static int read_members(const char *dir, const char *file, struct ids *ret)
{
	char path[KNOB_PATH_SIZE + 16];
	int id, err = 0;
	FILE *in;

	ret->nr = 0;
	snprintf(path, sizeof(path), "%s/%s", dir, file);
	in = fopen(path, "re");
	if (!in)
		return -errno;
	while (!err && fscanf(in, "%d", &id) == 1)
		err = ids_add(ret, id);
	fclose(in);
	if (ret->nr)
		qsort(ret->ids, ret->nr, sizeof(*ret->ids), compare_ids);
	return err;
}

static bool is_member(const struct ids *members, pid_t id)
{
	return members->nr && bsearch(&id, members->ids, members->nr, sizeof(id), compare_ids);
}

/* Threads of a process; a process that is gone has none. */
static int read_threads(const char *root, pid_t pid, struct ids *ret)
{
	char path[KNOB_PATH_SIZE];
	struct dirent *entry;
	int err = 0;
	DIR *dir;

	ret->nr = 0;
	snprintf(path, sizeof(path), "%s/proc/%d/task", root, (int)pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	while (!err && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			err = ids_add(ret, atoi(entry->d_name));
	closedir(dir);
	return err;
}

/* The fields of /proc/<tid>/stat that tell a task from a later one with the same number, and its parent. */
static int read_stat(const char *root, pid_t tid, pid_t *ret_parent, uint64_t *ret_start)
{
	char path[KNOB_PATH_SIZE], text[KNOB_TEXT_SIZE];
	const char *rest;
	int parent;

	snprintf(path, sizeof(path), "%s/proc/%d/stat", root, (int)tid);
	if (knob_read_path(path, text, sizeof(text)) < 0)
		return -ESRCH;
	rest = strrchr(text, ')'); /* the name may hold anything */
	if (!rest || sscanf(rest + 1, " %*c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64,
			    &parent, ret_start) != 2)
		return -ESRCH;
	*ret_parent = parent;
	return 0;
}

static pid_t read_process(const char *root, pid_t tid)
{
	char path[KNOB_PATH_SIZE], *line = NULL;
	size_t size = 0;
	int pid = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/%d/status", root, (int)tid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (!pid && getline(&line, &size, file) > 0)
		if (sscanf(line, "Tgid: %d", &pid) != 1)
			pid = 0;
	free(line);
	fclose(file);
	return pid;
}

/* A task that is gone is no failure; EINVAL is a kernel thread that is bound to its CPU. */
static int move_one(const char *dir, const char *file, pid_t id, int *moved)
{
	char path[KNOB_PATH_SIZE + 16], text[16];
	int err;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	snprintf(text, sizeof(text), "%d", (int)id);
	err = knob_write_path(path, text);
	if (!err)
		(*moved)++;
	return err == -ESRCH || err == -EINVAL ? 0 : err;
}

static bool is_ours(const struct cgroup_mount *mount, const char *dir)
{
	char ours[KNOB_PATH_SIZE + 16];

	snprintf(ours, sizeof(ours), "%s/" CGROUP_OWN "/", mount->dir);
	return !strncmp(dir, ours, strlen(ours));
}

int tasks_find_group(const char *root, const struct cgroup_mount *mount, const struct match_pids *pids, char *ret_dir,
		     size_t size)
{
	struct ids members = { 0 };
	char dir[KNOB_PATH_SIZE];
	int err = pids->nr ? 0 : -ENOENT;

	for (uint32_t i = 0; i < pids->nr && !err; i++) {
		err = cgroup_read_task(root, mount, pids->pids[i], dir, sizeof(dir));
		if (!err && !i)
			err = snprintf(ret_dir, size, "%s", dir) < (int)size ? 0 : -ENAMETOOLONG;
		else if (!err && strcmp(dir, ret_dir))
			err = -ENOENT;
	}
	if (!err && (!strcmp(ret_dir, mount->dir) || is_ours(mount, ret_dir)))
		err = -ENOENT;
	if (!err)
		err = read_members(ret_dir, "cgroup.procs", &members);
	if (!err && members.nr != pids->nr)
		err = -ENOENT;
	free(members.ids);
	return err ? -ENOENT : 0;
}

struct move {
	const char *root, *dir, *file;
	const struct cgroup_mount *mount;
	struct journal *j;
	struct ids members, threads, outside;
};

static int note_outside(struct move *m, pid_t id)
{
	struct journal_entry entry = { .kind = JOURNAL_TASK, .tid = id };
	pid_t parent;
	int err;

	if (is_member(&m->members, id))
		return 0;
	if (read_stat(m->root, id, &parent, &entry.start))
		return 0;
	err = cgroup_read_task(m->root, m->mount, id, entry.text, sizeof(entry.text));
	if (err)
		return err == -ESRCH ? 0 : err;
	snprintf(entry.path, sizeof(entry.path), "%s", m->dir);
	/* A group of ours is nobody's original. */
	if (!is_ours(m->mount, entry.text))
		err = journal_add(m->j, &entry);
	return err ? err : ids_add(&m->outside, id);
}

static int look(struct move *m, const struct match_pids *pids)
{
	int err = read_members(m->dir, m->file, &m->members);

	m->outside.nr = 0;
	for (uint32_t i = 0; !err && i < pids->nr; i++) {
		if (m->mount->version == 2) {
			err = note_outside(m, pids->pids[i]);
			continue;
		}
		err = read_threads(m->root, pids->pids[i], &m->threads);
		for (size_t t = 0; !err && t < m->threads.nr; t++)
			err = note_outside(m, m->threads.ids[t]);
	}
	return err;
}

int tasks_move_in(const char *root, const struct cgroup_mount *mount, const char *dir, const struct match_pids *pids,
		  struct journal *j)
{
	struct move m = { .root = root, .dir = dir, .mount = mount, .j = j,
			  .file = mount->version == 2 ? "cgroup.procs" : "tasks" };
	int err = 0, moved = 0, quiet = 0;

	for (int i = 0; !err && quiet < 2; i++) {
		int before = moved;

		err = i < MAX_LOOKS ? look(&m, pids) : -EAGAIN;
		if (!err && m.outside.nr)
			err = journal_sync(j);
		for (size_t o = 0; !err && o < m.outside.nr; o++)
			err = move_one(dir, m.file, m.outside.ids[o], &moved);
		quiet = moved == before ? quiet + 1 : 0;
	}
	free(m.members.ids);
	free(m.threads.ids);
	free(m.outside.ids);
	return err ? err : moved;
}

static const char *find_entry(const char *root, const char *dir, pid_t tid, const struct journal_entry *entries, size_t nr)
{
	uint64_t start;
	pid_t parent;

	if (read_stat(root, tid, &parent, &start))
		return NULL;
	for (size_t i = 0; i < nr; i++)
		if (entries[i].kind == JOURNAL_TASK && entries[i].tid == tid && entries[i].start == start &&
		    !strcmp(entries[i].path, dir))
			return entries[i].text;
	return NULL;
}

static const char *find_origin(const char *root, const char *dir, pid_t tid, const struct journal_entry *entries, size_t nr)
{
	const char *origin = find_entry(root, dir, tid, entries, nr);
	pid_t id = read_process(root, tid);

	for (int i = 0; !origin && id > 1 && i < MAX_ANCESTORS; i++) {
		uint64_t start;
		pid_t parent;

		origin = find_entry(root, dir, id, entries, nr);
		if (read_stat(root, id, &parent, &start))
			break;
		id = parent;
	}
	return origin;
}

int tasks_move_out(const char *root, const char *dir, const char *home, const struct journal_entry *entries,
		   size_t nr_entries)
{
	char path[KNOB_PATH_SIZE + 16];
	struct ids members = { 0 };
	const char *file;
	int err, moved = 0;

	snprintf(path, sizeof(path), "%s/tasks", dir);
	file = access(path, F_OK) ? "cgroup.procs" : "tasks"; /* version 2 has no `tasks` */
	err = read_members(dir, file, &members);
	for (size_t m = 0; !err && m < members.nr; m++) {
		const char *origin = find_origin(root, dir, members.ids[m], entries, nr_entries);

		err = origin ? move_one(origin, file, members.ids[m], &moved) : -ENOENT;
		if (err)
			err = move_one(home, file, members.ids[m], &moved);
	}
	free(members.ids);
	return err ? err : moved;
}

int tasks_note_affinity(const char *root, const struct cgroup_mount *mount, const struct match_pids *pids,
			struct journal *j)
{
	struct ids threads = { 0 };
	char dir[KNOB_PATH_SIZE];
	int err = 0;

	for (uint32_t i = 0; i < pids->nr && !err; i++) {
		err = read_threads(root, pids->pids[i], &threads);
		for (size_t t = 0; t < threads.nr && !err; t++) {
			uint64_t start;
			pid_t parent;

			if (read_stat(root, threads.ids[t], &parent, &start))
				continue;
			err = cgroup_read_task(root, mount, threads.ids[t], dir, sizeof(dir));
			if (!err && !is_ours(mount, dir))
				err = affinity_note(threads.ids[t], start, dir, j);
			if (err == -ESRCH)
				err = 0;
		}
	}
	free(threads.ids);
	return err;
}

bool tasks_is_alive(const char *root, pid_t tid, uint64_t start)
{
	uint64_t started;
	pid_t parent;

	return !read_stat(root, tid, &parent, &started) && started == start;
}

uint64_t tasks_cpu_ns(const char *root, const struct match_pids *pids)
{
	struct ids threads = { 0 };
	uint64_t sum = 0;

	for (uint32_t i = 0; i < pids->nr; i++) {
		read_threads(root, pids->pids[i], &threads);
		for (size_t t = 0; t < threads.nr; t++) {
			char path[KNOB_PATH_SIZE], text[128];

			snprintf(path, sizeof(path), "%s/proc/%d/task/%d/schedstat", root, (int)pids->pids[i],
				 (int)threads.ids[t]);
			if (knob_read_path(path, text, sizeof(text)) > 0)
				sum += strtoull(text, NULL, 10);
		}
	}
	free(threads.ids);
	return sum;
}
