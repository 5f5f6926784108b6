/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tracing.h - the per-request interface of ebee.h: pids, their rolling windows, and the thread that empties the ring.
 */
#ifndef EBEE_TRACING_H
#define EBEE_TRACING_H

#include "ebee.h"

struct tracing;

int tracing_open(struct tracing **ret, struct ebee *e, const struct ebee_opts *opts);
void tracing_close(struct tracing *t); /* NULL is fine */

#endif
