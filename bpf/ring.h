/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ring.h - records of the per-request interface: one word per finished request, from whatever programs measure it.  The
 * object loaded first owns the ring; the others are given it.
 */
#ifndef EBEE_RING_H
#define EBEE_RING_H

#include "cells.h"

/* Not created, and the code that fills it not loaded, unless asked for. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 128 * 1024); /* set by the loader */
} requests SEC(".maps");

const volatile __u32 ring_wakeup; /* bytes waiting in the ring that wake its reader; 0: there is no ring */

__u32 traced[EXCHANGE_MAX_SERVICES]; /* written by user space; nonzero: its requests go to the ring, too */

/* The reader looks at the ring by itself several times a second; it is woken only when the ring fills sooner. */
static __always_inline void trace(struct exchange_cell *cell, __u32 service, __u64 owed_ns)
{
	__u64 entry = (__u64)service << EXCHANGE_RECORD_SHIFT | (owed_ns & EXCHANGE_RECORD_NS), wake;

	if (!ring_wakeup || !traced[SERVICE_INDEX(service)])
		return;
	wake = bpf_ringbuf_query(&requests, BPF_RB_AVAIL_DATA) >= ring_wakeup ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
	if (bpf_ringbuf_output(&requests, &entry, sizeof(entry), wake))
		__sync_fetch_and_add(&cell->counters[EXCHANGE_DROPPED], 1);
}

#endif
