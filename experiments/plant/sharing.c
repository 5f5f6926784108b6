// SPDX-License-Identifier: GPL-2.0
/*
 * sharing.c - processor sharing: every request is at work at once, on min(1, servers / requests) of a server each, as
 * when threads outnumber cores and the kernel time-shares them evenly.  Pure apart from sharing_open.
 *
 * All requests advance alike, so one number says how far: the work that a request present from the start would have
 * got. A request ends when that number reaches where it was when the request came, plus its work.
 */
#include "discipline.h"

#include <errno.h>
#include <stdlib.h>

struct member {
	double end_ns; /* of work */
	struct request request;
};

struct sharing {
	struct discipline_params params;
	uint64_t now_ns;
	uint32_t nr_servers, nr;
	double slowdown;
	bool frozen;
	double since_ns, work_ns; /* at the last event, how far; in between the rate does not change */
	double busy_ns;           /* until then */
	struct member *members;   /* a heap: the first to end on top */
};

static int sharing_open(void **ret, const struct discipline_params *params)
{
	struct sharing *s = calloc(1, sizeof(*s));

	if (s)
		s->members = calloc(params->room, sizeof(*s->members));
	if (!s || !s->members) {
		free(s);
		return -ENOMEM;
	}
	s->params = *params;
	s->slowdown = 1;
	*ret = s;
	return 0;
}

static void sharing_close(void *servers)
{
	struct sharing *s = servers;

	if (s)
		free(s->members);
	free(s);
}

static uint32_t nr_working(const struct sharing *s)
{
	return s->frozen ? 0 : s->nr < s->nr_servers ? s->nr : s->nr_servers;
}

/* Work per time of one request. */
static double rate(const struct sharing *s)
{
	return s->nr ? (double)nr_working(s) / s->nr / s->slowdown : 0;
}

/* Makes an instant the last event. */
static void come_to(struct sharing *s, double now_ns)
{
	double passed_ns = now_ns - s->since_ns;

	s->work_ns = s->nr ? s->work_ns + passed_ns * rate(s) : 0;
	s->busy_ns += passed_ns * nr_working(s);
	s->since_ns = now_ns;
}

/* Of the first request to end. */
static double end_of_first(const struct sharing *s)
{
	double speed = rate(s);

	return speed > 0 ? s->since_ns + (s->members[0].end_ns - s->work_ns) / speed : 0x1p63;
}

static void push(struct sharing *s, double end_ns, const struct request *request)
{
	uint32_t i = s->nr++;

	for (; i && s->members[(i - 1) / 2].end_ns > end_ns; i = (i - 1) / 2)
		s->members[i] = s->members[(i - 1) / 2];
	s->members[i] = (struct member){ end_ns, *request };
}

static void drop_first(struct sharing *s)
{
	struct member moved = s->members[--s->nr];
	uint32_t i = 0, child;

	for (; (child = 2 * i + 1) < s->nr; i = child) {
		if (child + 1 < s->nr && s->members[child + 1].end_ns < s->members[child].end_ns)
			child++;
		if (moved.end_ns <= s->members[child].end_ns)
			break;
		s->members[i] = s->members[child];
	}
	s->members[i] = moved;
}

static void sharing_run(void *servers, uint64_t until_ns)
{
	struct sharing *s = servers;
	double end_ns;

	while ((end_ns = end_of_first(s)) <= (double)until_ns) {
		struct request ended = s->members[0].request;

		come_to(s, end_ns);
		drop_first(s);
		s->params.done(s->params.ctx, &ended, (uint64_t)end_ns);
	}
	s->now_ns = until_ns;
}

static bool sharing_arrive(void *servers, const struct request *request, uint64_t now_ns)
{
	struct sharing *s = servers;
	struct request begun = *request;

	sharing_run(s, now_ns);
	if (s->nr == s->params.room)
		return false;
	come_to(s, (double)now_ns);
	begun.start_ns = now_ns;
	push(s, s->work_ns + request->work_ns, &begun);
	return true;
}

static void sharing_set_servers(void *servers, uint32_t nr)
{
	struct sharing *s = servers;

	come_to(s, (double)s->now_ns);
	s->nr_servers = nr;
}

static void sharing_set_slowdown(void *servers, double slowdown)
{
	struct sharing *s = servers;

	come_to(s, (double)s->now_ns);
	s->slowdown = slowdown;
}

static void sharing_set_frozen(void *servers, bool frozen)
{
	struct sharing *s = servers;

	come_to(s, (double)s->now_ns);
	s->frozen = frozen;
}

static struct discipline_state sharing_look(const void *servers)
{
	const struct sharing *s = servers;
	double busy_ns = s->busy_ns + ((double)s->now_ns - s->since_ns) * nr_working(s), next_ns = end_of_first(s);

	return (struct discipline_state){ nr_working(s), s->nr, (uint64_t)next_ns + 1, (uint64_t)(busy_ns + 0.5) };
}

static void sharing_each(const void *servers, bool (*see)(void *ctx, const struct request *request), void *ctx)
{
	const struct sharing *s = servers;

	for (uint32_t i = 0; i < s->nr; i++)
		see(ctx, &s->members[i].request);
}

const struct discipline_ops sharing_ops = {
	sharing_open, sharing_close, sharing_arrive, sharing_run, sharing_set_servers, sharing_set_slowdown,
	sharing_set_frozen, sharing_look, sharing_each,
};
