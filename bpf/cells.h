/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cells.h - whose process is it, and where are its service's numbers: what all programs that measure services share.
 * The object loaded first owns the maps; the others are given its.
 */
#ifndef EBEE_CELLS_H
#define EBEE_CELLS_H

#include "kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "exchange.h"

/* service * nr_slots + slot */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set by the loader */
	__type(key, __u32);
	__type(value, struct exchange_cell);
} cells SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, EXCHANGE_MAX_PROCESSES);
	__type(key, __u32); /* thread group */
	__type(value, __u32); /* service */
} processes SEC(".maps");

/* What a thread read last: from the programs on sockets for those on libraries. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct exchange_read);
} reads SEC(".maps");

const volatile __u32 nr_slots = 1; /* a power of two */

/* An index into arrays of services that every verifier believes; a service in a map is below the limit anyway. */
#define SERVICE_INDEX(service) ((service) & (EXCHANGE_MAX_SERVICES - 1))
_Static_assert((EXCHANGE_MAX_SERVICES & (EXCHANGE_MAX_SERVICES - 1)) == 0, "SERVICE_INDEX masks");

static __always_inline struct exchange_cell *cell_of(__u32 service)
{
	__u32 key = service * nr_slots + (bpf_get_smp_processor_id() & (nr_slots - 1));

	return bpf_map_lookup_elem(&cells, &key);
}

/*
 * `sign` is 1, or -1 to take a sample back.  EXCHANGE_OWED is booked last.  The octave is marked first and the sample
 * announced last: a reader that begins with the announcement finds what is announced.  Sums are not kept, for an atomic
 * addition each: means are those of the buckets.
 */
static __always_inline void book_one(struct exchange_cell *cell, enum exchange_hist which, __u64 ns, __s64 sign)
{
	__u32 index = hist_index(ns), octave;

	/* Always in range; the 6.1 verifier does not follow the shifts that make it so. */
	asm volatile("" : "+r"(index));
	if (index >= HIST_NR_BUCKETS)
		return;
	octave = hist_octave_bit(index);
	if (!(cell->octaves[which] & octave))
		__sync_fetch_and_or(&cell->octaves[which], octave);
	__sync_fetch_and_add(&cell->buckets[index / HIST_SUBS][which][index % HIST_SUBS], (__u32)sign);
	if (which == EXCHANGE_OWED)
		__sync_fetch_and_add(&cell->nr_booked, 1);
}

#endif
