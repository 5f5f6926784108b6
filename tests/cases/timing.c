// SPDX-License-Identifier: GPL-2.0
/*
 * timing.c - hard cases about when a request starts and ends: keep-alive, think time, pieces, late closes, slow peers,
 * queues.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net.h"
#include "common/rig.h"

enum { LARGE = 4 << 20, PART = 64 << 10 };

static void serve_2ms(int fd)
{
	net_serve(fd, 2000);
}

static void client_keep_alive(void)
{
	net_keep_alive(100);
}

static void client_thinking(void)
{
	int fd = net_connect();

	for (int i = 0; i < 10; i++) {
		net_ask(fd);
		rig_sleep_us(40000);
	}
	close(fd);
}

static void client_idle_first(void)
{
	for (int i = 0; i < 5; i++) {
		int fd = net_connect();

		rig_sleep_us(40000);
		net_ask(fd);
		close(fd);
	}
}

static void serve_closing_late(int fd)
{
	char buf[NET_MESSAGE];

	net_read(fd, buf, NET_MESSAGE);
	rig_sleep_us(5000);
	net_write(fd, buf, NET_MESSAGE);
	rig_sleep_us(800000);
}

static void client_one_each(void)
{
	net_one_each(1);
}

static void client_four_at_once(void)
{
	net_clients(4, client_one_each);
}

/* Ten writes, 30 ms apart. */
static void serve_many_writes(int fd)
{
	static char part[PART];
	char buf[NET_MESSAGE];

	while (net_read(fd, buf, NET_MESSAGE)) {
		for (int i = 0; i < 10; i++) {
			rig_sleep_us(30000);
			net_write(fd, part, PART);
		}
	}
}

static void client_many_writes(void)
{
	int fd = net_connect();

	for (int i = 0; i < 3; i++)
		net_ask_with(fd, "request.........", NET_MESSAGE, 10 * PART);
	close(fd);
}

static void serve_header_then_body(int fd)
{
	char buf[NET_MESSAGE];

	while (net_read(fd, buf, NET_MESSAGE)) {
		rig_sleep_us(10000);
		net_write(fd, buf, 6);
		rig_sleep_us(10000);
		net_write(fd, buf + 6, NET_MESSAGE - 6);
	}
}

static void client_ten(void)
{
	net_keep_alive(10);
}

/* A header of 9 bytes, then the payload, by two reads. */
static void serve_pieces(int fd)
{
	char buf[NET_MESSAGE];

	while (net_read(fd, buf, 9) && net_read(fd, buf + 9, NET_MESSAGE - 9)) {
		rig_sleep_us(5000);
		net_write(fd, buf, NET_MESSAGE);
	}
}

/* Sends a request in `nr` pieces, `gap_us` apart; its total counts from the first, what is owed from the last. */
static void ask_in_pieces(int fd, int nr, uint64_t gap_us)
{
	char buf[NET_MESSAGE] = { 0 };
	uint64_t start = rig_clock_us(), last = start;
	size_t sent = 0;

	for (int i = 1; i <= nr; i++) {
		size_t until = (size_t)(i * NET_MESSAGE / nr);

		last = rig_clock_us();
		if (!net_write(fd, buf, until - sent))
			rig_broken("the client cannot send");
		sent = until;
		if (i < nr)
			rig_sleep_us(gap_us);
	}
	if (!net_read(fd, buf, NET_MESSAGE))
		rig_broken("the client got no answer");
	rig_saw(RIG_SEEN, rig_clock_us() - last);
	rig_saw(RIG_SEEN_TOTAL, rig_clock_us() - start);
}

static void client_two_pieces(void)
{
	int fd = net_connect();

	for (int i = 0; i < 10; i++)
		ask_in_pieces(fd, 2, 20000);
	close(fd);
}

static void client_slow_upload(void)
{
	int fd = net_connect();

	for (int i = 0; i < 4; i++)
		ask_in_pieces(fd, 8, 30000);
	close(fd);
}

