// SPDX-License-Identifier: GPL-2.0
/*
 * schedule.c - arrival instants of a load that changes over time.  Pure: the seed is an argument, no clock is read.
 *
 * Arrivals of a Poisson process whose rate changes are found by letting the rate's integral grow by exponential steps
 * of mean 1 (equal spacing: by 1).  The rate counts as constant within a slice of one millisecond.
 */
#include "schedule.h"

#include <math.h>
#include <stdlib.h>

static const double slice_ns = 1e6;

double schedule_rate(const struct schedule *s, uint64_t at_ns)
{
	if (!s->profile)
		return s->max_rps;
	return s->max_rps * profile_load_ppm(s->profile, at_ns) / PROFILE_FULL_LOAD_PPM;
}

bool schedule_next(struct schedule *s, uint64_t *ret_ns)
{
	double need = s->poisson ? -log(1 - erand48(s->rng)) : 1;

	if (!s->nr_left)
		return false;
	while (s->at_ns < (double)s->duration_ns) {
		double end_ns = (floor(s->at_ns / slice_ns) + 1) * slice_ns;
		double per_ns = schedule_rate(s, (uint64_t)(end_ns - slice_ns / 2)) / 1e9;

		if (need <= per_ns * (end_ns - s->at_ns)) {
			s->at_ns += need / per_ns;
			if (s->at_ns >= (double)s->duration_ns)
				return false;
			if (s->nr_left != UINT64_MAX)
				s->nr_left--;
			*ret_ns = (uint64_t)s->at_ns;
			return true;
		}
		need -= per_ns * (end_ns - s->at_ns);
		s->at_ns = end_ns;
	}
	return false;
}
