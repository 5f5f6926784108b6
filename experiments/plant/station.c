// SPDX-License-Identifier: GPL-2.0
/*
 * station.c - one simulated service: brings requests from their source to the servers and on to the disks, throttles by
 * quota and adds up what readers see.  Pure apart from station_open; how servers divide themselves is discipline.h's,
 * and it knows no other service, no profile and no controller.
 */
#include "station.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "discipline.h"
#include "source.h"
#include "window.h"

enum { MIN_QUEUE = 1024, MAX_QUEUE = 1 << 21 };

enum reader_name { KERNEL, CLIENT, NR_READERS };

/* Since the start, in requests. */
struct counts {
	uint64_t nr_arrived, nr_late, nr_dropped, throttled_ns, busy_ns;
};

struct reader {
	struct window window;
	struct counts before;
};

struct station {
	struct station_params params;
	uint64_t now_ns;
	double share, slowdown;
	uint32_t nr_servers;
	struct source source;
	const struct discipline_ops *ops;
	void *servers, *disks;
	struct rng disk_rng;
	struct draw disk_time;

	uint32_t quota_permille;
	double budget_ns; /* server time left in this period */
	uint64_t period_end_ns;
	bool throttled;
	uint64_t throttled_at_ns, throttled_ns;

	uint64_t nr_arrived, nr_dropped;
	uint64_t nr_late[NR_READERS];
	struct exchange_cell cells[NR_READERS]; /* clients have one of their own when there is a network */
	struct reader readers[NR_READERS];
};

static bool has_network(const struct station *s)
{
	return s->params.network_delay_ns || s->params.network_ns;
}

static uint32_t batch_of(const struct station *s)
{
	return s->params.batch ? s->params.batch : 1;
}

/* --- what is done ------------------------------------------------------------------------------------------------- */

static inline void book_one(struct station *s, const struct request *r, uint64_t finish_ns)
{
	struct exchange_cell *cell = &s->cells[KERNEL];

	window_book(cell, EXCHANGE_RESIDENCY, r->start_ns - r->arrival_ns);
	window_book(cell, EXCHANGE_SERVICE, finish_ns - r->start_ns);
	window_book(cell, EXCHANGE_OWED, finish_ns - r->arrival_ns);
	s->nr_late[KERNEL] += finish_ns - r->arrival_ns > s->params.target_ns;
	if (!s->source.way)
		return;
	window_book(&s->cells[CLIENT], EXCHANGE_OWED, finish_ns - r->sent_ns);
	s->nr_late[CLIENT] += finish_ns - r->sent_ns > s->params.target_ns;
}

static void book(void *ctx, const struct request *r, uint64_t finish_ns)
{
	struct station *s = ctx;

	for (uint32_t i = 1, nr = batch_of(s); i < nr; i++)
		book_one(s, r, r->start_ns + (finish_ns - r->start_ns) * i / nr);
	book_one(s, r, finish_ns);
}

