/* SPDX-License-Identifier: GPL-2.0 */
/*
 * draw.h - service times of the simulated machine: lognormal, constant or exponential.  Pure.
 */
#ifndef PARTIES_DRAW_H
#define PARTIES_DRAW_H

#include "rng.h"

enum draw_shape { DRAW_LOGNORMAL, DRAW_EXPONENTIAL };

struct draw {
	enum draw_shape shape;
	double mean;
	double log_mean, log_sigma; /* of the lognormal; sigma 0: constant */
	double spare;               /* second normal of a pair, or NAN */
};

/* cv is the coefficient of variation of a lognormal; 0 makes it constant.  An exponential has its own. */
void draw_init(struct draw *draw, enum draw_shape shape, double mean, double cv);
double draw_next(struct draw *draw, struct rng *rng);

#endif
