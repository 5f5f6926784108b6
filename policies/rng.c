// SPDX-License-Identifier: GPL-2.0
/*
 * rng.c - xoshiro256** seeded through splitmix64, and the few distributions drawn from it.  Pure: the state is the
 * caller's; it takes no entropy from anywhere.
 */
#include "rng.h"

#include <math.h>

/* Neighbouring seeds, zero included, must give unrelated states. */
void rng_seed(struct rng *rng, uint64_t seed)
{
	for (int i = 0; i < 4; i++) {
		uint64_t z = seed += 0x9e3779b97f4a7c15;

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
		z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
		rng->s[i] = z ^ (z >> 31);
	}
}

uint64_t rng_below(struct rng *rng, uint64_t n)
{
	uint64_t remainder = -n % n, x; /* 2^64 mod n: that many values would come out once too often */

	do
		x = rng_next(rng);
	while (x < remainder);
	return x % n;
}

double rng_uniform(struct rng *rng)
{
	return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

double rng_exponential(struct rng *rng)
{
	return -log(1.0 - rng_uniform(rng));
}
