/* SPDX-License-Identifier: GPL-2.0 */
/*
 * knob.c - reads, writes and takes back writes of kernel files.  Port.
 * It knows no file by name: meaning and order are cpuset.c's, bandwidth.c's and cpufreq.c's.
 */
#include "knob.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "inject.h"

static bool same_text(const char *have, const char *want)
{
	return strcmp(have, want) == 0;
}

const struct knob_kind knob_plain = { .write = knob_write, .same = same_text };

static int open_file(struct knob *k, int flags)
{
	k->fd = open(k->path, flags | O_CLOEXEC);
	return k->fd < 0 ? -errno : 0;
}

int knob_open(struct knob *k, const struct knob_kind *kind, const char *dir, const char *file)
{
	struct knob new = { .kind = kind };
	int err;

	if (snprintf(new.path, sizeof(new.path), "%s/%s", dir, file) >= (int)sizeof(new.path))
		return -ENAMETOOLONG;
	err = open_file(&new, O_RDWR);
	if (err == -EACCES || err == -EROFS || err == -EPERM)
		err = open_file(&new, O_RDONLY); /* the write will say why it cannot */
	if (!err)
		*k = new;
	return err;
}

void knob_allow_many(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

void knob_close(struct knob *k)
{
	if (k->fd >= 0)
		close(k->fd);
	k->fd = -1;
}

/* A group that was removed and made again has new files: the descriptor keeps its number and gets the new one. */
static bool reopen(const struct knob *k)
{
	int fd = open(k->path, O_RDWR | O_CLOEXEC);
	bool done = fd >= 0 && dup3(fd, k->fd, O_CLOEXEC) >= 0;

	if (fd >= 0)
		close(fd);
	return done;
}

static int read_text(const struct knob *k, char *text, size_t size, ssize_t *ret_len)
{
	*ret_len = pread(k->fd, text, size, 0);
	return *ret_len < 0 ? -errno : 0;
}

int knob_read_all(const struct knob *k, char *text, size_t size)
{
	ssize_t len = 0;
	int err = read_text(k, text, size - 1, &len);

	if (err == -ENODEV && reopen(k))
		err = read_text(k, text, size - 1, &len);
	if (err)
		return err;
	if ((size_t)len == size - 1)
		return -ENOSPC;
	text[len] = '\0';
	return (int)len;
}

int knob_read(const struct knob *k, char *text, size_t size)
{
	int len = knob_read_all(k, text, size);

	if (len >= 0)
		len = (int)strcspn(text, "\n");
	if (len >= 0)
		text[len] = '\0';
	return len;
}

int knob_write(const struct knob *k, const char *text)
{
	char line[KNOB_TEXT_SIZE + 1];
	int len = snprintf(line, sizeof(line), "%s\n", text);
	ssize_t done;

	if (len >= (int)sizeof(line))
		return -ENOSPC;
	done = pwrite(k->fd, line, (size_t)len, 0);
	if (done < 0)
		return errno == EBADF ? -EROFS : -errno;
	return done == len ? 0 : -EIO;
}

static int read_as(const struct knob *k, char *text, size_t size)
{
	return k->kind->read ? k->kind->read(k, text, size) : knob_read(k, text, size);
}

static int write_as(const struct knob_kind *kind, const struct knob *k, const char *text)
{
	struct inject_effect effect = { 0 };

	if (kind->by_library)
		effect = inject_look(INJECT_WRITE, k->path);
	return effect.error ? effect.error : effect.ignored ? 0 : kind->write(k, text);
}

static int failed(const struct knob *k, int err, const char *what, const char *text, struct outcome *ret)
{
	ret->error = err;
	snprintf(ret->where, sizeof(ret->where), "%.80s: %s '%.30s': %s", k->path, what, text, strerror(-err));
	return err;
}

/* FNV-1a; never 0. */
static uint64_t hash_of(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3;
	return hash | 1;
}

int knob_change(struct undo *u, struct knob *k, const char *want, struct outcome *ret)
{
	char now[KNOB_TEXT_SIZE];
	int err = read_as(k, now, sizeof(now));

	if (err < 0)
		return failed(k, err, "before writing", want, ret);
	k->drifted |= k->ours && k->ours != hash_of(now);
	k->ours = hash_of(now);
	if (k->kind->same(now, want))
		return 0;
	if (u->nr == UNDO_MAX_WRITES)
		return failed(k, -ENOSPC, "too many writes in one step before", want, ret);
	u->writes[u->nr].knob = k;
	strcpy(u->writes[u->nr++].before, now);
	err = write_as(k->kind, k, want);
	if (err)
		return failed(k, err, "writing", want, ret);
	err = read_as(k, now, sizeof(now));
	if (err < 0)
		return failed(k, err, "reading back", want, ret);
	if (!k->kind->same(now, want)) {
		ret->error = -EIO;
		snprintf(ret->where, sizeof(ret->where), "%.80s: wrote '%.24s', reads '%.24s'", k->path, want, now);
		return -EIO;
	}
	k->ours = hash_of(now);
	ret->nr_writes++;
	return 0;
}

void undo_begin(struct undo *u)
{
	u->nr = 0;
}

int undo_rollback(struct undo *u)
{
	int first_err = 0;

	while (u->nr) {
		struct undo_write *w = &u->writes[--u->nr];
		char now[KNOB_TEXT_SIZE];
		int err = 0;

		if (read_as(w->knob, now, sizeof(now)) < 0 || !w->knob->kind->same(now, w->before))
			err = write_as(w->knob->kind, w->knob, w->before);
		w->knob->ours = read_as(w->knob, now, sizeof(now)) < 0 ? 0 : hash_of(now);
		if (err && !first_err)
			first_err = err;
	}
	return first_err;
}

static int open_path(struct knob *k, const char *path, int flags)
{
	int err = snprintf(k->path, sizeof(k->path), "%s", path) < (int)sizeof(k->path) ? 0 : -ENAMETOOLONG;

	return err ? err : open_file(k, flags);
}

int knob_read_path(const char *path, char *text, size_t size)
{
	struct knob k;
	int len = open_path(&k, path, O_RDONLY);

	if (len)
		return len;
	len = knob_read(&k, text, size);
	knob_close(&k);
	return len;
}

int knob_write_path(const char *path, const char *text)
{
	struct knob k;
	int err = open_path(&k, path, O_WRONLY);

	if (err)
		return err;
	err = write_as(&knob_plain, &k, text);
	knob_close(&k);
	return err;
}
