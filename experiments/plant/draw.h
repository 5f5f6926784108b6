/* SPDX-License-Identifier: GPL-2.0 */
/*
 * draw.h - random times: lognormal, constant or exponential, by look-up in a table of quantiles.  Pure.
 *
 * Between the points of the table the quantile goes in a straight line.  Points lie closer together towards both ends,
 * 32 to each halving of the tail, down to 2^-52: no tail is cut, and a quantile is within 0.0002 of what it should be,
 * in units of the mean for an exponential.  The mean is exact.
 */
#ifndef PARTIES_DRAW_H
#define PARTIES_DRAW_H

#include <string.h>

#include "rng.h"

enum draw_shape { DRAW_LOGNORMAL, DRAW_EXPONENTIAL };

enum { DRAW_CELL_BITS = 5, DRAW_NR_OCTAVES = 52, DRAW_NR_POINTS = (DRAW_NR_OCTAVES << DRAW_CELL_BITS) + 2 };

struct draw {
	/* Of the upper and the lower half: point i belongs to a tail of i / 32 halvings of that half. */
	double quantiles[2][DRAW_NR_POINTS];
};

/* cv is the coefficient of variation of a lognormal; 0 makes it constant.  An exponential has its own. */
void draw_init(struct draw *draw, enum draw_shape shape, double mean, double cv);

/*
 * A tail, (0, 1] of a half, is a number of halvings, of which each is half as likely as the one before, and a place in
 * the last: the zeros at one end of a random number, and bits from its other.
 */
static inline double draw_next(const struct draw *draw, struct rng *rng)
{
	uint64_t random = rng_next(rng), zeros = random & 0x3ffffff;
	uint32_t nr_halvings = 0, i;
	const double *quantiles;

	for (; !zeros && nr_halvings + 26 < DRAW_NR_OCTAVES; zeros = rng_next(rng) & 0x3ffffff)
		nr_halvings += 26;
	nr_halvings += zeros ? (uint32_t)__builtin_ctzll(zeros) : 25;
	i = nr_halvings << DRAW_CELL_BITS | (uint32_t)(random >> 59);
	quantiles = &draw->quantiles[random >> 58 & 1][i];
	return quantiles[0] + (quantiles[1] - quantiles[0]) * ((double)(int32_t)(random >> 27 & 0x7fffffff) * 0x1p-31);
}

#endif
