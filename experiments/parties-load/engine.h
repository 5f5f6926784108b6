/* SPDX-License-Identifier: GPL-2.0 */
/*
 * engine.h - how the driver of the schedule sends requests and learns of answers, whatever the protocol.
 */
#ifndef PARTIES_LOAD_ENGINE_H
#define PARTIES_LOAD_ENGINE_H

#include <stdint.h>

#include "meter.h"
#include "options.h"

struct engine {
	void *ctx;
	/* Sends now or, without a free connection, as soon as there is one.  -ENOMEM. */
	int (*send)(void *ctx, uint64_t intended_ns);
	/* Waits until the instant or until something happened, and reports all completions to the meter. */
	void (*wait)(void *ctx, uint64_t until_ns);
	/* When the request that waits longest for its answer should have left; UINT64_MAX: none does. */
	uint64_t (*oldest)(void *ctx);
	/* Forgets what has not been sent; returns how many. */
	uint64_t (*forget_unsent)(void *ctx);
	/* Closes every connection, requests in flight or not. */
	void (*close)(void *ctx);
};

/* memcached, redis, http, truth: one epoll loop.  Negative errno. */
int tcp_open(struct engine *ret, const struct options *o, struct meter *meter);
/* grpc: the C core of gRPC. */
int rpc_open(struct engine *ret, const struct options *o, struct meter *meter);

#endif
