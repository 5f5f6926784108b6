// SPDX-License-Identifier: GPL-2.0
/*
 * attach.c - how long it takes to begin with a service that has 10,000 open connections.  Glue: makes the service and its
 * clients, and looks whether all connections were found.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ebee.h"
#include "measure.h"

enum { NR_CONNECTIONS = 10000, MAX_TIMES = 5 };

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The service: answers one byte per connection, so that the sweep has something to count, and keeps all of them. */
static void serve(int listener)
{
	char byte = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0 || write(fd, &byte, 1) != 1)
			_exit(1);
	}
}

static int start_service(pid_t *ret_pid, struct sockaddr_in *ret_address)
{
	struct rlimit limit;
	socklen_t size = sizeof(*ret_address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return -errno;
	if (limit.rlim_max < NR_CONNECTIONS + 100)
		return -EMFILE;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		return -errno;
	*ret_address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (listener < 0 || bind(listener, (struct sockaddr *)ret_address, size) || listen(listener, 128) ||
	    getsockname(listener, (struct sockaddr *)ret_address, &size))
		return -errno;
	*ret_pid = fork();
	if (!*ret_pid)
		serve(listener);
	close(listener);
	return *ret_pid < 0 ? -errno : 0;
}

/* They end without a trace: thousands of ports in TIME_WAIT would be in other programs' way. */
static int open_connections(const struct sockaddr_in *address)
{
	const struct linger reset = { .l_onoff = 1 };
	char byte;

	for (int i = 0; i < NR_CONNECTIONS; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) ||
		    connect(fd, (const struct sockaddr *)address, sizeof(*address)) || read(fd, &byte, 1) != 1)
			return -errno;
	}
	return 0;
}

/* Every connection that was found has storage, and a request on one of them makes the sweep count all. */
static int count_connections(struct ebee *e, uint64_t *ret)
{
	struct ebee_window_info info;
	struct ebee_window *w;
	char byte = 0;
	int err = ebee_window_open(&w, e, 0);

	if (err)
		return err;
	if (send(NR_CONNECTIONS, &byte, 1, MSG_NOSIGNAL) != 1) /* one of the client's descriptors */
		err = -errno;
	if (!err)
		err = ebee_sweep(e);
	if (!err)
		err = ebee_window_advance(w, &info);
	if (!err)
		*ret = info.nr_connections;
	ebee_window_close(w);
	return err;
}

static int attach(pid_t pid, double *ret_load_ns, double *ret_attach_ns)
{
	const struct ebee_opts opts = { .sz = sizeof(opts), .nr_services = 1 };
	double start = now_ns();
	uint64_t nr = 0;
	char error[256];
	struct ebee *e;
	int err = ebee_open(&e, &opts, error, sizeof(error));

	if (err) {
		fprintf(stderr, "attach: %s\n", error);
		return err;
	}
	*ret_load_ns = now_ns() - start;
	start = now_ns();
	err = ebee_add_pid(e, 0, pid);
	if (!err)
		err = ebee_seed(e);
	*ret_attach_ns = now_ns() - start;
	if (!err)
		err = count_connections(e, &nr);
	ebee_close(e);
	if (!err && nr != NR_CONNECTIONS) {
		fprintf(stderr, "attach: %lu of %d connections were found\n", nr, NR_CONNECTIONS);
		err = -EIO;
	}
	return err;
}

int main(int argc, char **argv)
{
	unsigned int nr_times = measure_rounds(argc, argv, MAX_TIMES);
	double load_ns[MAX_TIMES], attach_ns[MAX_TIMES];
	struct sockaddr_in address;
	pid_t pid = 0;
	int err = start_service(&pid, &address);

	if (!err)
		err = open_connections(&address);
	for (unsigned int i = 0; !err && i < nr_times; i++)
		err = attach(pid, &load_ns[i], &attach_ns[i]);
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	if (err) {
		fprintf(stderr, "attach: %s%s\n", strerror(-err),
			err == -EMFILE ? "; the limit of open files (RLIMIT_NOFILE) is too low for 10,000 connections" : "");
		return 1;
	}
	report("attach_10000_connections_ns", median(attach_ns, nr_times));
	report("load_programs_ns", median(load_ns, nr_times));
	return 0;
}
