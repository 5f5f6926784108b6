// SPDX-License-Identifier: GPL-2.0
/*
 * grpc.bpf.c - how long do the calls of a gRPC server take?  HTTP/2 puts many calls on one connection and answers of
 * several into one send, so sockets cannot tell; but gRPC's C++ core (for programs in C, too) has an object for each
 * stream, and two of its functions say when one begins and when its last byte was handed to the kernel.
 *
 * One call, times in ms:
 *
 *   arrives   read, constructor   half closed     answer computed   closed for writing
 *   10 ------ 15 ---------------- 15 ------------ 33 -------------- 34
 *   residency = 15 - 10     service = 34 - 15     total = owed = 34 - 10
 *
 * The constructor runs in the thread that read the socket, so arrival is that of what the thread read last: its first
 * byte for total and residency, its last byte for owed, which differ when one read takes several requests.  The read
 * that brings the request's end moves the start of owed, so a slow uploader owns no time of the server's.  Another
 * thread may be asked to work on what one has read; then the stamp is too old (GRPC_READ_NS), the constructor stands
 * in, and the call counts as no_arrival.  Requests that nobody reads are seen by the exchange programs, as bytes
 * waiting: at most one for each connection, and one that is none when pings and window updates pile up before a server
 * that sleeps.
 *
 * A call is its stream object in its process.  Addresses are used again at once, so an entry goes with its end.  The
 * client's streams of the same process have no server_data and get no entry.  Newer gRPC returns an object from the
 * closing function, which moves all arguments one register up: whichever of the two is a stream of ours is it.
 *
 * Streams of messages.  A unary call makes its stream writable three times; who does it more often, or goes on for more
 * than long_ns after the first time, is no single request and answer.  It is counted once (long_lived), in no latency
 * and not in flight.  The probe for this is placed when a sweep meets a call that is a tenth of a second old: streams
 * that are over by then are requests, and who is fast pays nothing.  From then on all pay 4 us more per call, and a
 * long answer that its reader stops with flow control more than three times is a stream to us.
 *
 * Cost: 4 us of the server's CPU per call, measured with a call and nothing else in a loop: three hits, each 0.9 us for
 * the trap and 0.4 us for the program.  A client on the same machine that maps the same file pays the traps.
 *
 * What it cannot see: calls that were in flight when the probes came; requests that wait in a connection behind one
 * being read; gRPC in Go and Java, which have no such functions, and in Python, whose extension has it without symbols.
 */
#include <linux/ptrace.h>

#include "cells.h"
#include "grpc.h"

struct call_key {
	__u64 stream;
	__u64 tgid;
};

struct call {
	__u64 first, last; /* arrival of the first and the last byte of what the thread had read */
	__u64 begin;
	__u64 first_write; /* seen; 0: none yet */
	__u32 service;
	__u32 nr_writes;
};

/* A hash, not one that forgets the oldest: that is the very call a controller must know. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, GRPC_MAX_CALLS);
	__type(key, struct call_key);
	__type(value, struct call);
} calls SEC(".maps");

/* Written by user space. */
__u32 observed[EXCHANGE_MAX_SERVICES]; /* nonzero: its calls are measured here */
__u64 target_ns[EXCHANGE_MAX_SERVICES];
__u64 long_ns; /* an answer spread over more than that is a stream */
/* Written by the sweep, which user space clears first. */
struct exchange_sweep swept[EXCHANGE_MAX_SERVICES];
__u32 pending;                     /* nonzero: a call may be in flight; set by programs, cleared before a sweep */
__u32 wants_writes;                /* nonzero: writes should be counted */
__u32 seen[EXCHANGE_MAX_SERVICES]; /* nonzero: a stream of the service was made */
__u64 nr_missed;                   /* calls without an entry (no room), or whose end did not come by here */

static __always_inline struct call_key key_of(__u64 stream)
{
	struct call_key key = { .stream = stream, .tgid = bpf_get_current_pid_tgid() >> 32 };

	return key;
}

/* What the current thread works on, or NULL when it has read nothing lately. */
static __always_inline struct exchange_read *recent_read(__u64 now)
{
	struct exchange_read *read = bpf_task_storage_get(&reads, bpf_get_current_task_btf(), NULL, 0);

	return read && now - read->read < GRPC_READ_NS ? read : NULL;
}

static __always_inline void count(struct exchange_cell *cell, enum exchange_counter which)
{
	__sync_fetch_and_add(&cell->counters[which], 1);
}

