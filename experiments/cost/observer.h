/* SPDX-License-Identifier: GPL-2.0 */
/*
 * observer.h - the kernel programs that a process holds, and how often and how long each ran.  Port: /proc and bpf(2).
 * The kernel counts runs while somebody has asked it to (bpf_enable_stats).
 */
#ifndef COST_OBSERVER_H
#define COST_OBSERVER_H

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

enum { OBSERVER_MAX_PROGRAMS = 64 };

struct observer {
	unsigned int nr;
	int fds[OBSERVER_MAX_PROGRAMS]; /* of the programs; ours until observer_close */
};

static inline int observer_info(int fd, struct bpf_prog_info *ret)
{
	__u32 size = sizeof(*ret);

	memset(ret, 0, sizeof(*ret));
	return bpf_obj_get_info_by_fd(fd, ret, &size) ? -errno : 0;
}

static inline void observer_close(struct observer *o)
{
	while (o->nr)
		close(o->fds[--o->nr]);
}

static inline unsigned int observer_program_id(int pid, const char *fd)
{
	unsigned int id = 0;
	char path[300], line[128];
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", pid, fd);
	in = fopen(path, "re");
	while (in && fgets(line, sizeof(line), in) && sscanf(line, "prog_id: %u", &id) != 1)
		;
	if (in)
		fclose(in);
	return id;
}

/* Descriptors of links name a program, too: each is taken once. */
static inline int observer_add(struct observer *o, unsigned int id)
{
	struct bpf_prog_info info;

	for (unsigned int i = 0; i < o->nr; i++)
		if (observer_info(o->fds[i], &info) || info.id == id)
			return 0;
	if (o->nr == OBSERVER_MAX_PROGRAMS)
		return -ENOSPC;
	o->fds[o->nr] = bpf_prog_get_fd_by_id(id);
	if (o->fds[o->nr] < 0)
		return -errno;
	o->nr++;
	return 0;
}

/* -ENOENT: the process holds none. */
static inline int observer_open(struct observer *ret, int pid)
{
	struct observer o = { 0 };
	struct dirent *entry;
	unsigned int id;
	char path[64];
	int err = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while (!err && (entry = readdir(dir))) {
		id = observer_program_id(pid, entry->d_name);
		if (id)
			err = observer_add(&o, id);
	}
	closedir(dir);
	if (!err && !o.nr)
		err = -ENOENT;
	if (err)
		observer_close(&o);
	else
		*ret = o;
	return err;
}

#endif
