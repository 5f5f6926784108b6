/* SPDX-License-Identifier: GPL-2.0 */
/*
 * exchange.h - what exchange.bpf.c and its loader share: sizes, cells, counters, sweep results.
 */
#ifndef EBEE_EXCHANGE_H
#define EBEE_EXCHANGE_H

#include <linux/types.h>

#include "hist.h"

enum {
	EXCHANGE_MAX_SERVICES = 64,
	EXCHANGE_MAX_SLOTS = 8,      /* cells per service; CPUs share them modulo */
	EXCHANGE_MAX_PROCESSES = 16384,
	EXCHANGE_MAX_PORTS = 4096,
	EXCHANGE_MAX_UNIX = 16384, /* AF_UNIX connections, those that closed within a minute included */
	EXCHANGE_NO_REQUEST_BYTES = 32, /* HTTP/2: a call needs two frames with contents; pings and window updates are shorter */
	EXCHANGE_LARGE_SEND = 256 << 10, /* a send of that many bytes may wait for the peer inside; buffers grow to megabytes */
	EXCHANGE_BUFFERED_BYTES = 1 << 20, /* handed over and not delivered yet: worth declaring */
};

/* When a request is over. */
enum exchange_lifecycle {
	EXCHANGE_PER_REQUEST,    /* at the next request's read, at our close, or when the sweep finds it settled */
	EXCHANGE_PER_CONNECTION, /* at our close alone: clients make one connection per request */
	EXCHANGE_BY_LIBRARY,     /* its library says (grpc.bpf.c): here only what was read when, and what waits unread */
	EXCHANGE_BY_STREAM,      /* its frames say (http2.bpf.c): nothing here */
	EXCHANGE_NR_LIFECYCLES
};

/* What a connection speaks, by its first bytes; those from HTTP1 on are followed request by request. */
enum exchange_protocol {
	EXCHANGE_UNSEEN,   /* not looked at (yet), or not to be: see on_bytes */
	EXCHANGE_NEW,      /* what has come does not tell */
	EXCHANGE_OPAQUE_BYTES, /* nothing that we know: every read after an answer is a request */
	EXCHANGE_MULTIPLEX, /* HTTP/2: many requests at once */
	EXCHANGE_UPGRADED, /* no requests and answers any more: WebSocket, tunnels, subscriptions */
	EXCHANGE_HTTP1,
	EXCHANGE_TLS,      /* records; what is in them is not known */
	EXCHANGE_MEMCACHED,
	EXCHANGE_RESP,
	EXCHANGE_NR_PROTOCOLS
};

/* What happened to a request, from arrival to the last byte of its answer; see exchange.bpf.c. */
enum exchange_hist {
	EXCHANGE_RESIDENCY, /* arrival -> first read: accept backlog and receive queue */
	EXCHANGE_SERVICE,   /* first read -> last write */
	EXCHANGE_TOTAL,     /* arrival -> last write */
	EXCHANGE_OWED,      /* arrival of what the last read before the answer took -> last write, less the peer's time */
	EXCHANGE_NR_HISTS
};

enum exchange_counter {
	EXCHANGE_BEGUN,      /* requests whose first byte was read */
	EXCHANGE_ABORTED,    /* read or waiting, and the connection went before an answer */
	EXCHANGE_UNMATCHED,  /* answer bytes without a request seen: open before the attach, or sent unasked */
	EXCHANGE_NO_ARRIVAL, /* arrival not seen: the first read stands in */
	EXCHANGE_UNSEEN_WRITE, /* the answer was written past our hook: it ends when the next request arrived */
	EXCHANGE_UNSEEN_READ, /* the request was read past our hook (splice, zero copy): residency unknown, counted as 0 */
	EXCHANGE_BUFFERED,   /* more than EXCHANGE_BUFFERED_BYTES of the answer waited in our buffers when it ended */
	EXCHANGE_DATAGRAM,   /* read from UDP: one socket serves all clients, so nothing pairs */
	EXCHANGE_BLOCKED,    /* exchanges from which a peer's time was taken off */
	EXCHANGE_DROPPED,    /* the ring was full: missing from the per-request interface, never from the histograms */
	EXCHANGE_AMENDED,    /* the sweep had ended it when more of the answer came: its sample moved to the true end */
	EXCHANGE_LONG_LIVED, /* its answer was spread over more than long_ns by the server, or many messages: in no histogram */
	EXCHANGE_LIBRARY_READ, /* reads of a service that its library measures */
	EXCHANGE_OPAQUE,     /* connections that speak something else, or were not understood any more */
	EXCHANGE_MULTIPLEXED, /* connections of many streams: by stream, open before the attach, first requests were missed;
			       * by exchange, not measured at all */
	EXCHANGE_STREAM_LOST, /* requests that could not be remembered, or open when their connection became opaque */
	EXCHANGE_ONE_WAY,    /* commands that want no answer: in no histogram */
	EXCHANGE_TLS_UNSURE, /* TLS connections whose handshake we could not tell from requests: the first ones were left out */
	EXCHANGE_UNMEASURED, /* arrivals on connections that are not measured: HTTP/2, upgraded ones */
	EXCHANGE_NR_COUNTERS
};

/*
 * One service's numbers on one slot.  They only grow, wrapping; a window is the difference of two readings, and never holds
 * the 2^31 requests that 32 bits could not tell.  A reader needs the buckets of marked octaves alone.
 */
struct exchange_cell {
	__u64 counters[EXCHANGE_NR_COUNTERS];
	__u64 nr_booked; /* samples booked and samples taken back: did anything change? */
	__u32 octaves[EXCHANGE_NR_HISTS]; /* a bit for each octave that ever had a value */
	/* The four histograms are about times of one size: side by side they are read in one run. */
	__u32 buckets[HIST_NR_OCTAVES][EXCHANGE_NR_HISTS][HIST_SUBS];
};

/* One service as the last sweep over socket storage found it. */
struct exchange_sweep {
	__u64 nr_connections;
	__u64 nr_open;        /* requests read or waiting, and not answered yet */
	__u64 nr_waiting;     /* of those, nothing read yet */
	__u64 nr_over_target; /* of the open ones, older than the target */
	__u64 oldest_ns;      /* age of the oldest open one */
	__u64 nr_listen_drops; /* connections its listeners turned away since they were opened */
};

/* What a thread read last, of a service that its library measures. */
struct exchange_read {
	__u64 first, last; /* arrival of its first and of its last byte */
	__u64 read;        /* 0: nothing yet */
	__u64 sleeps;      /* nvcsw of the thread then */
};

/* One finished exchange in the ring of the per-request interface: the service above, its owed latency below. */
enum { EXCHANGE_RECORD_SHIFT = 56 };
#define EXCHANGE_RECORD_NS ((1ULL << EXCHANGE_RECORD_SHIFT) - 1)

struct exchange_port {
	__u32 netns; /* inode number of the network namespace */
	__u32 port;
};

#endif