/* grpc_chttp2_stream::grpc_chttp2_stream */
SEC("uprobe")
int BPF_KPROBE(stream_made, void *stream, void *transport, void *refcount, void *server_data)
{
	struct call_key key = key_of((__u64)stream);
	__u32 tgid = key.tgid, service, *known;
	struct exchange_cell *cell;
	struct exchange_read *read;
	struct call call = {};

	if (!server_data)
		return 0;
	known = bpf_map_lookup_elem(&processes, &tgid);
	if (!known || !observed[SERVICE_INDEX(*known)])
		return 0;
	call.service = service = *known;
	cell = cell_of(service);
	if (!cell)
		return 0;
	call.first = call.last = call.begin = bpf_ktime_get_ns();
	read = recent_read(call.begin);
	if (read) {
		call.first = read->first;
		call.last = read->last;
	}

	if (bpf_map_update_elem(&calls, &key, &call, BPF_NOEXIST)) {
		__sync_fetch_and_add(&nr_missed, 1);
		bpf_map_update_elem(&calls, &key, &call, BPF_EXIST);
	}
	count(cell, EXCHANGE_BEGUN);
	if (!read)
		count(cell, EXCHANGE_NO_ARRIVAL);
	/* Read first: the lines stay shared between CPUs. */
	if (!seen[SERVICE_INDEX(service)])
		seen[SERVICE_INDEX(service)] = 1;
	if (!pending)
		pending = 1;
	return 0;
}

static __always_inline bool is_stream(const struct call *call, __u64 now)
{
	return call->nr_writes > GRPC_UNARY_WRITES || (call->first_write && now - call->first_write > long_ns);
}

/* An absl::Status by reference: its one word is 1 when all is well, 0 in older gRPC. */
static __always_inline bool is_error(__u64 status)
{
	__u64 word = 0;

	return !bpf_probe_read_user(&word, sizeof(word), (void *)status) && word > 1;
}

static __always_inline void end(const struct call_key *key, const struct call *found, __u64 status, __u64 now)
{
	struct exchange_cell *cell = cell_of(found->service);
	struct call call = *found;

	if (bpf_map_delete_elem(&calls, key) || !cell)
		return;
	if (is_error(status)) {
		count(cell, EXCHANGE_ABORTED);
	} else if (is_stream(&call, now)) {
		count(cell, EXCHANGE_LONG_LIVED);
	} else {
		book_one(cell, EXCHANGE_RESIDENCY, call.begin - call.first, 1);
		book_one(cell, EXCHANGE_SERVICE, now - call.begin, 1);
		book_one(cell, EXCHANGE_TOTAL, now - call.first, 1);
		book_one(cell, EXCHANGE_OWED, now - call.last, 1);
	}
}

/* grpc_chttp2_mark_stream_closed(transport, stream, close_reads, close_writes, status) */
SEC("uprobe")
int BPF_KPROBE(stream_closed, __u64 first, __u64 second, __u64 third, __u64 fourth, __u64 fifth)
{
	struct call_key key = key_of(second);
	struct call *call = bpf_map_lookup_elem(&calls, &key);
	__u32 writes = fourth;
	__u64 status = fifth, now;
	struct exchange_read *read;

	if (!call) {
		key.stream = third;
		call = bpf_map_lookup_elem(&calls, &key);
		writes = fifth;
		status = ctx->r9;
	}
	if (!call)
		return 0;
	now = bpf_ktime_get_ns();
	if (writes) {
		end(&key, call, status, now);
		return 0;
	}
	read = recent_read(now);
	if (read)
		call->last = read->last;
	return 0;
}

/* grpc_chttp2_mark_stream_writable(transport, stream) */
SEC("uprobe")
int BPF_KPROBE(stream_writable, void *transport, void *stream)
{
	struct call_key key = key_of((__u64)stream);
	struct call *call = bpf_map_lookup_elem(&calls, &key);

	if (!call)
		return 0;
	if (!call->first_write)
		call->first_write = bpf_ktime_get_ns();
	__sync_fetch_and_add(&call->nr_writes, 1);
	return 0;
}

/* ---- the tick's sweep -------------------------------------------------------------------------------------------- */

/* The process is over, or the service was given up. */
static __always_inline void drop(const struct call_key *key, __u32 service)
{
	struct exchange_cell *cell = cell_of(service);

	if (!bpf_map_delete_elem(&calls, key) && cell)
		count(cell, EXCHANGE_ABORTED);
}

SEC("iter/bpf_map_elem")
int sweep(struct bpf_iter__bpf_map_elem *ctx)
{
	struct call_key *found = ctx->key, key;
	struct call *call = ctx->value;
	struct exchange_sweep *result;
	__u32 tgid, service, *known;
	__u64 age, now, target;

	if (!found || !call)
		return 0;
	key = *found;
	tgid = key.tgid;
	known = bpf_map_lookup_elem(&processes, &tgid);
	service = call->service;
	if (!known || *known != service || !observed[SERVICE_INDEX(service)]) {
		drop(&key, service);
		return 0;
	}
	pending = 1;
	now = bpf_ktime_get_ns();
	age = now > call->first ? now - call->first : 0;
	if (age > GRPC_SUSPECT_NS)
		wants_writes = 1;
	if (is_stream(call, now))
		return 0;
	result = &swept[SERVICE_INDEX(service)];
	target = target_ns[SERVICE_INDEX(service)];
	result->nr_open++;
	result->nr_over_target += target && age > target;
	if (age > result->oldest_ns)
		result->oldest_ns = age;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
