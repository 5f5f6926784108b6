/* SPDX-License-Identifier: GPL-2.0 */
/*
 * restore.c - puts back what a journal says.  Port.
 * It needs nothing but the file: no topology, no configuration, no library, so that it works after any crash.
 */
#include "restore.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "affinity.h"
#include "lock.h"
#include "pins.h"
#include "tasks.h"

/* Dying tasks keep a group busy for a moment. */
enum { RMDIR_TRIES = 400, RMDIR_PAUSE_NS = 5000000 };

struct restore {
	const char *root;
	struct journal_entry *entries;
	bool *postponed; /* of each: its CPU is offline */
	size_t nr, nr_postponed;
	char *error;
	size_t error_size;
	int first_err, put_back;
};

void restore_state_dir(const char *root, const char *state_dir, char ret[KNOB_PATH_SIZE])
{
	snprintf(ret, KNOB_PATH_SIZE, "%s%s", state_dir ? "" : root, state_dir ? state_dir : RESTORE_STATE_DIR);
}

static void complain(struct restore *r, int err, const char *what, const char *path)
{
	if (r->first_err)
		return;
	r->first_err = err;
	snprintf(r->error, r->error_size, "%s %s: %s", what, path, strerror(-err));
}

static bool is_gone(int err)
{
	return err == -ENOENT || err == -ENODEV;
}

/* Of version 2 a set with tasks in it cannot be emptied again; all CPUs that there may ever be limit as little. */
static int put_no_cpus(struct restore *r, const struct journal_entry *e)
{
	char path[KNOB_PATH_SIZE], possible[KNOB_TEXT_SIZE];
	const char *name = strrchr(e->path, '/');
	int err = -ENOSPC;

	snprintf(path, sizeof(path), "%.400s/sys/devices/system/cpu/possible", r->root);
	if (name && !strcmp(name, "/cpuset.cpus"))
		err = knob_read_path(path, possible, sizeof(possible));
	return err < 0 ? err : knob_write_path(e->path, possible);
}

/* 0: done or not needed. */
static int put_value(struct restore *r, const struct journal_entry *e)
{
	char now[KNOB_TEXT_SIZE];
	int err = knob_read_path(e->path, now, sizeof(now));

	if (err >= 0 && !strcmp(now, e->text))
		return 0;
	if (err >= 0)
		err = knob_write_path(e->path, e->text);
	if (err == -ENOSPC && !e->text[0])
		err = put_no_cpus(r, e);
	if (!err)
		r->put_back++;
	return is_gone(err) ? 0 : err;
}

static int put_write(struct restore *r, const struct journal_entry *e)
{
	int err = knob_write_path(e->path, e->text);

	if (!err)
		r->put_back++;
	return is_gone(err) ? 0 : err;
}

/* A frozen task can be moved but would not run in its old group on every kernel. */
static void thaw(const char *dir)
{
	char path[KNOB_PATH_SIZE + 16];

	snprintf(path, sizeof(path), "%s/freezer.state", dir);
	knob_write_path(path, "THAWED");
	snprintf(path, sizeof(path), "%s/cgroup.freeze", dir);
	knob_write_path(path, "0");
}

static int remove_group(struct restore *r, const struct journal_entry *e)
{
	const struct timespec pause = { .tv_nsec = RMDIR_PAUSE_NS };
	int err = -EBUSY;

	thaw(e->path);
	for (int i = 0; err == -EBUSY && i < RMDIR_TRIES; i++) {
		int moved = tasks_move_out(r->root, e->path, e->text, r->entries, r->nr);

		if (moved < 0 && !is_gone(moved))
			return moved;
		r->put_back += moved > 0 ? moved : 0;
		err = rmdir(e->path) ? -errno : 0;
		if (err == -EBUSY)
			nanosleep(&pause, NULL);
	}
	if (!err)
		r->put_back++;
	return is_gone(err) ? 0 : err;
}

/* The kernel shows the speed of an offline CPU to nobody, and will bring it back online as it was: with our values. */
static bool is_of_offline_cpu(const struct journal_entry *e)
{
	char path[KNOB_PATH_SIZE + 16], text[8];
	const char *end = strstr(e->path, "/cpufreq/");

	if (e->kind != JOURNAL_VALUE || !end)
		return false;
	snprintf(path, sizeof(path), "%.*s/online", (int)(end - e->path), e->path);
	return knob_read_path(path, text, sizeof(text)) > 0 && text[0] == '0';
}

/* A controller that we switched on, and that somebody hands on below by now, is theirs. */
static bool is_handed_on(const struct journal_entry *e)
{
	const char *name = strrchr(e->path, '/');

	return e->kind == JOURNAL_WRITE && name && !strcmp(name, "/cgroup.subtree_control");
}

static int put_back_one(struct restore *r, const struct journal_entry *e)
{
	switch (e->kind) {
	case JOURNAL_VALUE:
		return put_value(r, e);
	case JOURNAL_WRITE:
		return put_write(r, e);
	case JOURNAL_GROUP:
		return remove_group(r, e);
	case JOURNAL_TASK: /* undone with its group */
	case JOURNAL_AFFINITY:
	case JOURNAL_PINNED:
		break;
	}
	return 0;
}

/*
 * From the last to the first.  Some values depend on each other in a way that no fixed order meets (quota and period
 * under a limited parent, lowest and highest frequency), so what failed is tried once more when the rest is back.
 */
