// SPDX-License-Identifier: GPL-2.0
/*
 * rates.c - prices night by night: weekend, season, closed weeks, occupancy.  Pure, integers only.
 */
#include "rates.h"

#include <stdbool.h>

enum { CLOSED_DAYS = 14, SEASON_FROM = 150, SEASON_TO = 240 };

/* Bookings of a night, 0..255, the same at every look. */
static uint32_t booked(uint32_t hotel, uint32_t plan, uint32_t day)
{
	uint64_t x = ((uint64_t)hotel << 32 | plan << 16 | day) * 0x9e3779b97f4a7c15ULL;

	x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9ULL;
	return (uint32_t)(x >> 56);
}

static bool closed(const struct rate_plan *plan, uint32_t day)
{
	return day >= plan->closed_from && day - plan->closed_from < CLOSED_DAYS;
}

static uint32_t night_cents(const struct rate_plan *plan, uint32_t day)
{
	uint64_t cents = plan->night_cents;

	if (day % 7 >= 5)
		cents = cents * plan->weekend_permille / 1000;
	if (day >= SEASON_FROM && day < SEASON_TO)
		cents = cents * plan->season_permille / 1000;
	return (uint32_t)cents;
}

static uint32_t stay_cents(const struct rate_plan *plan, uint32_t hotel, uint32_t number, uint32_t in_day,
			   uint32_t out_day)
{
	uint32_t cents = 0, day;

	if (out_day - in_day < plan->min_nights)
		return RATES_SOLD_OUT;
	for (day = in_day; day < out_day; day++) {
		if (closed(plan, day) || booked(hotel, number, day) < plan->occupancy)
			return RATES_SOLD_OUT;
		cents += night_cents(plan, day);
	}
	return cents;
}

uint32_t rates_cheapest_cents(const struct rate_plan plans[RATES_NR_PLANS], uint32_t hotel, uint32_t in_day,
			      uint32_t out_day)
{
	uint32_t best = RATES_SOLD_OUT, i;

	for (i = 0; i < RATES_NR_PLANS; i++) {
		uint32_t cents = stay_cents(&plans[i], hotel, i, in_day, out_day);

		if (cents != RATES_SOLD_OUT && (best == RATES_SOLD_OUT || cents < best))
			best = cents;
	}
	return best;
}
