// SPDX-License-Identifier: GPL-2.0
/*
 * procfs.c - one pass over /proc: processes and their parents, listening sockets and who holds them.  Port: system
 * calls and plain buffers only, since opendir and stdio would allocate.  What a match means is match.c's.
 */
#include "procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PF_KTHREAD = 0x00200000, TCP_LISTEN_STATE = 0x0a }; /* linux/sched.h, net/tcp_states.h */

/* Reads a whole small file; longer ones are cut.  The length, or negative errno. */
static ssize_t read_text(int dir_fd, const char *path, char *buf, size_t size)
{
	int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n, length = 0;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, buf + length, size - 1 - length)) > 0)
		length += n;
	if (n < 0)
		length = -errno;
	else
		buf[length] = '\0';
	close(fd);
	return length;
}

/* Calls visit for every entry of the directory that is a number, until one returns nonzero. */
static int each_number(int dir_fd, int (*visit)(void *ctx, unsigned int number), void *ctx)
{
	char buf[8192] __attribute__((aligned(__alignof__(struct dirent64))));
	ssize_t n;
	int rc;

	while ((n = getdents64(dir_fd, buf, sizeof(buf))) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *entry = (const struct dirent64 *)(buf + at);

			at += entry->d_reclen;
			if (entry->d_name[strspn(entry->d_name, "0123456789")])
				continue;
			rc = visit(ctx, strtoul(entry->d_name, NULL, 10));
			if (rc)
				return rc;
		}
	}
	return n < 0 ? -errno : 0;
}

/*
 * Fields after the command, which may hold anything, ')' included: state parent group session tty tpgid flags, ten we
 * pass over, threads.  A process whose first thread has left looks like a zombie, but its other threads run.
 */
static bool parse_stat(const char *text, struct procfs_process *ret)
{
	const char *rest = strrchr(text, ')');
	unsigned int flags;
	long nr_threads;
	char status;

	if (!rest || sscanf(rest + 1, " %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld", &status,
			    &ret->parent, &flags, &nr_threads) != 4)
		return false;
	ret->kernel = flags & PF_KTHREAD;
	ret->dead = (status == 'Z' || status == 'X') && nr_threads < 2;
	return true;
}

static int add_process(void *ctx, unsigned int pid)
{
	struct procfs *p = ctx;
	struct procfs_process process = { .pid = pid };
	char path[32], text[1024];
	uint32_t at;

	snprintf(path, sizeof(path), "%u/stat", pid);
	if (read_text(p->fd, path, text, sizeof(text)) < 0 || !parse_stat(text, &process))
		return 0; /* gone since */
	if (p->nr == PROCFS_MAX_PROCESSES)
		return -E2BIG;
	/* The kernel lists in ascending order; a tree that stands in for it may not. */
	for (at = p->nr++; at && p->list[at - 1].pid > process.pid; at--)
		p->list[at] = p->list[at - 1];
	p->list[at] = process;
	return 0;
}

int procfs_open(struct procfs *p, const char *root)
{
	char path[512];
	int rc;

	p->nr = p->nr_listeners = p->nr_holders = 0;
	p->listeners_read = false;
	snprintf(path, sizeof(path), "%s/proc", root);
	p->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->fd < 0)
		return -errno;
	rc = each_number(p->fd, add_process, p);
	if (rc)
		close(p->fd);
	return rc;
}

void procfs_close(struct procfs *p)
{
	close(p->fd);
}

