// SPDX-License-Identifier: GPL-2.0
/*
 * sockets.c - hard cases about kinds of sockets and whose they are: AF_UNIX, IPv6, UDP, Multipath TCP, TCP's ways to
 * bring a request along with the connection, network namespaces, shared ports, proxies.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
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

static void client_ten_connections(void)
{
	for (int i = 0; i < 10; i++)
		net_keep_alive(2);
}

/* ---- kinds ------------------------------------------------------------------------------------------------------- */

static int listen_unix(void)
{
	return net_listen_with(AF_UNIX, 0, 128);
}

static int listen_ipv6(void)
{
	return net_listen_with(AF_INET6, 0, 128);
}

static int listen_multipath(void)
{
	return net_listen_with(AF_INET, IPPROTO_MPTCP, 128);
}

static int listen_deferring(void)
{
	int fd = net_listen(), seconds = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof(seconds));
	return fd;
}

/* A datagram per request; the socket is bound where the listener would be. */
static int listen_datagrams(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	net_free_port();
	if (fd < 0 || bind(fd, (struct sockaddr *)&net_address, net_address_size))
		rig_broken("bind: %s", strerror(errno));
	return fd;
}

static void server_datagrams(int fd)
{
	struct sockaddr_storage from;
	char buf[NET_MESSAGE];
	socklen_t size;

	while (size = sizeof(from), recvfrom(fd, buf, sizeof(buf), 0, (struct sockaddr *)&from, &size) > 0) {
		rig_sleep_us(3000);
		sendto(fd, buf, sizeof(buf), 0, (struct sockaddr *)&from, size);
	}
}

static void client_datagrams(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (connect(fd, (struct sockaddr *)&net_address, net_address_size))
		rig_broken("connect: %s", strerror(errno));
	for (int i = 0; i < 20; i++)
		net_ask(fd);
	close(fd);
}

/* ---- network namespaces ------------------------------------------------------------------------------------------ */

/* A new namespace of our own, with its loopback up. */
static void enter_namespace(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd;

	if (unshare(CLONE_NEWNET))
		rig_skip("unshare: %s", strerror(errno));
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (ioctl(fd, SIOCSIFFLAGS, &request))
		rig_skip("loopback of a new network namespace: %s", strerror(errno));
	close(fd);
}

/* The request comes with the SYN; allowed for both ends and without a cookie, in a namespace of our own. */
static int listen_fast_open(void)
{
	int queue = 16, fd, control;

	enter_namespace();
	control = open("/proc/sys/net/ipv4/tcp_fastopen", O_WRONLY);
	if (control < 0 || write(control, "519", 3) != 3)
		rig_skip("tcp_fastopen: %s", strerror(errno));
	close(control);
	fd = net_listen();
	setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN, &queue, sizeof(queue));
	return fd;
}

static void client_fast_open(void)
{
	for (int i = 0; i < 10; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		uint64_t start = rig_clock_us();
		char buf[NET_MESSAGE] = { 0 };

		if (sendto(fd, buf, NET_MESSAGE, MSG_FASTOPEN, (struct sockaddr *)&net_address, net_address_size) !=
			    NET_MESSAGE ||
		    !net_read(fd, buf, NET_MESSAGE))
			rig_broken("TCP Fast Open: %s", strerror(errno));
		rig_saw(RIG_SEEN, rig_clock_us() - start);
		net_ask(fd);
		close(fd);
	}
}

/* Ours and one in another namespace on the same port, both busy.  Seen from here by port, or over there by process. */
static void run_same_port(const struct rig_case *c, bool theirs)
{
	int ready[2], go[2];
	char byte = 0;
	pid_t ours, other;

	if (pipe2(ready, O_CLOEXEC) || pipe2(go, O_CLOEXEC))
		rig_broken("pipe: %s", strerror(errno));
	ours = rig_serve(net_listen(), c);
	other = rig_fork();
	if (other == 0) {
		enter_namespace();
		other = rig_serve(net_listen(), c);
		if (write(ready[1], &other, sizeof(other)) == sizeof(other) && read(go[0], &byte, 1) == 1)
			net_keep_alive(20);
		if (write(ready[1], &byte, 1) == 1)
			pause();
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &other, sizeof(other)) != sizeof(other))
		rig_skip("no network namespace here");
	rig_watch(theirs ? other : ours, theirs ? 0 : net_port(), 0);
	if (write(go[1], &byte, 1) != 1 || read(ready[0], &byte, 1) != 1)
		rig_broken("the other namespace's client ended");
	net_keep_alive(10);
	rig_stop();
	rig_judge(c);
}

static void run_ours_by_port(const struct rig_case *c)
{
	run_same_port(c, false);
}

static void run_theirs_by_pid(const struct rig_case *c)
{
	/* What their client saw is not known here; it is the same work. */
	for (int i = 0; i < 20; i++)
		rig_saw(RIG_SEEN, 100000);
	run_same_port(c, true);
}

/* ---- one port, two processes ------------------------------------------------------------------------------------- */

/* Two servers answer 'A' and 'B'; A is watched, and so A's answers are what is to be found. */
static const char *mine;

