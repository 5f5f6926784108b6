// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - be-job: best-effort work that takes all the CPU it is given and counts what it gets done.  Glue.
 * A unit is a fixed amount of integer arithmetic, so that units compare between runs on one machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "experiments/common/number.h"

enum { MAX_THREADS = 1024, UNIT_ROUNDS = 200000 };

static const char usage[] =
	"usage: be-job [options]\n"
	"Burns CPU until SIGTERM or SIGINT and counts units of work; prints the total at the end.\n"
	"\n"
	"  --threads N   threads that work (default 1)\n"
	"  --out FILE    write the total so far to FILE every second and at the end\n"
	"  --help        this text\n";

struct worker {
	pthread_t thread;
	_Atomic uint64_t nr_units;
	char padding[64]; /* counters of two threads share no cache line */
};

static struct worker workers[MAX_THREADS];
static atomic_bool stop;
static _Atomic uint64_t sink; /* keeps the arithmetic from being optimised away */

static void *work(void *arg)
{
	struct worker *w = arg;
	uint64_t x = (uint64_t)(uintptr_t)w;

	while (!stop) {
		int i;

		for (i = 0; i < UNIT_ROUNDS; i++)
			x = (x ^ (x >> 29)) * 0x9e3779b97f4a7c15ULL + 1;
		w->nr_units++;
	}
	sink += x;
	return NULL;
}

static uint64_t total(uint32_t nr_threads)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < nr_threads; i++)
		sum += workers[i].nr_units;
	return sum;
}

/* The same length every time: a reader never sees half of a shorter number. */
static int write_total(int fd, uint32_t nr_threads)
{
	char line[24];
	int size = snprintf(line, sizeof(line), "%020llu\n", (unsigned long long)total(nr_threads));

	return fd < 0 || pwrite(fd, line, (size_t)size, 0) == size ? 0 : -EIO;
}

static int work_until_signal(uint32_t nr_threads, int fd)
{
	struct timespec second = { .tv_sec = 1 };
	uint32_t nr_started;
	sigset_t set;
	int err = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (nr_started = 0; nr_started < nr_threads && !err; nr_started += !err)
		err = -pthread_create(&workers[nr_started].thread, NULL, work, &workers[nr_started]);
	while (!err && sigtimedwait(&set, NULL, &second) < 0)
		err = write_total(fd, nr_threads);
	stop = true;
	while (nr_started)
		pthread_join(workers[--nr_started].thread, NULL);
	return err ? err : write_total(fd, nr_threads);
}

int main(int argc, char **argv)
{
	static const struct option longs[] = { { "threads", required_argument, NULL, 't' },
					       { "out", required_argument, NULL, 'o' },
					       { "help", no_argument, NULL, 'h' },
					       { 0 } };
	const char *out = NULL;
	uint64_t nr_threads = 1;
	int c, fd = -1, err;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'h') {
			fputs(usage, stdout);
			return 0;
		}
		if (c == 'o')
			out = optarg;
		if (c == '?' || (c == 't' && number_parse(optarg, 1, MAX_THREADS, &nr_threads))) {
			fprintf(stderr, "be-job: bad option\n%s", usage);
			return 2;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "be-job: unexpected argument\n%s", usage);
		return 2;
	}
	if (out) {
		fd = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		if (fd < 0) {
			fprintf(stderr, "be-job: %s: %s\n", out, strerror(errno));
			return 1;
		}
	}
	err = work_until_signal((uint32_t)nr_threads, fd);
	if (err)
		fprintf(stderr, "be-job: %s\n", strerror(-err));
	printf("%llu\n", (unsigned long long)total((uint32_t)nr_threads));
	return err ? 1 : 0;
}
