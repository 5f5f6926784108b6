/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hotel.h - the messages of /hotel.Search/Nearby: fixed layout, little endian.  Pure.
 *
 *   request  f64 latitude, f64 longitude (degrees), u32 arrival day, u32 departure day (since the first day on sale)
 *   answer   u32 count, then count times: u32 hotel, u32 price of the stay in cents; cheapest for its distance first
 */
#ifndef PARTIES_HOTEL_H
#define PARTIES_HOTEL_H

#include <stddef.h>
#include <stdint.h>

#define HOTEL_METHOD "/hotel.Search/Nearby"

/* The generated city: a square of 0.2 degrees around a centre, on sale for a year. */
#define HOTEL_CENTRE_LATITUDE  48.2
#define HOTEL_CENTRE_LONGITUDE 16.4
#define HOTEL_HALF_WIDTH       0.1

enum { HOTEL_NR_DAYS = 365, HOTEL_MAX_NIGHTS = 14, HOTEL_MAX_OFFERS = 10 };
enum { HOTEL_REQUEST_SIZE = 24, HOTEL_MAX_ANSWER_SIZE = 4 + 8 * HOTEL_MAX_OFFERS };

struct hotel_request {
	double latitude, longitude;
	uint32_t in_day, out_day; /* in < out <= HOTEL_NR_DAYS, at most HOTEL_MAX_NIGHTS apart */
};

struct hotel_offer {
	uint32_t hotel, price_cents;
};

struct hotel_answer {
	uint32_t nr_offers;
	struct hotel_offer offers[HOTEL_MAX_OFFERS];
};

void hotel_request_encode(const struct hotel_request *request, uint8_t buf[HOTEL_REQUEST_SIZE]);
/* -EBADMSG: wrong size, not a position, or no stay. */
int hotel_request_decode(const uint8_t *buf, size_t size, struct hotel_request *ret);
/* Returns the size. */
size_t hotel_answer_encode(const struct hotel_answer *answer, uint8_t buf[HOTEL_MAX_ANSWER_SIZE]);
int hotel_answer_decode(const uint8_t *buf, size_t size, struct hotel_answer *ret);

#endif
