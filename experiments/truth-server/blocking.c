// SPDX-License-Identifier: GPL-2.0
/*
 * blocking.c - a thread per connection that blocks in read().  Port: sockets and threads.
 */
#include "truth.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "experiments/common/clock.h"

struct connection {
	const struct truth_settings *settings;
	int fd;
};

/* Requests read and not yet noted: the client may know the answer before our log does. */
static atomic_int nr_in_service;

/* Reads exactly `size` bytes; *first_ns is set when it is 0 and the first bytes arrive.  false: the peer is gone. */
static bool read_full(int fd, char *buf, size_t size, uint64_t *first_ns)
{
	size_t have = 0;

	while (have < size) {
		ssize_t n = read(fd, buf + have, size - have);

		if (n <= 0)
			return false;
		if (!*first_ns)
			*first_ns = clock_now_ns();
		have += (size_t)n;
	}
	return true;
}

static bool write_full(int fd, const char *buf, size_t size)
{
	while (size) {
		ssize_t n = send(fd, buf, size, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		buf += n;
		size -= (size_t)n;
	}
	return true;
}

static bool answer(const struct truth_settings *s, int fd, const char *message)
{
	if (!s->gap_ns)
		return write_full(fd, message, TRUTH_MESSAGE_SIZE);
	if (!write_full(fd, message, TRUTH_PIECE_SIZE))
		return false;
	truth_wait_until(s, clock_now_ns() + s->gap_ns);
	return write_full(fd, message + TRUTH_PIECE_SIZE, TRUTH_MESSAGE_SIZE - TRUTH_PIECE_SIZE);
}

static void *serve_connection(void *arg)
{
	struct connection c = *(struct connection *)arg;
	size_t header = c.settings->pieces ? TRUTH_PIECE_SIZE : TRUTH_MESSAGE_SIZE;
	char message[TRUTH_MESSAGE_SIZE];
	uint64_t first_ns, service_ns;
	bool answered = true;

	free(arg);
	while (answered) {
		first_ns = 0;
		if (!read_full(c.fd, message, header, &first_ns) ||
		    !read_full(c.fd, message + header, sizeof(message) - header, &first_ns) ||
		    truth_parse(message, &service_ns))
			break;
		nr_in_service++;
		truth_wait_until(c.settings, first_ns + service_ns);
		answered = answer(c.settings, c.fd, message);
		if (answered)
			truth_log(clock_now_ns() - first_ns);
		nr_in_service--;
	}
	close(c.fd);
	return NULL;
}

static int start_thread(const struct truth_settings *settings, int fd)
{
	struct connection *c = malloc(sizeof(*c));
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	if (!c)
		return -ENOMEM;
	*c = (struct connection){ settings, fd };
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	err = pthread_create(&thread, &attr, serve_connection, c);
	pthread_attr_destroy(&attr);
	if (err)
		free(c);
	return -err;
}

/* Lets requests that were read be answered and noted, for a second at most. */
static void finish(void)
{
	uint64_t end_ns = clock_now_ns() + NS_PER_SEC;

	while (nr_in_service && clock_now_ns() < end_ns)
		clock_sleep_until(clock_now_ns() + NS_PER_MS);
}

int blocking_serve(const struct truth_settings *settings)
{
	struct pollfd fds[] = { { .fd = settings->stop_fd, .events = POLLIN },
				{ .fd = settings->listen_fd, .events = POLLIN } };

	for (;;) {
		int fd, err;

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return -errno;
		if (fds[0].revents) {
			finish();
			return 0;
		}
		fd = accept4(settings->listen_fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		err = start_thread(settings, fd);
		if (err) {
			fprintf(stderr, "truth-server: connection refused: %s\n", strerror(-err));
			close(fd);
		}
	}
}
