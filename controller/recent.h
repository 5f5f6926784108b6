/* SPDX-License-Identifier: GPL-2.0 */
/*
 * recent.h - what a run did lately, for those who ask: its last decisions as the record has them, and the course of all
 * of it in a fixed number of points, which cover ever longer times.  Pure but for memory.
 */
#ifndef PARTIES_RECENT_H
#define PARTIES_RECENT_H

#include <stdio.h>

#include "tick.h"

enum { RECENT_DECISIONS = 32, RECENT_POINTS = 512 };

struct recent_decision {
	char *line; /* the tick as record_tick_json has it */
	enum policy_reason reason;
	int32_t subject;
	uint32_t nr_more; /* ticks since that decided nothing but the same again, */
	double until_s;   /* the last of them at this time */
};

struct recent {
	uint32_t nr_services;
	uint64_t nr_decisions; /* all; the last RECENT_DECISIONS are kept, number n at n modulo that */
	struct recent_decision decisions[RECENT_DECISIONS];
	uint64_t nr_ticks, ticks_per_point;
	struct recent_point *points; /* nr_services + 1 of each time */
};

/* -ENOMEM. */
int recent_init(struct recent *recent, uint32_t nr_services);
/* Call after every tick.  What there is no memory for is left out. */
void recent_add(struct recent *recent, const struct tick *tick);
/* A JSON array, the oldest first: {"tick": a record's tick, "more": nr_more, "until_s": until_s}. */
void recent_print_decisions(const struct recent *recent, FILE *out);
/*
 * A JSON object of arrays: t_s, be and idle (cores), and in "services" for each steer_us (the largest of the point's
 * ticks; null unknown), cores and speed (permille of
 * nominal; null where there is none).
 */
void recent_print_course(const struct recent *recent, const struct tick *tick, FILE *out);
void recent_free(struct recent *recent);

#endif
