/* SPDX-License-Identifier: GPL-2.0 */
/*
 * station.h - one service of the simulated machine: Poisson arrivals, a queue, and as many servers as it owns cores.
 * Pure apart from station_open, which allocates.  Time is virtual and only moves in station_advance.
 *
 * Causal: latency is booked when a request completes, and nothing knows of events that have not happened.  A change of
 * speed rescales what is left of running requests; a core that is taken puts its request back at the head of the queue
 * with what is left of it.  A queue holds ten seconds of full load; a request that finds it full is turned away and
 * counted as a listen drop, as a client would give up.
 */
#ifndef PARTIES_STATION_H
#define PARTIES_STATION_H

#include "draw.h"
#include "ports.h"

enum station_queue {
	STATION_SHARED,     /* one queue, any free server takes its head */
	STATION_PER_THREAD, /* a queue per server; requests are hashed on them and hashed anew when the servers change */
};

struct station_params {
	uint64_t service_ns;   /* mean service time at full speed, undisturbed */
	double cv;             /* of a lognormal service time; 0 makes it constant */
	enum draw_shape shape;
	enum station_queue queue;
	double max_load;       /* requests per second at 100 % */
	uint64_t target_ns;
	uint32_t percentile_permille;
	uint64_t period_ns;    /* of a bandwidth quota */
	uint64_t seed;
};

struct station;

/* Starts at time 0 with no server and no load.  -ENOMEM. */
int station_open(struct station **ret, const struct station_params *params);
void station_close(struct station *s);

/* From now on.  All of these may be called with what is already so. */
void station_set_load(struct station *s, double share); /* of max_load */
void station_set_servers(struct station *s, uint32_t nr_servers);
/* Service times become `slowdown` times those at full speed. */
void station_set_slowdown(struct station *s, double slowdown);
/*
 * A CFS quota: in each period the servers run at full speed until permille of their time is used up, then stand still.
 * 1000 takes the quota away.
 */
void station_set_quota(struct station *s, uint32_t permille);

void station_advance(struct station *s, uint64_t until_ns);
/* Ends the window at the present instant, starts the next. */
void station_read(struct station *s, uint64_t window_ns, struct sample *ret);

#endif
