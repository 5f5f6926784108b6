/* SPDX-License-Identifier: GPL-2.0 */
/*
 * discipline.h - what a station asks of the servers behind it, however these divide themselves among requests: first
 * come first served (servers.h), or all at once (sharing.h).  Pure; memory comes from open alone.
 *
 * Time goes forward: arrive() and run() say how far, the other calls happen where run() stopped last.  What ends is
 * told to `done` by then, but in the order of time only when run() goes from one event to the next.
 */
#ifndef PARTIES_DISCIPLINE_H
#define PARTIES_DISCIPLINE_H

#include "waiting.h"

struct discipline_params {
	bool per_thread; /* a queue per server, for servers that come first served */
	uint32_t room;   /* requests that can wait */
	void (*done)(void *ctx, const struct request *request, uint64_t finish_ns);
	void *ctx;
};

struct discipline_state {
	uint32_t nr_running; /* servers at work */
	uint32_t nr_inside;  /* requests at work or waiting */
	uint64_t next_ns;    /* when the first request ends if nothing changes, or UINT64_MAX */
	uint64_t busy_ns;    /* time that servers have worked since the start */
};

struct discipline_ops {
	/* Starts at time 0 with no server, at full speed.  -ENOMEM. */
	int (*open)(void **ret, const struct discipline_params *params);
	void (*close)(void *servers);
	/* False: no room, the request is turned away. */
	bool (*arrive)(void *servers, const struct request *request, uint64_t now_ns);
	void (*run)(void *servers, uint64_t until_ns);
	void (*set_servers)(void *servers, uint32_t nr);
	/* Work takes `slowdown` times as long as at full speed. */
	void (*set_slowdown)(void *servers, double slowdown);
	/* Nothing goes on, while requests still arrive. */
	void (*set_frozen)(void *servers, bool frozen);
	struct discipline_state (*look)(const void *servers);
	/*
	 * Every request that is at work, and of each queue from the last on until `see` says that it has seen enough,
	 * then the first: in overload queues are long, and those at the front all late.
	 */
	void (*each)(const void *servers, bool (*see)(void *ctx, const struct request *request), void *ctx);
};

extern const struct discipline_ops servers_ops, sharing_ops;

#endif
