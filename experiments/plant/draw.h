/* SPDX-License-Identifier: GPL-2.0 */
/*
 * draw.h - random times: lognormal, constant or exponential, by look-up in a table of quantiles.  Pure.
 *
 * Between the points of the table the quantile goes in a straight line.  Points lie closer together towards both ends, 32 to
 * each halving of the tail, down to 2^-52: no tail is cut, and a quantile is within 0.0002 of what it should be, in units of
 * the mean for an exponential.  The mean is exact.
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

/* The bits of a double are near enough to the logarithm of the tail, and linear in between, to index the table. */
static inline double draw_next(const struct draw *draw, struct rng *rng)
{
	uint64_t random = rng_next(rng), one = UINT64_C(1023) << 52, bits, down;
	const double *quantiles = draw->quantiles[random >> 11 & 1];
	double tail = (double)((random >> 12) + 1) * 0x1p-52; /* (0, 1] */
	uint32_t i;

	memcpy(&bits, &tail, sizeof(bits));
	down = one - bits;
	i = (uint32_t)(down >> (52 - DRAW_CELL_BITS));
	down &= (UINT64_C(1) << (52 - DRAW_CELL_BITS)) - 1;
	return quantiles[i] + (quantiles[i + 1] - quantiles[i]) * ((double)(int64_t)down * 0x1p-47);
}

#endif
