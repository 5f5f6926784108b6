/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rates.h - what a stay costs under a hotel's rate plans.  Pure.
 */
#ifndef PARTIES_RATES_H
#define PARTIES_RATES_H

#include <stdint.h>

enum { RATES_NR_PLANS = 16, RATES_SOLD_OUT = 0 };

struct rate_plan {
	uint32_t night_cents;    /* on an ordinary night */
	uint16_t weekend_permille, season_permille;
	uint16_t closed_from;    /* first day of two weeks without rooms */
	uint8_t min_nights;
	uint8_t occupancy;       /* share of nights without rooms, of 255 */
};

/* Price of the cheapest plan with a room on every night of [in_day, out_day), or RATES_SOLD_OUT. */
uint32_t rates_cheapest_cents(const struct rate_plan plans[RATES_NR_PLANS], uint32_t hotel, uint32_t in_day,
			      uint32_t out_day);

#endif
