/* SPDX-License-Identifier: GPL-2.0 */
/*
 * choose.h - which lifecycle fits a service, by what was seen of it from sweep to sweep.  Pure: it switches nothing.
 *
 * EBEE_AUTO chooses among exchange, http2 and grpc; EBEE_STUDY among connection, read-send and grpc.  A choice needs some
 * sweeps in a row that speak for it; what turned out wrong, or could not be had, is not tried again for a time that
 * doubles.
 */
#ifndef EBEE_CHOOSE_H
#define EBEE_CHOOSE_H

#include <stdbool.h>
#include <stdint.h>

#include "ebee.h"

enum {
	CHOOSE_VOTES = 3,      /* sweeps that must speak for a change */
	CHOOSE_NEVER_HIT = 5,  /* sweeps with reads and no call, until probes are given up */
	CHOOSE_REST = 100,     /* sweeps that what was wrong rests, at first */
	CHOOSE_MAX_REST = 10000,
	CHOOSE_FEW = 20,       /* too few requests to judge by how connections close */
};

/* Of one service, since the last step unless it says otherwise. */
struct choose_seen {
	uint64_t nr_http2, nr_tls, nr_plain, nr_unknown; /* connections by what they turned out to speak */
	uint64_t nr_connections; /* open now */
	uint64_t nr_begun;       /* requests */
	uint64_t nr_reads;       /* of a service that a library measures */
	uint64_t nr_opaque;      /* connections measured by stream that speak something else */
	uint64_t nr_lingering;   /* connections that live on after their answer, now */
	uint64_t nr_closed;      /* connections that closed soon after their only answer */
};

struct choose {
	enum ebee_lifecycle asked, in_use, wish;
	uint32_t votes;
	uint32_t rest[EBEE_NR_LIFECYCLES], next_rest[EBEE_NR_LIFECYCLES]; /* sweeps */
	uint64_t nr_opaque;          /* since requests began last */
	uint64_t nr_begun, nr_closed; /* since they were judged last */
	bool was_multiplexed;
	const char *reason;
};

/* asked: EBEE_AUTO or EBEE_STUDY.  in_use is what to begin with. */
void choose_init(struct choose *c, enum ebee_lifecycle asked);
/* One sweep later: true when in_use has changed.  The caller switches, or says choose_refused. */
bool choose_step(struct choose *c, const struct choose_seen *seen);
/* What was chosen last cannot be had; for_good: never.  in_use is what it was before. */
void choose_refused(struct choose *c, bool for_good);

#endif
