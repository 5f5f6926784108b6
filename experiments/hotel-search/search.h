/* SPDX-License-Identifier: GPL-2.0 */
/*
 * search.h - the city and the search over it.  The city is made once; searching is pure and safe from any thread.
 */
#ifndef PARTIES_SEARCH_H
#define PARTIES_SEARCH_H

#include <stdint.h>

#include "experiments/common/hotel.h"

/* Hotels looked at per request: this many times the weight. */
enum { SEARCH_CANDIDATES_PER_WEIGHT = 100, SEARCH_MAX_WEIGHT = 100 };

struct city;

/* The same city for the same seed.  -ENOMEM. */
int city_make(struct city **ret, uint32_t nr_hotels, uint64_t seed);
void city_free(struct city *city);

/* Finds, prices and ranks; weight in [1, SEARCH_MAX_WEIGHT]. */
void search_nearby(const struct city *city, const struct hotel_request *request, uint32_t weight,
		   struct hotel_answer *ret);

#endif
