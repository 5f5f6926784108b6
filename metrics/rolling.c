// SPDX-License-Identifier: GPL-2.0
/*
 * rolling.c - pure: a ring of latencies and its histogram.  Takes times as arguments, allocates nothing.
 */
#include "rolling.h"

#include <string.h>

void rolling_init(struct rolling *r, struct rolling_entry *ring, uint32_t size, uint32_t span_ms)
{
	memset(r, 0, sizeof(*r));
	r->ring = ring;
	r->size = size;
	r->span_ms = span_ms;
}

static const struct rolling_entry *oldest(const struct rolling *r)
{
	return &r->ring[(r->head + r->size - r->nr) % r->size];
}

static void drop_oldest(struct rolling *r)
{
	uint16_t bucket = oldest(r)->bucket;

	r->counts[bucket]--;
	r->octaves[bucket / HIST_SUBS]--;
	r->sum_ns -= hist_mid(bucket);
	r->nr--;
}

void rolling_add(struct rolling *r, uint32_t now_ms, uint64_t latency_ns)
{
	uint16_t bucket = (uint16_t)hist_index(latency_ns);

	if (r->nr == r->size)
		drop_oldest(r);
	r->ring[r->head] = (struct rolling_entry){ .time_ms = now_ms, .bucket = bucket };
	r->head = (r->head + 1) % r->size;
	r->nr++;
	r->counts[bucket]++;
	r->octaves[bucket / HIST_SUBS]++;
	r->sum_ns += hist_mid(bucket);
	r->latest_ns = latency_ns;
}

void rolling_expire(struct rolling *r, uint32_t now_ms)
{
	while (r->nr && now_ms - oldest(r)->time_ms > r->span_ms)
		drop_oldest(r);
}

/* Entries are in the order of their times, so the answer is a binary search from the newest. */
uint32_t rolling_count_since(const struct rolling *r, uint32_t now_ms, uint32_t age_ms)
{
	uint32_t low = 0, high = r->nr;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (now_ms - r->ring[(r->head + r->size - 1 - middle) % r->size].time_ms < age_ms)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t rolling_percentile(const struct rolling *r, uint32_t permyriad)
{
	uint64_t rank = ((uint64_t)r->nr * permyriad + 9999) / 10000, seen = 0;
	uint32_t octave = 0, i;

	if (!rank)
		return 0;
	while (seen + r->octaves[octave] < rank)
		seen += r->octaves[octave++];
	for (i = octave * HIST_SUBS; seen + r->counts[i] < rank; i++)
		seen += r->counts[i];
	return hist_mid(i);
}

uint64_t rolling_mean(const struct rolling *r)
{
	return r->nr ? r->sum_ns / r->nr : 0;
}
