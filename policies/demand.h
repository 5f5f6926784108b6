/* SPDX-License-Identifier: GPL-2.0 */
/*
 * demand.h - what one service needs, learned while it runs: how many requests come, how much CPU each costs at each
 * speed, and how its tail grows as its cores fill up.  Pure.
 *
 * The predicted percentile is  cost * tail * (1 + wait * w(servers, utilisation)).  `cost` is CPU time per request,
 * `tail` what the percentile is without queueing, in costs; w is the same percentile of the waiting time of a queue
 * with that many servers (Sakasegawa's approximation of the chance to wait, an exponential wait after that).  Two such
 * models are kept: one queue for all cores, or one for each core.  In both, tail and wait follow the latencies seen (an
 * extended Kalman filter over their logarithms); the model that expected them better is believed, both as long as chance
 * explains the difference.  Where more requests were late than it expected, as the caller found, both are moved until
 * they expect that.
 * Windows may be of any length: it learns when enough was seen or enough time has passed.
 * It knows nothing of clocks in kHz: the cost at a speed is what it was there, or bounded by the nearest known speed.
 */
#ifndef PARTIES_DEMAND_H
#define PARTIES_DEMAND_H

#include "policy.h"

enum { DEMAND_MAX_SPEEDS = 128 };
#define DEMAND_ENDLESS_NS 1e18

/* Logarithms of tail and wait, and what is not known of them (a covariance). */
struct demand_queue {
	double tail, wait;
	double var_tail, var_wait, cov;
	double surprise; /* of the latencies seen; older ones fade */
};

enum demand_kind { DEMAND_SHARED, DEMAND_PER_CORE, DEMAND_NR_KINDS };

/* Windows at one speed whose CPU time is not learned from yet. */
struct demand_work {
	uint32_t speed;
	double nr, cpu_ns, span_ns;
	double half_done; /* half of the requests that ran when it began: as much of their CPU time lies before it */
};

/* Windows, without full cores and without a queue from before, whose percentiles are not learned from yet. */
struct demand_waits {
	double nr, nr_windows, span_ns;
	double spare;   /* requests, fewer the fuller the cores were: what queues together is late together */
	double slowest, fourth_powers; /* of the percentiles in costs */
	double waits[DEMAND_NR_KINDS]; /* w, summed over requests */
};

struct demand {
	bool two_queues;
	bool known;        /* a request was seen, so that the rest means something */
	double memory_s;   /* over which the rate is averaged, since it last changed clearly */
	double rate;       /* requests per second, smoothed; follows a clear change at once */
	double busy_rate;  /* the same with what chance and the rest of a ramp may add */
	double backlog_rate; /* what more must be served so that the requests that wait are gone in about a target */
	double cost_ns;    /* CPU time per request at slowness 1 */
	double nr_costed;  /* requests that rests on, bounded: old ones fade */
	struct demand_queue queues[DEMAND_NR_KINDS];
	struct demand_work work;
	struct demand_waits waits;
	double age_ns, nr_left; /* in flight at the end of the last window */
	bool began_queued; /* more waited when the last window began than waits usually */
	double bunching;   /* of arrivals: how many times more they vary than those that know nothing of each other */
	double nr_before;  /* arrivals in the window before */
	double slowness[DEMAND_MAX_SPEEDS]; /* cost at a speed relative to the first; 0: never been there */
	double nr_timed[DEMAND_MAX_SPEEDS]; /* requests that rests on */
};

/* With one kind of queue only the shared one is believed. */
void demand_init(struct demand *d, bool two_queues);
/* One window. */
void demand_observe(struct demand *d, const struct policy_service *s, uint64_t window_ns);
/* The percentile is not below that with what the service has now, though it was predicted to be. */
void demand_correct(struct demand *d, const struct policy_service *s, double latency_ns);
/* CPU time per request. */
double demand_cost_ns(const struct demand *d, uint32_t speed);
/* Cores' worth of work that comes, the backlog not counted. */
double demand_work(const struct demand *d, uint32_t speed);
/* Speeds that have been tried, or are next to one that has. */
bool demand_may_try(const struct demand *d, uint32_t speed);
/* Requests per second that must be served for now: the busy rate, and what drains the backlog. */
double demand_rush(const struct demand *d);
/* The predicted percentile; where work comes faster than it is done, DEMAND_ENDLESS_NS times the utilisation. */
double demand_latency_ns(const struct demand *d, double rate, uint32_t cores, uint32_t speed);
/* Fewer than that cannot keep up with the rush. */
uint32_t demand_least_cores(const struct demand *d, uint32_t speed);
/* Fewest cores from `min` to `max` that keep the latency in the rush; max + 1 when there are none. */
uint32_t demand_cores(const struct demand *d, uint32_t speed, double latency_ns, uint32_t min, uint32_t max);

#endif
