/* SPDX-License-Identifier: GPL-2.0 */
/*
 * levels.h - what one service needs under one load: per speed the fewest cores with which it holds, found by playing it
 * alone, and remembered in a file.  Glue over the plant's stations and the tick's sums.
 *
 * Neighbours disturb a service by their load and not by their shares, so that services can be played one by one.
 * Beside what is valid (valid.h) a share is calm when, held for as long, at most 0.25 % of its judged windows are
 * violated.  More cores never hurt, so the fewest say it for all numbers of cores.
 *
 * The file is in DIR, and named after the sources it rests on.  Scenarios that differ in their loads, seeds or policy
 * share what is in it, several processes may use it at once, and what an interrupted run has played is kept.
 */
#ifndef PARTIES_LEVELS_H
#define PARTIES_LEVELS_H

#include "experiments/plant/plant.h"

struct need {
	uint32_t valid_cores, calm_cores; /* 0: all cores of the machine are not enough */
	double power_w;                   /* of the calm share */
};

struct level {
	uint32_t service;
	uint16_t load_pct[POLICY_MAX_SERVICES]; /* of all services */
	struct need needs[SPEED_MAX_STEPS];
};

struct levels;

/*
 * The plant was opened from the same scenario and outlives this.  `dir` is made if it is not there.  Negative errno,
 * with one line in `error`.
 */
int levels_open(struct levels **ret, const struct plant *plant, const char *scenario, const char *dir, char *error,
		size_t error_size);
void levels_close(struct levels *l);
/* Plays it first when it is not known: seconds.  NULL: no memory.  The answer lives as long as `l`. */
const struct level *levels_get(struct levels *l, uint32_t service, const uint16_t *load_pct);
/* Loads played since levels_open. */
uint32_t levels_nr_played(const struct levels *l);

#endif
