/* SPDX-License-Identifier: GPL-2.0 */
/*
 * waiting.h - requests that are due but have no connection yet: a queue of their intended instants.  Allocates;
 * otherwise pure.
 */
#ifndef PARTIES_LOAD_WAITING_H
#define PARTIES_LOAD_WAITING_H

#include <stddef.h>
#include <stdint.h>

struct waiting {
	uint64_t *intended_ns; /* ring; capacity is a power of two */
	size_t capacity, head, nr;
};

/* An empty queue is all zero.  -ENOMEM. */
int waiting_push(struct waiting *w, uint64_t intended_ns);
/* nr > 0 */
uint64_t waiting_pop(struct waiting *w);
/* The instant that the next pop gives; UINT64_MAX: none. */
uint64_t waiting_first(const struct waiting *w);
void waiting_free(struct waiting *w);

#endif
