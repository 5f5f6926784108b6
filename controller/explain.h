/* SPDX-License-Identifier: GPL-2.0 */
/*
 * explain.h - why a service has what it has: of a run's ticks, the last decisions that concern the service.  Pure but
 * for memory and the stream; believes nothing of its input.
 */
#ifndef PARTIES_EXPLAIN_H
#define PARTIES_EXPLAIN_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

enum { EXPLAIN_MAX = 1000 };

struct explain_entry {
	json_t *tick;
	double until_s;      /* the same again until then; NAN: once */
	double cores, speed; /* of the service before; NAN: unknown */
};

struct explain {
	const char *name;
	size_t index; /* of the service */
	json_t *goal; /* its limits, from the header */
	uint32_t nr_wanted, nr;
	struct explain_entry *entries; /* a ring: number n at n modulo nr_wanted */
	json_t *last;                  /* tick */
	double changed_s;              /* when its cores or speed changed last; NAN: not that we saw */
};

/* NULL, or the reason why the header cannot be used: no such service (then the names are in `names`), or no header. */
const char *explain_open(struct explain *e, const json_t *header, const char *name, uint32_t nr_wanted,
			 char names[256]);
/* Ticks in their order, one that was taken already is passed over; `until_s` NAN: it happened once. */
void explain_take(struct explain *e, json_t *tick, double until_s);
/* What it has, and why, the newest decision first. */
void explain_print(const struct explain *e, FILE *out);
void explain_close(struct explain *e);

#endif
