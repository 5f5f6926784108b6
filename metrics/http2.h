/* SPDX-License-Identifier: GPL-2.0 */
/*
 * http2.h - requests of services that speak HTTP/2, stream by stream: loads the programs of http2.bpf.c beside those of
 * exchange.bpf.c, whose cells they write into and whose marks on sockets they follow.
 */
#ifndef EBEE_METRICS_HTTP2_H
#define EBEE_METRICS_HTTP2_H

#include <stdbool.h>
#include <stddef.h>

#include "exchange.h"

struct bpf_object;
struct exchange_bpf;
struct http2;

/*
 * Loads beside the programs of `exchange`, which must outlive it.  On failure `error` has one line;
 * -ENOTSUP: this kernel has not the hooks.
 */
int http2_open(struct http2 **ret, struct exchange_bpf *exchange, char *error, size_t error_size);
void http2_close(struct http2 *h); /* NULL is fine */
const struct bpf_object *http2_object(const struct http2 *h);

/* The hooks are there while a service is measured so.  Negative errno: they did not attach. */
int http2_add(struct http2 *h, unsigned int service);
/* Forgets its streams in flight. */
void http2_remove(struct http2 *h, unsigned int service);

/* Takes over what has been said of the services since. */
void http2_refresh(struct http2 *h);

/* True when there was something in flight since the last sweep. */
bool http2_is_pending(struct http2 *h);
/* Adds streams in flight to the results of the exchange programs' sweep. */
int http2_sweep(struct http2 *h);

#endif
