/* SPDX-License-Identifier: GPL-2.0 */
/*
 * station.h - one service of the simulated machine: clients, perhaps a network queue, as many servers as it owns cores,
 * and perhaps disks behind them.  Pure apart from station_open, which allocates.  Time is virtual and only moves in
 * station_advance.
 *
 * Causal: latency is booked when a request completes, and nothing knows of events that have not happened.  A change of
 * speed rescales what is left of running requests; a core that is taken puts its request back at the head of the queue
 * with what is left of it.  A queue holds ten seconds of full load; a request that finds it full is turned away and
 * counted as a listen drop, as a client would give up.
 *
 * A batch is that many requests that arrive at once, are worked on in one go and are answered one after another, evenly
 * spread over it.  Its members are booked when the batch is done, each with its own latency.
 */
#ifndef PARTIES_STATION_H
#define PARTIES_STATION_H

#include "draw.h"
#include "ports.h"

enum station_queue {
	STATION_SHARED,            /* one queue, any free server takes its head */
	STATION_PER_THREAD,        /* a queue per server; connections are hashed on them, anew when they change */
	STATION_PROCESSOR_SHARING, /* no queue: all requests share the servers evenly */
};

struct station_params {
	uint64_t service_ns;   /* mean service time at full speed, undisturbed; of a batch if there are batches */
	double cv;             /* of a lognormal service time; 0 makes it constant */
	enum draw_shape shape;
	enum station_queue queue;
	uint32_t batch;        /* requests that come and are served together; 0 is 1 */
	uint32_t nr_disks;     /* each request then waits for one of them, whatever cores and speed; 0: no disk */
	uint64_t disk_ns;      /* mean time it holds the disk, exponential */
	uint64_t network_delay_ns, network_ns; /* as in source.h */
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

/*
 * What a window showed to the server's kernel, and to the clients, whose requests also wait in the network: latencies,
 * counts of requests and what is in flight are from there, the rest is the same; behind a network a client's residency
 * and service time are 0.  Each has windows of its own: reading ends one at the present instant and starts the next.
 */
void station_read(struct station *s, uint64_t window_ns, struct sample *ret);
void station_read_client(struct station *s, uint64_t window_ns, struct sample *ret);

#endif
