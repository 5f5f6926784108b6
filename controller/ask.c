// SPDX-License-Identifier: GPL-2.0
/*
 * ask.c - port: a run's local socket from the other side.  It understands nothing of the answer but that it is JSON.
 */
#include "ask.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "web.h"

enum { MAX_RUNS = 64, TIMEOUT_S = 5, CHUNK = 1 << 16 };

/* The pids of listening sockets of that name, each once. */
static uint32_t list_runs(uint32_t pids[MAX_RUNS])
{
	FILE *file = fopen("/proc/net/unix", "re");
	uint32_t nr = 0;
	char line[512];

	while (file && nr < MAX_RUNS && fgets(line, sizeof(line), file)) {
		unsigned int flags, pid;
		int end = 0;

		/* Of the sockets of one name only the one that listens has this flag. */
		if (sscanf(line, "%*s %*s %*s %x %*s %*s %*s @" WEB_SOCKET_PREFIX "%u%n", &flags, &pid, &end) == 2 &&
		    line[end] == '\n' && flags & 0x10000)
			pids[nr++] = pid;
	}
	if (file)
		fclose(file);
	return nr;
}

/* A connection to the run, or negative errno; only those whom we would believe. */
static int connect_to(uint32_t pid)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	struct timeval timeout = { .tv_sec = TIMEOUT_S };
	struct ucred peer = { .uid = (uid_t)-1 };
	socklen_t size = sizeof(peer);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), err = 0;
	int length = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, WEB_SOCKET_PREFIX "%u", pid);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	if (connect(fd, (struct sockaddr *)&name,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		err = -errno;
	else if (peer.uid != 0 && peer.uid != geteuid())
		err = -ECONNREFUSED;
	if (!err)
		return fd;
	close(fd);
	return err;
}

int ask_find(uint64_t wanted, uint32_t *ret_pid, char *error, size_t error_size)
{
	uint32_t pids[MAX_RUNS], found[MAX_RUNS], nr = list_runs(pids), nr_found = 0;
	size_t used;

	for (uint32_t i = 0; i < nr; i++) {
		int fd = !wanted || pids[i] == wanted ? connect_to(pids[i]) : -ESRCH;

		if (fd < 0)
			continue;
		close(fd);
		found[nr_found++] = pids[i];
	}
	if (nr_found == 1) {
		*ret_pid = found[0];
		return 0;
	}
	if (nr_found == 0 && wanted)
		snprintf(error, error_size, "%llu is no run of parties that is alive", (unsigned long long)wanted);
	else if (nr_found == 0)
		snprintf(error, error_size, "no run is alive here; start one with parties run -c FILE");
	if (nr_found == 0)
		return -ESRCH;
	used = (size_t)snprintf(error, error_size, "several runs are alive, choose one with --pid:");
	for (uint32_t i = 0; i < nr_found && used < error_size; i++)
		used += (size_t)snprintf(error + used, error_size - used, " %u", found[i]);
	return -EINVAL;
}

/* Everything until the other side closes; *ret is the caller's to free.  Negative errno. */
static int read_all(int fd, char **ret, size_t *ret_length)
{
	char *text = NULL, *more;
	size_t length = 0;
	ssize_t n;

	do {
		more = realloc(text, length + CHUNK);
		if (!more) {
			free(text);
			return -ENOMEM;
		}
		text = more;
		n = recv(fd, text + length, CHUNK - 1, 0);
		length += n > 0 ? (size_t)n : 0;
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0) {
		n = -errno;
		free(text);
		return (int)n;
	}
	text[length] = '\0';
	*ret = text;
	*ret_length = length;
	return 0;
}

/* 0, or what an HTTP answer amounts to as a negative errno. */
static int parse(const char *text, size_t length, json_t **ret)
{
	const char *body = strstr(text, "\r\n\r\n");
	unsigned int status;

	if (!body || sscanf(text, "HTTP/%*s %u", &status) != 1)
		return -EPROTO;
	if (status != 200)
		return status == 403 ? -EACCES : -EPROTO;
	body += 4;
	*ret = json_loadb(body, length - (size_t)(body - text), JSON_REJECT_DUPLICATES, NULL);
	return *ret ? 0 : -EPROTO;
}

int ask_status(uint32_t pid, json_t **ret, char *error, size_t error_size)
{
	static const char request[] = "GET /status.json HTTP/1.0\r\n\r\n";
	int fd = connect_to(pid), err = fd < 0 ? fd : 0;
	char *text = NULL;
	size_t length = 0;

	if (!err && send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) < 0)
		err = -errno;
	if (!err)
		err = read_all(fd, &text, &length);
	if (!err && length == 0)
		err = -ECONNRESET;
	if (!err)
		err = parse(text, length, ret);
	free(text);
	if (fd >= 0)
		close(fd);
	if (err == -ECONNREFUSED || err == -ECONNRESET || err == -EPIPE) {
		err = -ESRCH;
		snprintf(error, error_size, "run %u is over", pid);
	} else if (err == -EACCES) {
		snprintf(error, error_size, "run %u is root's; ask as root", pid);
	} else if (err == -EAGAIN) {
		err = -ETIMEDOUT;
		snprintf(error, error_size, "run %u has not answered for %d s; is it stopped, or starting?", pid,
			 TIMEOUT_S);
	} else if (err) {
		snprintf(error, error_size, "run %u: %s", pid, strerror(-err));
	}
	return err;
}
