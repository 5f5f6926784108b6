/* SPDX-License-Identifier: GPL-2.0 */
/*
 * source.h - the clients of a simulated service and the network before it: a Poisson process of requests (or of
 * batches), each with its work and connection, which pass one network queue in order.  Pure apart from source_open.
 *
 * What is drawn depends on the seed and the load alone: whatever a policy does, it meets the same requests.
 */
#ifndef PARTIES_SOURCE_H
#define PARTIES_SOURCE_H

#include "draw.h"
#include "waiting.h"

struct source_params {
	uint64_t service_ns;       /* mean work of a request, or of a batch */
	double cv;                 /* of a lognormal; 0 makes it constant */
	enum draw_shape shape;
	bool hashed;               /* requests get a connection */
	uint64_t network_delay_ns; /* of every request on its way */
	uint64_t network_ns;       /* mean time a request holds the network queue, exponential; 0: no queue */
	uint32_t room;             /* requests on the way; more are lost */
	uint64_t seed;
};

struct source {
	struct source_params params;
	struct rng rng;
	struct draw work, unit; /* unit: exponential with mean 1 */
	double per_ns, gap_ns;  /* requests; mean time between two */
	uint64_t send_ns;       /* of the next; UINT64_MAX: never */
	uint64_t free_ns;       /* when the network queue is empty */
	uint64_t nr_sent, nr_lost;
	struct request *way;    /* a ring of requests on their way, in order */
	uint32_t first, nr;
};

/* -ENOMEM */
int source_open(struct source *ret, const struct source_params *params);
void source_close(struct source *src);
/* Requests per ns from now on. */
void source_set_rate(struct source *src, double per_ns, uint64_t now_ns);
/* When something happens next: a request is sent, or arrives. */
uint64_t source_next_ns(const struct source *src);
/* The next request that arrives at the service by until_ns, false when there is none. */
bool source_take(struct source *src, uint64_t until_ns, struct request *ret);

#endif
