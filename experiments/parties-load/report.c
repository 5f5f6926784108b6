// SPDX-License-Identifier: GPL-2.0
/*
 * report.c - the meter's counts since the last line, as one line.  Glue: one write per line, so that several clients may
 * share a file.
 */
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* "[123456789.123,1234567890]," for every bucket there is, and the rest. */
enum { LINE_SIZE = HIST_NR_BUCKETS * 32 + 256 };

int report_open(struct report *r, const char *path, uint64_t now_ns)
{
	*r = (struct report){ .fd = -1, .due_ns = UINT64_MAX };
	if (!path)
		return 0;
	r->fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	if (r->fd < 0)
		return -errno;
	r->due_ns = now_ns + REPORT_INTERVAL_NS;
	return 0;
}

/* Pairs of a bucket's midpoint in microseconds and its new requests; returns the length. */
static int put_latencies(struct report *r, const struct meter *m, char *line, int length)
{
	const char *comma = "";

	for (unsigned int i = 0; i < HIST_NR_BUCKETS; i++) {
		uint64_t nr = m->total.buckets[i] + m->interval.buckets[i], ns = hist_mid(i);

		if (nr == r->told.buckets[i])
			continue;
		length += sprintf(line + length, "%s[%llu.%03u,%llu]", comma, (unsigned long long)(ns / 1000),
				  (unsigned int)(ns % 1000), (unsigned long long)(nr - r->told.buckets[i]));
		r->told.buckets[i] = nr;
		comma = ",";
	}
	return length;
}

void report_write(struct report *r, const struct meter *m, uint64_t oldest_ns, uint64_t now_ns)
{
	static char line[LINE_SIZE];
	uint64_t nr_sent = m->total.nr_sent + m->interval.nr_sent;
	struct timespec now;
	int length;

	if (r->fd < 0)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	length = sprintf(line, "{\"t\":%lld.%03ld,\"client\":\"%d\",\"sent\":%llu,\"in_flight\":%llu,"
			 "\"oldest_us\":%llu,\"latencies_us\":[", (long long)now.tv_sec, now.tv_nsec / 1000000, (int)getpid(),
			 (unsigned long long)(nr_sent - r->told.nr_sent), (unsigned long long)m->nr_outstanding,
			 (unsigned long long)(oldest_ns < now_ns ? (now_ns - oldest_ns) / 1000 : 0));
	length = put_latencies(r, m, line, length);
	length += sprintf(line + length, "]}\n");
	r->told.nr_sent = nr_sent;
	r->due_ns = now_ns + REPORT_INTERVAL_NS;
	if (write(r->fd, line, (size_t)length) == length || r->failed)
		return;
	fprintf(stderr, "parties-load: a report could not be written: %s\n", strerror(errno));
	r->failed = true;
}

void report_close(struct report *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
}
