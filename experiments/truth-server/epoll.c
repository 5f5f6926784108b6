// SPDX-License-Identifier: GPL-2.0
/*
 * epoll.c - one loop for all connections; each has a timer instead of a thread.  Port: sockets, timers, epoll.
 * With --spin the loop itself is busy for the service time, as a single-threaded server is.
 */
#include "truth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "experiments/common/clock.h"

enum { MAX_FD = 65536, MAX_EVENTS = 64 };

struct connection {
	int fd, timer_fd;
	char message[TRUTH_MESSAGE_SIZE];
	size_t have;       /* bytes of the request read */
	size_t answered;   /* bytes of the answer written */
	uint64_t first_ns; /* first read of this request */
};

struct loop {
	const struct truth_settings *settings;
	int epoll_fd;
	struct connection *by_fd[MAX_FD]; /* a connection stands at its socket and at its timer */
};

static void close_connection(struct loop *loop, struct connection *c)
{
	loop->by_fd[c->fd] = NULL;
	if (c->timer_fd >= 0) {
		loop->by_fd[c->timer_fd] = NULL;
		close(c->timer_fd);
	}
	close(c->fd);
	free(c);
}

static int watch(struct loop *loop, int fd, struct connection *c)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (fd >= MAX_FD)
		return -EMFILE;
	loop->by_fd[fd] = c;
	return epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static void accept_connection(struct loop *loop)
{
	int fd = accept4(loop->settings->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct connection *c;

	if (fd < 0)
		return;
	c = fd < MAX_FD ? calloc(1, sizeof(*c)) : NULL;
	if (!c) {
		close(fd);
		return;
	}
	c->fd = fd;
	c->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (c->timer_fd < 0 || watch(loop, fd, c) || watch(loop, c->timer_fd, c)) {
		fprintf(stderr, "truth-server: connection refused: %s\n", strerror(errno));
		close_connection(loop, c);
	}
}

static void arm(struct connection *c, uint64_t at_ns)
{
	struct itimerspec when = { .it_value = clock_timespec(at_ns) };

	timerfd_settime(c->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

/* Writes the next piece of the answer; false: the peer is gone. */
static bool answer(const struct truth_settings *s, struct connection *c)
{
	size_t size = s->gap_ns ? TRUTH_PIECE_SIZE : TRUTH_MESSAGE_SIZE;

	if (send(c->fd, c->message + c->answered, size, MSG_NOSIGNAL) != (ssize_t)size)
		return false;
	c->answered += size;
	if (c->answered < TRUTH_MESSAGE_SIZE)
		return true;
	truth_log(clock_now_ns() - c->first_ns);
	c->have = c->answered = 0;
	return true;
}

/* The whole answer at once, the loop busy meanwhile. */
static bool spin_and_answer(const struct truth_settings *s, struct connection *c, uint64_t service_ns)
{
	truth_wait_until(s, c->first_ns + service_ns);
	if (!answer(s, c))
		return false;
	if (!c->answered)
		return true;
	truth_wait_until(s, clock_now_ns() + s->gap_ns);
	return answer(s, c);
}

/* Reads what there is of one request and starts serving it when it is complete; false: close the connection. */
static bool read_request(const struct truth_settings *s, struct connection *c)
{
	uint64_t service_ns;

	while (c->have < TRUTH_MESSAGE_SIZE) {
		size_t end = s->pieces && c->have < TRUTH_PIECE_SIZE ? TRUTH_PIECE_SIZE : TRUTH_MESSAGE_SIZE;
		ssize_t n = read(c->fd, c->message + c->have, end - c->have);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		if (n <= 0)
			return false;
		if (!c->have)
			c->first_ns = clock_now_ns();
		c->have += (size_t)n;
	}
	if (truth_parse(c->message, &service_ns))
		return false;
	if (s->spin)
		return spin_and_answer(s, c, service_ns);
	arm(c, c->first_ns + service_ns);
	return true;
}

static void handle(struct loop *loop, int fd)
{
	struct connection *c = loop->by_fd[fd];
	uint64_t expirations;
	bool alive;

	if (!c) /* closed by an earlier event of the same batch */
		return;
	if (fd == c->timer_fd) {
		if (read(fd, &expirations, sizeof(expirations)) != sizeof(expirations))
			return;
		alive = answer(loop->settings, c);
		if (alive && c->answered)
			arm(c, clock_now_ns() + loop->settings->gap_ns);
	} else if (c->have == TRUTH_MESSAGE_SIZE) {
		/* Only the peer's end can wake us here: nobody sends the next request before the answer. */
		alive = false;
	} else {
		alive = read_request(loop->settings, c);
	}
	if (!alive)
		close_connection(loop, c);
}

int epoll_serve(const struct truth_settings *settings)
{
	static struct loop loop;
	struct epoll_event events[MAX_EVENTS];
	int i, nr, err;

	loop.settings = settings;
	loop.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop.epoll_fd < 0)
		return -errno;
	err = watch(&loop, settings->listen_fd, NULL);
	if (!err)
		err = watch(&loop, settings->stop_fd, NULL);
	while (!err) {
		nr = epoll_wait(loop.epoll_fd, events, MAX_EVENTS, -1);
		if (nr < 0 && errno != EINTR)
			err = -errno;
		for (i = 0; i < nr; i++) {
			if (events[i].data.fd == settings->stop_fd)
				goto out;
			if (events[i].data.fd == settings->listen_fd)
				accept_connection(&loop);
			else
				handle(&loop, events[i].data.fd);
		}
	}
out:
	close(loop.epoll_fd);
	return err;
}
