/* SPDX-License-Identifier: GPL-2.0 */
/*
 * grpc.h - calls of services that use gRPC's C++ core: which files their processes map, probes on them, what is in
 * flight.
 *
 * Probes sit on files, one pair per file whoever maps it, and leave with the last service that uses it.
 */
#ifndef EBEE_LIBRARY_GRPC_H
#define EBEE_LIBRARY_GRPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exchange.h"

struct bpf_object;
struct exchange_bpf;
struct grpc;

/* Beside the loaded programs of `exchange`, which must outlive it.  On failure `error` has one line. */
int grpc_open(struct grpc **ret, struct exchange_bpf *exchange, char *error, size_t error_size);
void grpc_close(struct grpc *g); /* NULL is fine */
const struct bpf_object *grpc_object(const struct grpc *g);

void grpc_add(struct grpc *g, unsigned int service);
/* Releases its probes and forgets its calls in flight.  True while other services are left. */
bool grpc_remove(struct grpc *g, unsigned int service);

/*
 * Puts probes on what the services' processes have mapped by now.  -ENOTSUP: a service has processes, and none of them
 * has the symbols; -EPERM: no right to look at its files, or to place probes.  Then `error` has one line that says so.
 */
int grpc_attach(struct grpc *g, char *error, size_t error_size);
/* Some service has no probe yet: its library may be loaded later. */
bool grpc_is_waiting(const struct grpc *g);

/* True when there was something in flight since the last sweep. */
bool grpc_is_pending(struct grpc *g);
/* Adds calls in flight to the services' results, an array like that of targets (0: none). */
int grpc_sweep(struct grpc *g, const __u64 *target_ns, struct exchange_sweep *swept);

/* A stream of the service was seen since it was added. */
bool grpc_was_hit(const struct grpc *g, unsigned int service);
/* Calls that could not be followed, since grpc_open. */
uint64_t grpc_nr_missed(const struct grpc *g);

#endif
