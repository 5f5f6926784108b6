/* SPDX-License-Identifier: GPL-2.0 */
/*
 * schedule.h - the instants at which an open loop sends, whatever the server does.  Pure.
 */
#ifndef PARTIES_LOAD_SCHEDULE_H
#define PARTIES_LOAD_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "experiments/common/profile.h"

struct schedule {
	const struct profile *profile; /* NULL: max_rps all the time */
	double max_rps;
	bool poisson;                  /* exponential gaps; otherwise equal ones */
	uint64_t duration_ns;          /* UINT64_MAX: no end */
	uint64_t nr_left;              /* UINT64_MAX: no limit */
	unsigned short rng[3];         /* erand48 state */
	double at_ns;                  /* the last instant handed out; 0 to begin with */
};

/* Requests per second asked for at an instant after the start. */
double schedule_rate(const struct schedule *s, uint64_t at_ns);

/* The next instant, ns after the start; false when there is none. */
bool schedule_next(struct schedule *s, uint64_t *ret_ns);

#endif
