// SPDX-License-Identifier: GPL-2.0
/*
 * geo.c - nearest points by a grid: cells are searched ring by ring around the position until no farther ring can hold
 * a nearer point.  The best so far are a heap with the farthest on top.  Pure.
 */
#include "geo.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static uint32_t cell_index(const struct geo *geo, float km)
{
	float at = km / geo->size_km * (float)geo->side;

	if (at < 0)
		return 0;
	return at >= (float)geo->side ? geo->side - 1 : (uint32_t)at;
}

static uint32_t cell_of(const struct geo *geo, struct geo_point p)
{
	return cell_index(geo, p.y_km) * geo->side + cell_index(geo, p.x_km);
}

void geo_build(struct geo *geo)
{
	uint32_t nr_cells = geo->side * geo->side, i;

	memset(geo->cell_start, 0, (nr_cells + 1) * sizeof(*geo->cell_start));
	for (i = 0; i < geo->nr_points; i++)
		geo->cell_start[cell_of(geo, geo->points[i]) + 1]++;
	for (i = 0; i < nr_cells; i++)
		geo->cell_start[i + 1] += geo->cell_start[i];
	/* Filling from the back leaves each start where its cell begins, one counter for both. */
	for (i = geo->nr_points; i-- > 0;)
		geo->order[--geo->cell_start[cell_of(geo, geo->points[i]) + 1]] = i;
	memmove(geo->cell_start, geo->cell_start + 1, nr_cells * sizeof(*geo->cell_start));
	geo->cell_start[nr_cells] = geo->nr_points;
}

struct nearest {
	struct geo_found *heap; /* farthest first */
	uint32_t nr, max;
};

static void swap(struct geo_found *a, struct geo_found *b)
{
	struct geo_found keep = *a;

	*a = *b;
	*b = keep;
}

static void sift_up(struct nearest *n, uint32_t i)
{
	for (; i && n->heap[(i - 1) / 2].distance_km < n->heap[i].distance_km; i = (i - 1) / 2)
		swap(&n->heap[(i - 1) / 2], &n->heap[i]);
}

static void sift_down(struct nearest *n)
{
	uint32_t i = 0, child;

	for (; (child = 2 * i + 1) < n->nr; i = child) {
		if (child + 1 < n->nr && n->heap[child + 1].distance_km > n->heap[child].distance_km)
			child++;
		if (n->heap[i].distance_km >= n->heap[child].distance_km)
			return;
		swap(&n->heap[i], &n->heap[child]);
	}
}

static void offer(struct nearest *n, struct geo_found found)
{
	if (n->nr < n->max) {
		n->heap[n->nr] = found;
		sift_up(n, n->nr++);
	} else if (found.distance_km < n->heap[0].distance_km) {
		n->heap[0] = found;
		sift_down(n);
	}
}

static void search_cell(const struct geo *geo, int64_t x, int64_t y, struct geo_point at, struct nearest *n)
{
	uint32_t i, cell;

	if (x < 0 || y < 0 || x >= geo->side || y >= geo->side)
		return;
	cell = (uint32_t)y * geo->side + (uint32_t)x;
	for (i = geo->cell_start[cell]; i < geo->cell_start[cell + 1]; i++) {
		const struct geo_point *p = &geo->points[geo->order[i]];

		offer(n, (struct geo_found){ geo->order[i], hypotf(p->x_km - at.x_km, p->y_km - at.y_km) });
	}
}

/* The cells exactly `ring` columns or rows away. */
static void search_ring(const struct geo *geo, int64_t x, int64_t y, int64_t ring, struct geo_point at,
			struct nearest *n)
{
	int64_t i;

	for (i = -ring; i <= ring; i++) {
		search_cell(geo, x + i, y - ring, at, n);
		if (ring)
			search_cell(geo, x + i, y + ring, at, n);
	}
	for (i = -ring + 1; i < ring; i++) {
		search_cell(geo, x - ring, y + i, at, n);
		search_cell(geo, x + ring, y + i, at, n);
	}
}

uint32_t geo_nearest(const struct geo *geo, struct geo_point at, uint32_t max, struct geo_found *ret)
{
	struct nearest n = { .heap = ret, .max = max };
	float cell_km = geo->size_km / (float)geo->side;
	int64_t x = cell_index(geo, at.x_km), y = cell_index(geo, at.y_km), ring;

	for (ring = 0; max && ring < geo->side; ring++) {
		/* A position within its cell is at least ring - 1 whole cells away from this ring. */
		if (n.nr == max && n.heap[0].distance_km <= (float)(ring - 1) * cell_km)
			break;
		search_ring(geo, x, y, ring, at, &n);
	}
	return n.nr;
}
