/* SPDX-License-Identifier: GPL-2.0 */
/*
 * geo.h - a grid over points of a plane, to find the nearest ones.  Pure: all memory belongs to the caller.
 */
#ifndef PARTIES_GEO_H
#define PARTIES_GEO_H

#include <stdint.h>

struct geo_point {
	float x_km, y_km; /* each in [0, size_km] */
};

struct geo {
	float size_km;
	uint32_t nr_points, side; /* side x side square cells */
	const struct geo_point *points;
	uint32_t *cell_start;     /* side * side + 1: where a cell's points begin in `order` */
	uint32_t *order;          /* nr_points point numbers, cell by cell */
};

struct geo_found {
	uint32_t point;
	float distance_km;
};

/* The caller has set every member; this fills cell_start and order. */
void geo_build(struct geo *geo);

/* The up to `max` nearest points of `at`, in no order.  Returns how many: min(max, nr_points). */
uint32_t geo_nearest(const struct geo *geo, struct geo_point at, uint32_t max, struct geo_found *ret);

#endif
