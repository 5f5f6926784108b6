// SPDX-License-Identifier: GPL-2.0
/*
 * window.c - pure: arithmetic on cells.  Knows nothing of maps or time.
 */
#include "window.h"

#include <stddef.h>
#include <string.h>

enum { NR_HEAD = offsetof(struct exchange_cell, octaves) / sizeof(uint64_t) };

/*
 * A cell is read while programs write it.  Each counter is one aligned load, or an aligned part of a wider one, so every
 * count is right or one window late; a request whose four histograms straddle the reading is whole again in the next
 * window.  Programs mark the octave, count in its bucket and announce the sample, in this order; we read in the opposite
 * one, so while nothing is announced there is nothing that could not wait for the next window, and what is announced is
 * there.
 *
 * A sample of an earlier window that was amended in this one leaves its old bucket: no count here is negative.
 */
static uint64_t advance_head(struct window *w, const struct exchange_cell *cells, unsigned int nr_slots)
{
	uint64_t *before = (uint64_t *)&w->before, *delta = (uint64_t *)&w->delta, changed = 0;

	for (unsigned int i = 0; i < NR_HEAD; i++) {
		uint64_t now = 0, change;

		for (unsigned int slot = 0; slot < nr_slots; slot++)
			now += __atomic_load_n((const uint64_t *)&cells[slot] + i, __ATOMIC_ACQUIRE);
		change = now - before[i];
		delta[i] = (int64_t)change > 0 ? change : 0;
		before[i] = now;
		changed |= change;
	}
	return changed;
}

static unsigned int lowest(uint32_t octaves)
{
	return (unsigned int)__builtin_ctz(octaves);
}

/* Loops over a constant number of buckets and no atomics: the compiler makes vectors of them. */
static void advance_octave(struct window *w, const struct exchange_cell *cells, unsigned int nr_slots,
			   unsigned int octave, unsigned int which)
{
	uint32_t *before = w->before.buckets[octave][which], *delta = w->delta.buckets[octave][which];
	uint32_t now[HIST_SUBS] = { 0 };

	for (unsigned int slot = 0; slot < nr_slots; slot++) {
		const uint32_t *buckets = cells[slot].buckets[octave][which];

		for (unsigned int i = 0; i < HIST_SUBS; i++)
			now[i] += buckets[i];
	}
	for (unsigned int i = 0; i < HIST_SUBS; i++) {
		int32_t change = (int32_t)(now[i] - before[i]);

		delta[i] = change > 0 ? (uint32_t)change : 0;
		before[i] = now[i];
	}
}

void window_advance(struct window *w, const struct exchange_cell *cells, unsigned int nr_slots)
{
	uint64_t changed = advance_head(w, cells, nr_slots);
	uint32_t any = 0;

	for (unsigned int which = 0; which < EXCHANGE_NR_HISTS; which++) {
		uint32_t octaves = 0;

		for (unsigned int slot = 0; changed && slot < nr_slots; slot++)
			octaves |= __atomic_load_n(&cells[slot].octaves[which], __ATOMIC_ACQUIRE);
		w->delta.octaves[which] = octaves;
		any |= octaves;
	}
	for (; any; any &= any - 1)
		for (unsigned int which = 0; which < EXCHANGE_NR_HISTS; which++)
			if (w->delta.octaves[which] & any & -any)
				advance_octave(w, cells, nr_slots, lowest(any), which);
}

void window_start(struct window *w, const struct exchange_cell *cells, unsigned int nr_slots)
{
	memset(w, 0, sizeof(*w));
	window_advance(w, cells, nr_slots);
	memset(&w->delta, 0, sizeof(w->delta));
}

static uint64_t count_octave(const struct window *w, enum exchange_hist which, unsigned int octave)
{
	const uint32_t *buckets = w->delta.buckets[octave][which];
	uint64_t sum = 0;

	for (unsigned int i = 0; i < HIST_SUBS; i++)
		sum += buckets[i];
	return sum;
}

uint64_t window_count(const struct window *w, enum exchange_hist which)
{
	uint64_t sum = 0;

	for (uint32_t octaves = w->delta.octaves[which]; octaves; octaves &= octaves - 1)
		sum += count_octave(w, which, lowest(octaves));
	return sum;
}

uint64_t window_percentile(const struct window *w, enum exchange_hist which, unsigned int permille)
{
	uint64_t rank = (window_count(w, which) * permille + 999) / 1000, seen = 0, nr;
	uint32_t octaves = w->delta.octaves[which];
	unsigned int sub = 0;

	if (!rank)
		return 0;
	for (; seen + (nr = count_octave(w, which, lowest(octaves))) < rank; octaves &= octaves - 1)
		seen += nr;
	while (seen + w->delta.buckets[lowest(octaves)][which][sub] < rank)
		seen += w->delta.buckets[lowest(octaves)][which][sub++];
	return hist_mid(lowest(octaves) * HIST_SUBS + sub);
}

uint64_t window_mean(const struct window *w, enum exchange_hist which)
{
	uint64_t sum_ns = 0, nr = 0;

	for (uint32_t octaves = w->delta.octaves[which]; octaves; octaves &= octaves - 1) {
		const uint32_t *buckets = w->delta.buckets[lowest(octaves)][which];

		for (unsigned int sub = 0; sub < HIST_SUBS; sub++) {
			nr += buckets[sub];
			sum_ns += buckets[sub] * hist_mid(lowest(octaves) * HIST_SUBS + sub);
		}
	}
	return nr ? sum_ns / nr : 0;
}

uint64_t window_count_over(const struct window *w, enum exchange_hist which, uint64_t ns)
{
	uint64_t sum = 0;

	for (uint32_t octaves = w->delta.octaves[which]; octaves; octaves &= octaves - 1) {
		unsigned int octave = lowest(octaves), sub = HIST_SUBS;

		while (sub-- && hist_mid(octave * HIST_SUBS + sub) > ns)
			sum += w->delta.buckets[octave][which][sub];
	}
	return sum;
}
