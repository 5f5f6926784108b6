// SPDX-License-Identifier: GPL-2.0
/*
 * waiting.c - linked queues over one array of requests.  Pure apart from waiting_open; it knows no time and no server.
 */
#include "waiting.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

int waiting_open(struct waiting *ret, uint32_t capacity)
{
	*ret = (struct waiting){ .capacity = capacity, .free = WAITING_NONE };
	for (int i = 0; i < WAITING_MAX_QUEUES; i++)
		ret->queues[i] = (struct waiting_queue){ WAITING_NONE, WAITING_NONE };
	ret->pool = calloc(capacity, sizeof(*ret->pool));
	return ret->pool ? 0 : -ENOMEM;
}

void waiting_close(struct waiting *w)
{
	free(w->pool);
}

/* Slots never used are taken last, so that a pool for bad times costs memory only in bad times. */
static uint32_t slot_new(struct waiting *w, const struct request *request)
{
	uint32_t i = w->free;

	assert(w->nr < w->capacity);
	if (i != WAITING_NONE)
		w->free = w->pool[i].next;
	else
		i = w->nr_used++;
	w->pool[i] = *request;
	w->nr++;
	return i;
}

static void link_last(struct waiting *w, struct waiting_queue *queue, uint32_t i)
{
	w->pool[i].next = w->pool[i].previous = WAITING_NONE;
	if (queue->head == WAITING_NONE) {
		queue->head = i;
	} else {
		w->pool[queue->tail].next = i;
		w->pool[i].previous = queue->tail;
	}
	queue->tail = i;
}

void waiting_append(struct waiting *w, uint32_t queue, const struct request *request)
{
	link_last(w, &w->queues[queue], slot_new(w, request));
}

void waiting_prepend(struct waiting *w, uint32_t queue, const struct request *request)
{
	struct waiting_queue *q = &w->queues[queue];
	uint32_t i = slot_new(w, request);

	w->pool[i].next = q->head;
	w->pool[i].previous = WAITING_NONE;
	if (q->head == WAITING_NONE)
		q->tail = i;
	else
		w->pool[q->head].previous = i;
	q->head = i;
}

static uint32_t find_oldest(const struct waiting *w, uint32_t nr_queues)
{
	uint32_t oldest = WAITING_NONE;

	for (uint32_t q = 0; q < nr_queues; q++)
		if (!waiting_is_empty(w, q) &&
		    (oldest == WAITING_NONE ||
		     w->pool[w->queues[q].head].arrival_ns < w->pool[w->queues[oldest].head].arrival_ns))
			oldest = q;
	return oldest;
}

void waiting_hash(struct waiting *w, uint32_t nr_old, uint32_t nr_new)
{
	struct waiting_queue all = { WAITING_NONE, WAITING_NONE };
	uint32_t q;

	while ((q = find_oldest(w, nr_old)) != WAITING_NONE) {
		uint32_t i = w->queues[q].head;

		w->queues[q].head = w->pool[i].next;
		link_last(w, &all, i);
	}
	while (all.head != WAITING_NONE) {
		uint32_t i = all.head;

		all.head = w->pool[i].next;
		link_last(w, &w->queues[waiting_queue_of(w->pool[i].hash, nr_new)], i);
	}
}
