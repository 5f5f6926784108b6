// SPDX-License-Identifier: GPL-2.0
/*
 * connections.c - hard cases about descriptors and connections: copied, reused, given up, there before, very many.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net.h"
#include "common/rig.h"

static void serve_3ms(int fd)
{
	net_serve(fd, 3000);
}

static void client_twenty(void)
{
	net_keep_alive(20);
}

static void client_ten_each(void)
{
	net_one_each(10);
}

/* ---- descriptors ------------------------------------------------------------------------------------------------- */

static void serve_dup(int fd)
{
	char buf[NET_MESSAGE];

	while (net_read(fd, buf, NET_MESSAGE)) {
		int copy = dup(fd);

		close(copy);
		copy = dup(fd);
		rig_sleep_us(3000);
		net_write(copy, buf, NET_MESSAGE);
		close(copy);
	}
}

/* Takes a request, forgets about it, and gives its descriptor's number to the next connection. */
static void server_reuse(int listener, int (*replace)(int old, int new))
{
	char buf[NET_MESSAGE];

	for (;;) {
		int old = accept(listener, NULL, NULL), new;

		net_read(old, buf, NET_MESSAGE);
		new = replace(old, accept(listener, NULL, NULL));
		if (!net_read(new, buf, NET_MESSAGE))
			_exit(1);
		rig_sleep_us(3000);
		net_write(new, buf, NET_MESSAGE);
		net_read(new, buf, 1);
		close(new);
	}
}

static int replace_by_close_range(int old, int new)
{
	close_range((unsigned int)old, (unsigned int)old, 0);
	return fcntl(new, F_DUPFD, old);
}

static int replace_by_dup2(int old, int new)
{
	dup2(new, old);
	close(new);
	return old;
}

/* The number belongs to a file for a while, which is read and written like a busy connection. */
static int replace_by_file(int old, int new)
{
	char buf[NET_MESSAGE];
	int file = open("/dev/zero", O_RDWR);

	dup2(file, old);
	for (int i = 0; i < 50; i++)
		if (read(old, buf, sizeof(buf)) < 0 || write(old, buf, sizeof(buf)) < 0)
			_exit(1);
	close(file);
	return replace_by_dup2(old, new);
}

static void server_close_range(int listener)
{
	server_reuse(listener, replace_by_close_range);
}

static void server_dup2(int listener)
{
	server_reuse(listener, replace_by_dup2);
}

static void server_file(int listener)
{
	server_reuse(listener, replace_by_file);
}

static void client_reuse(void)
{
	for (int i = 0; i < 5; i++) {
		int first = net_connect(), second;

		net_write(first, "forgotten.......", NET_MESSAGE);
		rig_sleep_us(50000);
		second = net_connect();
		net_ask(second);
		close(first);
		close(second);
	}
}

/* No close at all: the process that has the connection ends. */
static void server_exit(int listener)
{
	signal(SIGCHLD, SIG_IGN);
	for (int fd; (fd = accept(listener, NULL, NULL)) >= 0; close(fd)) {
		if (rig_fork() == 0) {
			char buf[NET_MESSAGE];

			net_read(fd, buf, NET_MESSAGE);
			rig_sleep_us(3000);
			net_write(fd, buf, NET_MESSAGE);
			_exit(0);
		}
	}
}

static void serve_slowly(int fd)
{
	net_serve(fd, 30000);
}

/* Every other client is gone before its answer. */
static void client_aborting(void)
{
	for (int i = 0; i < 5; i++) {
		int fd = net_connect();

		net_write(fd, "abandoned.......", NET_MESSAGE);
		rig_sleep_us(10000);
		net_abort(fd);
		net_keep_alive(1);
	}
}

/* Says that it has no more to ask, and waits for the answer. */
static void client_half_closing(void)
{
	for (int i = 0; i < 5; i++) {
		int fd = net_connect();
		uint64_t start = rig_clock_us();
		char buf[NET_MESSAGE] = { 0 };

		net_write(fd, buf, NET_MESSAGE);
		shutdown(fd, SHUT_WR);
		if (!net_read(fd, buf, NET_MESSAGE))
			rig_broken("no answer after a half close");
		rig_saw(RIG_SEEN, rig_clock_us() - start);
		close(fd);
	}
}

static void client_probing(void)
{
	for (int i = 0; i < 40; i++) {
		int fd = net_connect();

		i % 2 ? net_abort(fd) : (void)close(fd);
	}
	net_keep_alive(20);
}

/* ---- there before us --------------------------------------------------------------------------------------------- */

static void run_open_before(const struct rig_case *c)
{
	pid_t server = rig_serve(net_listen(), c);
	int fds[4];

	for (int i = 0; i < 4; i++) {
		fds[i] = net_connect();
		net_write(fds[i], "before..........", NET_MESSAGE);
		net_read(fds[i], (char[NET_MESSAGE]){ 0 }, NET_MESSAGE);
	}
	rig_watch(server, 0, 0);
	for (int k = 0; k < 10; k++)
		for (int i = 0; i < 4; i++)
			net_ask(fds[i]);
	rig_stop();
	rig_judge(c);
}

