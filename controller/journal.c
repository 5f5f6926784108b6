/* SPDX-License-Identifier: GPL-2.0 */
/*
 * journal.c - writes and reads the journal of original values.  Port.
 * Putting things back is restore.c's; what to put in it is decided where things are changed.
 */
#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>


static const char *const kind_names[] = { "value", "write", "group", "task", "affinity", "pinned" };

struct journal {
	int fd;
	char path[PATH_MAX];
};

static int write_all(const struct journal *j, const char *text, size_t len)
{
	while (len) {
		ssize_t done = write(j->fd, text, len);

		if (done < 0)
			return -errno;
		text += done;
		len -= (size_t)done;
	}
	return 0;
}

/* The name in the directory has to be on disk as well as the file. */
static int sync_dir(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	err = fsync(fd) ? -errno : 0;
	close(fd);
	return err;
}

static int open_file(struct journal **ret, const char *state_dir, const char *name)
{
	char header[64];
	struct journal *j = malloc(sizeof(*j));
	int err;

	if (!j)
		return -ENOMEM;
	snprintf(j->path, sizeof(j->path), "%s/%s", state_dir, name);
	snprintf(header, sizeof(header), "parties journal %d\n", JOURNAL_VERSION);
	j->fd = open(j->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
	if (j->fd < 0) {
		err = -errno;
		free(j);
		return err;
	}
	err = write_all(j, header, strlen(header));
	if (!err)
		err = journal_sync(j);
	if (!err)
		err = sync_dir(state_dir);
	if (err) {
		unlink(j->path);
		journal_close(j);
		return err;
	}
	*ret = j;
	return 0;
}

int journal_open(struct journal **ret, const char *state_dir)
{
	return open_file(ret, state_dir, "journal");
}

int journal_postpone(const char *state_dir, const struct journal_entry *entries, const bool *postponed, size_t nr)
{
	char new[PATH_MAX], path[PATH_MAX];
	struct journal *j;
	int err;

	snprintf(path, sizeof(path), "%s/" JOURNAL_LATER, state_dir);
	snprintf(new, sizeof(new), "%s/" JOURNAL_LATER ".new", state_dir);
	unlink(new);
	err = open_file(&j, state_dir, JOURNAL_LATER ".new");
	if (err)
		return err;
	for (size_t i = 0; i < nr && !err; i++)
		if (postponed[i])
			err = journal_add(j, &entries[i]);
	if (!err)
		err = journal_sync(j);
	if (!err && rename(new, path))
		err = -errno;
	if (!err)
		err = sync_dir(state_dir);
	journal_close(j);
	return err;
}

int journal_add(struct journal *j, const struct journal_entry *entry)
{
	const char *name = kind_names[entry->kind];
	char line[JOURNAL_LINE_SIZE];
	int len;

	if (strpbrk(entry->path, "\t\n") || strpbrk(entry->text, "\t\n"))
		return -EINVAL;
	if (entry->kind >= JOURNAL_TASK)
		len = snprintf(line, sizeof(line), "%s\t%d\t%" PRIu64 "\t%s\t%s\n", name, (int)entry->tid, entry->start,
			       entry->path, entry->text);
	else
		len = snprintf(line, sizeof(line), "%s\t%s\t%s\n", name, entry->path, entry->text);
	return write_all(j, line, (size_t)len);
}

int journal_add_knob(struct journal *j, const struct knob *k)
{
	struct journal_entry entry = { .kind = JOURNAL_VALUE };
	int len = knob_read(k, entry.text, sizeof(entry.text));

	if (len < 0)
		return len;
	snprintf(entry.path, sizeof(entry.path), "%s", k->path);
	return journal_add(j, &entry);
}

int journal_sync(struct journal *j)
{
	return fdatasync(j->fd) ? -errno : 0;
}

const char *journal_path(const struct journal *j)
{
	return j->path;
}

void journal_close(struct journal *j)
{
	if (!j)
		return;
	close(j->fd);
	free(j);
}

/* Copies the field at *at, up to the next tab or the end, and moves *at behind it. */
static int take_field(const char **at, char *ret, size_t size)
{
	size_t len = strcspn(*at, "\t\n");

	if (len >= size)
		return -EINVAL;
	memcpy(ret, *at, len);
	ret[len] = '\0';
	*at += len;
	return 0;
}

static int take_tab(const char **at)
{
	if (**at != '\t')
		return -EINVAL;
	(*at)++;
	return 0;
}

static int take_number(const char **at, uint64_t max, uint64_t *ret)
{
	char field[24], *end;

	if (take_field(at, field, sizeof(field)) || field[0] < '0' || field[0] > '9')
		return -EINVAL;
	errno = 0;
	*ret = strtoull(field, &end, 10);
	return errno || *end || *ret > max ? -EINVAL : take_tab(at);
}

int journal_parse_line(const char *line, struct journal_entry *ret)
{
	struct journal_entry entry = { 0 };
	uint64_t tid = 0;
	char name[16];

	if (take_field(&line, name, sizeof(name)) || take_tab(&line))
		return -EINVAL;
	while (strcmp(name, kind_names[entry.kind]))
		if (++entry.kind > JOURNAL_PINNED)
			return -EINVAL;
	if (entry.kind >= JOURNAL_TASK &&
	    (take_number(&line, INT_MAX, &tid) || take_number(&line, UINT64_MAX, &entry.start)))
		return -EINVAL;
	if (take_field(&line, entry.path, sizeof(entry.path)) || entry.path[0] != '/' || take_tab(&line) ||
	    take_field(&line, entry.text, sizeof(entry.text)) || *line == '\t' || (*line == '\n' && line[1]))
		return -EINVAL;
	entry.tid = (pid_t)tid;
	*ret = entry;
	return 0;
}
