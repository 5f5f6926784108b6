/* SPDX-License-Identifier: GPL-2.0 */
/*
 * readsend.h - what readsend.bpf.c and its loader share, beyond the cells and sweep results of exchange.h.
 */
#ifndef EBEE_READSEND_H
#define EBEE_READSEND_H

#include "exchange.h"

enum {
	READSEND_MAX_OPEN = 65536,       /* descriptors that were read and not closed, in all services of a handle */
	READSEND_LINGER_NS = 50000000,   /* a connection that lives on for that long after its last answer lingers */
};

/* How the connections of one service end; counts only grow. */
struct readsend_ends {
	__u64 nr_closed;  /* after one request, and soon after its answer */
	__u64 nr_lingering; /* of the last walk: answered, and open for READSEND_LINGER_NS since */
};

#endif