/* Reads until there is nothing more, then once again, and only then answers. */
static void server_edge_triggered(int listener)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK), epoll = epoll_create1(0);
	char buf[NET_MESSAGE];

	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
	while (epoll_wait(epoll, &event, 1, -1) == 1) {
		ssize_t n, got = 0;

		while ((n = read(fd, buf, sizeof(buf))) > 0)
			got += n;
		if (!n)
			break;
		rig_sleep_us(4000);
		while (got > 0 && read(fd, buf, sizeof(buf)) < 0 && errno == EAGAIN && write(fd, buf, NET_MESSAGE) > 0)
			got -= NET_MESSAGE;
	}
	close(fd);
	pause();
}

/* One request after the other over all connections: the others wait in their receive queues. */
static void server_one_by_one(int listener)
{
	struct pollfd fds[32] = { { listener, POLLIN, 0 } };
	char buf[NET_MESSAGE];
	nfds_t nr = 1;

	while (poll(fds, nr, -1) > 0) {
		for (nfds_t i = nr - 1; i > 0; i--) {
			if (!fds[i].revents)
				continue;
			if (net_read(fds[i].fd, buf, NET_MESSAGE)) {
				rig_sleep_us(20000);
				net_write(fds[i].fd, buf, NET_MESSAGE);
			} else {
				close(fds[i].fd);
				fds[i] = fds[--nr];
			}
		}
		if (fds[0].revents && nr < 32)
			fds[nr++] = (struct pollfd){ accept(listener, NULL, NULL), POLLIN, 0 };
	}
}

/* One connection after the other: the others wait in the backlog. */
static void server_backlogged(int listener)
{
	for (;;) {
		char buf[NET_MESSAGE];
		int fd = accept(listener, NULL, NULL);

		if (net_read(fd, buf, NET_MESSAGE)) {
			rig_sleep_us(20000);
			net_write(fd, buf, NET_MESSAGE);
		}
		close(fd);
	}
}

static void client_burst(void)
{
	int fds[10];
	uint64_t start[10];
	char buf[NET_MESSAGE] = { 0 };

	/* In the order of arrival, answers come in that order, too. */
	for (int i = 0; i < 10; i++) {
		fds[i] = net_connect();
		start[i] = rig_clock_us();
		net_write(fds[i], buf, NET_MESSAGE);
	}
	for (int i = 0; i < 10; i++) {
		net_read(fds[i], buf, NET_MESSAGE);
		rig_saw(RIG_SEEN, rig_clock_us() - start[i]);
		close(fds[i]);
	}
}

/* All of them at once, over connections that are there: answered in any order. */
static void client_queue_one(void)
{
	int fd = net_connect();

	rig_sleep_us(30000);
	net_ask(fd);
	close(fd);
}

static void client_queue(void)
{
	net_clients(10, client_queue_one);
}

static void serve_large_blocking(int fd)
{
	char buf[NET_MESSAGE], *large = calloc(1, LARGE);

	while (net_read(fd, buf, NET_MESSAGE)) {
		rig_sleep_us(20000);
		net_write(fd, large, LARGE);
	}
	free(large);
}

static void serve_large_polling(int fd)
{
	char buf[NET_MESSAGE], *large = calloc(1, LARGE);
	struct pollfd writable = { fd, POLLOUT, 0 };

	while (net_read(fd, buf, NET_MESSAGE)) {
		size_t done = 0;

		rig_sleep_us(20000);
		while (done < LARGE && poll(&writable, 1, -1) == 1) {
			ssize_t n = send(fd, large + done, LARGE - done, MSG_DONTWAIT);

			if (n < 0 && errno != EAGAIN)
				break;
			done += n > 0 ? (size_t)n : 0;
		}
	}
	free(large);
}

/* Small ones, so that the server has to wait for the peer. */
static int listen_small_buffers(void)
{
	int fd = net_listen(), size = PART;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	return fd;
}

/* Takes about 300 ms, nearly all of it asleep; only the rest is the server's and the kernel's. */
static void client_slow_reader(void)
{
	static char part[LARGE / 32];
	int fd = net_connect(), size = PART;
	uint64_t start, slept;

	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	for (int k = 0; k < 3; k++) {
		start = rig_clock_us();
		slept = 0;
		net_write(fd, part, NET_MESSAGE);
		for (int i = 0; i < 32; i++) {
			uint64_t pause_start = rig_clock_us();

			if (i > 0)
				rig_sleep_us(10000);
			slept += i > 0 ? rig_clock_us() - pause_start : 0;
			if (!net_read(fd, part, sizeof(part)))
				rig_broken("the client got no answer");
		}
		rig_saw(RIG_SEEN, rig_clock_us() - start - slept);
		rig_saw(RIG_SEEN_TOTAL, rig_clock_us() - start);
	}
	close(fd);
}

