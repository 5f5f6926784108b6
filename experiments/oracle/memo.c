// SPDX-License-Identifier: GPL-2.0
/*
 * memo.c - port: an append-only file and a hash table of its lines.
 */
#include "memo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_SIZE = MEMO_TEXT_SIZE + 32, READ_SIZE = 1 << 16, FIRST_SLOTS = 1024 };

struct slot {
	uint64_t key;
	char text[MEMO_TEXT_SIZE]; /* "": the slot is free */
};

struct memo {
	int fd;
	off_t nr_read; /* bytes of the file that are in the table: whole lines */
	uint32_t nr_slots, nr_used; /* slots: a power of two */
	struct slot *slots;
	char buffer[READ_SIZE + 1];
};

uint64_t memo_hash(uint64_t hash, const void *bytes, size_t size)
{
	const unsigned char *byte = bytes;

	while (size--)
		hash = (hash ^ *byte++) * UINT64_C(0x100000001b3);
	return hash;
}

static struct slot *find(struct slot *slots, uint32_t nr_slots, uint64_t key)
{
	uint32_t i = (uint32_t)(key ^ key >> 32) & (nr_slots - 1);

	while (*slots[i].text && slots[i].key != key)
		i = (i + 1) & (nr_slots - 1);
	return &slots[i];
}

static int grow(struct memo *m)
{
	uint32_t nr = m->nr_slots ? m->nr_slots * 2 : FIRST_SLOTS;
	struct slot *slots = calloc(nr, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->nr_slots; i++)
		if (*m->slots[i].text)
			*find(slots, nr, m->slots[i].key) = m->slots[i];
	free(m->slots);
	m->slots = slots;
	m->nr_slots = nr;
	return 0;
}

static int keep(struct memo *m, uint64_t key, const char *text)
{
	struct slot *slot;
	int err = m->nr_used * 2 < m->nr_slots ? 0 : grow(m);

	if (err)
		return err;
	slot = find(m->slots, m->nr_slots, key);
	m->nr_used += !*slot->text;
	slot->key = key;
	snprintf(slot->text, sizeof(slot->text), "%s", text);
	return 0;
}

/* A line without its end; one that is not ours says nothing. */
static int take_line(struct memo *m, char *line)
{
	char *end;
	uint64_t key = strtoull(line, &end, 16);

	if (end - line != 16 || *end != ' ' || !end[1] || strlen(end + 1) >= MEMO_TEXT_SIZE)
		return 0;
	return keep(m, key, end + 1);
}

/* What has been appended since, by whomever. */
static int refresh(struct memo *m)
{
	for (;;) {
		ssize_t nr = pread(m->fd, m->buffer, READ_SIZE, m->nr_read);
		char *line = m->buffer, *end;
		int err = 0;

		if (nr < 0)
			return -errno;
		m->buffer[nr] = '\0';
		for (; !err && (end = memchr(line, '\n', (size_t)(m->buffer + nr - line))); line = end + 1) {
			*end = '\0';
			err = take_line(m, line);
		}
		if (err || line == m->buffer)
			return err;
		m->nr_read += line - m->buffer;
	}
}

int memo_open(struct memo **ret, const char *path)
{
	struct memo *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	m->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	err = m->fd < 0 ? -errno : grow(m);
	if (!err)
		err = refresh(m);
	if (err)
		memo_close(m);
	else
		*ret = m;
	return err;
}

void memo_close(struct memo *m)
{
	if (!m)
		return;
	if (m->fd >= 0)
		close(m->fd);
	free(m->slots);
	free(m);
}

const char *memo_get(struct memo *m, uint64_t key)
{
	struct slot *slot = find(m->slots, m->nr_slots, key);

	if (!*slot->text && !refresh(m))
		slot = find(m->slots, m->nr_slots, key);
	return *slot->text ? slot->text : NULL;
}

int memo_put(struct memo *m, uint64_t key, const char *text)
{
	char line[LINE_SIZE];
	int length = snprintf(line, sizeof(line), "%016llx %.*s\n", (unsigned long long)key, MEMO_TEXT_SIZE - 1, text);
	ssize_t nr = write(m->fd, line, (size_t)length);

	if (nr != length)
		return nr < 0 ? -errno : -ENOSPC;
	return keep(m, key, text);
}
