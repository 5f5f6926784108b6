/* SPDX-License-Identifier: GPL-2.0 */
/*
 * http2_walk.h - from frame header to frame header through what is read or sent, across the borders of both.
 *
 * One step reads (the rest of) one header, or goes on to the next piece of memory.  Positions are relative to the first
 * byte of this read or send, so that sequence numbers may wrap.
 */
#ifndef EBEE_HTTP2_WALK_H
#define EBEE_HTTP2_WALK_H

#include "bytes.h"
#include "http2_frames.h"

struct walk {
	struct http2_connection *c;
	__u64 now;
	__u32 start; /* TCP sequence number of the first byte */
	__u32 size;  /* bytes to look through */
	__u32 over;  /* nonzero: the walk came to its end, good or bad */
	__u32 skip;  /* of a read: where the first byte is in the skb */
	struct pieces pieces; /* of a send */
};

/* How many bytes of the header to take in, of those at `at` up to `to`. */
static __always_inline __u32 wanted_bytes(const struct http2_cursor *cursor, __u32 at, __u32 to)
{
	__u32 want = FRAME_HEADER_SIZE - cursor->held, have = to - at;

	return want < have ? want : have;
}

static __always_inline void stop(struct walk *w, struct http2_cursor *cursor, bool lost)
{
	if (lost)
		lose_footing(w->c, cursor);
	w->over = 1;
}

/* A header on a connection that is not understood yet. */
static __always_inline bool try_frame(struct http2_cursor *cursor, const struct frame *f)
{
	if (!may_be_frame(f))
		return false;
	cursor->next += FRAME_HEADER_SIZE + f->length;
	if (++cursor->footing == FOOTING_FOUND)
		cursor->footing = FOOTING_SURE;
	return true;
}

/* Where nothing is known, a read or send begins with a frame until it proves not to. */
static __always_inline void try_here(struct http2_cursor *cursor, __u32 start)
{
	if (cursor->footing != FOOTING_NONE)
		return;
	cursor->next = start;
	cursor->held = 0;
	cursor->footing = FOOTING_TRIED;
}

/* The bytes that were held have been looked at: none of them stays. */
static __always_inline void forget_header(struct http2_cursor *cursor)
{
	cursor->held = 0;
	__builtin_memset(cursor->header, 0, FRAME_HEADER_SIZE);
}

/* A whole header is held: the next one is where its payload ends. */
static __always_inline bool take_in(struct walk *w)
{
	struct http2_connection *c = w->c;
	struct frame f = frame_of(c->in.header);
	__u32 begin = c->in.next, end = w->start + w->size;
	bool preface = is_preface(c->in.header);
	__u64 first, last;

	forget_header(&c->in);
	if (c->in.footing >= FOOTING_NONE)
		return try_frame(&c->in, &f);
	if (c->in.footing == FOOTING_PREFACE) {
		c->in.footing = FOOTING_SURE;
		c->in.next += PREFACE_SIZE;
		return preface;
	}
	if (!is_frame(&f))
		return false;
	c->in.next += FRAME_HEADER_SIZE + f.length;
	c->in.stream = f.type == FRAME_HEADERS || f.type == FRAME_DATA ? f.stream : 0;
	if (!c->in.stream && f.type != FRAME_RST_STREAM)
		return true;
	first = stamps_find(&c->stamps, begin);
	last = stamps_find(&c->stamps, ((__s32)(end - c->in.next) < 0 ? end : c->in.next) - 1);
	frame_in(c, &f, first, last, w->now);
	return true;
}

static __always_inline bool take_out(struct walk *w)
{
	struct http2_connection *c = w->c;
	struct frame f = frame_of(c->out.header);

	forget_header(&c->out);
	if (c->out.footing >= FOOTING_NONE)
		return try_frame(&c->out, &f);
	c->out.next += FRAME_HEADER_SIZE + f.length;
	if (c->out.footing == FOOTING_PREFACE) {
		c->out.footing = FOOTING_SURE;
		return f.type == FRAME_SETTINGS && is_frame(&f);
	}
	if (!is_frame(&f))
		return false;
	frame_out(c, &f, w->now);
	return true;
}

struct walk_in {
	struct walk w;
	struct bpf_dynptr bytes;
};

static long step_in(__u32 index, struct walk_in *walk)
{
	struct walk *w = &walk->w;
	struct http2_cursor *cursor = &w->c->in;
	__u32 held = cursor->held & 15, at = cursor->next + cursor->held - w->start, size;

	if ((__s32)at < 0 || at >= w->size) {
		stop(w, cursor, (__s32)at < 0); /* bytes before it were read past our hook: splice, zero copy */
		return 1;
	}
	size = wanted_bytes(cursor, at, w->size);
	if (size > FRAME_HEADER_SIZE || bpf_dynptr_read(cursor->header + held, size, &walk->bytes, w->skip + at, 0)) {
		stop(w, cursor, true);
		return 1;
	}
	cursor->held += size;
	if (cursor->held == FRAME_HEADER_SIZE && !take_in(w)) {
		stop(w, cursor, true);
		return 1;
	}
	return 0;
}

static long step_out(__u32 index, struct walk *w)
{
	struct http2_cursor *cursor = &w->c->out;
	const void *from;
	__u32 held = cursor->held & 15, at = cursor->next + cursor->held - w->start, size;

	if ((__s32)at < 0 || at >= w->size) {
		stop(w, cursor, (__s32)at < 0);
		return 1;
	}
	if (at >= w->pieces.to) {
		if (pieces_next(&w->pieces))
			return 0;
		stop(w, cursor, true);
		return 1;
	}
	size = wanted_bytes(cursor, at, w->pieces.to < w->size ? w->pieces.to : w->size);
	from = (void *)(w->pieces.base + (at - w->pieces.from));
	if (size > FRAME_HEADER_SIZE || bpf_probe_read_user(cursor->header + held, size, from)) {
		stop(w, cursor, true);
		return 1;
	}
	cursor->held += size;
	if (cursor->held == FRAME_HEADER_SIZE && !take_out(w)) {
		stop(w, cursor, true);
		return 1;
	}
	return 0;
}

#endif
