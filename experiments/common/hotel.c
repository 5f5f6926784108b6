// SPDX-License-Identifier: GPL-2.0
/*
 * hotel.c - encodes and decodes the messages of /hotel.Search/Nearby.  Pure.
 */
#include "hotel.h"

#include <endian.h>
#include <errno.h>
#include <math.h>
#include <string.h>

static void put_u32(uint8_t *buf, uint32_t value)
{
	value = htole32(value);
	memcpy(buf, &value, sizeof(value));
}

static uint32_t get_u32(const uint8_t *buf)
{
	uint32_t value;

	memcpy(&value, buf, sizeof(value));
	return le32toh(value);
}

static void put_f64(uint8_t *buf, double number)
{
	uint64_t value;

	memcpy(&value, &number, sizeof(value));
	value = htole64(value);
	memcpy(buf, &value, sizeof(value));
}

static double get_f64(const uint8_t *buf)
{
	uint64_t value;
	double number;

	memcpy(&value, buf, sizeof(value));
	value = le64toh(value);
	memcpy(&number, &value, sizeof(number));
	return number;
}

void hotel_request_encode(const struct hotel_request *request, uint8_t buf[HOTEL_REQUEST_SIZE])
{
	put_f64(buf, request->latitude);
	put_f64(buf + 8, request->longitude);
	put_u32(buf + 16, request->in_day);
	put_u32(buf + 20, request->out_day);
}

int hotel_request_decode(const uint8_t *buf, size_t size, struct hotel_request *ret)
{
	struct hotel_request r;

	if (size != HOTEL_REQUEST_SIZE)
		return -EBADMSG;
	r = (struct hotel_request){ get_f64(buf), get_f64(buf + 8), get_u32(buf + 16), get_u32(buf + 20) };
	if (!(fabs(r.latitude) <= 90) || !(fabs(r.longitude) <= 180))
		return -EBADMSG;
	if (r.in_day >= r.out_day || r.out_day > HOTEL_NR_DAYS || r.out_day - r.in_day > HOTEL_MAX_NIGHTS)
		return -EBADMSG;
	*ret = r;
	return 0;
}

size_t hotel_answer_encode(const struct hotel_answer *answer, uint8_t buf[HOTEL_MAX_ANSWER_SIZE])
{
	uint32_t i;

	put_u32(buf, answer->nr_offers);
	for (i = 0; i < answer->nr_offers; i++) {
		put_u32(buf + 4 + 8 * i, answer->offers[i].hotel);
		put_u32(buf + 8 + 8 * i, answer->offers[i].price_cents);
	}
	return 4 + 8 * (size_t)answer->nr_offers;
}

int hotel_answer_decode(const uint8_t *buf, size_t size, struct hotel_answer *ret)
{
	uint32_t i, nr;

	if (size < 4)
		return -EBADMSG;
	nr = get_u32(buf);
	if (nr > HOTEL_MAX_OFFERS || size != 4 + 8 * (size_t)nr)
		return -EBADMSG;
	for (i = 0; i < nr; i++)
		ret->offers[i] = (struct hotel_offer){ get_u32(buf + 4 + 8 * i), get_u32(buf + 8 + 8 * i) };
	ret->nr_offers = nr;
	return 0;
}
