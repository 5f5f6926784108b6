/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tasks.c - moves threads between groups.  Port.
 * It makes no group and chooses no process.
 *
 * A write to `cgroup.procs` moves all threads of a process at once, on both versions, and none can be born outside
 * meanwhile.  (cgroup_attach_task_pid of libcgroup writes to `tasks` of version 1, which moves one thread.)  `tasks` is
 * used only to send single threads back to where they were alone.
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

enum { FLAG_EXITING = 0x4 }; /* PF_EXITING in the kernel; the flags are part of proc(5) */

int tasks_read_stat(const char *root, pid_t tid, struct tasks_stat *ret)
{
	char path[KNOB_PATH_SIZE], text[KNOB_TEXT_SIZE];
	struct tasks_stat line;
	unsigned int flags;
	const char *rest;

	snprintf(path, sizeof(path), "%s/proc/%d/stat", root, (int)tid);
	if (knob_read_path(path, text, sizeof(text)) < 0)
		return -ESRCH;
	rest = strrchr(text, ')'); /* the name may hold anything */
	if (!rest || sscanf(rest + 1, " %*c %d %*s %*s %*s %*s %u %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			    "%" SCNu64, &line.parent, &flags, &line.start) != 3)
		return -ESRCH;
	line.exiting = flags & FLAG_EXITING;
	*ret = line;
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

	snprintf(ours, sizeof(ours), "%s/" CGROUP_OWN "%c", mount->home, mount->version == CGROUP_RESCTRL ? '-' : '/');
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

int tasks_read_processes(const char *dir, struct match_pids *ret)
{
	struct ids members = { 0 };
	int err = read_members(dir, "cgroup.procs", &members);

	if (!err && members.nr > MATCH_MAX_PIDS)
		err = -E2BIG;
	if (!err) {
		ret->nr = (uint32_t)members.nr;
		memcpy(ret->pids, members.ids, members.nr * sizeof(members.ids[0]));
	}
	free(members.ids);
	return err;
}

struct move {
	const char *root, *dir;
	const struct cgroup_mount *mount;
	struct journal *j;
	struct ids members, threads; /* who is inside; of the process that is looked at */
	struct ids outside;          /* threads */
	struct ids processes;        /* theirs */
};

/* A task that is ending is nowhere: version 1 says "/" of it, wherever it was. */
static int note_outside(struct move *m, pid_t id)
{
	struct journal_entry entry = { .kind = JOURNAL_TASK, .tid = id };
	struct tasks_stat line;
	int err;

	if (is_member(&m->members, id))
		return 0;
	err = cgroup_read_task(m->root, m->mount, id, entry.text, sizeof(entry.text));
	if (err)
		return err == -ESRCH ? 0 : err;
	if (!strcmp(entry.text, m->dir) || tasks_read_stat(m->root, id, &line) || line.exiting)
		return 0;
	entry.start = line.start;
	snprintf(entry.path, sizeof(entry.path), "%s", m->dir);
	/* A group of ours is nobody's original. */
	if (!is_ours(m->mount, entry.text))
		err = journal_add(m->j, &entry);
	return err ? err : ids_add(&m->outside, id);
}

/* On version 2 the threads of a process are together. */
static int look_at(struct move *m, pid_t pid)
{
	size_t before = m->outside.nr;
	int err = 0;

	m->threads.nr = 0;
	if (m->mount->version == 2)
		err = ids_add(&m->threads, pid);
	else
		err = read_threads(m->root, pid, &m->threads);
	for (size_t t = 0; !err && t < m->threads.nr; t++)
		err = note_outside(m, m->threads.ids[t]);
	return err || m->outside.nr == before ? err : ids_add(&m->processes, pid);
}

static int look(struct move *m, const struct match_pids *pids)
{
	int err = read_members(m->dir, m->mount->version == 2 ? "cgroup.procs" : "tasks", &m->members);

	m->outside.nr = m->processes.nr = 0;
	for (uint32_t i = 0; !err && i < pids->nr; i++)
		err = look_at(m, pids->pids[i]);
	return err;
}

int tasks_move_in(const char *root, const struct cgroup_mount *mount, const char *dir, const struct match_pids *pids,
		  struct journal *j)
{
	struct move m = { .root = root, .dir = dir, .mount = mount, .j = j };
	int err = 0, moved = 0, quiet = 0;
	const struct ids *movable;

	for (int i = 0; !err && quiet < 2; i++) {
		int before = moved;

		err = i < MAX_LOOKS ? look(&m, pids) : -EAGAIN;
		if (!err && m.outside.nr)
			err = journal_sync(j);
		movable = mount->version == CGROUP_RESCTRL ? &m.outside : &m.processes;
		for (size_t p = 0; !err && p < movable->nr; p++)
			err = move_one(dir, mount->version == CGROUP_RESCTRL ? "tasks" : "cgroup.procs", movable->ids[p],
				       &moved);
		quiet = moved == before ? quiet + 1 : 0;
	}
	free(m.members.ids);
	free(m.threads.ids);
	free(m.outside.ids);
	free(m.processes.ids);
	return err ? err : moved;
}

struct move_out {
	const char *root, *dir, *home;
	const struct journal_entry *entries;
	size_t nr_entries;
};

static const char *find_entry(const struct move_out *m, pid_t tid)
{
	struct tasks_stat line;

	if (tasks_read_stat(m->root, tid, &line))
		return NULL;
	for (const struct journal_entry *e = m->entries; e < m->entries + m->nr_entries; e++)
		if (e->kind == JOURNAL_TASK && e->tid == tid && e->start == line.start && !strcmp(e->path, m->dir))
			return e->text;
	return NULL;
}

static const char *find_origin(const struct move_out *m, pid_t tid)
{
	const char *origin = find_entry(m, tid);
	pid_t id = read_process(m->root, tid);

	for (int i = 0; !origin && id > 1 && i < MAX_ANCESTORS; i++) {
		struct tasks_stat line;

		origin = find_entry(m, id);
		if (tasks_read_stat(m->root, id, &line))
			break;
		id = line.parent;
	}
	return origin;
}

/* Processes as a whole. */
static int move_processes(struct move_out *m, int *moved)
{
	struct ids members = { 0 };
	int err = read_members(m->dir, "cgroup.procs", &members);

	for (size_t i = 0; !err && i < members.nr; i++) {
		const char *origin = find_origin(m, members.ids[i]);

		err = origin ? move_one(origin, "cgroup.procs", members.ids[i], moved) : -ENOENT;
		if (err)
			err = move_one(m->home, "cgroup.procs", members.ids[i], moved);
	}
	free(members.ids);
	return err;
}

/* resctrl knows no processes.  With its group gone a thread is at the top, where most come from. */
static int move_from_resctrl(struct move_out *m, const struct ids *threads, int *moved)
{
	int err = 0;

	for (size_t i = 0; !err && i < threads->nr; i++) {
		const char *origin = find_origin(m, threads->ids[i]);

		if (origin && strcmp(origin, m->home))
			err = move_one(origin, "tasks", threads->ids[i], moved);
		if (err == -ENOENT)
			err = 0;
	}
	return err;
}

/*
 * Then threads that had been apart from their process, which only version 1 allows.  A group that is gone is no
 * failure.
 */
static int move_threads(struct move_out *m, const struct ids *threads, int *moved)
{
	int err = 0;

	for (size_t i = 0; !err && i < threads->nr; i++) {
		pid_t process = read_process(m->root, threads->ids[i]);
		const char *origin = find_entry(m, threads->ids[i]);
		const char *others = find_entry(m, process);

		if (origin && others && strcmp(origin, others))
			err = move_one(origin, "tasks", threads->ids[i], moved);
		if (err == -ENOENT)
			err = 0;
	}
	return err;
}

int tasks_move_out(const char *root, const char *dir, const char *home, const struct journal_entry *entries,
		   size_t nr_entries)
{
	struct move_out m = { .root = root, .dir = dir, .home = home, .entries = entries, .nr_entries = nr_entries };
	struct ids threads = { 0 };
	int moved = 0, err = read_members(dir, "tasks", &threads);
	char path[KNOB_PATH_SIZE + 16];

	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	if (!err && access(path, F_OK)) {
		err = move_from_resctrl(&m, &threads, &moved);
	} else {
		if (err == -ENOENT) /* version 2, or no such group */
			err = 0;
		if (!err)
			err = move_processes(&m, &moved);
		if (!err)
			err = move_threads(&m, &threads, &moved);
	}
	free(threads.ids);
	return err ? err : moved;
}

int tasks_note_affinity(const char *root, const struct cgroup_mount *mount, const struct match_pids *pids,
			struct journal *j)
{
	struct ids threads = { 0 };
	char dir[KNOB_PATH_SIZE];
	int err = 0;

	/* Threads of a tree are nobody, or somebody else's here. */
	for (uint32_t i = 0; i < pids->nr && !root[0] && !err; i++) {
		err = read_threads(root, pids->pids[i], &threads);
		for (size_t t = 0; t < threads.nr && !err; t++) {
			struct tasks_stat line;

			if (tasks_read_stat(root, threads.ids[t], &line))
				continue;
			err = cgroup_read_task(root, mount, threads.ids[t], dir, sizeof(dir));
			if (!err && !is_ours(mount, dir))
				err = affinity_note(threads.ids[t], line.start, dir, j);
			if (err == -ESRCH)
				err = 0;
		}
	}
	free(threads.ids);
	return err;
}

bool tasks_is_alive(const char *root, pid_t tid, uint64_t start)
{
	struct tasks_stat line;

	return !tasks_read_stat(root, tid, &line) && line.start == start;
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
