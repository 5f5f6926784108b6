/* SPDX-License-Identifier: GPL-2.0 */
/*
 * window.h - one service's counters between two readings, and what can be said of them.  Pure.
 */
#ifndef EBEE_WINDOW_H
#define EBEE_WINDOW_H

#include <stdint.h>

#include "exchange.h"

struct window {
	struct exchange_cell before; /* all slots of the service, added up */
	struct exchange_cell delta;  /* of the window that ended last; its buckets are valid in its octaves alone */
};

/* Starts at the cells as they are. */
void window_start(struct window *w, const struct exchange_cell *cells, unsigned int nr_slots);
/*
 * Ends the window and starts the next.  Counters wrap; a window of less than 2^31 requests is right all the same.  Reads
 * the counters, and if any of them changed, the octaves that are marked; nothing else.
 */
void window_advance(struct window *w, const struct exchange_cell *cells, unsigned int nr_slots);

/* Values in a histogram. */
uint64_t window_count(const struct window *w, enum exchange_hist which);
/* Nearest rank, bucket midpoint, ns; 0 when the histogram is empty. */
uint64_t window_percentile(const struct window *w, enum exchange_hist which, unsigned int permille);
/* Of bucket midpoints, ns; 0 when the histogram is empty. */
uint64_t window_mean(const struct window *w, enum exchange_hist which);
/* Values whose bucket's midpoint is over ns. */
uint64_t window_count_over(const struct window *w, enum exchange_hist which, uint64_t ns);

/* What the kernel programs do with a value, EXCHANGE_OWED last; for cells that none of them writes, of a simulation. */
static inline void window_book(struct exchange_cell *cell, enum exchange_hist which, uint64_t ns)
{
	unsigned int bucket = hist_index(ns);

	cell->octaves[which] |= hist_octave_bit(bucket);
	cell->buckets[bucket / HIST_SUBS][which][bucket % HIST_SUBS]++;
	cell->nr_booked += which == EXCHANGE_OWED;
}

#endif
