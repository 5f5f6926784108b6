/* SPDX-License-Identifier: GPL-2.0 */
/*
 * feed.h - one read or send on its way through a grammar, 64 bytes at a time, and what becomes of its connection.
 */
#ifndef EBEE_FEED_H
#define EBEE_FEED_H

#include "bytes.h"
#include "pipeline.h"

enum { FEED_MAX_STEPS = 16384, FEED_TRIES = 3 };

enum feed_over {
	FEED_GOES_ON,
	FEED_DONE,
	FEED_SPLIT, /* the connection needs a pipeline: a second request is open, or the answer must be looked at */
	FEED_LOST,  /* this cannot be the protocol */
	FEED_AGAIN, /* memory is not there yet */
	FEED_LEFT,  /* the connection is not to be followed any more: see its protocol */
};

struct feed {
	struct exchange *x;
	struct pipeline *line; /* NULL: at most one request is open */
	__u64 now;             /* 0: not looked up; the pipeline alone needs it */
	__u32 start, size;     /* TCP sequence number of the first byte; bytes */
	__u32 from, held;      /* `chunk` holds so many from there */
	__u32 open;            /* nonzero: a request of an earlier read is not answered */
	__u32 nr_begun;        /* requests that began in this read, without a pipeline: one at most */
	__u32 was;             /* enum exchange_protocol, before */
	__u32 over;            /* enum feed_over */
	__u32 offset;          /* of a read: where the first byte is in the skb */
	struct bpf_dynptr skb;
	struct pieces pieces;  /* of a send */
	struct chunk chunk;
};

/* true: the payload is over. */
static __always_inline bool feed_skip(const struct feed *f, struct parse *p, __u32 at)
{
	__u32 size = p->skip < f->size - at ? p->skip : f->size - at;

	p->next += size;
	p->skip -= size;
	return !p->skip;
}

/* No byte of a connection that is not followed stays in its storage. */
static __always_inline void forget_bytes(struct parse *p, __u8 protocol)
{
	__u8 tries = p->tries;

	__builtin_memset(p, 0, sizeof(*p));
	p->protocol = protocol;
	p->tries = tries;
}

/* No protocol of ours, or not any more. */
static __always_inline void become_opaque(struct exchange *x, struct pipeline *line)
{
	/* The next read of an old one may begin with a request. */
	bool again = x->in.protocol <= EXCHANGE_NEW && x->in.flags & PARSE_OLD && x->in.tries < FEED_TRIES;

	x->pipelined = 0;
	forget_bytes(&x->in, again ? EXCHANGE_UNSEEN : EXCHANGE_OPAQUE_BYTES);
	if (!again)
		count(x->service, EXCHANGE_OPAQUE, 1);
	if (line) {
		pipeline_end(line, x->service, EXCHANGE_STREAM_LOST);
		forget_bytes(&line->out, EXCHANGE_OPAQUE_BYTES);
	}
}

/* HTTP/2, or told things rather than answered: what was taken for a request is none. */
static __always_inline void leave_connection(struct exchange *x, struct pipeline *line)
{
	count(x->service, x->in.protocol == EXCHANGE_MULTIPLEX ? EXCHANGE_MULTIPLEXED : EXCHANGE_LONG_LIVED, 1);
	forget_bytes(&x->in, x->in.protocol);
	if (line) {
		pipeline_end(line, x->service, EXCHANGE_LONG_LIVED);
		forget_bytes(&line->out, EXCHANGE_UPGRADED);
	}
	bpf_spin_lock(&x->lock);
	x->begin = x->arrival = x->arrival_last = x->swept_begin = 0;
	x->pipelined = 0;
	x->left = 1;
	bpf_spin_unlock(&x->lock);
}

static __always_inline void feed_over(struct feed *f)
{
	struct exchange *x = f->x;
	__u32 protocol;

	if (f->over == FEED_LEFT)
		leave_connection(x, f->line);
	else if (f->over != FEED_DONE && f->over != FEED_AGAIN)
		become_opaque(x, f->line);
	protocol = x->in.protocol;
	if (protocol == f->was || protocol <= EXCHANGE_NEW)
		return;
	asm volatile("" : "+r"(protocol)); /* or the tests become one, of another number than the index */
	if (protocol < EXCHANGE_NR_PROTOCOLS)
		__sync_fetch_and_add(&nr_protocol[SERVICE_INDEX(x->service)][protocol], 1);
}

#endif
