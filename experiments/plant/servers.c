// SPDX-License-Identifier: GPL-2.0
/*
 * servers.c - servers that take one request at a time, first come first served, from one queue or from one each.  Pure
 * apart from servers_open.
 *
 * A server says when it will be free, and a request that arrives looks whether that has been already: what ended
 * meanwhile is told then, or at the latest when run() gets there.  So an ordinary request costs one event, not two. 
 * Which server of many is free first stands at the root of a tree of pairwise minima.
 */
#include "discipline.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { MAX_SERVERS = WAITING_MAX_QUEUES, SERVER_BITS = 10, SERVER_MASK = (1 << SERVER_BITS) - 1 };
static const uint64_t never = UINT64_MAX;

struct servers {
	struct discipline_params params;
	uint64_t now_ns;
	uint32_t nr;
	double slowdown;
	bool frozen;
	uint64_t frozen_ns;
	uint64_t begun_ns; /* time of all requests ever begun, as if all had finished */
	struct waiting waiting;             /* a shared queue is the first */
	uint64_t free_ns[MAX_SERVERS];      /* from when on, perhaps long ago */
	bool busy[MAX_SERVERS];             /* its request has not been told done */
	struct request running[MAX_SERVERS];
	uint32_t nr_leaves;                 /* of a shared queue's tree; a power of two */
	uint64_t tree[2 * MAX_SERVERS];     /* when free << SERVER_BITS | server; children of i: 2i and 2i + 1 */
};

static int servers_open(void **ret, const struct discipline_params *params)
{
	struct servers *s = calloc(1, sizeof(*s));

	if (!s || waiting_open(&s->waiting, params->room + MAX_SERVERS)) {
		free(s);
		return -ENOMEM;
	}
	s->params = *params;
	s->slowdown = 1;
	s->nr_leaves = 1;
	s->tree[1] = never;
	for (uint32_t i = 0; i < MAX_SERVERS; i++)
		s->free_ns[i] = never;
	*ret = s;
	return 0;
}

static void servers_close(void *servers)
{
	struct servers *s = servers;

	if (s)
		waiting_close(&s->waiting);
	free(s);
}

/* --- which server is free first --------------------------------------------------------------------------------- */

static inline uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline void tree_set(struct servers *s, uint32_t server, uint64_t free_ns)
{
	uint32_t node = s->nr_leaves + server;
	uint64_t key = free_ns << SERVER_BITS | server;

	s->tree[node] = key;
	for (; node > 1; node /= 2) {
		key = smaller(key, s->tree[node ^ 1]);
		s->tree[node / 2] = key;
	}
}

static void tree_build(struct servers *s)
{
	s->nr_leaves = 1;
	while (s->nr_leaves < s->nr)
		s->nr_leaves *= 2;
	for (uint32_t i = 0; i < s->nr_leaves; i++)
		s->tree[s->nr_leaves + i] = i < s->nr ? s->free_ns[i] << SERVER_BITS | i : never;
	for (uint32_t node = s->nr_leaves; node-- > 1;)
		s->tree[node] = smaller(s->tree[2 * node], s->tree[2 * node + 1]);
}

/* --- requests ---------------------------------------------------------------------------------------------------- */

static inline void end(struct servers *s, uint32_t server)
{
	s->busy[server] = false;
	s->params.done(s->params.ctx, &s->running[server], s->free_ns[server]);
}

static inline void begin(struct servers *s, uint32_t server, const struct request *request, uint64_t now_ns)
{
	uint64_t duration_ns = (uint64_t)(int64_t)(request->work_ns * s->slowdown + 0.5);

	if (s->busy[server])
		end(s, server);
	s->running[server] = *request;
	if (!request->start_ns)
		s->running[server].start_ns = now_ns;
	s->busy[server] = true;
	s->free_ns[server] = now_ns + duration_ns;
	s->begun_ns += duration_ns;
	if (!s->params.per_thread)
		tree_set(s, server, s->free_ns[server]);
}

