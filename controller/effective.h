/* SPDX-License-Identifier: GPL-2.0 */
/*
 * effective.h - does a speed that is asked for make a difference?  Pure.
 *
 * Firmware, hypervisors and drivers accept speeds and run at others.  Judged is by windows in which cores had work and
 * their speed had settled: the way does nothing when cores keep running more than a step faster than they may, or just as
 * fast however far apart the speeds are that are asked for.  A core that is held below what is asked (heat, power limits)
 * is no proof.
 */
#ifndef PARTIES_EFFECTIVE_H
#define PARTIES_EFFECTIVE_H

#include "ladder.h"

/* Windows that a judgement rests on; shares of their time in which cores must have had work, permille. */
enum { EFFECTIVE_WINDOWS = 6, EFFECTIVE_BUSY = 200, EFFECTIVE_FULL = 800 };

struct effective_speed {
	uint32_t asked_khz, measured_khz, nr; /* measured: the mean of nr windows */
};

/* Of one way; all zero at first. */
struct effective {
	uint32_t nr_faster; /* windows above the cap since the last one that kept to it */
	struct effective_speed slowest, fastest; /* of those that were asked for */
};

/* What one service's cores did in a window with nothing changed since the window before. */
struct effective_window {
	uint32_t asked_khz, measured_khz; /* measured 0: unknown */
	uint32_t busy_permille;
};

/* Adds a window.  NULL, or why the way does nothing. */
const char *effective_judge(struct effective *e, const struct speed_ladder *ladder, enum ladder_way way,
			    const struct effective_window *w);

#endif
