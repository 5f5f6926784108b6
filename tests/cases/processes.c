// SPDX-License-Identifier: GPL-2.0
/*
 * processes.c - hard cases about threads and processes: who accepts, who reads, who answers, and what the server asks
 * others.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net.h"
#include "common/rig.h"

/* ---- threads ----------------------------------------------------------------------------------------------------- */

/* Descriptors on their way from one thread to another. */
static int queue[2];

static void *answer_and_close(void *arg)
{
	char buf[NET_MESSAGE];
	int fd;

	(void)arg;
	while (read(queue[0], &fd, sizeof(fd)) == sizeof(fd)) {
		if (net_read(fd, buf, NET_MESSAGE)) {
			rig_sleep_us(3000);
			net_write(fd, buf, NET_MESSAGE);
		}
		close(fd);
	}
	return NULL;
}

static void server_dispatcher(int listener)
{
	pthread_t thread;
	int fd;

	if (pipe(queue))
		_exit(1);
	for (int i = 0; i < 8; i++)
		pthread_create(&thread, NULL, answer_and_close, NULL);
	while ((fd = accept(listener, NULL, NULL)) >= 0)
		if (write(queue[1], &fd, sizeof(fd)) != sizeof(fd))
			_exit(1);
}

static void client_ten_each(void)
{
	net_one_each(10);
}

static void client_dispatcher(void)
{
	net_clients(8, client_ten_each);
}

static void *answer(void *arg)
{
	char buf[NET_MESSAGE] = { 0 };
	int fd;

	(void)arg;
	while (read(queue[0], &fd, sizeof(fd)) == sizeof(fd)) {
		rig_sleep_us(3000);
		net_write(fd, buf, NET_MESSAGE);
	}
	return NULL;
}

/* Thread A reads all requests, threads B answer them. */
static void serve_by_another(int fd)
{
	char buf[NET_MESSAGE];

	while (net_read(fd, buf, NET_MESSAGE))
		if (write(queue[1], &fd, sizeof(fd)) != sizeof(fd))
			break;
}


static void server_handing_over(int listener)
{
	pthread_t thread;

	if (pipe(queue))
		_exit(1);
	for (int i = 0; i < 4; i++)
		pthread_create(&thread, NULL, answer, NULL);
	for (int fd; (fd = accept(listener, NULL, NULL)) >= 0;)
		serve_by_another(fd);
}

static void client_twenty(void)
{
	net_keep_alive(20);
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

static void serve_3ms(int fd)
{
	net_serve(fd, 3000);
}

static void accept_for_ever(int listener)
{
	for (int fd; (fd = accept(listener, NULL, NULL)) >= 0; close(fd))
		serve_3ms(fd);
	_exit(0);
}

static void server_prefork(int listener)
{
	for (int i = 0; i < 3; i++)
		if (rig_fork() == 0)
			accept_for_ever(listener);
	pause();
}

static void server_fork_after_accept(int listener)
{
	signal(SIGCHLD, SIG_IGN);
	for (int fd; (fd = accept(listener, NULL, NULL)) >= 0; close(fd)) {
		if (rig_fork() == 0) {
			serve_3ms(fd);
			_exit(0);
		}
	}
}

static void client_three(void)
{
	net_clients(3, client_twenty);
}

/* ---- the server is a client, too --------------------------------------------------------------------------------- */

static void serve_by_upstream(int fd)
{
	char buf[NET_MESSAGE];
	int upstream = net_connect();

	while (net_read(fd, buf, NET_MESSAGE)) {
		net_write(upstream, buf, NET_MESSAGE);
		if (!net_read(upstream, buf, NET_MESSAGE))
			break;
		rig_sleep_us(2000);
		net_write(fd, buf, NET_MESSAGE);
	}
	close(upstream);
}

static void run_upstream(const struct rig_case *c)
{
	const struct rig_case back = { .serve = serve_3ms };
	struct sockaddr_storage upstream;
	pid_t server;
	int listener;

	rig_serve(net_listen(), &back);
	upstream = net_address;
	listener = net_listen();
	/* The server connects to the upstream, the client to the server. */
	{
		struct sockaddr_storage front = net_address;

		net_address = upstream;
		server = rig_serve(listener, c);
		net_address = front;
	}
	rig_watch(server, 0, 0);
	c->client();
	rig_stop();
	rig_judge(c);
}

/* 'i' is answered at once; anything else asks itself first. */
static void serve_calling_itself(int fd)
{
	char buf[NET_MESSAGE];

	while (net_read(fd, buf, NET_MESSAGE)) {
		rig_sleep_us(3000);
		if (buf[0] != 'i') {
			int inner = net_connect();

			net_write(inner, "inner...........", NET_MESSAGE);
			net_read(inner, buf, NET_MESSAGE);
			close(inner);
		}
		net_write(fd, buf, NET_MESSAGE);
	}
}

static const struct rig_case cases[] = {
	{ "12", "dispatcher accepts, workers serve, many close at once", .server = server_dispatcher,
	  .client = client_dispatcher, .expect = { .nr = 80, .us = 3000 } },
	{ "13", "thread A reads, thread B answers", .server = server_handing_over, .client = client_twenty,
	  .expect = { .nr = 20, .us = 3000 } },
	{ "14a", "prefork; the target is the master", .server = server_prefork, .client = client_three,
	  .expect = { .nr = 60, .us = 3000 } },
	{ "14b", "fork after accept; the target is the master", .server = server_fork_after_accept,
	  .client = client_three, .expect = { .nr = 60, .us = 3000 } },
	{ "29a", "the server asks an upstream", .serve = serve_by_upstream, .client = client_twenty,
	  .run = run_upstream, .expect = { .nr = 20, .us = 5000 } },
	{ "29b", "the server calls itself", .serve = serve_calling_itself, .client = client_twenty,
	  .expect = { .nr = 40, .us = 3000, .p99_us = 6000 } },
};

int main(int argc, char **argv)
{
	(void)argc;
	return rig_main(cases, sizeof(cases) / sizeof(cases[0]), argv);
}