/* A server that is free while its queue is not is free from the present on (refresh). */
static inline void drain_shared(struct servers *s, uint64_t until_ns)
{
	while (!waiting_is_empty(&s->waiting, 0) && s->tree[1] >> SERVER_BITS <= until_ns) {
		uint32_t server = s->tree[1] & SERVER_MASK;

		begin(s, server, waiting_take(&s->waiting, 0), s->free_ns[server]);
	}
}

static inline void drain_thread(struct servers *s, uint32_t server, uint64_t until_ns)
{
	while (!waiting_is_empty(&s->waiting, server) && s->free_ns[server] <= until_ns)
		begin(s, server, waiting_take(&s->waiting, server), s->free_ns[server]);
}

static void drain(struct servers *s, uint64_t until_ns)
{
	if (s->frozen)
		return;
	if (!s->params.per_thread)
		drain_shared(s, until_ns);
	for (uint32_t i = 0; s->params.per_thread && i < s->nr; i++)
		drain_thread(s, i, until_ns);
}

static bool wait_in(struct servers *s, uint32_t queue, const struct request *request, uint64_t now_ns)
{
	if (s->waiting.nr >= s->params.room)
		drain(s, now_ns); /* what has long begun, only not been looked at */
	if (s->waiting.nr >= s->params.room)
		return false;
	waiting_append(&s->waiting, queue, request);
	return true;
}

static bool servers_arrive(void *servers, const struct request *request, uint64_t now_ns)
{
	struct servers *s = servers;
	uint32_t server, queue = 0;

	if (s->params.per_thread) {
		server = queue = waiting_queue_of(request->hash, s->nr);
		if (!s->frozen)
			drain_thread(s, server, now_ns);
	} else {
		if (!s->frozen)
			drain_shared(s, now_ns);
		server = s->tree[1] & SERVER_MASK; /* nonsense when there is none: then it is never free */
		if (s->tree[1] == never)
			return wait_in(s, queue, request, now_ns);
	}
	if (s->frozen || s->free_ns[server] > now_ns)
		return wait_in(s, queue, request, now_ns);
	begin(s, server, request, now_ns);
	return true;
}

static void servers_run(void *servers, uint64_t until_ns)
{
	struct servers *s = servers;

	s->now_ns = until_ns;
	drain(s, until_ns);
	for (uint32_t i = 0; !s->frozen && i < s->nr; i++)
		if (s->busy[i] && s->free_ns[i] <= until_ns)
			end(s, i);
}

/* --- changes ------------------------------------------------------------------------------------------------------ */

/* What is left of running requests is counted from here. */
static uint64_t present(const struct servers *s)
{
	return s->frozen ? s->frozen_ns : s->now_ns;
}

/* After any change: who is free is free from now on, and takes what waits. */
static void refresh(struct servers *s)
{
	for (uint32_t i = 0; i < s->nr; i++)
		if (!s->busy[i])
			s->free_ns[i] = s->now_ns;
	tree_build(s);
	drain(s, s->now_ns);
}

/* The pool has room for one more per server than may wait. */
static void put_back(struct servers *s, uint32_t server)
{
	uint64_t left_ns = s->free_ns[server] - present(s);

	s->busy[server] = false;
	s->begun_ns -= left_ns;
	s->running[server].work_ns = fmax((double)left_ns / s->slowdown, 1);
	waiting_prepend(&s->waiting, s->params.per_thread ? server : 0, &s->running[server]);
}

static uint32_t last_begun(const struct servers *s, uint32_t nr)
{
	uint32_t last = WAITING_NONE;

	for (uint32_t i = 0; i < nr; i++)
		if (s->busy[i] && (last == WAITING_NONE || s->running[i].start_ns > s->running[last].start_ns))
			last = i;
	return last;
}

