/* SPDX-License-Identifier: GPL-2.0 */
/*
 * totals.h - sums over a run: quality, core time, modelled energy, best-effort work.  Pure.
 *
 * Energy model of one core, W:  u (s V + d f V^2) + (1 - u) i,  V = 0.584 + 0.2105 f (f in GHz), s = 0.92, d = 1.01,
 * i = 0.4 allocated and 0.1 parked; fitted to the listed states of a Rome part.  Best-effort cores are left out: the
 * figure is what control costs or saves.
 */
#ifndef PARTIES_TOTALS_H
#define PARTIES_TOTALS_H

#include "config.h"
#include "judge.h"

struct totals {
	struct judge judges[POLICY_MAX_SERVICES];
	double span_s;
	double core_seconds, be_core_seconds, energy_j, be_work;
	double speed_core_seconds; /* core seconds weighted by the ladder's value */
	double other_core_seconds; /* those before the ladder that is in force; not in speed_core_seconds */
	uint64_t nr_ticks, nr_moves, nr_infeasible;
	bool impossible; /* the caller's: no allocation holds the load of the next tick, so that its windows are not judged */
	uint64_t nr_impossible;
};

/*
 * One tick.  The view shows the allocation that was in force during the window.  `steered` false: nobody was confined,
 * so the services had every core at nominal speed.
 */
void totals_add(struct totals *t, const struct config *config, const struct speed_ladder *ladder,
		const struct policy_view *view, const struct sample *samples, bool steered);

/* From now on another ladder: the mean speed is of what comes. */
void totals_change_ladder(struct totals *t);

#endif
