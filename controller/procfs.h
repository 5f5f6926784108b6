/* SPDX-License-Identifier: GPL-2.0 */
/*
 * procfs.h - the processes of this machine as /proc shows them (kernel ABI: proc(5)).
 * Port: reads below `root`, allocates nothing (it runs beside the tick), keeps one directory open.
 */
#ifndef PARTIES_PROCFS_H
#define PARTIES_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PROCFS_MAX_PROCESSES = 65536, PROCFS_MAX_LISTENERS = 1024, PROCFS_MAX_HOLDERS = 16384, PROCFS_COMM_SIZE = 20 };

struct procfs_process {
	pid_t pid, parent;
	bool kernel; /* a kernel thread */
	bool dead;   /* a zombie: no thread of it runs */
};

/* A process that has a descriptor of a listening socket. */
struct procfs_holder {
	uint16_t port;
	uint32_t process; /* index in the list */
};

struct procfs {
	int fd; /* of /proc; procfs_close closes it */
	uint32_t nr;
	struct procfs_process list[PROCFS_MAX_PROCESSES]; /* thread group leaders, by ascending pid */
	bool listeners_read;
	uint32_t nr_listeners, nr_holders;
	struct {
		uint16_t port;
		uint64_t inode;
	} listeners[PROCFS_MAX_LISTENERS];
	struct procfs_holder holders[PROCFS_MAX_HOLDERS];
};

/* One pass over the processes.  -E2BIG: more than the list holds.  On success the caller calls procfs_close. */
int procfs_open(struct procfs *p, const char *root);
void procfs_close(struct procfs *p);

/* Index of a pid, or -1. */
int procfs_find(const struct procfs *p, pid_t pid);

/*
 * Fills listeners (TCP, IPv4 and IPv6, our network namespace) and holders for the wanted ports, once: a second call
 * does nothing.  wanted: a bit for each port.  Processes whose descriptors we may not see are passed over.
 */
int procfs_read_listeners(struct procfs *p, const uint64_t wanted[65536 / 64]);

/* These write NUL-terminated text and return 0 or negative errno. */
int procfs_exe(const struct procfs *p, pid_t pid, char *buf, size_t size);
int procfs_comm(const struct procfs *p, pid_t pid, char buf[PROCFS_COMM_SIZE]);
int procfs_cgroups(const struct procfs *p, pid_t pid, char *buf, size_t size); /* lines "id:controllers:path" */

/* Our own pid as this /proc numbers it, or negative errno. */
pid_t procfs_self(const struct procfs *p);

#endif
