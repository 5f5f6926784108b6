/* SPDX-License-Identifier: GPL-2.0 */
/*
 * score.h - how near a simulated run came to its oracle, and how fast it found allocations that last.  Pure.
 *
 * A change is the start, or an instant at which a load jumps by 5 points or more.  Its times count until the next
 * change:
 *	first ok  the first window after it in which every service met its target
 *	valid     the first instant from which the applied allocation stays valid for 10 s, or until the next change
 *	recover   the end of the last judged window that was violated; 0 when none was
 * Energy is compared only without best-effort work, which would otherwise be credited with the cores it takes; best-
 * effort work only with it.  Windows in which nothing holds count for neither.
 */
#ifndef PARTIES_SCORE_H
#define PARTIES_SCORE_H

#include "oracle.h"
#include "record.h"

struct score {
	double energy_j, least_energy_j, be_work, most_be_work; /* over feasible windows */
	double feasible_s, valid_s;
	double since_s;       /* valid from here on; negative: it is not */
	uint64_t violated_ns; /* of all services, until now */
	struct totals before; /* at the end of the last tick */
	struct record_oracle result;
};

void score_init(struct score *s);
/* A load jumps at t_s, which may be up to an interval after the last tick. */
void score_change(struct score *s, double t_s);
/* After each tick.  `was` answers for its window, `valid` and `feasible` for the time from now on. */
void score_tick(struct score *s, const struct tick *tick, const struct oracle_answer *was, bool feasible, bool valid);
/* Fills s->result, once, at the end. */
void score_finish(struct score *s, const struct tick *tick);

#endif
