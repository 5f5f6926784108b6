// SPDX-License-Identifier: GPL-2.0
/*
 * source.c - draws requests and brings them through the network.  Pure apart from source_open; servers are not its
 * business.
 */
#include "source.h"

#include <errno.h>
#include <stdlib.h>

static const uint64_t never = UINT64_MAX;

static bool has_network(const struct source *src)
{
	return src->params.network_delay_ns || src->params.network_ns;
}

int source_open(struct source *ret, const struct source_params *params)
{
	*ret = (struct source){ .params = *params, .send_ns = never };
	if (has_network(ret))
		ret->way = calloc(params->room, sizeof(*ret->way));
	if (has_network(ret) && !ret->way)
		return -ENOMEM;
	rng_seed(&ret->rng, params->seed);
	draw_init(&ret->work, params->shape, (double)params->service_ns, params->cv);
	draw_init(&ret->unit, DRAW_EXPONENTIAL, 1, 1);
	return 0;
}

void source_close(struct source *src)
{
	free(src->way);
}

static void plan(struct source *src, uint64_t now_ns)
{
	src->send_ns = never;
	if (src->per_ns > 0)
		src->send_ns = now_ns + (uint64_t)(int64_t)(draw_next(&src->unit, &src->rng) * src->gap_ns + 0.5);
}

/* Poisson arrivals have no memory, so a new rate may simply draw anew. */
void source_set_rate(struct source *src, double per_ns, uint64_t now_ns)
{
	if (per_ns == src->per_ns)
		return;
	src->per_ns = per_ns;
	src->gap_ns = per_ns > 0 ? 1 / per_ns : 0;
	plan(src, now_ns);
}

static void send(struct source *src, struct request *ret)
{
	*ret = (struct request){ .sent_ns = src->send_ns, .arrival_ns = src->send_ns,
				 .work_ns = draw_next(&src->work, &src->rng) };
	if (src->params.hashed)
		ret->hash = (uint32_t)(rng_next(&src->rng) >> 32);
	src->nr_sent++;
	plan(src, src->send_ns);
}

static void enter_network(struct source *src)
{
	struct request request;
	uint64_t hold_ns = 0;

	send(src, &request);
	if (src->nr == src->params.room) {
		src->nr_lost++;
		return;
	}
	if (src->params.network_ns)
		hold_ns = (uint64_t)(draw_next(&src->unit, &src->rng) * (double)src->params.network_ns + 0.5);
	src->free_ns = (src->free_ns > request.sent_ns ? src->free_ns : request.sent_ns) + hold_ns;
	request.arrival_ns = src->free_ns + src->params.network_delay_ns;
	src->way[(src->first + src->nr++) % src->params.room] = request;
}

uint64_t source_next_ns(const struct source *src)
{
	uint64_t arrival_ns = src->nr ? src->way[src->first].arrival_ns : never;

	return arrival_ns < src->send_ns ? arrival_ns : src->send_ns;
}

static bool leave_network(struct source *src, uint64_t until_ns, struct request *ret)
{
	uint64_t next_ns;

	while ((next_ns = source_next_ns(src)) <= until_ns) {
		if (!src->nr || src->way[src->first].arrival_ns > next_ns) {
			enter_network(src);
			continue;
		}
		*ret = src->way[src->first];
		src->first = (src->first + 1) % src->params.room;
		src->nr--;
		return true;
	}
	return false;
}

bool source_take(struct source *src, uint64_t until_ns, struct request *ret)
{
	if (src->way)
		return leave_network(src, until_ns, ret);
	if (src->send_ns > until_ns)
		return false;
	send(src, ret);
	return true;
}
