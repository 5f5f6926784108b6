/* SPDX-License-Identifier: GPL-2.0 */
/*
 * library.h - what library.bpf.c and its loader share, beyond the cells and sweep results of exchange.h.
 */
#ifndef EBEE_BPF_LIBRARY_H
#define EBEE_BPF_LIBRARY_H

#include "exchange.h"

enum {
	LIBRARY_MAX_CALLS = 65536,      /* in flight, in all services that one library serves */
	LIBRARY_MAX_BATCHES = 16384,    /* reads that brought several calls, remembered */
	LIBRARY_READ_NS = 1000 * 1000,  /* what a thread read longer ago is not what it works on now */
	LIBRARY_SUSPECT_NS = 100000000, /* a call in flight for that long may be a stream of messages: they are counted */
	LIBRARY_MAX_ARGUMENT = 6,       /* in registers */
};

/* Which arguments of a probed function say what; numbered from 1, 0: none.  ebee.h, struct ebee_event, explains them. */
struct library_event {
	__u32 id, only_if, status, shifts;
};

#endif
