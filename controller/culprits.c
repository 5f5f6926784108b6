// SPDX-License-Identifier: GPL-2.0
/*
 * culprits.c - port: a group's id is its file handle, so the kernel itself finds the path.  It judges nobody.
 */
#include "culprits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cgroup.h"

enum { NR_REMEMBERED = 32, HANDLE_KERNFS = 0xfe };

struct cgroup_names {
	char dir[KNOB_PATH_SIZE];
	int mount_fd; /* -1: there is none */
	uint32_t next;
	struct {
		uint64_t id; /* 0: nothing; an id is never used again */
		char path[CULPRIT_CGROUP_SIZE];
	} remembered[NR_REMEMBERED];
};

struct cgroup_names *cgroup_names_open(void)
{
	struct cgroup_names *names = calloc(1, sizeof(*names));
	struct cgroup_mounts mounts;

	if (!names)
		return NULL;
	names->mount_fd = -1;
	if (cgroup_read_mounts("", &mounts))
		return names;
	/* Without a cpu controller in use, groups are those of version 2, which counts CPU time everywhere. */
	snprintf(names->dir, sizeof(names->dir), "%s", mounts.kinds[CGROUP_CPU].version ? mounts.kinds[CGROUP_CPU].dir :
		 mounts.kinds[CGROUP_FREEZER].dir);
	names->mount_fd = open(names->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return names;
}

static void shorten(const char *path, char *ret, size_t size)
{
	size_t length = strlen(path);

	if (length < size)
		memcpy(ret, path, length + 1);
	else
		snprintf(ret, size, "...%s", path + length - (size - 4));
}

static void ask(const struct cgroup_names *names, uint64_t id, char *ret, size_t size)
{
	struct {
		struct file_handle head;
		unsigned char id[sizeof(id)];
	} handle = { { .handle_bytes = sizeof(id), .handle_type = HANDLE_KERNFS }, { 0 } };
	char link[32], path[KNOB_PATH_SIZE];
	size_t skip = strlen(names->dir);
	ssize_t length;
	int fd;

	ret[0] = '\0';
	memcpy(handle.id, &id, sizeof(id));
	fd = open_by_handle_at(names->mount_fd, &handle.head, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	close(fd);
	if (length < 0)
		return;
	path[length] = '\0';
	if (!strncmp(path, names->dir, skip))
		shorten(path[skip] ? path + skip : "/", ret, size);
}

void cgroup_names_find(struct cgroup_names *names, uint64_t id, char *ret, size_t size)
{
	uint32_t i;

	for (i = 0; i < NR_REMEMBERED; i++)
		if (names->remembered[i].id == id)
			break;
	if (i == NR_REMEMBERED) {
		i = names->next++ % NR_REMEMBERED;
		names->remembered[i].id = id;
		ask(names, id, names->remembered[i].path, sizeof(names->remembered[i].path));
	}
	snprintf(ret, size, "%s", names->remembered[i].path);
}

void cgroup_names_close(struct cgroup_names *names)
{
	if (!names)
		return;
	if (names->mount_fd >= 0)
		close(names->mount_fd);
	free(names);
}

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

/* A program may call itself what it likes; JSON takes UTF-8 alone. */
static json_t *plain(const char *text)
{
	char copy[CULPRIT_CGROUP_SIZE];
	json_t *ret = json_string(text);
	size_t i;

	if (ret)
		return ret;
	for (i = 0; text[i] && i + 1 < sizeof(copy); i++)
		copy[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
	copy[i] = '\0';
	return json_string(copy);
}

void culprits_add_json(json_t *object, const struct culprits *c)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < c->nr; i++) {
		const struct culprit *one = &c->top[i];

		json_array_append_new(list, json_pack("{s:o, s:o, s:I, s:f}", "comm", plain(one->comm), "cgroup",
				      one->cgroup[0] ? plain(one->cgroup) : json_null(), "cgroup_id",
				      (json_int_t)one->cgroup_id, "wait_ms", ms(one->wait_ns)));
	}
	json_object_set_new(object, "culprits", list);
	json_object_set_new(object, "waits_ms", json_pack("{s:f, s:f, s:f, s:f, s:f}", "others", ms(c->others_ns), "self",
			    ms(c->self_ns), "idle", ms(c->idle_ns), "throttled", ms(c->throttled_ns), "lost",
			    ms(c->lost_ns)));
}
