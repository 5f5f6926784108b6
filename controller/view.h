/* SPDX-License-Identifier: GPL-2.0 */
/*
 * view.h - the policy's view of the machine, built from configuration, allocation and samples.  Pure.
 */
#ifndef PARTIES_VIEW_H
#define PARTIES_VIEW_H

#include "config.h"
#include "ports.h"

/* What does not change during a run: limits, ladder, ways of the cache, who takes part. */
void view_init(struct policy_view *view, const struct config *config, const struct allocation *allocation,
	       const struct speed_ladder *ladder, const struct cache_ways *ways,
	       const struct be_units *be_units, bool has_be);
/* A ladder in place of another. */
void view_set_ladder(struct policy_view *view, const struct speed_ladder *ladder);
/* What does: the window and the units in force.  `lost`: no sample may be believed. */
void view_update(struct policy_view *view, const struct config *config, const struct allocation *allocation,
		 const struct sample *samples, uint64_t window_ns, bool lost);

#endif