static void put_back_all(struct restore *r)
{
	bool failed = false;

	for (size_t i = r->nr; i--;)
		failed = put_back_one(r, &r->entries[i]) < 0 || failed;
	for (size_t i = failed ? r->nr : 0; i--;) {
		int err = put_back_one(r, &r->entries[i]);

		r->postponed[i] = err == -EBUSY && is_of_offline_cpu(&r->entries[i]);
		if (r->postponed[i])
			r->nr_postponed++;
		else if (err && !(err == -EBUSY && is_handed_on(&r->entries[i])))
			complain(r, err, "cannot put back", r->entries[i].path);
	}
}

/*
 * Last of all, because moving a thread or changing its set may make the kernel forget its mask.  The first line wins.
 */
static void put_back_affinity(struct restore *r)
{
	int nr = pins_put_back(r->entries, r->nr);

	if (nr < 0)
		complain(r, nr, "cannot give its CPUs back to", "a thread");
	else
		r->put_back += nr;
	for (size_t i = r->nr; i--;) {
		const struct journal_entry *e = &r->entries[i];
		int done = 0;

		if (e->kind == JOURNAL_AFFINITY && tasks_is_alive(r->root, e->tid, e->start))
			done = affinity_put_back(e);
		if (done > 0)
			r->put_back++;
		else if (done < 0 && done != -ESRCH)
			complain(r, done, "cannot pin again a thread of", e->path);
	}
}

static int add_line(struct restore *r, const char *line, const char *path, int line_number)
{
	struct journal_entry *entries;
	char header[64];

	snprintf(header, sizeof(header), "parties journal %d\n", JOURNAL_VERSION);
	if (line_number == 1) {
		if (strcmp(line, header))
			complain(r, -EPROTO, "not a journal of this version:", path);
		return r->first_err;
	}
	/* Doubling would hardly matter: entries are a few hundred. */
	entries = realloc(r->entries, (r->nr + 1) * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	r->entries = entries;
	if (journal_parse_line(line, &entries[r->nr]))
		complain(r, -EBADMSG, "a line makes no sense in", path);
	else
		r->nr++;
	return 0;
}

static int load(struct restore *r, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), err = 0;
	char *line = NULL;
	struct stat st;
	size_t size = 0;
	FILE *file;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || st.st_uid != geteuid() || !(file = fdopen(fd, "r"))) {
		close(fd);
		complain(r, -EPERM, "somebody else's file:", path);
		return -EPERM;
	}
	for (int nr = 1; !err && getline(&line, &size, file) > 0; nr++)
		if (strchr(line, '\n'))
			err = add_line(r, line, path, nr);
	if (!err && ferror(file)) /* what was not read is not put back, and must not be forgotten */
		err = -EIO;
	free(line);
	fclose(file);
	return err;
}

static void forget(struct restore *r, const char *state_dir, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", state_dir, name);
	if (unlink(path) && errno != ENOENT)
		complain(r, -errno, "cannot remove", path);
}

/* All is back but what must wait. */
static void finish(struct restore *r, const char *state_dir)
{
	int err = 0;

	if (r->nr_postponed)
		err = journal_postpone(state_dir, r->entries, r->postponed, r->nr);
	else
		forget(r, state_dir, JOURNAL_LATER);
	if (err)
		complain(r, err, "cannot write", state_dir);
	else
		forget(r, state_dir, "journal");
	if (r->nr_postponed && !r->first_err)
		snprintf(r->error, r->error_size, "%zu values of CPUs that are offline wait for them: they are put back at the next "
			 "start, or by `parties restore`", r->nr_postponed);
}

static int load_both(struct restore *r, const char *state_dir)
{
	static const char *const names[] = { JOURNAL_LATER, "journal" }; /* the oldest values are put back last */
	char path[PATH_MAX];
	int err = 0;

	for (int i = 0; i < 2 && !err; i++) {
		snprintf(path, sizeof(path), "%s/%s", state_dir, names[i]);
		err = load(r, path);
		if (err == -ENOENT)
			err = 0;
		else if (err)
			complain(r, err, "cannot read", path);
	}
	return err;
}

void restore_group(const char *root, const struct journal *j, const char *dir)
{
	char error[256];
	struct restore r = { .root = root, .error = error, .error_size = sizeof(error) };
	size_t length = strlen(dir);

	if (!access(dir, F_OK) && !load(&r, journal_path(j)))
		for (size_t i = r.nr; i--;)
			if (r.entries[i].kind <= JOURNAL_WRITE && !strncmp(r.entries[i].path, dir, length) &&
			    strrchr(r.entries[i].path, '/') == r.entries[i].path + length)
				put_back_one(&r, &r.entries[i]);
	free(r.entries);
}

int restore_journal(const char *root, const char *state_dir, char *error, size_t error_size)
{
	struct restore r = { .root = root, .error = error, .error_size = error_size };
	int err;

	error[0] = '\0';
	err = load_both(&r, state_dir);
	r.postponed = calloc(r.nr + 1, sizeof(*r.postponed));
	if (!r.postponed)
		complain(&r, -ENOMEM, "cannot undo", state_dir);
	if (!err && r.postponed) {
		put_back_all(&r);
		if (!root[0]) /* a tree has no threads */
			put_back_affinity(&r);
	}
	if (!r.first_err)
		finish(&r, state_dir);
	free(r.entries);
	free(r.postponed);
	return r.first_err ? r.first_err : r.put_back;
}

int restore_killed_run(const char *root, const char *state_dir, char *error, size_t error_size)
{
	char dir[KNOB_PATH_SIZE];
	struct lock lock;
	int err;

	restore_state_dir(root, state_dir, dir);
	err = lock_take(&lock, dir, false, error, error_size);
	if (!err) {
		err = restore_journal(root, dir, error, error_size);
		lock_release(&lock);
	}
	if (err == -ENOENT) { /* no directory, so nothing ran */
		error[0] = '\0';
		err = 0;
	}
	return err;
}
