/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pipeline.h - a connection on which requests come before the last one is answered.  Answers come in the order of
 * requests, so a queue of what is not answered and the ends of answers are all that is needed.
 *
 * A connection gets here when its second request comes too early, and stays.  Requests that share all stamps, as those of
 * one read do, are one entry with a number.  Everything happens under the socket's own lock, see struct parse; the sweep
 * only looks.
 *
 * What is not seen here: time that the peer kept a send waiting stays in owed.
 */
#ifndef EBEE_PIPELINE_H
#define EBEE_PIPELINE_H

#include "bytes.h"
#include "exchange_state.h"
#include "stamps.h"

enum { PIPELINE_NR = 64 }; /* a power of two */

struct pipelined {
	__u64 arrival, read, owed_from;
	__u32 nr;
	__u32 flags; /* PARSE_: what its answer must be read with */
};

struct pipeline {
	struct stamps stamps;
	struct parse out;      /* answers */
	__u64 answer_begin;    /* of the answer in hand */
	/* Memory of a send that was not there when it was offered: see on_offer.  again_size 0: none. */
	struct pieces again;
	__u64 again_now;
	__u32 again_start, again_size;
	__u32 reading;         /* nonzero: the newest request has not come to its end */
	__u32 answered_early;  /* nonzero: and it is answered already */
	struct pipelined newest;
	__u32 from, to;        /* indices grow, the array wraps */
	struct pipelined queue[PIPELINE_NR];
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct pipeline);
} pipelines SEC(".maps");

#define QUEUED(line, index) (&(line)->queue[(index) & (PIPELINE_NR - 1)])

__noinline int count(__u32 service, __u32 which, __u64 nr)
{
	struct exchange_cell *cell = cell_of(service);

	if (cell && which < EXCHANGE_NR_COUNTERS)
		__sync_fetch_and_add(&cell->counters[which], nr);
	return 0;
}

/* 0, or nonzero: no room. */
__noinline int pipeline_push(struct pipeline *line, __u32 service, const struct pipelined *request)
{
	struct pipelined *last;

	if (!line || !request)
		return 1;
	last = QUEUED(line, line->to - 1);
	set_pending(service);
	if (line->from != line->to && last->arrival == request->arrival && last->read == request->read &&
	    last->owed_from == request->owed_from && last->flags == request->flags) {
		last->nr++;
	} else if (line->to - line->from < PIPELINE_NR) {
		*QUEUED(line, line->to) = *request;
		line->to++;
	} else if (last->flags == request->flags) {
		/* The later times for both, so that no wait is made longer than it was. */
		last->arrival = request->arrival;
		last->read = request->read;
		last->owed_from = request->owed_from;
		last->nr++;
	} else {
		return 1;
	}
	return 0;
}

__noinline int pipeline_request_begin(struct pipeline *line, __u32 seq, __u64 now)
{
	__u64 arrival;

	if (!line)
		return 0;
	arrival = stamps_find(&line->stamps, seq);
	line->newest.arrival = arrival ? arrival : now;
	line->newest.read = now;
	line->newest.nr = 1;
	line->reading = 1;
	return 0;
}

/* `last`: sequence number of its last byte.  0, or nonzero: no room. */
__noinline int pipeline_request_end(struct pipeline *line, __u32 service, __u32 last, __u32 flags)
{
	__u64 owed_from;

	if (!line || !line->reading)
		return 0;
	owed_from = stamps_find(&line->stamps, last);
	line->reading = 0;
	count(service, EXCHANGE_BEGUN, 1);
	line->newest.owed_from = owed_from > line->newest.arrival ? owed_from : line->newest.arrival;
	line->newest.flags = flags;
	if (!line->answered_early)
		return pipeline_push(line, service, &line->newest);
	line->answered_early = 0;
	return 0;
}

/* How the next answer must be read. */
static __always_inline __u8 pipeline_asked(const struct pipeline *line)
{
	return line->from != line->to ? QUEUED(line, line->from)->flags : 0;
}

/* An answer has been offered to its last byte.  0, or nonzero: nobody had asked. */
__noinline int pipeline_answered(struct pipeline *line, __u32 service, __u64 now)
{
	struct exchange_done done = {};
	struct pipelined *head;

	if (!line)
		return 1;
	head = QUEUED(line, line->from);
	if (line->from == line->to) {
		if (!line->reading || line->answered_early)
			return 1;
		head = &line->newest; /* before it came to its end */
		head->owed_from = head->arrival;
		line->answered_early = 1;
	} else if (head->nr > 1) {
		head->nr--;
	} else {
		line->from++;
	}
	done.begin = head->arrival;
	done.first_read = head->read;
	done.first_write = line->answer_begin;
	done.owed_from = head->owed_from;
	done.end = now;
	book(&done, service, 1);
	return 0;
}

/* The connection is not followed request by request any more: what is open stays without an answer. */
__noinline int pipeline_end(struct pipeline *line, __u32 service, __u32 requests_are)
{
	__u32 i, nr;

	if (!line)
		return 0;
	nr = line->reading && !line->answered_early;
	for (i = 0; i < PIPELINE_NR && line->from != line->to; i++, line->from++)
		nr += QUEUED(line, line->from)->nr;
	if (nr)
		count(service, requests_are, nr);
	line->from = line->to = line->reading = line->answered_early = 0;
	return 0;
}

#endif
