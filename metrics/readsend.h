/* SPDX-License-Identifier: GPL-2.0 */
/*
 * readsend.h - requests as pairs of calls on a descriptor, and how connections end: loads the programs of
 * readsend.bpf.c beside those of exchange.bpf.c.  The hook on system calls is there while a service is measured so.
 */
#ifndef EBEE_METRICS_READSEND_H
#define EBEE_METRICS_READSEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/readsend.h"

struct bpf_object;
struct exchange_bpf;
struct readsend;

/* Beside the loaded programs of `exchange`, which must outlive it.  On failure `error` has one line. */
int readsend_open(struct readsend **ret, struct exchange_bpf *exchange, char *error, size_t error_size);
void readsend_close(struct readsend *r); /* NULL is fine */
const struct bpf_object *readsend_object(const struct readsend *r);

/* Negative errno: the hook did not attach. */
int readsend_add(struct readsend *r, unsigned int service);
/* Forgets what is open on its descriptors. */
void readsend_remove(struct readsend *r, unsigned int service);

/* Takes over what has been said of the services since. */
void readsend_refresh(struct readsend *r);
/* True when there was something open since the last sweep. */
bool readsend_is_pending(struct readsend *r);
/* Adds what is open to the results of the exchange programs' sweep. */
int readsend_sweep(struct readsend *r);

/* Looks how connections end, in all services: results are read until the next look. */
int readsend_look(struct readsend *r);
const struct readsend_ends *readsend_ends(const struct readsend *r, unsigned int service);
/* Reads that could not be remembered, since readsend_open. */
uint64_t readsend_nr_missed(const struct readsend *r);

#endif