static void serve_name(int fd)
{
	char buf[NET_MESSAGE];

	while (net_read(fd, buf, NET_MESSAGE)) {
		rig_sleep_us(3000);
		memset(buf, *mine, NET_MESSAGE);
		net_write(fd, buf, NET_MESSAGE);
	}
}

static pid_t serve_as(const char *name, int listener, const struct rig_case *c)
{
	mine = name;
	return rig_serve(listener, c);
}

static void ask_both_and_judge(const struct rig_case *c, pid_t watched)
{
	struct rig_case found = *c;

	rig_watch(watched, 0, 0);
	for (int i = 0; i < 40; i++) {
		char buf[NET_MESSAGE] = { 0 };
		uint64_t start = rig_clock_us();
		int fd = net_connect();

		net_write(fd, buf, NET_MESSAGE);
		if (!net_read(fd, buf, NET_MESSAGE))
			rig_broken("the client got no answer");
		if (buf[0] == 'A') {
			rig_saw(RIG_SEEN, rig_clock_us() - start);
			found.expect.nr++;
		}
		close(fd);
	}
	rig_stop();
	rig_judge(&found);
}

static int listen_reusing(uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				       .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 128))
		rig_broken("SO_REUSEPORT: %s", strerror(errno));
	return fd;
}

static void run_reuseport(const struct rig_case *c)
{
	uint16_t port = net_free_port();
	pid_t watched = serve_as("A", listen_reusing(port), c);

	serve_as("B", listen_reusing(port), c);
	ask_both_and_judge(c, watched);
}

static void run_shared_listener(const struct rig_case *c)
{
	int listener = net_listen(), copy = dup(listener);
	pid_t watched = serve_as("A", listener, c);

	serve_as("B", copy, c);
	ask_both_and_judge(c, watched);
}

/* ---- proxies ----------------------------------------------------------------------------------------------------- */

static void server_like_a_proxy(int listener)
{
	prctl(PR_SET_NAME, "docker-proxy");
	close(accept(listener, NULL, NULL));
	pause();
}

static void run_proxy(const struct rig_case *c)
{
	char file[64];
	const char *said;
	int out[2], fd;
	FILE *config;
	char end;

	rig_serve(net_listen(), c);
	/* Its close says that it has its name. */
	fd = net_connect();
	if (read(fd, &end, 1))
		rig_broken("the proxy did not close");
	snprintf(file, sizeof(file), "/proc/self/fd/%d", memfd_create("config", 0));
	config = fopen(file, "w");
	fprintf(config, "[service published]\nmatch = port:%u\ntarget = p99 < 10ms\n", net_port());
	fclose(config);
	if (pipe(out))
		rig_broken("pipe: %s", strerror(errno));
	rig_spawn((const char *const[]){ rig_program("parties"), "check", "-c", file, NULL }, out[1]);
	close(out[1]);
	said = rig_wait_for(out[0], "docker-proxy");
	rig_row("named by check", said ? "not named" : "named", said ? "WRONG: check says: %s" : "right", said);
}

#define TWENTY .expect = { .nr = 20, .us = 3000 }

static const struct rig_case cases[] = {
	{ "33c", "request arrives with the SYN (TCP Fast Open)", .listen = listen_fast_open, .serve = serve_3ms,
	  .client = client_fast_open, TWENTY },
	{ "33d", "request arrives before accept (TCP_DEFER_ACCEPT)", .listen = listen_deferring, .serve = serve_3ms,
	  .client = client_ten_connections, TWENTY },
	{ "36a", "AF_UNIX listener", .listen = listen_unix, .serve = serve_3ms, .client = client_twenty, TWENTY },
	{ "36b", "AF_UNIX listener, short connections", .listen = listen_unix, .serve = serve_3ms,
	  .client = client_ten_connections, TWENTY },
	{ "36c", "IPv6 listener", .listen = listen_ipv6, .serve = serve_3ms, .client = client_twenty, TWENTY },
	{ "36d", "UDP", .listen = listen_datagrams, .server = server_datagrams, .client = client_datagrams,
	  .expect = { .nr = 20, .us = 3000, .may_declare = "datagram" } },
	{ "44a", "same port in another network namespace, ours by port", .serve = serve_3ms, .run = run_ours_by_port,
	  .expect = { .nr = 10, .us = 3000 } },
	{ "44b", "same port in another network namespace, theirs by process", .serve = serve_3ms,
	  .run = run_theirs_by_pid, TWENTY },
	{ "44c", "two processes on one port (SO_REUSEPORT)", .serve = serve_name, .run = run_reuseport,
	  .expect = { .us = 3000 } },
	{ "44d", "two processes on one listener", .serve = serve_name, .run = run_shared_listener,
	  .expect = { .us = 3000 } },
	{ "44e", "a userland proxy owns the port", .server = server_like_a_proxy, .run = run_proxy },
	{ "45", "Multipath TCP listener, plain client", .listen = listen_multipath, .serve = serve_3ms,
	  .client = client_twenty, .expect = { .nr = 20, .us = 3000, .may_declare = "multipath" } },
};

int main(int argc, char **argv)
{
	(void)argc;
	return rig_main(cases, sizeof(cases) / sizeof(cases[0]), argv);
}