static void to_disk(void *ctx, const struct request *r, uint64_t finish_ns)
{
	struct station *s = ctx;
	struct request request = *r;

	request.work_ns = draw_next(&s->disk_time, &s->disk_rng);
	if (!servers_ops.arrive(s->disks, &request, finish_ns))
		s->nr_dropped += batch_of(s);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static int open_parts(struct station *s, uint32_t room)
{
	const struct station_params *p = &s->params;
	struct source_params source = { p->service_ns, p->cv, p->shape, p->queue == STATION_PER_THREAD,
					p->network_delay_ns, p->network_ns, room, p->seed };
	struct discipline_params servers = { p->queue == STATION_PER_THREAD, room, p->nr_disks ? to_disk : book, s };
	struct discipline_params disks = { false, room, book, s };
	int err = source_open(&s->source, &source);

	s->ops = p->queue == STATION_PROCESSOR_SHARING ? &sharing_ops : &servers_ops;
	if (!err)
		err = s->ops->open(&s->servers, &servers);
	if (err || !p->nr_disks)
		return err;
	rng_seed(&s->disk_rng, ~p->seed);
	draw_init(&s->disk_time, DRAW_EXPONENTIAL, (double)p->disk_ns, 1);
	err = servers_ops.open(&s->disks, &disks);
	if (!err)
		servers_ops.set_servers(s->disks, p->nr_disks);
	return err;
}

int station_open(struct station **ret, const struct station_params *params)
{
	struct station *s = calloc(1, sizeof(*s));
	double room = 10 * params->max_load;

	if (!s)
		return -ENOMEM;
	s->params = *params;
	s->slowdown = 1;
	s->quota_permille = 1000;
	room /= batch_of(s);
	if (open_parts(s, room < MIN_QUEUE ? MIN_QUEUE : room > MAX_QUEUE ? MAX_QUEUE : (uint32_t)room)) {
		station_close(s);
		return -ENOMEM;
	}
	for (int i = 0; i < NR_READERS; i++)
		window_start(&s->readers[i].window, &s->cells[0], 1);
	*ret = s;
	return 0;
}

void station_close(struct station *s)
{
	if (!s)
		return;
	source_close(&s->source);
	if (s->ops)
		s->ops->close(s->servers);
	servers_ops.close(s->disks);
	free(s);
}

/* --- changes from outside ----------------------------------------------------------------------------------------- */

void station_set_load(struct station *s, double share)
{
	s->share = share;
	source_set_rate(&s->source, share * s->params.max_load / batch_of(s) / 1e9, s->now_ns);
}

void station_set_servers(struct station *s, uint32_t nr_servers)
{
	if (nr_servers == s->nr_servers)
		return;
	s->nr_servers = nr_servers;
	s->ops->set_servers(s->servers, nr_servers);
}

void station_set_slowdown(struct station *s, double slowdown)
{
	if (slowdown == s->slowdown)
		return;
	s->slowdown = slowdown;
	s->ops->set_slowdown(s->servers, slowdown);
}

static void begin_period(struct station *s)
{
	s->period_end_ns = s->now_ns + s->params.period_ns;
	s->budget_ns = (double)s->params.period_ns * s->nr_servers * s->quota_permille / 1000;
	if (!s->throttled)
		return;
	s->throttled = false;
	s->throttled_ns += s->now_ns - s->throttled_at_ns;
	s->ops->set_frozen(s->servers, false);
}

void station_set_quota(struct station *s, uint32_t permille)
{
	if (permille == s->quota_permille)
		return;
	s->quota_permille = permille;
	begin_period(s);
}

/* --- time --------------------------------------------------------------------------------------------------------- */

static void flow(struct station *s, uint64_t until_ns)
{
	struct request request;

	while (source_take(&s->source, until_ns, &request)) {
		s->nr_arrived++;
		s->nr_dropped += !s->ops->arrive(s->servers, &request, request.arrival_ns);
	}
	s->ops->run(s->servers, until_ns);
	if (s->disks)
		servers_ops.run(s->disks, until_ns);
	s->now_ns = until_ns;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void throttle(struct station *s)
{
	s->throttled = true;
	s->throttled_at_ns = s->now_ns;
	s->ops->set_frozen(s->servers, true);
}

/* To the next event and not past it: a quota ends where it is used up, and disks get their requests in order. */
static void step(struct station *s, uint64_t until_ns)
{
	struct discipline_state state = s->ops->look(s->servers);
	uint64_t next_ns = earlier(until_ns, source_next_ns(&s->source)), from_ns = s->now_ns;
	bool quota = s->quota_permille < 1000;

	if (!s->throttled)
		next_ns = earlier(next_ns, state.next_ns);
	if (quota)
		next_ns = earlier(next_ns, s->period_end_ns);
	if (quota && !s->throttled && state.nr_running)
		next_ns = earlier(next_ns, from_ns + (uint64_t)ceil(fmax(s->budget_ns, 0) / state.nr_running));
	flow(s, next_ns);
	if (!quota)
		return;
	if (!s->throttled)
		s->budget_ns -= (double)(next_ns - from_ns) * state.nr_running;
	if (next_ns >= s->period_end_ns)
		begin_period(s);
	else if (!s->throttled && s->budget_ns <= 0)
		throttle(s);
}

void station_advance(struct station *s, uint64_t until_ns)
{
	if (!s->disks && s->quota_permille == 1000)
		flow(s, until_ns);
	while (s->now_ns < until_ns)
		step(s, until_ns);
}

/* --- what readers see --------------------------------------------------------------------------------------------- */

struct sight {
	const struct station *station;
	enum reader_name who;
	bool in_order; /* a queue is as old as it is long */
	uint64_t nr_young, oldest_ns;
};

static bool see(void *ctx, const struct request *request)
{
	struct sight *sight = ctx;
	const struct station *s = sight->station;
	uint64_t age_ns = s->now_ns - (sight->who == CLIENT ? request->sent_ns : request->arrival_ns);
	bool is_young = age_ns <= s->params.target_ns;

	sight->nr_young += is_young;
	if (age_ns > sight->oldest_ns)
		sight->oldest_ns = age_ns;
	return is_young || !sight->in_order;
}

static void look_in_flight(const struct station *s, enum reader_name who, struct sample *ret)
{
	struct sight sight = { s, who, true };
	uint64_t nr = s->ops->look(s->servers).nr_inside;

	s->ops->each(s->servers, see, &sight);
	if (s->disks) {
		sight.in_order = false; /* but as the cores let them go */
		nr += servers_ops.look(s->disks).nr_inside;
		servers_ops.each(s->disks, see, &sight);
	}
	for (uint32_t i = 0; who == CLIENT && i < s->source.nr; i++, nr++)
		see(&sight, &s->source.way[(s->source.first + i) % s->source.params.room]);
	ret->nr_in_flight = nr * batch_of(s);
	ret->nr_over_target = (nr - sight.nr_young) * batch_of(s);
	ret->oldest_ns = sight.oldest_ns;
}

static struct counts count(const struct station *s, enum reader_name who)
{
	uint64_t nr_dropped = s->nr_dropped, nr_arrived = s->nr_arrived;

	if (who == CLIENT) {
		nr_dropped += s->source.nr_lost;
		nr_arrived = s->source.nr_sent;
	}
	return (struct counts){ nr_arrived * batch_of(s), s->nr_late[has_network(s) ? who : KERNEL],
				nr_dropped * batch_of(s), s->throttled_ns, s->ops->look(s->servers).busy_ns };
}

static enum policy_signal signal_of(const struct sample *sample)
{
	if (!sample->nr_completed)
		return sample->nr_in_flight ? POLICY_STALLED : POLICY_IDLE;
	return sample->nr_completed < 200 ? POLICY_THIN : POLICY_FRESH;
}

static void read_as(struct station *s, enum reader_name who, uint64_t window_ns, struct sample *ret)
{
	struct reader *r = &s->readers[who];
	struct window *w = &r->window;
	struct counts now = count(s, who);
	struct sample sample = { .window_ns = window_ns, .nr_arrived = now.nr_arrived - r->before.nr_arrived,
				 .nr_late = now.nr_late - r->before.nr_late,
				 .nr_listen_drops = now.nr_dropped - r->before.nr_dropped,
				 .throttled_ns = now.throttled_ns - r->before.throttled_ns,
				 .cpu_ns = now.busy_ns - r->before.busy_ns };

	window_advance(w, &s->cells[has_network(s) ? who : KERNEL], 1);
	sample.nr_completed = window_count(w, EXCHANGE_OWED);
	sample.mean_ns = window_mean(w, EXCHANGE_OWED);
	sample.p50_ns = sample.total_p50_ns = window_percentile(w, EXCHANGE_OWED, 500);
	sample.p95_ns = window_percentile(w, EXCHANGE_OWED, 950);
	sample.p99_ns = sample.total_p99_ns = window_percentile(w, EXCHANGE_OWED, 990);
	sample.residency_p99_ns = window_percentile(w, EXCHANGE_RESIDENCY, 990);
	sample.service_p99_ns = window_percentile(w, EXCHANGE_SERVICE, 990);
	sample.steer_ns = window_percentile(w, EXCHANGE_OWED, s->params.percentile_permille);
	look_in_flight(s, who, &sample);
	sample.signal = signal_of(&sample);
	r->before = now;
	*ret = sample;
}

void station_read(struct station *s, uint64_t window_ns, struct sample *ret)
{
	read_as(s, KERNEL, window_ns, ret);
}

void station_read_client(struct station *s, uint64_t window_ns, struct sample *ret)
{
	read_as(s, CLIENT, window_ns, ret);
}
