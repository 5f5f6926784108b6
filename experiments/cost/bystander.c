// SPDX-License-Identifier: GPL-2.0
/*
 * bystander.c - a process beside the observed one: bytes to and from a file, or to and fro on a connection.  Glue.
 *
 * The files are judged by counts: how often a program of the observer ran during bursts too short for anybody else to
 * disturb each of them.  Time is around.c's business.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "experiments/common/number.h"
#include "measure.h"
#include "observer.h"

static const char usage[] =
	"usage: bystander serve                 prints a port and answers one connection, byte by byte\n"
	"       bystander ping PORT NUMBER      so many bytes to it and back\n"
	"       bystander files OBSERVER_PID    runs of the observer's programs per read or write of a file\n";

enum { NR_BURSTS = 300, BURST = 100 };

static int fail(const char *what)
{
	perror(what);
	return 1;
}

static int serve(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd, one = 1;
	socklen_t size = sizeof(address);
	char byte;

	if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) || listen(listener, 4) ||
	    getsockname(listener, (struct sockaddr *)&address, &size))
		return fail("bystander: listen");
	printf("%d\n", ntohs(address.sin_port));
	fflush(stdout);
	for (;;) {
		fd = accept(listener, NULL, NULL);
		if (fd < 0)
			return fail("bystander: accept");
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		while (read(fd, &byte, 1) == 1 && write(fd, &byte, 1) == 1)
			;
		close(fd);
	}
}

static int ping(uint16_t port, uint64_t nr)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				       .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	char byte = 0;

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return fail("bystander: connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	while (nr--)
		if (write(fd, &byte, 1) != 1 || read(fd, &byte, 1) != 1)
			return fail("bystander: ping");
	close(fd);
	return 0;
}

static uint64_t runs(const struct observer *o)
{
	struct bpf_prog_info info;
	uint64_t sum = 0;

	for (unsigned int i = 0; i < o->nr; i++)
		if (!observer_info(o->fds[i], &info))
			sum += info.run_cnt;
	return sum;
}

static int files(int pid)
{
	uint64_t least = UINT64_MAX, before, nr;
	struct observer o;
	char buf[512] = "";
	int fd = memfd_create("bystander", MFD_CLOEXEC), err = observer_open(&o, pid);

	if (err || fd < 0 || bpf_enable_stats(BPF_STATS_RUN_TIME) < 0) {
		errno = err ? -err : errno;
		return fail("bystander: files");
	}
	for (int burst = 0; burst < NR_BURSTS; burst++) {
		before = runs(&o);
		for (int i = 0; i < BURST; i++)
			if (pwrite(fd, buf, sizeof(buf), 0) != sizeof(buf) || pread(fd, buf, sizeof(buf), 0) != sizeof(buf))
				return fail("bystander: file");
		nr = runs(&o) - before;
		if (nr < least)
			least = nr;
	}
	report("program_runs_per_file_operation", (double)least / (2 * BURST));
	observer_close(&o);
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t number, nr;

	if (argc == 2 && !strcmp(argv[1], "serve"))
		return serve();
	if (argc == 4 && !strcmp(argv[1], "ping") && !number_parse(argv[2], 1, 65535, &number) &&
	    !number_parse(argv[3], 1, 100000000, &nr))
		return ping((uint16_t)number, nr);
	if (argc == 3 && !strcmp(argv[1], "files") && !number_parse(argv[2], 1, 4194304, &number))
		return files((int)number);
	fputs(usage, stderr);
	return 2;
}
