// SPDX-License-Identifier: GPL-2.0
/*
 * waiting.c - a growing first-in first-out ring.  Allocates; otherwise pure: knows neither clock nor connection.
 */
#include "waiting.h"

#include <errno.h>
#include <stdlib.h>

static int grow(struct waiting *w)
{
	size_t capacity = w->capacity ? w->capacity * 2 : 1024, i;
	uint64_t *ring = malloc(capacity * sizeof(*ring));

	if (!ring)
		return -ENOMEM;
	for (i = 0; i < w->nr; i++)
		ring[i] = w->intended_ns[(w->head + i) & (w->capacity - 1)];
	free(w->intended_ns);
	*w = (struct waiting){ .intended_ns = ring, .capacity = capacity, .nr = w->nr };
	return 0;
}

int waiting_push(struct waiting *w, uint64_t intended_ns)
{
	int err = w->nr == w->capacity ? grow(w) : 0;

	if (err)
		return err;
	w->intended_ns[(w->head + w->nr++) & (w->capacity - 1)] = intended_ns;
	return 0;
}

uint64_t waiting_pop(struct waiting *w)
{
	uint64_t intended_ns = w->intended_ns[w->head];

	w->head = (w->head + 1) & (w->capacity - 1);
	w->nr--;
	return intended_ns;
}

uint64_t waiting_first(const struct waiting *w)
{
	return w->nr ? w->intended_ns[w->head] : UINT64_MAX;
}

void waiting_free(struct waiting *w)
{
	free(w->intended_ns);
	*w = (struct waiting){ 0 };
}
