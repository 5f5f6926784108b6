/* SPDX-License-Identifier: GPL-2.0 */
/*
 * server.h - the gRPC side of hotel-search: a thread pool over one completion queue of gRPC's C core.
 */
#ifndef PARTIES_SERVER_H
#define PARTIES_SERVER_H

#include <stdint.h>

#include "search.h"

struct server;

struct server_settings {
	const struct city *city;
	uint32_t weight, nr_threads;
	uint16_t port; /* of 127.0.0.1 */
};

/* Listening and serving on return.  -EADDRINUSE (or whatever kept it from listening), -ENOMEM, -EAGAIN (threads). */
int server_start(struct server **ret, const struct server_settings *settings);
/* Answers what has begun, for two seconds at most, then ends. */
void server_stop(struct server *server);

#endif
