/* SPDX-License-Identifier: GPL-2.0 */
/*
 * handle.h - what the files of libebee know of a handle; not installed.
 */
#ifndef EBEE_HANDLE_H
#define EBEE_HANDLE_H

#include "ebee.h"
#include "lifecycle.h"
#include "programs.h"
#include "runqueue.h"
#include "tracing.h"

struct ebee {
	struct exchange_bpf *skel;
	const struct exchange_cell *cells; /* memory-mapped, read-only */
	size_t cells_size;
	unsigned int nr_services, nr_slots;
	__u32 netns;
	char features[256];
	int stats_fd; /* >= 0 while the kernel counts our CPU time for us */
	struct runqueue *runqueue; /* NULL: opened with a ring, or this kernel cannot */
	struct lifecycles lifecycles;
	bool has_port[EBEE_MAX_SERVICES];
	char error[768];        /* of ebee_error */
	struct tracing *tracing; /* NULL: opened without a ring */
};

/* Deletes the entries of a hash whose value is the service. */
void handle_map_drop(const struct bpf_map *map, __u32 service);

/* CLOCK_MONOTONIC, the programs' clock. */
uint64_t handle_now_ns(void);

/* Processes or ports were added to the service. */
bool handle_is_known(const struct ebee *e, unsigned int service);
/* Gives up what is remembered of the service's sockets; ebee_seed finds them again. */
int handle_forget(struct ebee *e, unsigned int service);

#endif
