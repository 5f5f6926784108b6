/* SPDX-License-Identifier: GPL-2.0 */
/*
 * judge.h - how well a service was served, over many windows: judged windows, raw windows, late requests.  Pure.
 *
 * A single window of few requests cannot tell a bad service from bad luck: with a true late share of exactly 1 %,
 * up to 41 % of windows of 140 requests have a p99 above the target.  So ticks are merged until 200 requests or 10 s,
 * and the merged window counts as violated only when so many late requests would be seen with less than 1 %
 * probability if the true share were the allowed one.
 */
#ifndef PARTIES_JUDGE_H
#define PARTIES_JUDGE_H

#include "ports.h"

struct judge {
	/* The merged window that is still open. */
	uint64_t nr, nr_late, span_ns;
	bool dropped;
	/* In flight past the target at the end of the last tick: counted late then, not again when they complete. */
	uint64_t nr_over_target;
	/* Sums since the start. */
	uint64_t violated_ns, judged_ns;
	uint64_t nr_raw, nr_raw_violated; /* single ticks with 200 completions or more */
	uint64_t nr_requests, nr_late_requests;
};

/* P[Bin(n, allowed) >= nr_late] < 1 %.  allowed_permille: 10 for a p99 target; 1 .. 999. */
bool judge_is_violated(uint64_t n, uint64_t nr_late, uint32_t allowed_permille);

/* One tick of `window_ns`. */
void judge_add(struct judge *j, const struct sample *s, uint64_t target_ns, uint32_t percentile_permille,
	       uint64_t window_ns);
/* A tick that is not judged, since nobody could have served it.  Its late requests are counted and forgiven. */
void judge_skip(struct judge *j, const struct sample *s);
/* Judges the window that is still open, as if its time were up. */
void judge_close_window(struct judge *j, uint32_t percentile_permille);

#endif
