/* SPDX-License-Identifier: GPL-2.0 */
/*
 * http2_frames.h - what one frame header of either direction means for its stream.  Headers are found by http2_walk.h.
 */
#ifndef EBEE_HTTP2_FRAMES_H
#define EBEE_HTTP2_FRAMES_H

#include "frame.h"
#include "http2_state.h"

/* "PRI * HTT": no request of another protocol begins so; the method was set aside for this. */
static __always_inline bool is_preface(const __u8 *h)
{
	return h[0] == 'P' && h[1] == 'R' && h[2] == 'I' && h[3] == ' ' && h[4] == '*' && h[5] == ' ' && h[6] == 'H' &&
	       h[7] == 'T' && h[8] == 'T';
}

static __always_inline struct http2_stream_key key_of(const struct http2_connection *c, __u32 stream)
{
	return (struct http2_stream_key){ .connection = c->number, .id = stream };
}

static __always_inline void stream_begin(struct http2_connection *c, __u32 id, __u64 arrival, __u64 now)
{
	struct http2_stream_key key = key_of(c, id);
	struct http2_stream stream = { .service = c->service, .read = now, .arrival = arrival ? arrival : now };

	stream.owed_from = stream.arrival;
	c->last_stream = id;
	if (c->out.footing >= FOOTING_NONE)
		return; /* its answer would not be seen */
	count(c->service, EXCHANGE_BEGUN, 1);
	if (!arrival)
		count(c->service, EXCHANGE_NO_ARRIVAL, 1);
	if (bpf_map_update_elem(&streams, &key, &stream, BPF_NOEXIST)) {
		count(c->service, EXCHANGE_STREAM_LOST, 1);
		return;
	}
	c->nr_open++;
	set_pending(c->service);
}

/* More of the request has come. */
static __always_inline void stream_touch(const struct http2_connection *c, __u32 id, __u64 arrival)
{
	struct http2_stream_key key = key_of(c, id);
	struct http2_stream *stream = bpf_map_lookup_elem(&streams, &key);

	if (stream && arrival > stream->owed_from)
		stream->owed_from = arrival;
}

static __always_inline void stream_answered(const struct http2_connection *c, __u32 id, __u64 now)
{
	struct http2_stream_key key = key_of(c, id);
	struct http2_stream *stream = bpf_map_lookup_elem(&streams, &key);

	if (stream && !stream->answered)
		stream->answered = now;
}

/* The server spreads its answer over a long time: not slow, but a stream of events, a download, a streaming call. */
static __always_inline bool is_long(const struct http2_stream *stream, __u64 now)
{
	return stream->answered && now - stream->answered > long_ns;
}

static __always_inline void book_stream(const struct http2_stream *stream, __u64 now)
{
	struct exchange_cell *cell = cell_of(stream->service);

	if (!cell)
		return;
	if (is_long(stream, now)) {
		__sync_fetch_and_add(&cell->counters[EXCHANGE_LONG_LIVED], 1);
		return;
	}
	book_one(cell, EXCHANGE_RESIDENCY, stream->read - stream->arrival, 1);
	book_one(cell, EXCHANGE_SERVICE, now - stream->read, 1);
	book_one(cell, EXCHANGE_TOTAL, now - stream->arrival, 1);
	book_one(cell, EXCHANGE_OWED, now - stream->owed_from, 1);
	trace(cell, stream->service, now - stream->owed_from);
}

static __always_inline void stream_end_at(struct http2_connection *c, __u32 id, __u64 now, bool aborted)
{
	struct http2_stream_key key = key_of(c, id);
	struct http2_stream *found = bpf_map_lookup_elem(&streams, &key), stream;

	if (!found)
		return; /* over already, no request (a push), or not to be followed */
	stream = *found;
	bpf_map_delete_elem(&streams, &key);
	c->nr_open--;
	if (aborted)
		count(c->service, EXCHANGE_ABORTED, 1);
	else
		book_stream(&stream, now);
}

/* What the client sent.  `begin`, `end`: arrival of the frame's first byte, and of the last one that is here. */
static __always_inline void frame_in(struct http2_connection *c, const struct frame *f, __u64 begin,
				     __u64 end, __u64 now)
{
	if (f->type == FRAME_RST_STREAM) {
		stream_end_at(c, f->stream, now, true);
		return;
	}
	if (f->type != FRAME_HEADERS && f->type != FRAME_DATA)
		return;
	if (f->type == FRAME_HEADERS && f->stream & 1 && f->stream > c->last_stream)
		stream_begin(c, f->stream, begin, now);
	if (end != begin || f->type == FRAME_DATA)
		stream_touch(c, f->stream, end);
}

/* What the server hands over. */
static __always_inline void frame_out(struct http2_connection *c, const struct frame *f, __u64 now)
{
	if (f->type == FRAME_RST_STREAM)
		stream_end_at(c, f->stream, now, true);
	else if (f->type != FRAME_HEADERS && f->type != FRAME_DATA)
		return;
	else if (f->flags & FRAME_END_STREAM)
		stream_end_at(c, f->stream, now, false);
	else if (f->type == FRAME_HEADERS)
		stream_answered(c, f->stream, now);
}

#endif
