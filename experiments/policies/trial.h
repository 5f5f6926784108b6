/* SPDX-License-Identifier: GPL-2.0 */
/*
 * trial.h - one policy on one mix of published services at constant loads, on the simulated machine of the published
 * figures (14 cores).  Glue over the plant and the tick; it steers nothing itself.
 */
#ifndef PARTIES_TRIAL_H
#define PARTIES_TRIAL_H

#include "tick.h"

enum { TRIAL_MAX_SERVICES = 8, TRIAL_CORES = 14 };

/* Services are numbered as in the catalogue of the plant. */
uint32_t trial_nr_known(void);
uint32_t trial_find(const char *name); /* of one that is there */

struct mix {
	uint32_t nr;
	uint32_t services[TRIAL_MAX_SERVICES]; /* ascending */
	double loads[TRIAL_MAX_SERVICES];      /* of each one's maximum, in this order */
};

/*
 * The scenario of a mix as an open file, so that plant_open can read it: /proc/self/fd/ and the number returned, which
 * is the caller's to close.  With `loads` false every load is full.  Negative errno.
 */
int trial_scenario(const struct mix *mix, bool loads, uint64_t interval_ns);

/* Until `each`, called after every tick, returns false or duration_ns have passed.  Ends the program on failure. */
void trial_play(const struct mix *mix, const char *policy, uint64_t seed, uint64_t duration_ns,
		bool (*each)(void *ctx, const struct tick *tick, uint64_t now_ns), void *ctx);

/*
 * The test of figures 7 and 8: in the 60 s after 30 s of warm-up no service's late share is above what its percentile
 * allows.
 */
bool trial_holds(const struct mix *mix, const char *policy, uint64_t seed);

#endif
