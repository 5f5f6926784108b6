/* SPDX-License-Identifier: GPL-2.0 */
/*
 * run.h - plays one schedule against the service.
 */
#ifndef PARTIES_LOAD_RUN_H
#define PARTIES_LOAD_RUN_H

#include "engine.h"

struct run_limits {
	double rps;              /* constant rate, or what 100 % of the profile is */
	uint64_t duration_ns;    /* UINT64_MAX: no end */
	uint64_t nr_late_allowed; /* stop sending once more are late; UINT64_MAX: never */
	bool quiet;              /* no lines for intervals */
};

/* From now on SIGINT and SIGTERM end a run early, with its summary; run_stopped tells. */
void run_catch_signals(void);
bool run_stopped(void);

/* Sends, waits for the answers, and leaves the counts in *ret.  Negative errno: it could not even start. */
int run_play(const struct options *o, const struct run_limits *limits, struct meter *ret);

#endif
