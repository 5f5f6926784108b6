// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - naive: request latency by pairing calls on a descriptor, as fdpair.bpf.c sees it.  For comparison only: it
 * stands beside the engine in the table of hard cases.  Glue: options, ring, a summary.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "experiments/common/number.h"
#include "fdpair.h"
#include "fdpair.skel.h"
#include "hist.h"

static const char usage[] =
	"usage: naive --pid N [--poll DUR] [--for DUR] [--json]\n"
	"Pairs accept with close and read with the first send, by descriptor, of one process.  For comparison with the\n"
	"engine; its numbers are wrong in ways that are known.  Prints counts and latencies at the end (DUR or Ctrl-C).\n"
	"Every request wakes this program; with --poll (at most 1s) it looks at the ring that often instead.\n";

struct pairing {
	uint64_t nr, buckets[HIST_NR_BUCKETS];
};

struct options {
	uint64_t pid, poll_ns, duration_ns;
	bool json;
};

static const char *const names[FDPAIR_NR_KINDS] = { "accept_close", "read_send" };

static int take(void *pairings, void *data, size_t size)
{
	const struct fdpair_record *record = data;
	struct pairing *p = pairings;

	if (size < sizeof(*record) || record->kind >= FDPAIR_NR_KINDS)
		return 0;
	p[record->kind].nr++;
	p[record->kind].buckets[hist_index(record->ns)]++;
	return 0;
}

/* Nearest rank. */
static double percentile_us(const struct pairing *p, uint64_t percent)
{
	uint64_t rank = (p->nr * percent + 99) / 100, seen = 0;

	for (unsigned int i = 0; i < HIST_NR_BUCKETS; i++) {
		seen += p->buckets[i];
		if (rank && seen >= rank)
			return (double)hist_mid(i) / 1e3;
	}
	return 0;
}

static void print(const struct pairing *pairings, uint64_t nr_lost, bool json)
{
	if (json)
		printf("{\"summary\":true");
	for (int k = 0; k < FDPAIR_NR_KINDS; k++) {
		const struct pairing *p = &pairings[k];

		printf(json ? ",\"%s\":{\"requests\":%" PRIu64 ",\"p50_us\":%.1f,\"p99_us\":%.1f}" :
			      "%-13s %9" PRIu64 " requests  p50 %10.1f us  p99 %10.1f us\n",
		       names[k], p->nr, percentile_us(p, 50), percentile_us(p, 99));
	}
	printf(json ? ",\"lost\":%" PRIu64 "}\n" : "lost          %9" PRIu64 "\n", nr_lost);
}

/* Until the time is up or a signal says so. */
static int watch(struct ring_buffer *ring, const struct options *o, int signal_fd)
{
	int timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), err = 0;
	struct pollfd fds[] = { { ring_buffer__epoll_fd(ring), POLLIN, 0 },
				{ timer_fd, POLLIN, 0 },
				{ signal_fd, POLLIN, 0 } };
	const struct itimerspec once = {
		.it_value = { (time_t)(o->duration_ns / 1000000000), (long)(o->duration_ns % 1000000000) },
	};

	if (timer_fd < 0 || timerfd_settime(timer_fd, 0, &once, NULL))
		err = -errno;
	if (o->poll_ns)
		fds[0].fd = -1; /* nothing wakes us for a record */
	while (err >= 0 && !fds[1].revents && !fds[2].revents) {
		if (poll(fds, 3, o->poll_ns ? (int)((o->poll_ns + 999999) / 1000000) : -1) < 0)
			err = -errno;
		else
			err = ring_buffer__consume(ring);
	}
	close(timer_fd);
	return err < 0 ? err : 0;
}

static int observe(const struct options *o, int signal_fd)
{
	static struct pairing pairings[FDPAIR_NR_KINDS];
	struct fdpair_bpf *skel = fdpair_bpf__open();
	struct ring_buffer *ring = NULL;
	int err = -errno;

	if (!skel)
		return err;
	skel->rodata->target = (__u32)o->pid;
	if (o->poll_ns)
		skel->rodata->wakeup = BPF_RB_NO_WAKEUP;
	err = fdpair_bpf__load(skel);
	if (!err)
		err = fdpair_bpf__attach(skel);
	if (!err) {
		ring = ring_buffer__new(bpf_map__fd(skel->maps.records), take, pairings, NULL);
		err = ring ? 0 : -errno;
	}
	if (!err) {
		fprintf(stderr, "naive: watching pid:%" PRIu64 "\n", o->pid);
		err = watch(ring, o, signal_fd);
	}
	if (!err)
		print(pairings, skel->bss->nr_lost, o->json);
	ring_buffer__free(ring);
	fdpair_bpf__destroy(skel);
	return err;
}

/* Returns 0 to go on, or the exit code + 1. */
static int parse_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "pid", required_argument, NULL, 'p' }, { "for", required_argument, NULL, 'f' },
		{ "poll", required_argument, NULL, 'l' },
		{ "json", no_argument, NULL, 'j' },      { "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c, bad = 0;

	while (!bad && (c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'p')
			bad = number_parse(optarg, 1, 4194304, &o->pid);
		else if (c == 'f')
			bad = number_parse_duration(optarg, &o->duration_ns);
		else if (c == 'l')
			bad = number_parse_duration(optarg, &o->poll_ns) || o->poll_ns > 1000000000;
		else if (c == 'j')
			o->json = true;
		else if (c == 'h')
			return fputs(usage, stdout) < 0 ? 2 : 1;
		else
			bad = 1;
	}
	if (bad || !o->pid || optind < argc) {
		fputs(usage, stderr);
		return 3;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct options o = { 0 };
	int done = parse_options(argc, argv, &o), signal_fd, err;
	sigset_t signals;

	if (done)
		return done - 1;
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
	err = signal_fd < 0 ? -errno : observe(&o, signal_fd);
	if (err)
		fprintf(stderr, "naive: %s\n",
			err == -EPERM ? "the kernel refused BPF programs; run as root" : strerror(-err));
	return !err ? 0 : err == -EPERM || err == -ESRCH ? 3 : 1;
}
