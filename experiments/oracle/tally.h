/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tally.h - the arithmetic of the programs that compare policies: the highest level that holds, and means.  Pure.
 */
#ifndef PARTIES_TALLY_H
#define PARTIES_TALLY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The highest level from 0 to max that holds, found from a good guess: in steps that double away from it, then by
 * halves.  Level 0 is not asked.
 */
uint32_t tally_highest(bool (*holds)(void *ctx, uint32_t level), void *ctx, uint32_t guess, uint32_t max);

/* Of numbers that come one by one; zeroed at first. */
struct tally {
	uint32_t nr;
	double sum, sum_squares, most;
};
void tally_add(struct tally *m, double value);
double tally_mean(const struct tally *m);
double tally_deviation(const struct tally *m); /* of the numbers */
double tally_ci(const struct tally *m);        /* half of the 95 % interval of their mean */

#endif