/* Which of the servers are taken does not matter where one queue feeds all: the oldest requests stay. */
static void preempt_shared(struct servers *s, uint32_t nr_old)
{
	uint32_t nr_busy = 0, to = 0;

	for (uint32_t i = 0; i < nr_old; i++)
		nr_busy += s->busy[i];
	for (; nr_busy > s->nr; nr_busy--)
		put_back(s, last_begun(s, nr_old));
	for (uint32_t i = 0; i < nr_old; i++) {
		if (!s->busy[i])
			continue;
		s->running[to] = s->running[i];
		s->free_ns[to] = s->free_ns[i];
		s->busy[i] = false;
		s->busy[to++] = true;
	}
}

static void preempt_threads(struct servers *s, uint32_t nr_old)
{
	for (uint32_t i = s->nr; i < nr_old; i++)
		if (s->busy[i])
			put_back(s, i);
	waiting_hash(&s->waiting, nr_old ? nr_old : 1, s->nr ? s->nr : 1);
}

static void servers_set_servers(void *servers, uint32_t nr)
{
	struct servers *s = servers;
	uint32_t nr_old = s->nr;

	s->nr = nr;
	if (s->params.per_thread)
		preempt_threads(s, nr_old);
	else
		preempt_shared(s, nr_old);
	for (uint32_t i = nr; i < nr_old; i++)
		s->free_ns[i] = never;
	refresh(s);
}

static void servers_set_slowdown(void *servers, double slowdown)
{
	struct servers *s = servers;
	double ratio = slowdown / s->slowdown;

	s->slowdown = slowdown;
	for (uint32_t i = 0; i < s->nr; i++) {
		uint64_t left_ns = s->busy[i] ? s->free_ns[i] - present(s) : 0;
		uint64_t scaled_ns = (uint64_t)((double)left_ns * ratio + 0.5);

		s->free_ns[i] += scaled_ns - left_ns;
		s->begun_ns += scaled_ns - left_ns;
	}
	refresh(s);
}

static void servers_set_frozen(void *servers, bool frozen)
{
	struct servers *s = servers;

	if (frozen) {
		s->frozen = true;
		s->frozen_ns = s->now_ns;
		return;
	}
	for (uint32_t i = 0; i < s->nr; i++)
		if (s->busy[i])
			s->free_ns[i] += s->now_ns - s->frozen_ns;
	s->frozen = false;
	refresh(s);
}

static struct discipline_state servers_look(const void *servers)
{
	const struct servers *s = servers;
	struct discipline_state state = { 0, s->waiting.nr, never, s->begun_ns };

	for (uint32_t i = 0; i < s->nr; i++) {
		if (!s->busy[i])
			continue;
		state.nr_running++;
		state.nr_inside++;
		state.next_ns = smaller(state.next_ns, s->free_ns[i]);
		state.busy_ns -= s->free_ns[i] - present(s);
	}
	return state;
}

static void servers_each(const void *servers, bool (*see)(void *ctx, const struct request *request), void *ctx)
{
	const struct servers *s = servers;
	const struct waiting *w = &s->waiting;
	uint32_t nr_queues = s->params.per_thread && s->nr ? s->nr : 1;

	for (uint32_t i = 0; i < s->nr; i++)
		if (s->busy[i])
			see(ctx, &s->running[i]);
	for (uint32_t q = 0; q < nr_queues; q++) {
		uint32_t i = waiting_is_empty(w, q) ? WAITING_NONE : w->queues[q].tail;

		while (i != WAITING_NONE && see(ctx, &w->pool[i]))
			i = w->pool[i].previous;
		if (i != WAITING_NONE)
			see(ctx, &w->pool[w->queues[q].head]);
	}
}

const struct discipline_ops servers_ops = {
	servers_open, servers_close, servers_arrive, servers_run, servers_set_servers, servers_set_slowdown,
	servers_set_frozen, servers_look, servers_each,
};
