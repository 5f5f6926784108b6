/* SPDX-License-Identifier: GPL-2.0 */
/*
 * egress.h - how much batches may send, by a kernel program at their control groups (version 2).  Port.
 *
 * A batch has a rate of its own, or shares with all others that say `auto` the one that PARTIES' rule (network.h) moves: by
 * what the link sent in the last half second or so.  The program goes away with the process, however that ends, so there is
 * nothing to journal.  Sockets count that were made inside the group; what a process brought along is not held back.
 *
 * In a tree that stands in for "/" everything happens but for the program.
 */
#ifndef PARTIES_EGRESS_H
#define PARTIES_EGRESS_H

#include "cgroup.h"
#include "drift.h"
#include "machine.h"

struct egress_bpf;

/* Who shares a limit. */
struct egress_bucket {
	struct egress_bpf *skel; /* NULL: not used, or dry */
	uint64_t limit_bps;      /* 0: not used */
	uint64_t nr_bytes;       /* sent until the last window ended */
};

struct egress_group {
	char name[CONFIG_NAME_SIZE];
	struct egress_bucket *bucket; /* NULL: no limit */
	char dir[KNOB_PATH_SIZE];     /* "" until it is entered */
	struct bpf_link *link;
	uint64_t cgroup_id;           /* that it is attached to */
	struct drift drift;
};

struct egress {
	bool is_dry;              /* or in a tree: the program is not loaded */
	bool link_is_lost;        /* the interface is gone, and that was told */
	struct network_link link; /* bps is known where a limit is moved */
	struct knob sent;         /* the interface's tx_bytes; closed where no limit is moved */
	uint64_t window_ns, sent_bytes; /* when the present window began, and what that said then */
	struct outcome_egress seen;     /* of the last window */
	uint32_t nr_groups;       /* as many as batches */
	struct egress_bucket moved, fixed[CONFIG_MAX_BATCHES];
	struct egress_group groups[CONFIG_MAX_BATCHES];
};

/*
 * Finds out whether the limits of batches can be set, and loads the program unless nothing is to be done.  -ENOTSUP, or
 * -EPERM, told in `error` with what to do: it cannot.  `mount`: where version 2 of control groups is; version 0: nowhere.
 */
int egress_find(struct egress *e, const struct machine_opts *opts, const struct cgroup_mount *mount, char *error,
		size_t error_size);
/* Puts the program to the group `dir` of batch i.  Told in `error`. */
int egress_enter(struct egress *e, uint32_t i, const char *dir, char *error, size_t error_size);
/* Its group is another from now on; the program goes there with the next step. */
void egress_move(struct egress *e, uint32_t i, const char *dir);
/*
 * Moves what is to be moved, and attaches again where a group was made anew or somebody took the program away, which is
 * told in ret->note.  ret->egress gets what the last window showed.
 */
void egress_apply(struct egress *e, uint64_t step, struct outcome *ret);
/* " egress=fixed", or " egress=auto" where the limit of some batch is moved; "" where none has any. */
const char *egress_describe(const struct egress *e);
/* One of zeros is fine. */
void egress_close(struct egress *e);
/* Whether the kernel takes the program: 0, or negative errno told in `error`. */
int egress_try(char *error, size_t error_size);

#endif
