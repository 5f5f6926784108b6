// SPDX-License-Identifier: GPL-2.0
/*
 * limit_files.c - writes limits of a best-effort group.  Port.
 * It makes no group and chooses no value.
 */
#include "limit_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static int set_memory(const char *dir, uint64_t bytes, struct journal *j)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), have;
	char now[64], want[24];
	struct knob k;
	int err = knob_open(&k, &knob_plain, dir, "memory.high");

	if (err)
		return err;
	snprintf(want, sizeof(want), "%" PRIu64, bytes);
	err = journal_add_knob(j, &k);
	if (!err)
		err = journal_sync(j);
	if (!err)
		err = knob_write_path(k.path, want);
	if (!err)
		err = knob_read(&k, now, sizeof(now));
	knob_close(&k);
	if (err < 0)
		return err;
	have = strtoull(now, NULL, 10); /* "max" is 0; whole pages */
	return have <= bytes && bytes - have < page && have ? 0 : -EIO;
}

/* The line of the device that `io_max` begins with; a device without a limit has none. */
static int read_device(const struct knob *k, const char *io_max, char *ret, size_t size)
{
	char text[KNOB_TEXT_SIZE], *save = NULL;
	size_t length = strcspn(io_max, " ") + 1;
	int err = knob_read_all(k, text, sizeof(text));

	snprintf(ret, size, "%.*s rbps=max wbps=max riops=max wiops=max", (int)length - 1, io_max);
	for (char *line = err < 0 ? NULL : strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (!strncmp(line, io_max, length))
			snprintf(ret, size, "%s", line);
	return err < 0 ? err : 0;
}

static int set_io(const char *dir, const char *io_max, struct journal *j)
{
	struct journal_entry entry = { .kind = JOURNAL_WRITE };
	char now[KNOB_TEXT_SIZE];
	struct knob k;
	int err = knob_open(&k, &knob_plain, dir, "io.max");

	if (err)
		return err;
	snprintf(entry.path, sizeof(entry.path), "%s", k.path);
	err = read_device(&k, io_max, entry.text, sizeof(entry.text));
	if (!err)
		err = journal_add(j, &entry);
	if (!err)
		err = journal_sync(j);
	if (!err)
		err = knob_write_path(k.path, io_max);
	if (!err)
		err = read_device(&k, io_max, now, sizeof(now));
	knob_close(&k);
	return err || has_words(now, io_max) ? err : -EIO;
}

int limit_files_set(const struct limits *limits, const char *dir, struct journal *j, char *error, size_t error_size)
{
	const char *key = "memory_high", *remedy = "";
	int err = 0;

	if (limits && limits->memory_high_bytes)
		err = set_memory(dir, limits->memory_high_bytes, j);
	if (!err && limits && limits->io_max[0]) {
		key = "io_max";
		err = set_io(dir, limits->io_max, j);
		remedy = err == -ENODEV ? "; the device is none: lsblk shows whole disks and their numbers" : "";
	}
	if (err)
		snprintf(error, error_size, "%s: cannot be set in %s: %s%s", key, dir, strerror(-err), remedy);
	return err;
}
