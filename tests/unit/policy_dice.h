/* SPDX-License-Identifier: GPL-2.0 */
/*
 * policy_dice.h - machines, options and windows by dice, for what must hold of any policy on any of them.
 */
#ifndef PARTIES_POLICY_DICE_H
#define PARTIES_POLICY_DICE_H

#include "unit/paper_bench.h"

static inline uint32_t between(struct rng *dice, uint32_t low, uint32_t high)
{
	return low + (uint32_t)rng_below(dice, (uint64_t)high - low + 1);
}

static inline uint32_t random_option(const struct policy_option *option, struct rng *dice)
{
	if (option->words)
		return between(dice, 0, 1);
	return rng_below(dice, 2) ? option->standard : between(dice, option->min, option->max);
}

/* A machine nobody would build, but legal: floors fit. */
static inline struct bench random_bench(const struct policy_ops *policy, struct rng *dice)
{
	uint32_t services = between(dice, 1, 9), speeds = between(dice, 0, 20);
	struct bench_machine m = { .services = services, .cores = between(dice, services, 40),
				   .ways = between(dice, 0, 1) * between(dice, services, 20), .speeds = speeds,
				   .be = between(dice, 0, 1), .draws = -1 };
	struct bench b = bench_prepare(policy, m);

	for (uint32_t i = 0; i < services; i++) {
		struct policy_service *s = &b.view.services[i];

		s->min.cores = between(dice, 0, m.cores / services);
		s->max.cores = between(dice, s->min.cores, m.cores);
		s->min.speed = speeds > 1 ? between(dice, 0, speeds - 1) : 0;
		s->max.speed = speeds > 1 ? between(dice, s->min.speed, speeds - 1) : 0;
	}
	b.view.nominal_speed = speeds > 1 ? between(dice, 0, speeds - 1) : 0;
	for (uint32_t i = 0; i < policy->nr_options; i++)
		b.view.options[i] = random_option(&policy->options[i], dice);
	rng_seed(&b.rng, rng_next(dice));
	bench_start(&b);
	return b;
}

static inline void random_slacks(struct rng *dice, int *slacks)
{
	for (int i = 0; i < POLICY_MAX_SERVICES; i++) {
		slacks[i] = (int)between(dice, 0, 1100) - 200;
		if (!rng_below(dice, 8))
			slacks[i] = rng_below(dice, 2) ? BLIND : QUIET;
	}
}

/* Units that changed hands, a swap counting two. */
static inline uint32_t distance(const struct policy_view *view, const struct policy_decision *d)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < view->nr_services; i++) {
		const struct policy_share *have = &view->services[i].have, *want = &d->shares[i];

		sum += (uint32_t)(abs((int)have->cores - (int)want->cores) + abs((int)have->ways - (int)want->ways) +
				  abs((int)have->speed - (int)want->speed));
	}
	return sum;
}

/* Something that is not the policy changes the machine between two windows. */
static inline void disturb(struct bench *b, struct rng *dice)
{
	struct policy_view *v = &b->view;
	struct policy_service *s = &v->services[rng_below(dice, v->nr_services)];
	uint32_t floors = 0;

	for (uint32_t i = 0; i < v->nr_services; i++)
		floors += v->services[i].min.cores;
	switch (rng_below(dice, 6)) {
	case 0: /* a core goes offline, whoever had it */
		if (v->nr_cores > floors && s->have.cores) {
			v->nr_cores--;
			s->have.cores--;
		}
		break;
	case 1:
		v->nr_cores++; /* one comes back */
		break;
	case 2:
		v->has_be = !v->has_be;
		break;
	case 3: /* the last decision was not applied */
		v->last_failed = true;
		s->have.speed = between(dice, 0, v->nr_speeds ? v->nr_speeds - 1 : 0);
		break;
	case 4: /* a limit moves */
		s->max.cores = between(dice, s->min.cores, v->nr_cores);
		break;
	default: /* somebody else's allocation */
		s->have.cores = between(dice, 0, v->nr_cores);
		v->be_cores = between(dice, 0, 3);
	}
}

#endif
