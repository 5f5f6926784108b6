// SPDX-License-Identifier: GPL-2.0
/*
 * search.c - generates a city and answers searches: nearest hotels, price of the stay, best by price and distance.
 * Pure apart from city_make, which allocates.
 */
#include "search.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "geo.h"
#include "rates.h"

enum { NR_CENTRES = 12, HOTELS_PER_CELL = 8 };

static const double km_per_degree = 111.2;
/* What a guest pays to stay a kilometre nearer, per stay. */
static const double cents_per_km = 800;

struct city {
	struct geo geo;
	struct geo_point *points;
	struct rate_plan (*plans)[RATES_NR_PLANS];
};

static struct geo_point position(const struct city *city, double latitude, double longitude)
{
	double shrink = cos(HOTEL_CENTRE_LATITUDE * M_PI / 180), half_km = city->geo.size_km / 2;

	return (struct geo_point){
		(float)((longitude - HOTEL_CENTRE_LONGITUDE) * km_per_degree * shrink + half_km),
		(float)((latitude - HOTEL_CENTRE_LATITUDE) * km_per_degree + half_km),
	};
}

/* Around one of a few centres, as hotels are; clamped to the square. */
static struct geo_point draw_point(unsigned short rng[3], const struct geo_point *centres, float size_km)
{
	const struct geo_point *c = &centres[(int)(erand48(rng) * NR_CENTRES)];
	double radius_km = -log(1 - erand48(rng)) * size_km / 8, angle = erand48(rng) * 2 * M_PI;

	return (struct geo_point){
		fminf(fmaxf(c->x_km + (float)(radius_km * cos(angle)), 0), size_km),
		fminf(fmaxf(c->y_km + (float)(radius_km * sin(angle)), 0), size_km),
	};
}

static struct rate_plan draw_plan(unsigned short rng[3], double standard)
{
	return (struct rate_plan){
		.night_cents = (uint32_t)(4000 + standard * 20000 + erand48(rng) * 8000),
		.weekend_permille = (uint16_t)(900 + erand48(rng) * 400),
		.season_permille = (uint16_t)(1000 + erand48(rng) * 800),
		.closed_from = (uint16_t)(erand48(rng) * HOTEL_NR_DAYS),
		.min_nights = (uint8_t)(1 + erand48(rng) * 2),
		.occupancy = (uint8_t)(erand48(rng) * 30),
	};
}

static void draw_city(struct city *city, uint64_t seed)
{
	unsigned short rng[3] = { (unsigned short)seed, (unsigned short)(seed >> 16), (unsigned short)(seed >> 32) };
	struct geo_point centres[NR_CENTRES];
	uint32_t i, j;

	for (i = 0; i < NR_CENTRES; i++) {
		centres[i].x_km = (float)erand48(rng) * city->geo.size_km;
		centres[i].y_km = (float)erand48(rng) * city->geo.size_km;
	}
	for (i = 0; i < city->geo.nr_points; i++) {
		double standard = erand48(rng);

		city->points[i] = draw_point(rng, centres, city->geo.size_km);
		for (j = 0; j < RATES_NR_PLANS; j++)
			city->plans[i][j] = draw_plan(rng, standard);
	}
}

int city_make(struct city **ret, uint32_t nr_hotels, uint64_t seed)
{
	struct city *city = calloc(1, sizeof(*city));
	struct geo *geo;

	if (!city)
		return -ENOMEM;
	geo = &city->geo;
	geo->size_km = (float)(2 * HOTEL_HALF_WIDTH * km_per_degree);
	geo->nr_points = nr_hotels;
	geo->side = 1 + (uint32_t)sqrt(nr_hotels / (double)HOTELS_PER_CELL);
	geo->points = city->points = calloc(nr_hotels, sizeof(*city->points));
	geo->cell_start = calloc((size_t)geo->side * geo->side + 1, sizeof(*geo->cell_start));
	geo->order = calloc(nr_hotels, sizeof(*geo->order));
	city->plans = calloc(nr_hotels, sizeof(*city->plans));
	if (!city->points || !geo->cell_start || !geo->order || !city->plans) {
		city_free(city);
		return -ENOMEM;
	}
	draw_city(city, seed);
	geo_build(geo);
	*ret = city;
	return 0;
}

void city_free(struct city *city)
{
	if (!city)
		return;
	free(city->points);
	free(city->geo.cell_start);
	free(city->geo.order);
	free(city->plans);
	free(city);
}

struct ranked {
	double score[HOTEL_MAX_OFFERS]; /* ascending, beside the offers of the answer */
};

static void rank(struct hotel_answer *answer, struct ranked *ranked, struct hotel_offer offer, double score)
{
	uint32_t i = answer->nr_offers;

	if (i == HOTEL_MAX_OFFERS && score >= ranked->score[--i])
		return;
	if (answer->nr_offers < HOTEL_MAX_OFFERS)
		answer->nr_offers++;
	for (; i && ranked->score[i - 1] > score; i--) {
		ranked->score[i] = ranked->score[i - 1];
		answer->offers[i] = answer->offers[i - 1];
	}
	ranked->score[i] = score;
	answer->offers[i] = offer;
}

void search_nearby(const struct city *city, const struct hotel_request *request, uint32_t weight,
		   struct hotel_answer *ret)
{
	struct geo_found found[SEARCH_CANDIDATES_PER_WEIGHT * SEARCH_MAX_WEIGHT];
	struct ranked ranked;
	uint32_t i, nr = geo_nearest(&city->geo, position(city, request->latitude, request->longitude),
				     weight * SEARCH_CANDIDATES_PER_WEIGHT, found);

	ret->nr_offers = 0;
	for (i = 0; i < nr; i++) {
		uint32_t hotel = found[i].point;
		uint32_t cents = rates_cheapest_cents(city->plans[hotel], hotel, request->in_day, request->out_day);

		if (cents != RATES_SOLD_OUT)
			rank(ret, &ranked, (struct hotel_offer){ hotel, cents },
			     cents + found[i].distance_km * cents_per_km);
	}
}
