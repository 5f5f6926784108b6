/* SPDX-License-Identifier: GPL-2.0 */
/*
 * http2_state.h - the maps of http2.bpf.c and the life of one stream.  The model is described there.
 */
#ifndef EBEE_HTTP2_STATE_H
#define EBEE_HTTP2_STATE_H

#include "ring.h"
#include "sockets.h"
#include "stamps.h"

#include "http2.h"

/* How well we know where frames begin. */
enum http2_footing {
	FOOTING_PREFACE, /* the connection is new: its first bytes are known */
	FOOTING_SURE,
	FOOTING_NONE,    /* it is older than we are: the next read or send may begin with a frame */
	FOOTING_TRIED,   /* it did, it seems; and from here on one more for each frame since */
	FOOTING_FOUND = FOOTING_TRIED + 4, /* sure again: what are no frames does not get that far, see may_be_frame */
};

/* Where one direction of a connection has been read to. */
struct http2_cursor {
	__u32 footing;
	__u32 next;       /* TCP sequence number of the next frame header */
	__u32 stream;     /* of the frame before it, whose payload may not be through; 0: does not matter */
	__u32 held;       /* bytes of that header seen already */
	__u8 header[24];  /* nine are used; the rest is for the verifier, which does not add up */
};

/*
 * Lives in socket storage.  Everything that touches it runs under the socket's own lock: arrivals in softirq only while
 * no thread owns the socket, reads and sends as that owner.  The sweep only looks.
 */
struct http2_connection {
	__u64 number;     /* no other connection has it; 0: not TCP */
	__u32 service;
	__u32 lost;       /* nonzero: not followed (any more) */
	__u32 claimed;    /* nonzero: it is read by the service */
	struct http2_cursor in, out;
	__u32 last_stream; /* the highest the client has opened */
	__u32 nr_open;
	struct stamps stamps;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct http2_connection);
} connections SEC(".maps");

struct http2_stream_key {
	__u64 connection; /* its number */
	__u64 id;
};

struct http2_stream {
	__u64 arrival;
	__u64 read;
	__u64 owed_from; /* arrival of the last byte of the request seen so far */
	__u64 answered;  /* its first headers were handed over then; 0: not yet, or it needs no more than one frame */
	__u64 service;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HTTP2_MAX_STREAMS);
	__type(key, struct http2_stream_key);
	__type(value, struct http2_stream);
} streams SEC(".maps");

/* Numbers of the connections that are followed: a stream whose connection is not here any more is gone with it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, HTTP2_MAX_CONNECTIONS);
	__type(key, __u64);
	__type(value, __u32); /* service */
} alive SEC(".maps");

static __u64 last_number; /* given to a connection */

/* Written by user space. */
__u32 wanted[EXCHANGE_MAX_SERVICES]; /* nonzero: measured by stream */
__u64 target_ns[EXCHANGE_MAX_SERVICES];
__u64 long_ns; /* an answer spread over more is counted apart */
/* Written by the sweep, which user space clears first. */
struct exchange_sweep swept[EXCHANGE_MAX_SERVICES];
/* Nonzero: something of the service may be open.  Set by programs, cleared before a sweep. */
__u32 pending[EXCHANGE_MAX_SERVICES];

static __always_inline void count(__u32 service, enum exchange_counter which, __u64 nr)
{
	struct exchange_cell *cell = cell_of(service);

	if (cell)
		__sync_fetch_and_add(&cell->counters[which], nr);
}

static __always_inline void set_pending(__u32 service)
{
	/* Read first: the line stays shared between CPUs while a service is busy. */
	if (!pending[SERVICE_INDEX(service)])
		pending[SERVICE_INDEX(service)] = 1;
}

/* The connection's streams are over without an answer that we could see. */
static __always_inline void lose(struct http2_connection *c, enum exchange_counter streams_are)
{
	if (c->nr_open)
		count(c->service, streams_are, c->nr_open);
	c->nr_open = 0;
	c->lost = 1;
	bpf_map_delete_elem(&alive, &c->number);
}

static __always_inline void lose_opaque(struct http2_connection *c)
{
	count(c->service, EXCHANGE_OPAQUE, 1);
	lose(c, EXCHANGE_STREAM_LOST);
}

/* No frame is where one should be.  On a connection that was never understood, that is no loss. */
static __always_inline void lose_footing(struct http2_connection *c, struct http2_cursor *cursor)
{
	if (cursor->footing < FOOTING_NONE)
		lose_opaque(c);
	else
		cursor->footing = FOOTING_NONE;
}

#endif
