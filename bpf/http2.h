/* SPDX-License-Identifier: GPL-2.0 */
/*
 * http2.h - what http2.bpf.c and its loader share: sizes and sweep results.  Counters and histograms are exchange.h's.
 */
#ifndef EBEE_HTTP2_H
#define EBEE_HTTP2_H

#include "exchange.h"

enum {
	HTTP2_MAX_STREAMS = 32768,     /* open at once, on all connections together */
	HTTP2_MAX_CONNECTIONS = 65536, /* followed at once */
	HTTP2_MAX_STEPS = 16384,       /* frames and pieces of memory looked at in one read or send */
};

/* One service's streams as the last sweep found them. */
struct http2_sweep {
	__u64 nr_open;        /* requests read and not answered, and connections with unread bytes */
	__u64 nr_waiting;     /* of those, the connections */
	__u64 nr_over_target; /* of the open ones, older than the target */
	__u64 oldest_ns;      /* age of the oldest open one */
};

#endif
