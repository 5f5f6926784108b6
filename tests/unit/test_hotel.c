// SPDX-License-Identifier: GPL-2.0
/*
 * test_hotel.c - the messages of hotel-search, and its search as a whole.
 */
#include "experiments/common/hotel.c"
#include "experiments/hotel-search/geo.c"
#include "experiments/hotel-search/rates.c"
#include "experiments/hotel-search/search.c"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const struct hotel_request request = { HOTEL_CENTRE_LATITUDE, HOTEL_CENTRE_LONGITUDE, 10, 13 };

static void a_request_survives_the_wire(void **state)
{
	struct hotel_request got;
	uint8_t buf[HOTEL_REQUEST_SIZE];

	(void)state;
	hotel_request_encode(&request, buf);
	assert_int_equal(hotel_request_decode(buf, sizeof(buf), &got), 0);
	assert_true(got.latitude == request.latitude && got.longitude == request.longitude);
	assert_int_equal(got.in_day, 10);
	assert_int_equal(got.out_day, 13);
}

static void requests_that_make_no_sense_are_refused(void **state)
{
	static const struct hotel_request bad[] = {
		{ 91, 0, 1, 2 }, { 0, -181, 1, 2 }, { NAN, 0, 1, 2 }, { 0, 0, 2, 2 }, { 0, 0, 3, 2 }, { 0, 0, 1, 100 },
		{ 0, 0, HOTEL_NR_DAYS - 1, HOTEL_NR_DAYS + 1 },
	};
	struct hotel_request got;
	uint8_t buf[HOTEL_REQUEST_SIZE];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		hotel_request_encode(&bad[i], buf);
		assert_int_equal(hotel_request_decode(buf, sizeof(buf), &got), -EBADMSG);
	}
	hotel_request_encode(&request, buf);
	assert_int_equal(hotel_request_decode(buf, sizeof(buf) - 1, &got), -EBADMSG);
}

static void an_answer_survives_the_wire(void **state)
{
	struct hotel_answer answer = { 2, { { 1, 100 }, { 70000, 200 } } }, got;
	uint8_t buf[HOTEL_MAX_ANSWER_SIZE];
	size_t size = hotel_answer_encode(&answer, buf);

	(void)state;
	assert_int_equal(size, 20);
	assert_int_equal(hotel_answer_decode(buf, size, &got), 0);
	assert_int_equal(got.nr_offers, 2);
	assert_int_equal(got.offers[1].hotel, 70000);
	assert_int_equal(got.offers[1].price_cents, 200);
	assert_int_equal(hotel_answer_decode(buf, size - 1, &got), -EBADMSG);
	assert_int_equal(hotel_answer_decode(buf, 0, &got), -EBADMSG);
	buf[0] = 200;
	assert_int_equal(hotel_answer_decode(buf, size, &got), -EBADMSG);
}

static double score_of(const struct city *city, struct hotel_offer offer)
{
	struct geo_point at = position(city, request.latitude, request.longitude), p = city->points[offer.hotel];

	return offer.price_cents + hypotf(p.x_km - at.x_km, p.y_km - at.y_km) * cents_per_km;
}

static void the_offers_are_the_best_ten_in_order(void **state)
{
	enum { NR_HOTELS = 400 }; /* all are candidates at weight 4 */
	struct hotel_answer answer;
	struct city *city;
	uint32_t i, hotel, nr_better = 0;
	double worst;

	(void)state;
	assert_int_equal(city_make(&city, NR_HOTELS, 5), 0);
	search_nearby(city, &request, 4, &answer);
	assert_int_equal(answer.nr_offers, HOTEL_MAX_OFFERS);
	for (i = 1; i < answer.nr_offers; i++)
		assert_true(score_of(city, answer.offers[i - 1]) <= score_of(city, answer.offers[i]));
	worst = score_of(city, answer.offers[HOTEL_MAX_OFFERS - 1]);
	for (hotel = 0; hotel < NR_HOTELS; hotel++) {
		uint32_t cents = rates_cheapest_cents(city->plans[hotel], hotel, request.in_day, request.out_day);

		nr_better += cents != RATES_SOLD_OUT &&
			     score_of(city, (struct hotel_offer){ hotel, cents }) < worst - 1;
	}
	assert_in_range(nr_better, HOTEL_MAX_OFFERS - 2, HOTEL_MAX_OFFERS - 1);
	city_free(city);
}

static void the_same_seed_makes_the_same_city(void **state)
{
	struct hotel_answer a, b, c;
	struct city *one, *same, *other;

	(void)state;
	assert_int_equal(city_make(&one, 2000, 1), 0);
	assert_int_equal(city_make(&same, 2000, 1), 0);
	assert_int_equal(city_make(&other, 2000, 2), 0);
	search_nearby(one, &request, 5, &a);
	search_nearby(same, &request, 5, &b);
	search_nearby(other, &request, 5, &c);
	assert_memory_equal(&a, &b, sizeof(a));
	assert_memory_not_equal(&a, &c, sizeof(a));
	city_free(one);
	city_free(same);
	city_free(other);
}

static void a_city_of_one_hotel_offers_one(void **state)
{
	struct hotel_answer answer;
	struct city *city;

	(void)state;
	assert_int_equal(city_make(&city, 1, 1), 0);
	search_nearby(city, &request, 1, &answer);
	assert_int_equal(answer.nr_offers, 1);
	assert_int_equal(answer.offers[0].hotel, 0);
	city_free(city);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_survives_the_wire),
		cmocka_unit_test(requests_that_make_no_sense_are_refused),
		cmocka_unit_test(an_answer_survives_the_wire),
		cmocka_unit_test(the_offers_are_the_best_ten_in_order),
		cmocka_unit_test(the_same_seed_makes_the_same_city),
		cmocka_unit_test(a_city_of_one_hotel_offers_one),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
