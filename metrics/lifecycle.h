/* SPDX-License-Identifier: GPL-2.0 */
/*
 * lifecycle.h - what a request is, per service of a handle, and the programs loaded for it beside the exchange programs.
 * Glue of libebee; not installed.
 */
#ifndef EBEE_LIFECYCLE_H
#define EBEE_LIFECYCLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "choose.h"
#include "exchange.h"

struct bpf_object;
struct http2;
struct library;
struct readsend;

enum { LIFECYCLE_MAX_LIBRARIES = 8, LIFECYCLE_REASON_SIZE = 512 };

struct lifecycle {
	enum ebee_lifecycle asked, in_use;
	const struct ebee_library *row; /* of a service that a library measures */
	struct choose choose;           /* when asked is one that chooses */
	__u32 protocols[EXCHANGE_NR_PROTOCOLS];     /* as of the last step */
	uint64_t counters[EXCHANGE_NR_COUNTERS], nr_closed;
	char reason[LIFECYCLE_REASON_SIZE];
};

/* All of a handle; zeroed to begin with. */
struct lifecycles {
	struct lifecycle services[EBEE_MAX_SERVICES];
	struct library *libraries[LIFECYCLE_MAX_LIBRARIES]; /* NULL: free */
	struct http2 *http2;                                /* NULL: no service has this lifecycle */
	struct readsend *readsend;                          /* likewise */
};

/* ---- programs (lifecycle_programs.c) ------------------------------------------------------------------------------ */

bool lifecycle_chooses(enum ebee_lifecycle asked);
/*
 * What may be chosen is loaded, for it takes the verifier seconds on a busy machine, and that is no time for a sweep.
 * What this kernel refuses it refuses again when it is chosen, and then it is said.
 */
int lifecycle_load_choices(struct ebee *e, enum ebee_lifecycle asked);
/* The service is measured so from here on; row: by this library. */
int lifecycle_enter(struct ebee *e, unsigned int service, enum ebee_lifecycle lifecycle, const struct ebee_library *row);
/* Whether its processes have the library: 0, or as ebee_seed.  Changes nothing. */
int lifecycle_try_library(struct ebee *e, unsigned int service, const struct ebee_library *row);
/* What it was measured by, it is no more; programs that no service needs go. */
void lifecycle_exit(struct ebee *e, unsigned int service);
void lifecycle_unload(struct ebee *e);
void lifecycle_close(struct ebee *e);

/* What was said of the services reaches the programs, and probes the libraries.  The errors of ebee_seed. */
int lifecycle_seed(struct ebee *e);
/* Probes libraries that have come since. */
void lifecycle_look_for_libraries(struct ebee *e);
/* True when something was in flight since the last sweep. */
bool lifecycle_is_pending(struct ebee *e);
/* Adds what is in flight to the results of the exchange programs' sweep. */
int lifecycle_sweep(struct ebee *e);

/* What could not be followed, since ebee_open, by the programs here. */
uint64_t lifecycle_nr_missed(const struct ebee *e);
/* Its library is there, and no probe was hit since the service was added. */
bool lifecycle_is_unprobed(const struct ebee *e, unsigned int service);
/* The objects of programs loaded now. */
void lifecycle_each_object(const struct ebee *e, void (*fn)(const struct bpf_object *object, void *ctx), void *ctx);

/* ---- services (lifecycle.c) --------------------------------------------------------------------------------------- */

/* ebee_set_lifecycle, for handles that trace, too; EBEE_LIBRARY is none. */
int lifecycle_set(struct ebee *e, unsigned int service, enum ebee_lifecycle lifecycle);
/* The service goes back to what every service begins with. */
void lifecycle_leave(struct ebee *e, unsigned int service);
/* Once per sweep, after it: looks for libraries that came, and chooses again for services that want it. */
int lifecycle_step(struct ebee *e);

#endif