static int listen_large_buffers(void)
{
	int fd = net_listen(), size = 2 * LARGE;

	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)))
		rig_skip("SO_SNDBUFFORCE: %s", strerror(errno));
	return fd;
}

static void serve_buffered(int fd)
{
	char buf[NET_MESSAGE], *large = calloc(1, LARGE);
	int size = 2 * LARGE;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)); /* where the listener's is not inherited */
	while (net_read(fd, buf, NET_MESSAGE)) {
		rig_sleep_us(10000);
		for (size_t done = 0; done < LARGE;) {
			ssize_t n = send(fd, large + done, LARGE - done, MSG_DONTWAIT);

			done += n > 0 ? (size_t)n : 0;
		}
	}
	free(large);
}

static const struct rig_case cases[] = {
	{ "1", "keep-alive, many requests on one connection", .serve = serve_2ms, .client = client_keep_alive,
	  .expect = { .nr = 100, .us = 2000 } },
	{ "2a", "blocking read between requests", .serve = serve_2ms, .client = client_thinking,
	  .expect = { .nr = 10, .us = 2000 } },
	{ "2b", "connections that are idle before their request", .serve = serve_2ms, .client = client_idle_first,
	  .expect = { .nr = 5, .us = 2000 } },
	{ "4", "answer at 5 ms, close long after", .serve = serve_closing_late, .client = client_four_at_once,
	  .expect = { .nr = 4, .us = 5000 } },
	{ "5", "large answer, ten writes over 300 ms", .serve = serve_many_writes, .client = client_many_writes,
	  .expect = { .nr = 3, .us = 300000 } },
	{ "6", "header and body by separate writes", .serve = serve_header_then_body, .client = client_ten,
	  .expect = { .nr = 10, .us = 20000 } },
	{ "7a", "header and payload by separate reads", .serve = serve_pieces, .client = client_ten,
	  .expect = { .nr = 10, .us = 5000 } },
	{ "7b", "request in two segments 20 ms apart", .serve = serve_pieces, .client = client_two_pieces,
	  .expect = { .nr = 10, .us = 5000, .total_us = 25000 } },
	{ "7c", "slow upload, eight pieces over 210 ms", .serve = serve_2ms, .client = client_slow_upload,
	  .expect = { .nr = 4, .us = 2000, .total_us = 212000 } },
	{ "10", "edge-triggered: reads until EAGAIN, and again later", .server = server_edge_triggered,
	  .client = client_ten, .expect = { .nr = 10, .us = 4000 } },
	{ "33a", "ten requests wait in the accept backlog", .server = server_backlogged, .client = client_burst,
	  .expect = { .nr = 10, .us = 95000, .p99_us = 195000 } },
	{ "33b", "ten requests wait in their receive queues", .server = server_one_by_one, .client = client_queue,
	  .expect = { .nr = 10, .us = 80000, .p99_us = 180000 } },
	{ "40a", "slow reader, server polls", .listen = listen_small_buffers, .serve = serve_large_polling,
	  .client = client_slow_reader, .expect = { .nr = 3, .us = 20000, .total_us = 250000 } },
	{ "40b", "slow reader, server blocks in one write", .listen = listen_small_buffers,
	  .serve = serve_large_blocking, .client = client_slow_reader,
	  .expect = { .nr = 3, .us = 20000, .total_us = 250000 } },
	{ "43", "one send takes megabytes at once", .listen = listen_large_buffers, .serve = serve_buffered,
	  .client = client_slow_reader, .expect = { .nr = 3, .us = 10000, .must_declare = "buffered" } },
};

int main(int argc, char **argv)
{
	(void)argc;
	return rig_main(cases, sizeof(cases) / sizeof(cases[0]), argv);
}
