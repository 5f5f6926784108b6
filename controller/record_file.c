// SPDX-License-Identifier: GPL-2.0
/*
 * record_file.c - port: a run as a file of JSON lines.  One write per line, so that a killed run leaves whole lines; a
 * line the disk did not take entirely is cut off again.  What is in a line is record.c's business.
 */
#include "record_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct record {
	int fd;
	int error;       /* the first one */
	char *created;   /* path of a file that is ours to remove while it holds nothing */
	off_t length;    /* whole lines written */
	char line[1 << 18];
};

/* Takes over `object`. */
static int write_line(struct record *r, json_t *object)
{
	size_t length;
	ssize_t written;
	int err = 0;

	if (!object)
		return r->error = r->error ? r->error : -ENOMEM;
	length = json_dumpb(object, r->line, sizeof(r->line) - 1, RECORD_DUMP_FLAGS);
	json_decref(object);
	if (length == 0 || length >= sizeof(r->line)) {
		err = -EMSGSIZE;
	} else {
		r->line[length++] = '\n';
		written = write(r->fd, r->line, length);
		if (written == (ssize_t)length)
			r->length += written;
		else
			err = written < 0 ? -errno : -ENOSPC;
		/* Cut a half line off; what cannot be cut (a pipe, a device) needs no cutting. */
		if (written > 0 && err && ftruncate(r->fd, r->length) == 0)
			lseek(r->fd, r->length, SEEK_SET);
	}
	if (err && !r->error)
		r->error = err;
	return err;
}

int record_open(struct record **ret, const char *path)
{
	struct record *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (r->fd >= 0)
		r->created = strdup(path);
	else if (errno == EEXIST)
		/* Non-blocking: a FIFO without a reader is an error, not a wait. */
		r->fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (r->fd < 0) {
		err = -errno;
		free(r);
		return err;
	}
	*ret = r;
	return 0;
}

int record_header(struct record *r, const struct tick *tick, const char *mode, const char *machine)
{
	int err;

	if (!r->created && ftruncate(r->fd, 0) < 0 && errno != EINVAL && !r->error)
		r->error = -errno; /* EINVAL: a pipe or a device has no length */
	err = write_line(r, record_header_json(tick, mode, machine));
	if (!err) {
		free(r->created);
		r->created = NULL;
	}
	return err;
}

int record_tick(struct record *r, const struct tick *tick)
{
	return write_line(r, record_tick_json(tick));
}

int record_totals(struct record *r, const struct record_totals *totals)
{
	return write_line(r, record_totals_json(totals));
}

int record_close(struct record *r)
{
	int err;

	if (!r)
		return 0;
	err = r->error;
	if (close(r->fd) < 0 && !err)
		err = -errno;
	if (r->created)
		unlink(r->created);
	free(r->created);
	free(r);
	return err;
}
