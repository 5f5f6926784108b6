/* SPDX-License-Identifier: GPL-2.0 */
/*
 * programs.h - loading and attaching the kernel programs.  Port over libbpf.
 */
#ifndef EBEE_PROGRAMS_H
#define EBEE_PROGRAMS_H

#include <stddef.h>

#include <bpf/libbpf.h>

#include "exchange.h"
#include "exchange.skel.h" /* after exchange.h: it names its types */

struct programs_opts {
	unsigned int nr_services, nr_slots; /* nr_slots: a power of two */
	unsigned int ring_size;             /* bytes, a power of two and whole pages; 0: no ring */
	char *features;                     /* out: which variant of each hook */
	size_t features_size;
};

/* On failure `error` has one line.  The caller destroys *ret with exchange_bpf__destroy. */
int programs_load(struct exchange_bpf **ret, const struct programs_opts *opts, char *error, size_t error_size);
/* From here on what libbpf says is kept, not printed; the caller gives the printer returned back to libbpf_set_print. */
libbpf_print_fn_t programs_keep_warnings(void);
/* The most telling line since then, "" when there was none. */
const char *programs_last_warning(void);
/*
 * Why further programs, those for `what`, did not load or attach with err, looked up on this machine, in one line.
 * What to return instead of err.
 */
int programs_explain(int err, const char *what, char *error, size_t error_size);
/* Runs an iterator to its end. */
int programs_iterate(struct bpf_link *link);

#endif
