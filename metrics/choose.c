// SPDX-License-Identifier: GPL-2.0
/*
 * choose.c - pure: the choice of a lifecycle.
 */
#include "choose.h"

static enum ebee_lifecycle first_of(enum ebee_lifecycle asked)
{
	return asked == EBEE_AUTO ? EBEE_EXCHANGE : EBEE_CONNECTION;
}

void choose_init(struct choose *c, enum ebee_lifecycle asked)
{
	*c = (struct choose){
		.asked = asked,
		.in_use = first_of(asked),
		.wish = first_of(asked),
		.reason = "nothing was seen that speaks for another",
	};
}

static bool change(struct choose *c, enum ebee_lifecycle to, const char *reason)
{
	c->in_use = to;
	c->votes = 0;
	c->nr_opaque = c->nr_begun = c->nr_closed = 0;
	c->reason = reason;
	return true;
}

/* What is in use was wrong, or cannot be had. */
static void let_rest(struct choose *c, enum ebee_lifecycle which)
{
	uint32_t next = c->next_rest[which] ? c->next_rest[which] : CHOOSE_REST;

	c->rest[which] = next;
	c->next_rest[which] = 2 * next < CHOOSE_MAX_REST ? 2 * next : CHOOSE_MAX_REST;
}

void choose_refused(struct choose *c, bool for_good)
{
	enum ebee_lifecycle refused = c->in_use;

	let_rest(c, refused);
	if (for_good)
		c->rest[refused] = UINT32_MAX;
	change(c, first_of(c->asked), refused == EBEE_HTTP2 ? "its connections are HTTP/2, and cannot be measured by stream" :
				      refused == EBEE_GRPC  ? "its requests may share connections, and no library shows them" :
							      "the calls on its connections cannot be followed");
}

static void pass_time(struct choose *c)
{
	for (int i = 0; i < EBEE_NR_LIFECYCLES; i++)
		if (c->rest[i] && c->rest[i] != UINT32_MAX)
			c->rest[i]--;
}

/* ---- among exchange, http2, grpc --------------------------------------------------------------------------------- */

/* What most connections of this sweep speak for; without any, what was wished before. */
static enum ebee_lifecycle wish_of(struct choose *c, const struct choose_seen *s)
{
	uint64_t known = s->nr_http2 + s->nr_tls + s->nr_plain, half = (known + s->nr_unknown) / 2;

	if (!known && !s->nr_unknown)
		return c->wish;
	if (s->nr_http2 > half)
		return EBEE_HTTP2;
	if (s->nr_tls > half)
		return EBEE_GRPC;
	/* Where HTTP/2 was, a connection of unknown kind may be one whose beginning was missed. */
	if (s->nr_unknown > half)
		return c->was_multiplexed ? EBEE_HTTP2 : EBEE_GRPC;
	return EBEE_EXCHANGE;
}

static bool from_exchange(struct choose *c, const struct choose_seen *s)
{
	enum ebee_lifecycle wish = wish_of(c, s);

	c->was_multiplexed |= s->nr_http2 > 0;
	c->votes = wish == c->wish ? c->votes + 1 : 1;
	c->wish = wish;
	if (wish == EBEE_EXCHANGE || c->votes < CHOOSE_VOTES)
		return false;
	if (wish == EBEE_HTTP2 && !c->rest[EBEE_HTTP2])
		return change(c, EBEE_HTTP2, "its connections are HTTP/2: requests are its streams");
	if (!c->rest[EBEE_GRPC])
		return change(c, EBEE_GRPC, wish == EBEE_HTTP2 ? "its connections are HTTP/2: requests are gRPC's calls" :
				"what its connections carry cannot be read: requests are gRPC's calls");
	return false;
}

static bool from_http2(struct choose *c, const struct choose_seen *s)
{
	if (s->nr_begun) {
		c->votes = 0;
		c->nr_opaque = 0;
		return false;
	}
	c->nr_opaque += s->nr_opaque;
	if (!c->nr_opaque || c->nr_opaque < s->nr_connections || ++c->votes < CHOOSE_VOTES)
		return false;
	let_rest(c, EBEE_HTTP2);
	c->wish = EBEE_EXCHANGE;
	return change(c, EBEE_EXCHANGE, "its connections speak HTTP/2 no more");
}

static bool from_grpc(struct choose *c, const struct choose_seen *s)
{
	if (s->nr_begun)
		c->votes = 0;
	else if (s->nr_reads)
		c->votes++;
	if (c->votes < CHOOSE_NEVER_HIT)
		return false;
	let_rest(c, EBEE_GRPC);
	c->wish = first_of(c->asked);
	return change(c, first_of(c->asked), "gRPC's functions are there, and its requests do not come by them");
}

/* ---- among connection, read-send, grpc --------------------------------------------------------------------------- */

static bool from_connection(struct choose *c, const struct choose_seen *s)
{
	if (s->nr_begun && !c->rest[EBEE_GRPC])
		return change(c, EBEE_GRPC, "gRPC's functions are there: its transport is multiplexed");
	if (s->nr_lingering > s->nr_begun)
		c->votes++;
	else if (s->nr_begun)
		c->votes = 0;
	if (c->votes < CHOOSE_VOTES || c->rest[EBEE_READ_SEND])
		return false;
	let_rest(c, EBEE_CONNECTION);
	return change(c, EBEE_READ_SEND, "its connections live on after their answers, or close in bulk");
}

static bool from_read_send(struct choose *c, const struct choose_seen *s)
{
	bool prompt;

	c->nr_begun += s->nr_begun;
	c->nr_closed += s->nr_closed;
	if (c->rest[EBEE_CONNECTION] || c->nr_begun < CHOOSE_FEW)
		return false;
	prompt = c->nr_closed * 10 >= c->nr_begun * 8;
	c->nr_begun = c->nr_closed = 0;
	c->votes = prompt ? c->votes + 1 : 0;
	return c->votes >= CHOOSE_VOTES &&
	       change(c, EBEE_CONNECTION, "its connections close soon after their only answer");
}

bool choose_step(struct choose *c, const struct choose_seen *seen)
{
	pass_time(c);
	switch (c->in_use) {
	case EBEE_EXCHANGE:
		return from_exchange(c, seen);
	case EBEE_HTTP2:
		return from_http2(c, seen);
	case EBEE_GRPC:
		return from_grpc(c, seen);
	case EBEE_CONNECTION:
		return from_connection(c, seen);
	case EBEE_READ_SEND:
		return from_read_send(c, seen);
	default:
		return false;
	}
}
