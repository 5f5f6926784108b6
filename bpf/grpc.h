/* SPDX-License-Identifier: GPL-2.0 */
/*
 * grpc.h - what grpc.bpf.c and its loader share, beyond the cells and sweep results of exchange.h.
 */
#ifndef EBEE_GRPC_H
#define EBEE_GRPC_H

#include "exchange.h"

enum {
	GRPC_MAX_CALLS = 65536,        /* in flight, in all services of a handle */
	GRPC_READ_NS = 1000 * 1000,    /* what a thread read longer ago is not what it works on now */
	GRPC_SUSPECT_NS = 100000000,   /* a call in flight for that long may be a stream of messages: they are counted */
	GRPC_UNARY_WRITES = 3,         /* initial metadata, message, trailing metadata */
};

#endif
