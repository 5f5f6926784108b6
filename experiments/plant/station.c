// SPDX-License-Identifier: GPL-2.0
/*
 * station.c - the event loop of one simulated service.  Pure apart from station_open; it knows no other service, no
 * profile and no controller.
 */
#include "station.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "waiting.h"
#include "window.h"

enum { MAX_SERVERS = WAITING_MAX_QUEUES, MIN_QUEUE = 1024, MAX_QUEUE = 1 << 21 };
static const uint64_t never = UINT64_MAX;

struct running {
	uint64_t finish_ns, start_ns, arrival_ns;
	uint32_t server;
};

struct station {
	struct station_params params;
	struct draw draw;
	struct rng rng;

	uint64_t now_ns, arrival_ns;
	double share, slowdown;
	uint32_t nr_servers, nr_running;
	struct running running[MAX_SERVERS]; /* a heap: the first to finish on top */
	bool busy[MAX_SERVERS];              /* per-thread queues only */
	struct waiting waiting;              /* a shared queue is the first */

	uint32_t quota_permille;
	double budget_ns; /* server time left in this period */
	uint64_t period_end_ns;
	bool throttled;
	uint64_t throttled_at_ns;

	uint64_t begun_ns; /* time of all requests ever begun, as if all had finished */
	uint64_t nr_arrived, nr_late, nr_dropped, busy_read_ns, throttled_ns;
	struct exchange_cell cell;
	struct window window;
};

int station_open(struct station **ret, const struct station_params *params)
{
	struct station *s = calloc(1, sizeof(*s));
	double room = params->max_load * 10;

	if (!s)
		return -ENOMEM;
	if (waiting_open(&s->waiting, room < MIN_QUEUE ? MIN_QUEUE : room > MAX_QUEUE ? MAX_QUEUE : (uint32_t)room)) {
		free(s);
		return -ENOMEM;
	}
	s->params = *params;
	draw_init(&s->draw, params->shape, (double)params->service_ns, params->cv);
	rng_seed(&s->rng, params->seed);
	s->arrival_ns = never;
	s->slowdown = 1;
	s->quota_permille = 1000;
	window_start(&s->window, &s->cell, 1);
	*ret = s;
	return 0;
}

void station_close(struct station *s)
{
	if (s)
		waiting_close(&s->waiting);
	free(s);
}

static void heap_sink(struct station *s, uint32_t i)
{
	struct running moved = s->running[i];

	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= s->nr_running)
			break;
		if (child + 1 < s->nr_running && s->running[child + 1].finish_ns < s->running[child].finish_ns)
			child++;
		if (moved.finish_ns <= s->running[child].finish_ns)
			break;
		s->running[i] = s->running[child];
		i = child;
	}
	s->running[i] = moved;
}

static void heap_push(struct station *s, const struct running *r)
{
	uint32_t i = s->nr_running++;

	for (; i && s->running[(i - 1) / 2].finish_ns > r->finish_ns; i = (i - 1) / 2)
		s->running[i] = s->running[(i - 1) / 2];
	s->running[i] = *r;
}

/* Of any element; the order is repaired at once. */
static struct running heap_remove(struct station *s, uint32_t i)
{
	struct running removed = s->running[i];

	s->running[i] = s->running[--s->nr_running];
	for (uint32_t j = s->nr_running / 2; j-- > 0;)
		heap_sink(s, j);
	return removed;
}

static void begin(struct station *s, uint32_t server, uint64_t arrival_ns, uint64_t start_ns, double work_ns)
{
	uint64_t duration_ns = (uint64_t)(work_ns * s->slowdown + 0.5);

	heap_push(s, &(struct running){ s->now_ns + duration_ns, start_ns, arrival_ns, server });
	s->busy[server] = true;
	s->begun_ns += duration_ns;
}

static void begin_next(struct station *s, uint32_t server)
{
	struct request r = waiting_take(&s->waiting, server);

	if (r.work_ns > 0)
		begin(s, server, r.arrival_ns, r.start_ns, r.work_ns);
	else
		begin(s, server, r.arrival_ns, s->now_ns, draw_next(&s->draw, &s->rng));
}

static bool is_shared(const struct station *s)
{
	return s->params.queue == STATION_SHARED;
}

/* Every server that could work does. */
static void fill(struct station *s)
{
	if (s->throttled)
		return;
	if (is_shared(s)) {
		while (s->nr_running < s->nr_servers && !waiting_is_empty(&s->waiting, 0))
			begin_next(s, 0);
		return;
	}
	for (uint32_t i = 0; i < s->nr_servers; i++)
		if (!s->busy[i] && !waiting_is_empty(&s->waiting, i))
			begin_next(s, i);
}

