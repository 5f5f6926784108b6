// SPDX-License-Identifier: GPL-2.0
/*
 * net.c - port: sockets of the hard cases; see net.h.  Measures nothing but what a client sees.
 */
#include "net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rig.h"

enum { MAX_CLIENTS = 256, BACKLOG = 4096 };

struct sockaddr_storage net_address;
socklen_t net_address_size;

static void set_address(int family, uint16_t port)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&net_address;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&net_address;
	struct sockaddr_un *un = (struct sockaddr_un *)&net_address;

	memset(&net_address, 0, sizeof(net_address));
	net_address.ss_family = (sa_family_t)family;
	if (family == AF_UNIX) {
		/* An abstract name: nothing in the file system to leave behind. */
		snprintf(un->sun_path + 1, sizeof(un->sun_path) - 1, "parties-case-%d-%u", getpid(), port);
		net_address_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(un->sun_path + 1));
	} else if (family == AF_INET6) {
		in6->sin6_addr = in6addr_loopback;
		in6->sin6_port = htons(port);
		net_address_size = sizeof(*in6);
	} else {
		in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		in->sin_port = htons(port);
		net_address_size = sizeof(*in);
	}
}

int net_listen_with(int family, int protocol, int backlog)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, protocol), one = 1;

	if (fd < 0)
		rig_skip("socket(%d, %d): %s", family, protocol, strerror(errno));
	/* Multipath TCP's send goes on for 0.1 to 2 ms after it has handed the data to a subflow. */
	rig.late_us = protocol == IPPROTO_MPTCP ? 2000 : 0;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)); /* connections inherit it */
	for (uint16_t port = NET_FIRST_PORT; port <= NET_LAST_PORT; port++) {
		set_address(family, port);
		if (!bind(fd, (struct sockaddr *)&net_address, net_address_size) && !listen(fd, backlog))
			return fd;
		if (errno != EADDRINUSE)
			break;
	}
	rig_broken("no listener: %s", strerror(errno));
}

int net_listen(void)
{
	const char *family = rig_family();

	if (!strcmp(family, "unix"))
		return net_listen_with(AF_UNIX, 0, BACKLOG);
	return net_listen_with(AF_INET, !strcmp(family, "mptcp") ? IPPROTO_MPTCP : 0, BACKLOG);
}

uint16_t net_port(void)
{
	return ntohs(((struct sockaddr_in *)&net_address)->sin_port);
}

uint16_t net_free_port(void)
{
	close(net_listen());
	return net_port();
}

void net_connect_to(uint16_t port)
{
	set_address(AF_INET, port);
}

int net_connect(void)
{
	int protocol = strcmp(rig_family(), "mptcp") ? 0 : IPPROTO_MPTCP, one = 1;
	int fd = socket(net_address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, protocol);

	if (fd < 0 || connect(fd, (struct sockaddr *)&net_address, net_address_size))
		rig_broken("connect: %s", strerror(errno));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

bool net_wait(pid_t server)
{
	for (int i = 0; i < 100 && !waitpid(server, NULL, WNOHANG); i++) {
		int fd = socket(net_address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		bool there = !connect(fd, (struct sockaddr *)&net_address, net_address_size);

		close(fd);
		if (there)
			return true;
		rig_sleep_us(50000);
	}
	return false;
}

void net_abort(int fd)
{
	const struct linger now = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}

bool net_read(int fd, void *buf, size_t size)
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

bool net_write(int fd, const void *buf, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = write(fd, (const char *)buf + done, size - done);

		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

void net_ask_with(int fd, const void *request, size_t size, size_t answer_size)
{
	static __thread char answer[1 << 16];
	uint64_t start = rig_clock_us();

	if (!net_write(fd, request, size))
		rig_broken("the client cannot send: %s", strerror(errno));
	while (answer_size) {
		size_t part = answer_size < sizeof(answer) ? answer_size : sizeof(answer);

		if (!net_read(fd, answer, part))
			rig_broken("the client got no answer: %s", strerror(errno));
		answer_size -= part;
	}
	rig_saw(RIG_SEEN, rig_clock_us() - start);
}

void net_ask(int fd)
{
	net_ask_with(fd, "request.........", NET_MESSAGE, NET_MESSAGE);
}

static void *run_client(void *client)
{
	(*(void (**)(void))client)();
	return NULL;
}

void net_clients(unsigned int nr, void (*client)(void))
{
	pthread_t threads[MAX_CLIENTS];

	for (unsigned int i = 0; i < nr; i++)
		if (pthread_create(&threads[i], NULL, run_client, &client))
			rig_broken("pthread_create");
	for (unsigned int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
}

void net_beside(void (*one)(void), void (*other)(void))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_client, &one))
		rig_broken("pthread_create");
	other();
	pthread_join(thread, NULL);
}

void net_keep_alive(unsigned int nr)
{
	int fd = net_connect();

	while (nr--)
		net_ask(fd);
	close(fd);
}

void net_one_each(unsigned int nr)
{
	while (nr--) {
		int fd = net_connect();
		char end;

		net_ask(fd);
		if (read(fd, &end, 1))
			rig_broken("the server did not close");
		close(fd);
	}
}

void net_serve(int fd, unsigned int us)
{
	char buf[NET_MESSAGE];

	while (net_read(fd, buf, NET_MESSAGE)) {
		rig_sleep_us(us);
		net_write(fd, buf, NET_MESSAGE);
	}
}
