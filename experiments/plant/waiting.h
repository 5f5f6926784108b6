/* SPDX-License-Identifier: GPL-2.0 */
/*
 * waiting.h - requests that wait at a simulated service: queues over one bounded pool.  Pure apart from waiting_open.
 */
#ifndef PARTIES_WAITING_H
#define PARTIES_WAITING_H

#include <stdbool.h>
#include <stdint.h>

#include "topology.h"

enum { WAITING_MAX_QUEUES = TOPOLOGY_MAX_CORES, WAITING_NONE = UINT32_MAX };

struct request {
	uint64_t sent_ns;    /* by its client */
	uint64_t arrival_ns; /* at the service */
	uint64_t start_ns;   /* when it was first taken up; 0: not yet */
	double work_ns;      /* left, at full speed */
	uint32_t hash;       /* of its connection */
	uint32_t next, previous;
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

/* At the tail or the head of a queue, into a pool that is not full. */
void waiting_append(struct waiting *w, uint32_t queue, const struct request *request);
void waiting_prepend(struct waiting *w, uint32_t queue, const struct request *request);

/* The head of a queue that is not empty; it stays readable until the next is appended or prepended. */
static inline const struct request *waiting_take(struct waiting *w, uint32_t queue)
{
	uint32_t i = w->queues[queue].head;
	struct request *request = &w->pool[i];

	w->queues[queue].head = request->next;
	if (request->next != WAITING_NONE)
		w->pool[request->next].previous = WAITING_NONE;
	request->next = w->free;
	w->free = i;
	w->nr--;
	return request;
}

/* The queue of nr that belongs to a connection. */
static inline uint32_t waiting_queue_of(uint32_t hash, uint32_t nr)
{
	return (uint32_t)((uint64_t)hash * nr >> 32);
}

/* Takes everything off the first nr_old queues, oldest first, and appends each to its own of nr_new. */
void waiting_hash(struct waiting *w, uint32_t nr_old, uint32_t nr_new);

#endif
