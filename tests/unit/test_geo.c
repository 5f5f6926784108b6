// SPDX-License-Identifier: GPL-2.0
/*
 * test_geo.c - the nearest points of the grid against looking at every point.
 */
#include "experiments/hotel-search/geo.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

enum { NR_POINTS = 500, SIDE = 9 };

struct world {
	struct geo_point points[NR_POINTS];
	uint32_t cell_start[SIDE * SIDE + 1], order[NR_POINTS];
	struct geo geo;
};

static void make_world(struct world *w, uint32_t nr_points, unsigned short seed)
{
	unsigned short rng[3] = { seed, 2, 3 };
	uint32_t i;

	for (i = 0; i < nr_points; i++)
		w->points[i] = (struct geo_point){ (float)(erand48(rng) * 20),
						   (float)(erand48(rng) * erand48(rng) * 20) };
	w->geo = (struct geo){ 20, nr_points, SIDE, w->points, w->cell_start, w->order };
	geo_build(&w->geo);
}

static int compare_distance(const void *a, const void *b)
{
	float x = ((const struct geo_found *)a)->distance_km, y = ((const struct geo_found *)b)->distance_km;

	return (x > y) - (x < y);
}

static void check_against_all(const struct world *w, struct geo_point at, uint32_t max)
{
	struct geo_found all[NR_POINTS], found[NR_POINTS];
	uint32_t i, nr = w->geo.nr_points, nr_found;

	for (i = 0; i < nr; i++)
		all[i] = (struct geo_found){ i, hypotf(w->points[i].x_km - at.x_km, w->points[i].y_km - at.y_km) };
	qsort(all, nr, sizeof(all[0]), compare_distance);
	nr_found = geo_nearest(&w->geo, at, max, found);
	assert_int_equal(nr_found, max < nr ? max : nr);
	qsort(found, nr_found, sizeof(found[0]), compare_distance);
	for (i = 0; i < nr_found; i++)
		assert_true(found[i].distance_km == all[i].distance_km);
}

static void the_grid_finds_the_same_points_as_looking_at_all(void **state)
{
	unsigned short rng[3] = { 7, 7, 7 };
	struct world w;
	int i;

	(void)state;
	make_world(&w, NR_POINTS, 1);
	for (i = 0; i < 300; i++)
		check_against_all(&w, (struct geo_point){ (float)(erand48(rng) * 20), (float)(erand48(rng) * 20) },
				  1 + (uint32_t)(erand48(rng) * 60));
}

static void a_position_outside_the_square_finds_the_nearest_inside(void **state)
{
	struct world w;

	(void)state;
	make_world(&w, NR_POINTS, 2);
	check_against_all(&w, (struct geo_point){ -30, 5 }, 10);
	check_against_all(&w, (struct geo_point){ 50, 50 }, 10);
}

static void asking_for_more_than_there_is_gives_all(void **state)
{
	struct world w;

	(void)state;
	make_world(&w, 40, 3);
	check_against_all(&w, (struct geo_point){ 10, 10 }, NR_POINTS);
}

static void asking_for_none_or_in_an_empty_world_gives_none(void **state)
{
	struct geo_found found[1];
	struct world w;

	(void)state;
	make_world(&w, NR_POINTS, 4);
	assert_int_equal(geo_nearest(&w.geo, (struct geo_point){ 1, 1 }, 0, found), 0);
	make_world(&w, 0, 4);
	assert_int_equal(geo_nearest(&w.geo, (struct geo_point){ 1, 1 }, 1, found), 0);
}

static void every_point_is_in_the_order_once(void **state)
{
	struct world w;
	unsigned char seen[NR_POINTS] = { 0 };
	uint32_t i;

	(void)state;
	make_world(&w, NR_POINTS, 5);
	for (i = 0; i < NR_POINTS; i++)
		seen[w.order[i]]++;
	for (i = 0; i < NR_POINTS; i++)
		assert_int_equal(seen[i], 1);
	assert_int_equal(w.cell_start[SIDE * SIDE], NR_POINTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_grid_finds_the_same_points_as_looking_at_all),
		cmocka_unit_test(a_position_outside_the_square_finds_the_nearest_inside),
		cmocka_unit_test(asking_for_more_than_there_is_gives_all),
		cmocka_unit_test(asking_for_none_or_in_an_empty_world_gives_none),
		cmocka_unit_test(every_point_is_in_the_order_once),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