/* What is left of running requests is counted from here: a throttled server stands still. */
static uint64_t present(const struct station *s)
{
	return s->throttled ? s->throttled_at_ns : s->now_ns;
}

static void put_back(struct station *s, uint32_t running)
{
	struct running r = heap_remove(s, running);
	uint64_t left_ns = r.finish_ns - present(s);
	struct request request = { r.arrival_ns, r.start_ns, fmax((double)left_ns / s->slowdown, 1), WAITING_NONE };

	s->busy[r.server] = false;
	s->begun_ns -= left_ns;
	s->nr_dropped += !waiting_prepend(&s->waiting, r.server, &request);
}

/* --- changes from outside --------------------------------------------------------------------------------------- */

static void plan_arrival(struct station *s)
{
	double per_ns = s->share * s->params.max_load / 1e9;

	s->arrival_ns = per_ns > 0 ? s->now_ns + (uint64_t)(rng_exponential(&s->rng) / per_ns + 0.5) : never;
}

/* Arrivals have no memory, so a new rate may simply draw anew. */
void station_set_load(struct station *s, double share)
{
	if (share == s->share)
		return;
	s->share = share;
	plan_arrival(s);
}

static void preempt_shared(struct station *s)
{
	while (s->nr_running > s->nr_servers) {
		uint32_t last = 0;

		for (uint32_t i = 1; i < s->nr_running; i++)
			if (s->running[i].start_ns > s->running[last].start_ns)
				last = i;
		put_back(s, last);
	}
}

static void preempt_per_thread(struct station *s)
{
	uint32_t i = 0;

	while (i < s->nr_running) {
		if (s->running[i].server < s->nr_servers) {
			i++;
			continue;
		}
		put_back(s, i);
		i = 0; /* the heap was reordered */
	}
}

void station_set_servers(struct station *s, uint32_t nr_servers)
{
	uint32_t nr_old = s->nr_servers ? s->nr_servers : 1;

	if (nr_servers == s->nr_servers)
		return;
	s->nr_servers = nr_servers;
	if (is_shared(s)) {
		preempt_shared(s);
	} else {
		preempt_per_thread(s);
		waiting_hash(&s->waiting, nr_old, nr_servers ? nr_servers : 1, &s->rng);
	}
	fill(s);
}

void station_set_slowdown(struct station *s, double slowdown)
{
	double ratio = slowdown / s->slowdown;

	if (slowdown == s->slowdown)
		return;
	s->slowdown = slowdown;
	for (uint32_t i = 0; i < s->nr_running; i++) { /* keeps the order of the heap */
		uint64_t left_ns = s->running[i].finish_ns - present(s);
		uint64_t scaled_ns = (uint64_t)((double)left_ns * ratio + 0.5);

		s->running[i].finish_ns += scaled_ns - left_ns;
		s->begun_ns += scaled_ns - left_ns;
	}
}

static void unthrottle(struct station *s)
{
	uint64_t stood_ns = s->now_ns - s->throttled_at_ns;

	if (!s->throttled)
		return;
	s->throttled = false;
	s->throttled_ns += stood_ns;
	for (uint32_t i = 0; i < s->nr_running; i++)
		s->running[i].finish_ns += stood_ns;
	fill(s);
}

static void begin_period(struct station *s)
{
	s->period_end_ns = s->now_ns + s->params.period_ns;
	s->budget_ns = (double)s->params.period_ns * s->nr_servers * s->quota_permille / 1000;
	unthrottle(s);
}

void station_set_quota(struct station *s, uint32_t permille)
{
	if (permille == s->quota_permille)
		return;
	s->quota_permille = permille;
	begin_period(s);
}

/* --- time ------------------------------------------------------------------------------------------------------- */

static void arrive(struct station *s)
{
	bool shared = is_shared(s), can_begin;
	uint32_t server = shared || !s->nr_servers ? 0 : (uint32_t)rng_below(&s->rng, s->nr_servers);

	s->nr_arrived++;
	can_begin = !s->throttled && s->nr_running < s->nr_servers && (shared || !s->busy[server]);
	if (can_begin)
		begin(s, server, s->now_ns, s->now_ns, draw_next(&s->draw, &s->rng));
	else if (!waiting_append(&s->waiting, server, &(struct request){ .arrival_ns = s->now_ns }))
		s->nr_dropped++;
	plan_arrival(s);
}

static void complete(struct station *s)
{
	struct running r = s->running[0];

	s->running[0] = s->running[--s->nr_running];
	if (s->nr_running)
		heap_sink(s, 0);
	s->busy[r.server] = false;
	window_book(&s->cell, EXCHANGE_RESIDENCY, r.start_ns - r.arrival_ns);
	window_book(&s->cell, EXCHANGE_SERVICE, s->now_ns - r.start_ns);
	window_book(&s->cell, EXCHANGE_OWED, s->now_ns - r.arrival_ns);
	s->nr_late += s->now_ns - r.arrival_ns > s->params.target_ns;
	if (!waiting_is_empty(&s->waiting, r.server))
		begin_next(s, r.server);
}

