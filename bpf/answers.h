/* SPDX-License-Identifier: GPL-2.0 */
/*
 * answers.h - the ends of answers on pipelined connections.  On others the next read or the sweep ends an exchange, and
 * nobody looks here.
 *
 * Sends are looked at when the kernel is offered them (tcp_sendmsg_locked), so an answer ends when its last byte is about
 * to be taken, 64 KiB away at most.  What a send offered and the kernel did not take is offered again, and seen once.
 */
#ifndef EBEE_ANSWERS_H
#define EBEE_ANSWERS_H

#include "feed.h"
#include "replies.h"

static __always_inline void reply_did(struct feed *f, int did)
{
	struct parse *p = &f->line->out;

	if (did == DID_BAD) {
		f->over = FEED_LOST;
	} else if (parse_is_left(p)) {
		f->x->in.protocol = EXCHANGE_UPGRADED;
		f->line->from = f->line->to; /* its request was none, and is not lost */
		f->over = FEED_LEFT;
	} else if (did == DID_END && pipeline_answered(f->line, f->x->service, f->now)) {
		count(f->x->service, EXCHANGE_UNMATCHED, 1);
	}
}

static long reply_step(__u32 index, struct feed *f)
{
	struct parse *p = &f->line->out;
	__u32 at = p->next - f->start, size;
	int did = DID_MORE;

	if (at >= f->size) {
		f->over = (__s32)at < 0 ? FEED_LOST : FEED_DONE;
		return 1;
	}
	if (p->skip) {
		if (feed_skip(f, p, at))
			did = reply_payload_end(p);
	} else if (at - f->from >= f->held) {
		if (at >= f->pieces.to) {
			if (!pieces_next(&f->pieces))
				did = DID_BAD;
		} else {
			size = (f->pieces.to < f->size ? f->pieces.to : f->size) - at;
			size = size < PARSE_CHUNK ? size : PARSE_CHUNK;
			f->from = at;
			f->held = size;
			if (size > PARSE_CHUNK ||
			    bpf_probe_read_user(f->chunk.bytes, size, (void *)(f->pieces.base + (at - f->pieces.from)))) {
				f->held = 0;
				f->over = FEED_AGAIN;
			}
		}
	} else {
		if (p->step == STEP_START) {
			p->asked = pipeline_asked(f->line);
			f->line->answer_begin = f->now;
		}
		did = reply_bytes(p, &f->chunk, at - f->from, f->held);
	}
	reply_did(f, did);
	return f->over != FEED_GOES_ON;
}

/* Memory that nobody has touched yet, as of a constant in the program's file, cannot be read when it is offered; once the
 * kernel has copied from it, it can. */
static __always_inline void walk_again(struct exchange *x, struct pipeline *line)
{
	struct feed f = {
		.x = x,
		.line = line,
		.was = x->in.protocol,
		.now = line->again_now,
		.start = line->again_start,
		.size = line->again_size,
		.pieces = line->again,
	};

	line->again_size = 0;
	bpf_loop(FEED_MAX_STEPS, reply_step, &f, 0);
	if (f.over == FEED_AGAIN)
		f.over = FEED_LOST;
	feed_over(&f);
}

#endif
