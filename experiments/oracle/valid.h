/* SPDX-License-Identifier: GPL-2.0 */
/*
 * valid.h - V(load): which allocations are valid on a simulated machine.  A service's share is valid when, held for
 * ever at constant load, at most the allowed part of its requests (1 % for a p99 target) is late: over 60 s or 50,000
 * requests, whichever takes longer, after the queue has settled.  Glue over the plant's stations; it steers nothing.
 *
 * Neighbours disturb a service by their loads and not by their shares, so that services are played one by one, each
 * with more and more cores until its share is valid: with one core less it is not, with more it is.
 *
 * A play ends early when its verdict is certain, and is never repeated: verdicts are kept in a memo, keyed by the
 * scenario's text, the loads and the share.  Its file has to be a new one when the plant's program changes:
 * VALID_SOURCES names the sources.
 */
#ifndef PARTIES_VALID_H
#define PARTIES_VALID_H

#include "experiments/plant/plant.h"
#include "memo.h"

struct valid;

/* Opens the scenario for itself, whose profiles do not matter; the memo is the caller's.  Negative errno, `error`. */
int valid_open(struct valid **ret, const char *scenario, struct memo *memo, char *error, size_t error_size);
void valid_close(struct valid *v);
const struct speed_ladder *valid_ladder(const struct valid *v);
uint32_t valid_nr_cores(const struct valid *v);
/* From now on: shares of the services' maxima. */
void valid_set_loads(struct valid *v, const double *loads);
/* The fewest cores with which a service's share is valid at this speed; above valid_nr_cores where none are. */
uint32_t valid_fewest(struct valid *v, uint32_t service, uint32_t speed);
/* Sum over the services at one speed; stops counting above valid_nr_cores. */
uint32_t valid_fewest_all(struct valid *v, uint32_t speed);

/* One play, cut into pieces of equal length: per piece, how many requests more were late than allowed. */
struct valid_count {
	uint32_t nr_pieces;
	double allowed;          /* sum of allowed share * requests */
	double sum, sum_squares; /* of late - allowed share * requests */
};
enum valid_verdict { VALID_OPEN, VALID_YES, VALID_NO };
void valid_count_add(struct valid_count *c, uint64_t nr_requests, uint64_t nr_late, double allowed_share);
/* What all nr_total pieces would say; OPEN as long as that is not certain (five standard deviations). */
enum valid_verdict valid_judge(const struct valid_count *c, uint32_t nr_total);

#endif