/* When the budget is used up or the period ends, whichever comes first. */
static uint64_t quota_event(const struct station *s)
{
	uint64_t used_up_ns;

	if (s->quota_permille == 1000)
		return never;
	if (s->throttled || !s->nr_running)
		return s->period_end_ns;
	used_up_ns = s->now_ns + (uint64_t)ceil(s->budget_ns / s->nr_running);
	return used_up_ns < s->period_end_ns ? used_up_ns : s->period_end_ns;
}

static void quota_turn(struct station *s)
{
	if (s->now_ns >= s->period_end_ns) {
		begin_period(s);
		return;
	}
	s->throttled = true;
	s->throttled_at_ns = s->now_ns;
}

static void pass(struct station *s, uint64_t to_ns)
{
	if (!s->throttled)
		s->budget_ns -= (double)(to_ns - s->now_ns) * s->nr_running;
	s->now_ns = to_ns;
}

void station_advance(struct station *s, uint64_t until_ns)
{
	for (;;) {
		uint64_t finish_ns = s->nr_running && !s->throttled ? s->running[0].finish_ns : never;
		uint64_t quota_ns = quota_event(s);
		uint64_t next_ns = finish_ns < s->arrival_ns ? finish_ns : s->arrival_ns;

		if (quota_ns < next_ns)
			next_ns = quota_ns;
		if (next_ns > until_ns)
			break;
		pass(s, next_ns);
		if (next_ns == finish_ns)
			complete(s);
		else if (next_ns == quota_ns)
			quota_turn(s);
		else
			arrive(s);
	}
	pass(s, until_ns);
}

/* --- what a sensor sees ----------------------------------------------------------------------------------------- */

static void look_at(const struct station *s, uint64_t arrival_ns, struct sample *ret)
{
	uint64_t age_ns = s->now_ns - arrival_ns;

	ret->nr_in_flight++;
	ret->nr_over_target += age_ns > s->params.target_ns;
	if (age_ns > ret->oldest_ns)
		ret->oldest_ns = age_ns;
}

static void look_in_flight(const struct station *s, struct sample *ret)
{
	const struct waiting *w = &s->waiting;

	for (uint32_t i = 0; i < s->nr_running; i++)
		look_at(s, s->running[i].arrival_ns, ret);
	for (uint32_t q = 0; q < MAX_SERVERS; q++)
		for (uint32_t i = w->queues[q].head; i != WAITING_NONE; i = w->pool[i].next)
			look_at(s, w->pool[i].arrival_ns, ret);
}

static uint64_t busy_ns(const struct station *s)
{
	uint64_t busy = s->begun_ns;

	for (uint32_t i = 0; i < s->nr_running; i++)
		busy -= s->running[i].finish_ns - present(s);
	return busy;
}

static enum policy_signal signal_of(const struct sample *sample)
{
	if (!sample->nr_completed)
		return sample->nr_in_flight ? POLICY_STALLED : POLICY_IDLE;
	return sample->nr_completed < 200 ? POLICY_THIN : POLICY_FRESH;
}

void station_read(struct station *s, uint64_t window_ns, struct sample *ret)
{
	struct window *w = &s->window;
	struct sample sample = { .window_ns = window_ns, .nr_arrived = s->nr_arrived, .nr_late = s->nr_late,
				 .nr_listen_drops = s->nr_dropped, .throttled_ns = s->throttled_ns };
	uint64_t busy = busy_ns(s);

	window_advance(w, &s->cell, 1);
	sample.nr_completed = window_count(w, EXCHANGE_OWED);
	sample.mean_ns = window_mean(w, EXCHANGE_OWED);
	sample.p50_ns = sample.total_p50_ns = window_percentile(w, EXCHANGE_OWED, 500);
	sample.p95_ns = window_percentile(w, EXCHANGE_OWED, 950);
	sample.p99_ns = sample.total_p99_ns = window_percentile(w, EXCHANGE_OWED, 990);
	sample.residency_p99_ns = window_percentile(w, EXCHANGE_RESIDENCY, 990);
	sample.service_p99_ns = window_percentile(w, EXCHANGE_SERVICE, 990);
	sample.steer_ns = window_percentile(w, EXCHANGE_OWED, s->params.percentile_permille);
	sample.cpu_ns = busy - s->busy_read_ns;
	look_in_flight(s, &sample);
	sample.signal = signal_of(&sample);
	s->busy_read_ns = busy;
	s->nr_arrived = s->nr_late = s->nr_dropped = s->throttled_ns = 0;
	*ret = sample;
}
