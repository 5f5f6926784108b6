/* SPDX-License-Identifier: GPL-2.0 */
/*
 * runqueue.h - what runqueue.bpf.c and its loader share: sizes, who is charged, what explains the rest.
 */
#ifndef EBEE_RUNQUEUE_H
#define EBEE_RUNQUEUE_H

#include <linux/types.h>

enum {
	RUNQUEUE_MAX_CULPRITS = 1024, /* of all services between two readings */
	RUNQUEUE_LOG = 256,           /* turns remembered per CPU, a power of two */
	RUNQUEUE_COMM = 16,
};

/* Who ran while a thread of the service waited for that CPU; the value is the time, ns. */
struct runqueue_culprit {
	__u32 service;
	__u32 generation; /* counts readings: what is read is not written to any more */
	__u64 cgroup_id;
	char comm[RUNQUEUE_COMM];
};

/* Waits of one service that nobody else is to blame for, ns.  They only grow. */
struct runqueue_waits {
	__u64 self_ns;      /* another thread of the service ran */
	__u64 idle_ns;      /* nobody ran: the CPU was waking up */
	__u64 throttled_ns; /* a quota held the thread back */
	__u64 lost_ns;      /* who ran is not known: longer ago than the log goes back, a missed switch, no room */
};

#endif
