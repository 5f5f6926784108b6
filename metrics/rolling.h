/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rolling.h - the latencies of the last so many requests, or of the last so many seconds.  Pure.
 *
 * A ring of buckets numbers (two bytes each) with their times, and the histogram of what is in it: taking one in is two
 * increments and a decrement, a percentile adds up at most one octave and the octaves below it, whatever the ring holds.
 */
#ifndef EBEE_ROLLING_H
#define EBEE_ROLLING_H

#include <stdint.h>

#include "hist.h"

struct rolling_entry {
	uint32_t time_ms; /* of CLOCK_MONOTONIC, wrapping */
	uint16_t bucket;
};

struct rolling {
	struct rolling_entry *ring; /* the caller's, `size` entries */
	uint32_t size, head, nr;    /* head: where the next one goes */
	uint32_t span_ms;           /* older entries fall out; below 2^31 */
	uint32_t counts[HIST_NR_BUCKETS];
	uint32_t octaves[HIST_NR_OCTAVES];
	uint64_t latest_ns;
	uint64_t sum_ns;            /* of bucket midpoints */
};

void rolling_init(struct rolling *r, struct rolling_entry *ring, uint32_t size, uint32_t span_ms);
void rolling_add(struct rolling *r, uint32_t now_ms, uint64_t latency_ns);
/* Lets go of what is older than the span.  Call it before asking. */
void rolling_expire(struct rolling *r, uint32_t now_ms);
/* How many of the entries are younger than `age_ms`; looks at those alone. */
uint32_t rolling_count_since(const struct rolling *r, uint32_t now_ms, uint32_t age_ms);
/* Nearest rank, bucket midpoint; 0 when empty.  permyriad 1 .. 10000 (9990: p99.9). */
uint64_t rolling_percentile(const struct rolling *r, uint32_t permyriad);
uint64_t rolling_mean(const struct rolling *r);

#endif
