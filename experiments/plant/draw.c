// SPDX-License-Identifier: GPL-2.0
/*
 * draw.c - distributions with a given mean and spread.  Pure; the generator is the caller's.
 */
#include "draw.h"

#include <math.h>

void draw_init(struct draw *draw, enum draw_shape shape, double mean, double cv)
{
	double sigma = sqrt(log1p(cv * cv));

	*draw = (struct draw){ shape, mean, log(mean) - sigma * sigma / 2, sigma, NAN };
}

/* The polar method gives two at a time. */
static double draw_normal(struct draw *draw, struct rng *rng)
{
	double x = draw->spare, y, square;

	if (!isnan(x)) {
		draw->spare = NAN;
		return x;
	}
	do {
		x = 2 * rng_uniform(rng) - 1;
		y = 2 * rng_uniform(rng) - 1;
		square = x * x + y * y;
	} while (square >= 1 || square == 0);
	square = sqrt(-2 * log(square) / square);
	draw->spare = y * square;
	return x * square;
}

double draw_next(struct draw *draw, struct rng *rng)
{
	if (draw->shape == DRAW_EXPONENTIAL)
		return rng_exponential(rng) * draw->mean;
	if (draw->log_sigma == 0)
		return draw->mean;
	return exp(draw->log_mean + draw->log_sigma * draw_normal(draw, rng));
}
