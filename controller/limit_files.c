// SPDX-License-Identifier: GPL-2.0
/*
 * limit_files.c - writes limits of a best-effort group.  Port.
 * It makes no group and chooses no value.
 *
 * io.max has a line for each disk that has a limit; ours is one line, and the rest of the file is not looked at.
 */
#include "limit_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

const char *limit_files_controllers(const struct limits *limits)
{
	bool memory = limits && limits->memory_high_bytes, io = limits && limits->io_max[0];

	return memory && io ? " memory io" : memory ? " memory" : io ? " io" : "";
}

/* Whether the words of `line` are among those of `text`. */
static bool has_words(const char *text, const char *line)
{
	char words[KNOB_TEXT_SIZE], padded[KNOB_TEXT_SIZE + 2], word[LIMITS_IO_SIZE + 2], *save = NULL;

	snprintf(words, sizeof(words), "%s", line);
	snprintf(padded, sizeof(padded), " %s ", text);
	for (const char *at = strtok_r(words, " ", &save); at; at = strtok_r(NULL, " ", &save)) {
		snprintf(word, sizeof(word), " %.*s ", LIMITS_IO_SIZE - 1, at);
		if (!strstr(padded, word))
			return false;
	}
	return true;
}

int limit_files_check(const struct limits *limits, const char *mount_dir, char *error, size_t error_size)
{
	const char *wanted = limit_files_controllers(limits);
	char path[KNOB_PATH_SIZE + 32], text[KNOB_TEXT_SIZE] = "";

	if (!*wanted)
		return 0;
	if (mount_dir) {
		snprintf(path, sizeof(path), "%s/cgroup.controllers", mount_dir);
		if (knob_read_path(path, text, sizeof(text)) < 0)
			text[0] = '\0';
	}
	if (has_words(text, wanted))
		return 0;
	snprintf(error, error_size, "memory_high and io_max need version 2 of the controllers%s, and %s: boot with "
		 "cgroup_no_v1=all, or leave the limits out", wanted,
		 mount_dir ? "it has not got them here" : "only version 1 is mounted");
	return -ENOTSUP;
}

/* Whole pages, rounded down; "max" is 0. */
static bool same_memory(const char *have, const char *want)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), now = strtoull(have, NULL, 10), bytes = strtoull(want, NULL, 10);

	return !strcmp(have, want) || (now && now <= bytes && bytes - now < page);
}

/* Of the device in k->device; one without a limit has no line. */
static int read_device(const struct knob *k, char *ret, size_t size)
{
	char text[KNOB_TEXT_SIZE], device[24], *save = NULL;
	int length = snprintf(device, sizeof(device), "%u:%u ", major(k->device), minor(k->device));
	int err = knob_read_all(k, text, sizeof(text));

	snprintf(ret, size, "%srbps=max wbps=max riops=max wiops=max", device);
	for (char *line = err < 0 ? NULL : strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (!strncmp(line, device, (size_t)length))
			snprintf(ret, size, "%s", line);
	return err < 0 ? err : (int)strlen(ret);
}

static bool same_io(const char *have, const char *want)
{
	return has_words(have, want);
}

/* To the kernel the length means nothing; the plain file of a tree would keep the end of a longer text. */
static int write_over(const struct knob *k, const char *text)
{
	return ftruncate(k->fd, 0) ? -errno : knob_write(k, text);
}

static const struct knob_kind kind_memory = { .write = write_over, .same = same_memory };
static const struct knob_kind kind_io = { .write = write_over, .same = same_io, .read = read_device };

int limit_files_available(const char *root, uint64_t *ret_bytes)
{
	char path[KNOB_PATH_SIZE], line[128];
	unsigned long kib;
	int err = -ENODATA;
	FILE *file;

	snprintf(path, sizeof(path), "%.480s/proc/meminfo", root);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (err && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %lu", &kib) == 1)
			err = 0;
	fclose(file);
	if (!err)
		*ret_bytes = (uint64_t)kib * 1024;
	return err;
}

void limit_files_init(struct limit_files *f)
{
	f->memory.fd = f->io.fd = -1;
}

static int read_as(const struct knob *k, char *text, size_t size)
{
	return k->kind->read ? k->kind->read(k, text, size) : knob_read(k, text, size);
}

static int set_first(struct knob *k, const char *want, struct journal *j)
{
	/* What it takes to write it again; a file of one value is no line among others. */
	struct journal_entry entry = { .kind = k->kind->read ? JOURNAL_WRITE : JOURNAL_VALUE };
	char now[KNOB_TEXT_SIZE];
	int err;

	snprintf(entry.path, sizeof(entry.path), "%s", k->path);
	err = read_as(k, entry.text, sizeof(entry.text));
	if (err >= 0)
		err = journal_add(j, &entry);
	if (!err)
		err = journal_sync(j);
	if (!err)
		err = knob_write_path(k->path, want);
	if (!err)
		err = read_as(k, now, sizeof(now));
	return err < 0 ? err : k->kind->same(now, want) ? 0 : -EIO;
}

static int set_memory(struct knob *k, const char *dir, uint64_t bytes, struct journal *j)
{
	char want[24];
	int err = knob_open(k, &kind_memory, dir, "memory.high");

	snprintf(want, sizeof(want), "%" PRIu64, bytes);
	return err ? err : set_first(k, want, j);
}

static int set_io(struct knob *k, const char *dir, const char *io_max, struct journal *j)
{
	unsigned int device_major = 0, device_minor = 0;
	int err = knob_open(k, &kind_io, dir, "io.max");

	if (err)
		return err;
	sscanf(io_max, "%u:%u", &device_major, &device_minor);
	k->device = makedev(device_major, device_minor);
	return set_first(k, io_max, j);
}

int limit_files_set(struct limit_files *f, const struct limits *limits, const char *dir, struct journal *j, char *error,
		    size_t error_size)
{
	const char *key = "memory_high", *remedy = "";
	int err = 0;

	if (limits && limits->memory_high_bytes)
		err = set_memory(&f->memory, dir, limits->memory_high_bytes, j);
	if (!err && limits && limits->io_max[0]) {
		key = "io_max";
		err = set_io(&f->io, dir, limits->io_max, j);
		remedy = err == -ENODEV ? "; the device is none: lsblk shows whole disks and their numbers" : "";
	}
	if (err)
		snprintf(error, error_size, "%s: cannot be set in %s: %s%s", key, dir, strerror(-err), remedy);
	return err;
}

int limit_files_apply(struct limit_files *f, const struct limits *limits, uint32_t memory_units, uint32_t disk_units,
		      struct undo *u, struct outcome *ret)
{
	struct limits now;
	char want[24];
	int err = 0;

	if (f->memory.fd < 0 && f->io.fd < 0)
		return 0;
	limits_scale(limits, memory_units, disk_units, &now);
	snprintf(want, sizeof(want), "%" PRIu64, now.memory_high_bytes);
	if (f->memory.fd >= 0)
		err = knob_change(u, &f->memory, want, ret);
	if (!err && f->io.fd >= 0)
		err = knob_change(u, &f->io, now.io_max, ret);
	return err;
}

bool limit_files_drifted(struct limit_files *f)
{
	bool drifted = f->memory.drifted || f->io.drifted;

	f->memory.drifted = f->io.drifted = false;
	return drifted;
}

void limit_files_close(struct limit_files *f)
{
	knob_close(&f->memory);
	knob_close(&f->io);
}
