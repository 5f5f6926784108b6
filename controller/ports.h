/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ports.h - the two ends of a tick: where samples come from and where allocations go.
 * The same tick runs live, dry and simulated; only the values of these two structs differ.
 */
#ifndef PARTIES_PORTS_H
#define PARTIES_PORTS_H

#include <stdbool.h>

#include "allocation.h"
#include "policy.h"
#include "trouble.h"

/* Who ran while threads of a service waited for their CPU: times of waiting threads, in waits that ended in the window. */
enum { CULPRITS_MAX = 5, CULPRIT_COMM_SIZE = 16, CULPRIT_CGROUP_SIZE = 128 };
struct culprits {
	bool known; /* false: nobody looked */
	uint32_t nr;
	struct culprit {
		char comm[CULPRIT_COMM_SIZE];
		char cgroup[CULPRIT_CGROUP_SIZE]; /* path below its mount; "..." before the end of a long one; "" unknown */
		uint64_t cgroup_id, wait_ns;
	} top[CULPRITS_MAX]; /* the largest first */
	uint64_t others_ns, self_ns, idle_ns, throttled_ns, lost_ns; /* as in struct ebee_culprits */
};

/*
 * One service over one window.  Latencies are nearest-rank percentiles, bucket midpoints, ns; 0 when count is 0, and those
 * of a request's parts also when only clients say anything.  "Owed" is what the client waited where clients steer.
 */
struct sample {
	uint64_t window_ns;
	uint64_t nr_arrived, nr_completed;
	uint64_t mean_ns, p50_ns, p95_ns, p99_ns;          /* owed */
	uint64_t total_p50_ns, total_p99_ns;
	uint64_t residency_p99_ns, service_p99_ns;
	uint64_t steer_ns;                                 /* the percentile of `target`, owed */
	uint64_t nr_late;                                  /* completions over the target */
	uint64_t nr_in_flight, nr_over_target, oldest_ns;
	uint64_t cpu_ns, throttled_ns;
	bool has_run_delay;      /* false: this window says nothing about the next two */
	uint64_t run_delay_ns;   /* runnable, and waiting for a CPU; added up over threads, throttling included */
	uint64_t net_delay_ns;   /* the same without what throttling explains */
	struct culprits culprits;
	uint64_t nr_listen_drops;
	uint32_t measured_khz;   /* of the service's CPUs while they were awake; 0: unknown */
	enum policy_signal signal;
	/* The same window as the feedback that does not steer shows it; not known: all 0. */
	struct sample_other {
		bool known;
		uint64_t nr_completed, p50_ns, p95_ns, p99_ns;
		uint64_t steer_ns; /* the percentile of `target` */
	} other;
};

struct sensor {
	void *ctx;
	/* Fills samples[0 .. nr_services) for the window that ends now.  Negative errno: the signal is lost. */
	int (*read)(void *ctx, uint64_t now_ns, struct sample *samples, uint32_t nr_services);
};

/* How the machine's speed ladder looks; the values are kHz (FREQ) or permille of a core (BANDWIDTH). */
enum speed_kind { SPEED_NONE, SPEED_FREQ, SPEED_BANDWIDTH };
enum { SPEED_MAX_STEPS = 128 };
struct speed_ladder {
	enum speed_kind kind;
	uint32_t nr_steps, nominal;
	uint32_t value[SPEED_MAX_STEPS]; /* ascending */
};

/* Ways of a cache that policies divide; nobody may have fewer than the floor.  nr 0: the cache is not divided. */
struct cache_ways {
	uint32_t nr, floor;
};

/* What best effort may send, and what was sent in the last window, bits a second. */
struct outcome_egress {
	uint64_t limit_bps; /* 0: nobody limits it */
	bool has_be, has_link; /* the next two are known */
	uint64_t be_bps, link_bps; /* by best effort; by everybody over the link */
};

/*
 * What became of the way in which speeds are set.  BANDWIDTH: from now on a quota stands in, with bandwidth_ladder; GONE:
 * they are nobody's to move.  In both everybody runs at nominal until the next step.
 */
enum outcome_speed { OUTCOME_SPEED_AS_BEFORE, OUTCOME_SPEED_OTHERWISE, OUTCOME_SPEED_BANDWIDTH, OUTCOME_SPEED_GONE };

struct outcome {
	int error;          /* 0, or negative errno of the first write that failed; the whole step was rolled back */
	uint32_t nr_writes; /* writes that changed something */
	char where[160];    /* file and reason of that failure, for the log */
	enum outcome_speed speed; /* holds also when the step failed */
	char note[160];     /* "", or what the operator should know although nothing failed */
	struct outcome_egress egress; /* holds also when the step failed */
};

struct actuator {
	void *ctx;
	/* Makes the machine look like `want`, writing only what differs, reading back every write. */
	int (*apply)(void *ctx, const struct allocation *want, struct outcome *ret);
	/* CPUs that can be given to anybody now; NULL: those of the topology, always.  Negative errno: unknown, as before. */
	int (*usable)(void *ctx, struct cpulist *ret);
	/* Memory that could be had without taking it from anybody.  NULL, or negative errno: unknown. */
	int (*memory_slack)(void *ctx, uint64_t *ret_bytes);
	/* Since the start, and now; NULL: never any. */
	void (*trouble)(void *ctx, struct trouble *ret);
};

#endif