/* Each connection is in the middle of a request when we come: that one may be lost, but not be wrong. */
static void run_midway(const struct rig_case *c)
{
	pid_t server = rig_serve(net_listen(), c);
	int fds[4];

	for (int i = 0; i < 4; i++) {
		fds[i] = net_connect();
		net_write(fds[i], "long............", NET_MESSAGE);
	}
	rig_watch(server, 0, 0);
	for (int i = 0; i < 4; i++)
		net_read(fds[i], (char[NET_MESSAGE]){ 0 }, NET_MESSAGE);
	for (int k = 0; k < 5; k++)
		for (int i = 0; i < 4; i++)
			net_ask(fds[i]);
	rig_stop();
	rig_judge(c);
}

static void serve_long_then_short(int fd)
{
	char buf[NET_MESSAGE];

	while (net_read(fd, buf, NET_MESSAGE)) {
		rig_sleep_us(buf[0] == 'l' ? 1200000 : 3000);
		net_write(fd, buf, NET_MESSAGE);
	}
}

/* ---- many -------------------------------------------------------------------------------------------------------- */

enum { MANY = 10000 };

static void raise_limit(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_max < MANY + 100)
		rig_skip("RLIMIT_NOFILE is %lu", (unsigned long)limit.rlim_max);
}

static int listen_many(void)
{
	raise_limit();
	return net_listen();
}

/* One thread for all. */
static void server_many(int listener)
{
	static struct pollfd fds[MANY + 1];
	char buf[NET_MESSAGE];

	for (int i = 0; i < MANY; i++)
		fds[i] = (struct pollfd){ accept(listener, NULL, NULL), POLLIN, 0 };
	while (poll(fds, MANY, -1) > 0) {
		for (int i = 0; i < MANY; i++) {
			if (fds[i].revents && net_read(fds[i].fd, buf, NET_MESSAGE)) {
				net_write(fds[i].fd, buf, NET_MESSAGE);
			} else if (fds[i].revents) {
				close(fds[i].fd);
				fds[i].fd = -1;
			}
		}
	}
}

static void client_many(void)
{
	static int fds[MANY];
	static uint64_t start[MANY];
	char buf[NET_MESSAGE] = { 0 };

	for (int i = 0; i < MANY; i++)
		fds[i] = net_connect();
	for (int i = 0; i < MANY; i++) {
		start[i] = rig_clock_us();
		net_write(fds[i], buf, NET_MESSAGE);
	}
	for (int i = 0; i < MANY; i++) {
		net_read(fds[i], buf, NET_MESSAGE);
		rig_saw(RIG_SEEN, rig_clock_us() - start[i]);
	}
	for (int i = 0; i < MANY; i++)
		net_abort(fds[i]);
}

static void serve_at_once(int fd)
{
	net_serve(fd, 0);
}

static void client_thousand(void)
{
	net_keep_alive(1000);
}

/* All CPUs busy, so that programs meet on sockets and cells; what the kernel skipped has to be said. */
static void client_busy(void)
{
	net_clients(4, client_thousand);
}

static void run_misses(const struct rig_case *c)
{
	pid_t server = rig_serve(net_listen(), c);

	rig_watch(server, 0, 0);
	c->client();
	rig_stop();
	if (rig_number(rig.summary, "recursion_misses") < 0)
		rig_row("4000 x 0.0 ms", "-", "WRONG: recursion_misses is not reported");
	rig_judge(c);
}

static const struct rig_case cases[] = {
	{ "16", "dup of the socket, one copy closed early", .serve = serve_dup, .client = client_twenty,
	  .expect = { .nr = 20, .us = 3000 } },
	{ "17a", "closed by close_range, number reused", .server = server_close_range, .client = client_reuse,
	  .expect = { .nr = 5, .us = 3000, .must_declare = "aborted", .must_nr = 5 } },
	{ "17b", "closed by dup2, number reused", .server = server_dup2, .client = client_reuse,
	  .expect = { .nr = 5, .us = 3000, .must_declare = "aborted", .must_nr = 5 } },
	{ "17c", "number reused by a file, then by a connection", .server = server_file, .client = client_reuse,
	  .expect = { .nr = 5, .us = 3000, .must_declare = "aborted", .must_nr = 5 } },
	{ "17d", "closed by exit", .server = server_exit, .client = client_ten_each,
	  .expect = { .nr = 10, .us = 3000 } },
	{ "18a", "client aborts before the answer", .serve = serve_slowly, .client = client_aborting,
	  .expect = { .nr = 5, .us = 30000, .must_declare = "aborted", .must_nr = 5 } },
	{ "18b", "client half-closes and waits for the answer", .serve = serve_slowly, .client = client_half_closing,
	  .expect = { .nr = 5, .us = 30000 } },
	{ "19a", "connections open before", .serve = serve_3ms, .run = run_open_before,
	  .expect = { .nr = 40, .nr_least = 36, .us = 3000 } },
	{ "19b", "connections open before, each within a request", .serve = serve_long_then_short, .run = run_midway,
	  .expect = { .nr = 20, .us = 3000, .must_declare = "unmatched", .must_nr = 4 } },
	{ "28", "health probes: connect, close, no bytes", .serve = serve_3ms, .client = client_probing,
	  .expect = { .nr = 20, .us = 3000 } },
	{ "35", "10,000 connections at once", .listen = listen_many, .server = server_many, .client = client_many,
	  .expect = { .nr = MANY } },
	{ "38", "busy on all CPUs", .serve = serve_at_once, .client = client_busy, .run = run_misses,
	  .expect = { .nr = 4000 } },
};

int main(int argc, char **argv)
{
	(void)argc;
	return rig_main(cases, sizeof(cases) / sizeof(cases[0]), argv);
}
