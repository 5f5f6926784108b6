// SPDX-License-Identifier: GPL-2.0
/*
 * ebee-watch - the example of libebee: rate and latency of running processes, once a second, request by request.
 *
 *	cc main.c $(pkg-config --cflags --libs ebee) -o ebee-watch
 *	./ebee-watch PID...
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ebee.h>

static void print_line(struct ebee *ebee, pid_t pid)
{
	uint64_t latest, average, p99;
	double rps = 0;

	ebee_get_rps(ebee, pid, &rps);
	if (ebee_get_latest_latency(ebee, pid, &latest) || ebee_get_average_latency(ebee, pid, &average) ||
	    ebee_get_latency_percentile(ebee, pid, 99, &p99))
		printf("%7d %10.1f req/s  no data\n", pid, rps);
	else
		printf("%7d %10.1f req/s  latest %.3f ms  average %.3f ms  p99 %.3f ms\n", pid, rps, (double)latest / 1e6,
		       (double)average / 1e6, (double)p99 / 1e6);
}

int main(int argc, char **argv)
{
	const struct ebee_opts opts = { .sz = sizeof(opts), .ring_size = EBEE_RING_SIZE };
	struct ebee *ebee;
	char error[256];
	int i, err;

	if (argc < 2) {
		fprintf(stderr, "usage: ebee-watch PID...\n");
		return 2;
	}
	if (ebee_open(&ebee, &opts, error, sizeof(error))) {
		fprintf(stderr, "ebee-watch: %s\n", error);
		return 3;
	}
	for (i = 1; i < argc; i++) {
		err = ebee_start_tracing(ebee, atoi(argv[i]));
		if (err) {
			fprintf(stderr, "ebee-watch: %s: %s\n", argv[i], strerror(-err));
			ebee_close(ebee);
			return 1;
		}
	}
	/* Until Ctrl-C: the kernel takes programs and maps back when a process that holds them ends. */
	for (;;) {
		sleep(1);
		for (i = 1; i < argc; i++)
			print_line(ebee, atoi(argv[i]));
		fflush(stdout);
	}
}
