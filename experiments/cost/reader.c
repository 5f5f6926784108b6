// SPDX-License-Identifier: GPL-2.0
/*
 * reader.c - the least that a program does to know a process's latency with libebee: twice a second a sweep, a snapshot and
 * three percentiles.  Glue.  What descriptor pairing's reader stands beside; it does not look for processes.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>

#include "ebee.h"
#include "experiments/common/number.h"

static int look(struct ebee *e, struct ebee_window *w)
{
	static const unsigned int permilles[] = { 500, 950, 990 };
	struct ebee_window_info info;
	uint64_t ns[3] = { 0 };
	int err = ebee_sweep(e);

	if (!err)
		err = ebee_window_advance(w, &info);
	for (int i = 0; !err && info.nr_completed && i < 3; i++)
		err = ebee_window_percentile(w, EBEE_OWED, permilles[i], &ns[i]);
	if (!err)
		printf("%" PRIu64 " requests  p50 %" PRIu64 "  p95 %" PRIu64 "  p99 %" PRIu64 " ns\n", info.nr_completed,
		       ns[0], ns[1], ns[2]);
	return err;
}

static int watch(struct ebee *e, pid_t pid, struct pollfd *signals)
{
	struct ebee_window *w;
	int err = ebee_add_pid(e, 0, pid);

	if (!err)
		err = ebee_seed(e);
	if (!err)
		err = ebee_window_open(&w, e, 0);
	if (err)
		return err;
	fprintf(stderr, "reader: watching pid:%d\n", pid);
	while (!err && poll(signals, 1, 500) == 0)
		err = look(e, w);
	ebee_window_close(w);
	return err;
}

int main(int argc, char **argv)
{
	const struct ebee_opts opts = { .sz = sizeof(opts), .nr_services = 1 };
	struct pollfd signals = { .events = POLLIN };
	char error[256];
	struct ebee *e;
	sigset_t set;
	uint64_t pid;
	int err;

	if (argc != 2 || number_parse(argv[1], 1, 4194304, &pid)) {
		fputs("usage: reader PID\n", stderr);
		return 2;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signals.fd = signalfd(-1, &set, SFD_CLOEXEC);
	if (ebee_open(&e, &opts, error, sizeof(error))) {
		fprintf(stderr, "reader: %s\n", error);
		return 3;
	}
	err = watch(e, (pid_t)pid, &signals);
	ebee_close(e);
	if (err)
		fprintf(stderr, "reader: %s\n", strerror(-err));
	return err ? 1 : 0;
}
