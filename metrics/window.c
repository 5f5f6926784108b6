// SPDX-License-Identifier: GPL-2.0
/*
 * window.c - pure: arithmetic on cells.  Knows nothing of maps or time.
 */
#include "window.h"

#include <string.h>

/*
 * A cell is read while programs write it.  Each counter is one aligned 64-bit load, so every count is right or one
 * window late; a request whose four histograms straddle the reading is whole again in the next window.
 */
static void add_slots(const struct exchange_cell *cells, unsigned int nr_slots, struct exchange_cell *ret)
{
	const size_t nr_words = sizeof(*ret) / sizeof(uint64_t);
	uint64_t *sum = (uint64_t *)ret;
	unsigned int slot;
	size_t i;

	memset(ret, 0, sizeof(*ret));
	for (slot = 0; slot < nr_slots; slot++) {
		const uint64_t *words = (const uint64_t *)&cells[slot];

		for (i = 0; i < nr_words; i++)
			sum[i] += __atomic_load_n(&words[i], __ATOMIC_RELAXED);
	}
}

void window_start(struct window *w, const struct exchange_cell *cells, unsigned int nr_slots)
{
	add_slots(cells, nr_slots, &w->before);
	memset(&w->delta, 0, sizeof(w->delta));
}

void window_advance(struct window *w, const struct exchange_cell *cells, unsigned int nr_slots)
{
	const size_t nr_words = sizeof(w->delta) / sizeof(uint64_t);
	uint64_t *delta = (uint64_t *)&w->delta, *before = (uint64_t *)&w->before;
	size_t i;

	add_slots(cells, nr_slots, &w->delta);
	for (i = 0; i < nr_words; i++) {
		uint64_t now = delta[i];
		int64_t change = (int64_t)(now - before[i]);

		/* A sample of an earlier window that was amended in this one leaves its old bucket: no count here is negative. */
		delta[i] = change > 0 ? (uint64_t)change : 0;
		before[i] = now;
	}
}

uint64_t window_count(const struct window *w, enum exchange_hist which)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < HIST_NR_BUCKETS; i++)
		sum += w->delta.buckets[which][i];
	return sum;
}

uint64_t window_percentile(const struct window *w, enum exchange_hist which, unsigned int permille)
{
	uint64_t rank = (window_count(w, which) * permille + 999) / 1000, seen = 0;
	unsigned int i;

	if (!rank)
		return 0;
	for (i = 0; i < HIST_NR_BUCKETS; i++) {
		seen += w->delta.buckets[which][i];
		if (seen >= rank)
			break;
	}
	return hist_mid(i);
}

uint64_t window_mean(const struct window *w, enum exchange_hist which)
{
	uint64_t n = window_count(w, which);

	return n ? w->delta.sum_ns[which] / n : 0;
}

uint64_t window_count_over(const struct window *w, enum exchange_hist which, uint64_t ns)
{
	unsigned int i = HIST_NR_BUCKETS;
	uint64_t sum = 0;

	while (i-- && hist_mid(i) > ns)
		sum += w->delta.buckets[which][i];
	return sum;
}
