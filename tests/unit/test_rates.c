// SPDX-License-Identifier: GPL-2.0
/*
 * test_rates.c - prices of stays under hand-made rate plans.
 */
#include "experiments/hotel-search/rates.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { NEVER_CLOSED = 60000 };

/* Plan 0 as given, all others far too long for any stay. */
static uint32_t price(struct rate_plan plan, uint32_t in_day, uint32_t out_day)
{
	struct rate_plan plans[RATES_NR_PLANS];
	int i;

	for (i = 0; i < RATES_NR_PLANS; i++)
		plans[i] = (struct rate_plan){ .night_cents = 1, .min_nights = 200, .closed_from = NEVER_CLOSED };
	plans[0] = plan;
	return rates_cheapest_cents(plans, 1, in_day, out_day);
}

static const struct rate_plan plain = {
	.night_cents = 10000, .weekend_permille = 1500, .season_permille = 2000, .closed_from = NEVER_CLOSED,
	.min_nights = 1,
};

static void ordinary_nights_cost_the_base_rate(void **state)
{
	(void)state;
	assert_int_equal(price(plain, 0, 3), 30000);
}

static void weekend_nights_cost_more(void **state)
{
	(void)state;
	assert_int_equal(price(plain, 4, 7), 10000 + 2 * 15000);
}

static void the_season_multiplies_what_a_night_costs(void **state)
{
	(void)state;
	assert_int_equal(price(plain, 154, 155), 20000);
	assert_int_equal(price(plain, 152, 153), 30000); /* a weekend night as well */
}

static void a_stay_that_is_too_short_or_meets_a_closed_week_is_sold_out(void **state)
{
	struct rate_plan p = plain;

	(void)state;
	p.min_nights = 3;
	assert_int_equal(price(p, 0, 2), RATES_SOLD_OUT);
	p = plain;
	p.closed_from = 17;
	assert_int_equal(price(p, 15, 17), 20000);
	assert_int_equal(price(p, 15, 18), RATES_SOLD_OUT);
	assert_int_equal(price(p, 30, 31), RATES_SOLD_OUT);
	assert_int_not_equal(price(p, 31, 32), RATES_SOLD_OUT);
}

static void a_night_that_is_always_booked_is_sold_out(void **state)
{
	struct rate_plan p = plain;
	uint32_t day, nr_free = 0;

	(void)state;
	p.occupancy = 128;
	for (day = 0; day < 1000; day++)
		nr_free += !(booked(1, 0, day) < p.occupancy);
	assert_in_range(nr_free, 400, 600);
}

static void the_cheapest_plan_wins(void **state)
{
	struct rate_plan plans[RATES_NR_PLANS];
	int i;

	(void)state;
	for (i = 0; i < RATES_NR_PLANS; i++) {
		plans[i] = plain;
		plans[i].night_cents = (uint32_t)(9000 + 100 * ((i + 5) % RATES_NR_PLANS));
	}
	assert_int_equal(rates_cheapest_cents(plans, 1, 0, 1), 9000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ordinary_nights_cost_the_base_rate),
		cmocka_unit_test(weekend_nights_cost_more),
		cmocka_unit_test(the_season_multiplies_what_a_night_costs),
		cmocka_unit_test(a_stay_that_is_too_short_or_meets_a_closed_week_is_sold_out),
		cmocka_unit_test(a_night_that_is_always_booked_is_sold_out),
		cmocka_unit_test(the_cheapest_plan_wins),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
