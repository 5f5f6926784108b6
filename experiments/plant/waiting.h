/* SPDX-License-Identifier: GPL-2.0 */
/*
 * waiting.h - requests that wait at a simulated service: queues over one bounded pool.  Pure apart from waiting_open.
 */
#ifndef PARTIES_WAITING_H
#define PARTIES_WAITING_H

#include "rng.h"
#include "topology.h"

enum { WAITING_MAX_QUEUES = TOPOLOGY_MAX_CORES, WAITING_NONE = UINT32_MAX };

struct request {
	uint64_t arrival_ns;
	uint64_t start_ns; /* when it was first taken up; meaningful when work_ns > 0 */
	double work_ns;    /* left at full speed; 0: not known yet */
	uint32_t next;
};

struct waiting {
	uint32_t nr; /* requests in all queues */
	uint32_t capacity, nr_used, free;
	struct request *pool;
	struct waiting_queue {
		uint32_t head, tail;
	} queues[WAITING_MAX_QUEUES];
};

/* -ENOMEM */
int waiting_open(struct waiting *ret, uint32_t capacity);
void waiting_close(struct waiting *w);

static inline bool waiting_is_empty(const struct waiting *w, uint32_t queue)
{
	return w->queues[queue].head == WAITING_NONE;
}

/* At the tail or the head of a queue; false when the pool is used up. */
bool waiting_append(struct waiting *w, uint32_t queue, const struct request *request);
bool waiting_prepend(struct waiting *w, uint32_t queue, const struct request *request);
/* The head of a queue that is not empty. */
struct request waiting_take(struct waiting *w, uint32_t queue);
/* Takes everything off the first nr_old queues, oldest first, and appends each to one of nr_new drawn at random. */
void waiting_hash(struct waiting *w, uint32_t nr_old, uint32_t nr_new, struct rng *rng);

#endif