int procfs_find(const struct procfs *p, pid_t pid)
{
	uint32_t low = 0, high = p->nr;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (p->list[middle].pid == pid)
			return middle;
		if (p->list[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return -1;
}

/*
 * "sl: address:port remote state queues timer retransmits uid timeout inode", all but the last three in hex.  Returns 1
 * at the first socket that does not listen: the kernel lists listeners first (net/ipv4/tcp_ipv4.c, tcp_seq_start), and
 * formatting a busy server's connections costs milliseconds.
 */
static int add_listener(struct procfs *p, const char *line, const uint64_t *wanted)
{
	unsigned int port, state;
	unsigned long inode;

	if (sscanf(line, "%*d: %*[0-9A-F]:%x %*s %x %*s %*s %*s %*d %*d %lu", &port, &state, &inode) != 3)
		return 0; /* the heading */
	if (state != TCP_LISTEN_STATE)
		return 1;
	if (port > UINT16_MAX || !(wanted[port / 64] >> port % 64 & 1))
		return 0;
	if (p->nr_listeners == PROCFS_MAX_LISTENERS)
		return -E2BIG;
	p->listeners[p->nr_listeners].port = port;
	p->listeners[p->nr_listeners++].inode = inode;
	return 0;
}

static int add_listeners(struct procfs *p, const char *path, const uint64_t *wanted)
{
	int fd = openat(p->fd, path, O_RDONLY | O_CLOEXEC), rc = 0;
	char buf[16384], *line, *end;
	size_t kept = 0;
	ssize_t n;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno; /* a kernel without IPv6 */
	while (!rc && (n = read(fd, buf + kept, sizeof(buf) - 1 - kept)) > 0) {
		buf[kept + n] = '\0';
		for (line = buf; !rc && (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			rc = add_listener(p, line, wanted);
		}
		kept = strlen(line);
		memmove(buf, line, kept);
	}
	if (!rc && n < 0)
		rc = -errno;
	close(fd);
	return rc < 0 ? rc : 0;
}

struct holder_search {
	struct procfs *p;
	uint32_t process;
	int fd; /* of its fd directory */
};

static int add_holder(struct procfs *p, uint16_t port, uint32_t process)
{
	if (p->nr_holders == PROCFS_MAX_HOLDERS)
		return -E2BIG;
	p->holders[p->nr_holders].port = port;
	p->holders[p->nr_holders++].process = process;
	return 0;
}

static int look_at_descriptor(void *ctx, unsigned int number)
{
	struct holder_search *search = ctx;
	struct procfs *p = search->p;
	char name[16], target[64];
	unsigned long inode;
	ssize_t length;

	snprintf(name, sizeof(name), "%u", number);
	length = readlinkat(search->fd, name, target, sizeof(target) - 1);
	if (length < 0)
		return 0; /* closed since */
	target[length] = '\0';
	if (sscanf(target, "socket:[%lu]", &inode) != 1)
		return 0;
	for (uint32_t i = 0; i < p->nr_listeners; i++)
		if (p->listeners[i].inode == inode)
			return add_holder(p, p->listeners[i].port, search->process);
	return 0;
}

int procfs_read_listeners(struct procfs *p, const uint64_t wanted[65536 / 64])
{
	struct holder_search search = { .p = p };
	char path[32];
	int rc;

	if (p->listeners_read)
		return 0;
	rc = add_listeners(p, "net/tcp", wanted);
	if (!rc)
		rc = add_listeners(p, "net/tcp6", wanted);
	for (uint32_t i = 0; !rc && p->nr_listeners && i < p->nr; i++) {
		if (p->list[i].kernel || p->list[i].dead)
			continue;
		snprintf(path, sizeof(path), "%d/fd", p->list[i].pid);
		search.process = i;
		search.fd = openat(p->fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (search.fd < 0)
			continue;
		rc = each_number(search.fd, look_at_descriptor, &search);
		if (rc != -E2BIG)
			rc = 0; /* it ended while we looked */
		close(search.fd);
	}
	p->listeners_read = !rc;
	return rc;
}

int procfs_exe(const struct procfs *p, pid_t pid, char *buf, size_t size)
{
	static const char deleted[] = " (deleted)";
	char path[32];
	ssize_t length;

	snprintf(path, sizeof(path), "%d/exe", pid);
	length = readlinkat(p->fd, path, buf, size - 1);
	if (length < 0)
		return -errno;
	buf[length] = '\0';
	/* An upgrade replaces the file under a running service; it is the same service. */
	if (length >= (ssize_t)sizeof(deleted) && !strcmp(buf + length - (sizeof(deleted) - 1), deleted))
		buf[length - (sizeof(deleted) - 1)] = '\0';
	return 0;
}

int procfs_comm(const struct procfs *p, pid_t pid, char buf[PROCFS_COMM_SIZE])
{
	char path[32];
	ssize_t length;

	snprintf(path, sizeof(path), "%d/comm", pid);
	length = read_text(p->fd, path, buf, PROCFS_COMM_SIZE);
	if (length < 0)
		return length;
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}

int procfs_cgroups(const struct procfs *p, pid_t pid, char *buf, size_t size)
{
	char path[32];
	ssize_t length;

	snprintf(path, sizeof(path), "%d/cgroup", pid);
	length = read_text(p->fd, path, buf, size);
	return length < 0 ? length : 0;
}

pid_t procfs_self(const struct procfs *p)
{
	char target[32];
	ssize_t length = readlinkat(p->fd, "self", target, sizeof(target) - 1);

	if (length < 0)
		return -errno;
	target[length] = '\0';
	return strtol(target, NULL, 10);
}
