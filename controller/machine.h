/* SPDX-License-Identifier: GPL-2.0 */
/*
 * machine.h - the actuators behind one door: cpusets (libcgroup), frequency (libcpupower), bandwidth (cpu controller),
 * ways of the cache (resctrl), and limits of best effort.
 *
 * Originals go to `state_dir` with fsync before the first write.  machine_close restores them; a run that was killed is
 * restored by restore_killed_run, which the next start calls first.  Writes only what differs, reads back what it wrote.
 */
#ifndef PARTIES_MACHINE_H
#define PARTIES_MACHINE_H

#include <sys/types.h>

#include "config.h"
#include "match.h"
#include "ports.h"

struct machine_group {
	const char *name;
	const struct match *match; /* kept by the caller: which group to adopt, if it names one.  NULL: none */
	uint64_t target_ns;   /* decides the bandwidth period: clamp(target / 2, 5 ms, 20 ms) */
	const struct match_pids *pids;
	const struct limits *limits; /* batches; NULL: none */
};

struct machine_opts {
	const char *root;      /* "" or a tree that stands in for "/" */
	const char *state_dir; /* NULL: RESTORE_STATE_DIR below `root` */
	const struct topology *topology;
	enum config_speed speed;
	enum config_affinity affinity;
	enum config_cache cache;
	const struct network_link *link; /* of batches whose egress is moved; NULL where there is none */
	const char *subtree;   /* as in the configuration; NULL: of subtree.h, SUBTREE_AUTO */
	bool dry;              /* find everything out, write nothing */
	bool force;            /* set speeds although another program does, too */
	uint32_t nr_services, nr_batches;
	const struct machine_group *services, *batches; /* copied */
};

struct machine;

/*
 * Takes the lock, finds what works, journals originals, makes groups, moves threads.  On failure everything is as before
 * and `error` says what is missing and what to do.  -EBUSY: another instance (named in `error`).
 */
int machine_open(struct machine **ret, const struct machine_opts *opts, char *error, size_t error_size);
const struct speed_ladder *machine_ladder(const struct machine *m);
/* The cores, which grow with CPUs that come; the machine's. */
const struct topology *machine_topology(const struct machine *m);
struct cache_ways machine_ways(const struct machine *m);
/* One line of what is used for each knob: "cpuset=v1 speed=bandwidth period=12.5ms". */
const char *machine_describe(const struct machine *m);
struct actuator machine_actuator(struct machine *m);
/* Moves threads and processes that appeared since; returns how many, or negative errno.  Called once per tick. */
int machine_adopt(struct machine *m, bool is_batch, uint32_t index, const struct match_pids *pids);
/* CPU time of a service's group since it was opened, ns.  Negative errno. */
int machine_usage(struct machine *m, uint32_t service, uint64_t *ret_cpu_ns);
/* Measured speeds of the window that ends now, into the samples of all services; unknown ones stay 0.  Once per tick. */
void machine_measure(struct machine *m, struct sample *samples);
/* Restores everything and frees; NULL is fine.  Negative errno of the first thing that could not be restored. */
int machine_close(struct machine *m);

#endif
