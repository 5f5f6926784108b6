/* SPDX-License-Identifier: GPL-2.0 */
/*
 * demand.h - what one service needs, learned while it runs: how many requests come, how much CPU each costs at each speed,
 * and how its tail grows as its cores fill up.  Pure.
 *
 * The predicted percentile is  cost * (tail + wait * w(cores, utilisation)).  `cost` is CPU time per request, `tail` what
 * the percentile is without queueing, in costs; w is the same percentile of the waiting time of a queue with that many
 * servers (Sakasegawa's approximation of the chance to wait, an exponential wait after that), and `wait` says how far this
 * service is from such a queue.  Only rate and cost are measured directly; tail and wait follow the latencies seen.
 * It knows nothing of clocks in kHz: the cost at a speed is what it was there, or bounded by the nearest known speed.
 */
#ifndef PARTIES_DEMAND_H
#define PARTIES_DEMAND_H

#include "policy.h"

enum { DEMAND_MAX_SPEEDS = 128 };

struct demand {
	bool known;        /* a request was seen, so that the rest means something */
	double rate;       /* requests per second, smoothed; follows a clear change at once */
	double busy_rate;  /* the same with what chance and the rest of a ramp may add */
	double backlog;    /* requests waiting beyond what is usual */
	double cost_ns;    /* CPU time per request at slowness 1 */
	double nr_costed;  /* requests that rests on, bounded: old ones fade */
	double tail, wait;
	double nr_tailed;  /* requests those rest on */
	double slowness[DEMAND_MAX_SPEEDS]; /* cost at a speed relative to the first; 0: never been there */
	double nr_timed[DEMAND_MAX_SPEEDS]; /* requests that rests on */
};

void demand_init(struct demand *d);
/* One window.  `settled`: its allocation was in force in the window before as well. */
void demand_observe(struct demand *d, const struct policy_service *s, uint64_t window_ns, bool settled);
/* CPU time per request. */
double demand_cost_ns(const struct demand *d, uint32_t speed);
/* Cores' worth of work that comes, the backlog not counted. */
double demand_work(const struct demand *d, uint32_t speed);
/* Speeds that have been tried, or are next to one that has. */
bool demand_may_try(const struct demand *d, uint32_t speed);
/* Requests per second that must be served for now: the busy rate, and the backlog in a quarter of a second. */
double demand_rush(const struct demand *d);
double demand_latency_ns(const struct demand *d, double rate, uint32_t cores, uint32_t speed);
/* Fewest cores from `min` to `max` that keep the latency in the rush; max + 1 when there are none. */
uint32_t demand_cores(const struct demand *d, uint32_t speed, double latency_ns, uint32_t min, uint32_t max);

#endif
