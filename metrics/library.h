/* SPDX-License-Identifier: GPL-2.0 */
/*
 * library.h - requests of services that one row of the table of libraries describes (ebee.h, struct ebee_library): which
 * files their processes map, probes on them, what is in flight.
 *
 * Probes sit on files, one pair per file whoever maps it, and leave with the last service that uses it.
 */
#ifndef EBEE_LIBRARY_H
#define EBEE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ebee.h"
#include "exchange.h"

struct bpf_object;
struct exchange_bpf;
struct library;

/*
 * Beside the loaded programs of `exchange`, which must outlive it, as must the row.  -EINVAL: it is no row.  On failure
 * `error` has one line.
 */
int library_open(struct library **ret, const struct ebee_library *row, struct exchange_bpf *exchange, char *error,
		 size_t error_size);
void library_close(struct library *l); /* NULL is fine */
const struct bpf_object *library_object(const struct library *l);
const struct ebee_library *library_row(const struct library *l);

void library_add(struct library *l, unsigned int service);
bool library_has(const struct library *l, unsigned int service);
/* Releases its probes and forgets its calls in flight. */
void library_remove(struct library *l, unsigned int service);

/*
 * Puts probes on what the services' processes have mapped by now.  -ENOTSUP: a service has processes, and none of them
 * has the symbols; -EPERM: no right to place probes.  Then `error` has one line that names the file.
 */
int library_attach(struct library *l, char *error, size_t error_size);
bool library_is_attached(const struct library *l, unsigned int service); /* it has a probe */
/* Some service has no probe yet: its library may be loaded later. */
bool library_is_waiting(const struct library *l);

/* Takes over what has been said of the services since. */
void library_refresh(struct library *l);
/* True when there was something in flight since the last sweep. */
bool library_is_pending(struct library *l);
/* Adds calls in flight to the results of the exchange programs' sweep. */
int library_sweep(struct library *l);

/* A call of the service was seen since it was added. */
bool library_was_hit(const struct library *l, unsigned int service);
/* Calls that could not be followed, since library_open. */
uint64_t library_nr_missed(const struct library *l);

#endif
