/* SPDX-License-Identifier: GPL-2.0 */
/*
 * nearest.h - "did you mean": the candidate closest to a mistyped word.  Pure.
 */
#ifndef PARTIES_NEAREST_H
#define PARTIES_NEAREST_H

struct nearest {
	const char *word;      /* what was typed */
	const char *best;      /* NULL while no candidate is close enough to be worth naming */
	unsigned int distance; /* of best */
};

/* Start with `struct nearest n = { .word = typed }`, then offer every candidate. */
void nearest_offer(struct nearest *n, const char *candidate);

#endif
