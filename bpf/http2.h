/* SPDX-License-Identifier: GPL-2.0 */
/*
 * http2.h - what http2.bpf.c and its loader share: sizes.  Counters, histograms and sweep results are exchange.h's.
 */
#ifndef EBEE_HTTP2_H
#define EBEE_HTTP2_H

#include "exchange.h"

enum {
	HTTP2_MAX_STREAMS = 32768,     /* open at once, on all connections together */
	HTTP2_MAX_CONNECTIONS = 65536, /* followed at once */
	HTTP2_MAX_STEPS = 16384,       /* frames and pieces of memory looked at in one read or send */
};

#endif
