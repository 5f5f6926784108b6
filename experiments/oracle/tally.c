// SPDX-License-Identifier: GPL-2.0
/*
 * tally.c - pure: searches and sums.
 */
#include "tally.h"

#include <math.h>

static uint32_t between(bool (*holds)(void *ctx, uint32_t level), void *ctx, uint32_t low, uint32_t high)
{
	while (low < high) {
		uint32_t middle = low + (high - low + 1) / 2;

		if (holds(ctx, middle))
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

uint32_t tally_highest(bool (*holds)(void *ctx, uint32_t level), void *ctx, uint32_t guess, uint32_t max)
{
	uint32_t low = guess < max ? guess : max, high, step;

	if (!low || holds(ctx, low)) {
		for (step = 1; low < max; step *= 2) {
			high = max - low > step ? low + step : max;
			if (!holds(ctx, high))
				return between(holds, ctx, low, high - 1);
			low = high;
		}
		return low;
	}
	high = low - 1;
	for (step = 1; high >= step; step *= 2) {
		low = high - step + 1;
		if (holds(ctx, low))
			return between(holds, ctx, low, high);
		high = low - 1;
	}
	return between(holds, ctx, 0, high);
}

void tally_add(struct tally *m, double value)
{
	if (!m->nr || value > m->most)
		m->most = value;
	m->nr++;
	m->sum += value;
	m->sum_squares += value * value;
}

double tally_mean(const struct tally *m)
{
	return m->nr ? m->sum / m->nr : 0;
}

double tally_deviation(const struct tally *m)
{
	return m->nr > 1 ? sqrt(fmax(m->sum_squares - m->sum * m->sum / m->nr, 0) / (m->nr - 1)) : 0;
}

double tally_ci(const struct tally *m)
{
	return m->nr ? 1.96 * tally_deviation(m) / sqrt(m->nr) : 0;
}
