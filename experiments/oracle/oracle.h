/* SPDX-License-Identifier: GPL-2.0 */
/*
 * oracle.h - what nobody who steers can know: with which shares a plant's load can be held at all, and the least
 * power, or the most best-effort work, for which that can be had.  Glue over levels.h.
 *
 * It knows the load one tick ahead, takes for every 1 % of load the cheapest calm shares that fit the machine
 * together, and switches at no cost.  A calm share has at most 0.25 % of its judged windows violated and at most the
 * allowed share of requests late.
 */
#ifndef PARTIES_ORACLE_H
#define PARTIES_ORACLE_H

#include "levels.h"

struct oracle;

struct oracle_answer {
	bool feasible;      /* valid shares for all services fit the machine */
	double power_w;     /* the least, idle cores included, without best-effort work; 0 where no calm shares fit */
	double be_rate;     /* the most best-effort work per second; 0 likewise */
	const struct level *levels[POLICY_MAX_SERVICES];
};

/* As levels_open. */
int oracle_open(struct oracle **ret, const struct plant *plant, const char *scenario, const char *dir, char *error,
		size_t error_size);
void oracle_close(struct oracle *o);
/* For the load at an instant.  Takes seconds where a load is met for the first time, and says on stderr what it does. */
int oracle_ask(struct oracle *o, uint64_t t_ns, struct oracle_answer *ret);
/* Where between two instants a load jumps by 5 points or more, to the ms; negative: nowhere. */
double oracle_jump_s(const struct oracle *o, uint64_t from_ns, uint64_t to_ns);
/* All of these shares are valid. */
bool oracle_is_valid(const struct oracle *o, const struct oracle_answer *answer, const struct policy_share *shares);

#endif
