// SPDX-License-Identifier: GPL-2.0
/*
 * draw.c - tables of quantiles.  Pure; the generator is the caller's.
 */
#include "draw.h"

#include <math.h>

/* The tail that point i of a half stands for, as a share of all. */
static double tail_at(uint32_t i)
{
	uint64_t bits = (UINT64_C(1023) << 52) - ((uint64_t)i << (52 - DRAW_CELL_BITS));
	double tail;

	memcpy(&tail, &bits, sizeof(tail));
	return tail / 2;
}

/* Where a standard normal has this tail.  `near` is below it: Newton's method on logarithms goes up from there. */
static double normal_quantile(double tail, double near)
{
	double z = near, change;

	do {
		double above = erfc(z / M_SQRT2) / 2, density = exp(-z * z / 2) / sqrt(2 * M_PI);

		change = log(above / tail) * above / density;
		z += change;
	} while (change > 1e-9);
	return z;
}

static double mean_of(const struct draw *draw)
{
	double sum = 0;

	for (int half = 0; half < 2; half++)
		for (uint32_t i = 0; i + 1 < DRAW_NR_POINTS; i++)
			sum += (tail_at(i) - tail_at(i + 1)) / 2 *
			       (draw->quantiles[half][i] + draw->quantiles[half][i + 1]);
	return sum;
}

void draw_init(struct draw *draw, enum draw_shape shape, double mean, double cv)
{
	double sigma = sqrt(log1p(cv * cv)), z = 0, scale;

	for (uint32_t i = 0; i < DRAW_NR_POINTS; i++) {
		if (shape == DRAW_EXPONENTIAL) {
			draw->quantiles[0][i] = -log(tail_at(i));
			draw->quantiles[1][i] = -log1p(-tail_at(i));
		} else {
			z = sigma > 0 ? normal_quantile(tail_at(i), z) : 0;
			draw->quantiles[0][i] = exp(sigma * z);
			draw->quantiles[1][i] = exp(-sigma * z);
		}
	}
	scale = mean / mean_of(draw);
	for (uint32_t i = 0; i < DRAW_NR_POINTS; i++) {
		draw->quantiles[0][i] *= scale;
		draw->quantiles[1][i] *= scale;
	}
}
