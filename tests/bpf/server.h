/* SPDX-License-Identifier: GPL-2.0 */
/*
 * server.h - small servers and clients for tests of the observation: a process that serves 127.0.0.1 in a given way.
 */
#ifndef TESTS_SERVER_H
#define TESTS_SERVER_H

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGE = 16 };

static inline void sleep_us(unsigned int us)
{
	struct timespec t = { us / 1000000, (long)(us % 1000000) * 1000 };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static inline uint64_t clock_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* Listener and client of an AF_UNIX path in the abstract namespace: nothing to remove. */
static inline int unix_socket(const char *name, bool listening)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(address.sun_path + 1, name, strlen(name));
	if (fd < 0 || (listening ? bind(fd, (struct sockaddr *)&address, size) || listen(fd, 16)
				 : connect(fd, (struct sockaddr *)&address, size)))
		abort();
	return fd;
}

/* A listener on a port the kernel chooses. */
static inline int listen_any(uint16_t *ret_port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 128) ||
	    getsockname(fd, (struct sockaddr *)&address, &size))
		abort();
	*ret_port = ntohs(address.sin_port);
	return fd;
}

static inline int connect_to(uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				       .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)))
		abort();
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static inline bool read_all(int fd, void *buf, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = read(fd, (char *)buf + done, size - done);

		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

static inline bool write_all(int fd, const void *buf, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = send(fd, (const char *)buf + done, size - done, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/* What the client saw of its requests, in us. */
enum { MAX_SEEN = 4096 };
static uint64_t seen_us[MAX_SEEN];
static unsigned int nr_seen;

/* One request and its whole answer. */
static inline bool exchange_once(int fd)
{
	char buf[MESSAGE] = "request";
	uint64_t start = clock_us();
	bool done = write_all(fd, buf, MESSAGE) && read_all(fd, buf, MESSAGE);

	seen_us[nr_seen++ % MAX_SEEN] = clock_us() - start;
	return done;
}

static inline int by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Nearest rank over the requests since nr_seen was 0. */
static inline uint64_t client_us(unsigned int permille)
{
	unsigned int nr = nr_seen < MAX_SEEN ? nr_seen : MAX_SEEN;

	qsort(seen_us, nr, sizeof(seen_us[0]), by_time);
	return nr ? seen_us[(nr * permille + 999) / 1000 - 1] : 0;
}

typedef void serve_fn(int connection);

/* A process that accepts for ever, one process per connection, and serves each with `serve`. */
static inline pid_t server_start(int listener, serve_fn *serve)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0)
			_exit(1);
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(listener);
			serve(fd);
			_exit(0);
		}
		close(fd);
	}
}

static inline void server_stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

#endif
