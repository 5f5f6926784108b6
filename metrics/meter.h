/* SPDX-License-Identifier: GPL-2.0 */
/*
 * meter.h - what the objects of programs that measure beside the exchange programs have in common.  Port over libbpf.
 * Not installed.
 */
#ifndef EBEE_METER_H
#define EBEE_METER_H

#include "programs.h"

struct bpf_link;
struct bpf_map;
struct bpf_program;

/* Before the object is loaded: `map` is to be `theirs`.  0 or negative errno. */
int meter_share(struct bpf_map *map, const struct bpf_map *theirs);
/* The same for the ring of traced requests; without one, it is not made. */
int meter_share_ring(struct bpf_map *requests, const struct exchange_bpf *exchange);
/* A walk over the elements of `map`, which programs_iterate starts. */
int meter_attach_walk(struct bpf_link **ret, struct bpf_program *program, const struct bpf_map *map);
/* What an own sweep found, on top of what the exchange programs' found. */
void meter_add_sweep(struct exchange_sweep *swept, const struct exchange_sweep *found);

#endif
