/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rng.h - a small seeded generator (xoshiro256**, Blackman and Vigna), the same sequence on every machine.  Pure.
 * Not for secrets.
 */
#ifndef PARTIES_RNG_H
#define PARTIES_RNG_H

#include <stdint.h>

struct rng {
	uint64_t s[4];
};

void rng_seed(struct rng *rng, uint64_t seed);

static inline uint64_t rng_rotate_left(uint64_t x, int bits)
{
	return (x << bits) | (x >> (64 - bits));
}

static inline uint64_t rng_next(struct rng *rng)
{
	uint64_t *s = rng->s, result = rng_rotate_left(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rng_rotate_left(s[3], 45);
	return result;
}

/* Uniform in [0, n) without modulo bias; n > 0. */
uint64_t rng_below(struct rng *rng, uint64_t n);
/* Uniform in [0, 1) with 53 bits. */
double rng_uniform(struct rng *rng);
/* Exponential with mean 1. */
double rng_exponential(struct rng *rng);

#endif
