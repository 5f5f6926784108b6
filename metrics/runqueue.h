/* SPDX-License-Identifier: GPL-2.0 */
/*
 * runqueue.h - waiting for a CPU, by service: loads the programs of runqueue.bpf.c beside those of exchange.bpf.c, whose
 * map of processes they follow.  Port.
 */
#ifndef EBEE_METRICS_RUNQUEUE_H
#define EBEE_METRICS_RUNQUEUE_H

#include <stdint.h>

struct bpf_object;
struct ebee;
struct runqueue;

/* Loads the programs for the handle and notes it in its features.  On failure the handle's error has one line. */
int runqueue_enter(struct ebee *e);
void runqueue_close(struct runqueue *r); /* NULL is fine */
const struct bpf_object *runqueue_object(const struct runqueue *r);

/* Its processes have been taken out of the map of processes. */
int runqueue_remove(struct runqueue *r, unsigned int service);

/*
 * Walks the tasks, unless the last walk was so recent that walks would take more than 0.1 % of a CPU, and takes what
 * culprits were charged since the last call.
 */
int runqueue_sweep(struct runqueue *r);
/* Run-queue delay of the service until the last walk, ns, and how many there were; they only grow.  0 for NULL. */
uint64_t runqueue_delay_ns(const struct runqueue *r, unsigned int service, uint64_t *ret_nr_walks);

#endif
