// SPDX-License-Identifier: GPL-2.0
/*
 * library.bpf.c - how long do requests take that share connections?  Sockets cannot tell; but a library that serves them
 * has an object for each, and some function of it is called when one begins, and another when its answer was handed to
 * the kernel.  Which functions, and which argument is the object, is a row of a table (ebee.h, struct ebee_library); one
 * such object of programs is loaded per row.
 *
 * One call of gRPC's C++ core, times in ms:
 *
 *   arrives   read, constructor   half closed     answer computed   closed for writing
 *   10 ------ 15 ---------------- 15 ------------ 33 -------------- 34
 *   residency = 15 - 10     service = 34 - 15     total = owed = 34 - 10
 *
 * The beginning runs in the thread that read the socket, so arrival is that of what the thread read last: its first
 * byte for total and residency, its last byte for owed.  When one read takes several requests, which is so when they
 * wait, they are taken to have arrived evenly between the two.  In bursts of 200 calls on 8 connections the median was
 * that of HTTP/2 by stream within 2 % mostly, and not above the client's by more; where the client itself sends in gulps
 * it may be half above the one by stream.  The read that brings the request's end moves the start of owed, so a slow
 * uploader owns no time of the server's.
 *
 * Another thread may be asked to work on what one has read; then the stamp is too old (LIBRARY_READ_NS, and the thread has
 * slept or ended a call since), the beginning stands in, and the call counts as no_arrival.  Requests that nobody reads
 * are seen by the exchange programs, as bytes waiting: at most one for each connection, and one that is none when pings
 * and window updates pile up before a server that sleeps.
 *
 * A call is its object in its process.  Addresses are used again at once, so an entry goes with its end.  In newer gRPC
 * the closing function returns an object by value, which moves all its arguments one register up (`shifts`): whichever of
 * the two is an object of ours is it.
 *
 * Streams of messages.  A call of one answer makes gRPC's stream writable three times; who does it more often, or goes on
 * for more than long_ns after the first time, is no single request and answer.  It is counted once (long_lived), in no
 * latency and not in flight.  The probe for this is placed when a sweep meets a call that is a tenth of a second old:
 * streams that are over by then are requests, and who is fast pays nothing.  From then on all pay 4 us more per call, and
 * a long answer that its reader stops with flow control more than three times is a stream to us.
 *
 * Cost: 4 us of the server's CPU per call, measured with a call of gRPC and nothing else in a loop: three hits, each
 * 0.9 us for the trap and 0.4 us for the program, 0.7 us on a busy machine.  A client on the same machine that maps the
 * same file pays the traps.
 *
 * What it cannot see: calls that were in flight when the probes came; requests that wait in a connection behind one
 * being read; gRPC in Go and Java, which have no such functions, and in Python, whose extension has it without symbols.
 */
#include <linux/ptrace.h>

#include "library.h"
#include "ring.h"

struct call_key {
	__u64 object;
	__u64 tgid;
};

struct call {
	__u64 first, last; /* arrival of the first and the last byte of what the thread had read */
	__u64 begin;
	__u64 first_write; /* seen; 0: none yet */
	__u64 read, thread; /* which read brought it, when others came with it; 0: none did */
	__u32 nr_before;    /* of those, which began before it */
	__u32 service;
	__u32 nr_writes;
};

struct batch_key {
	__u64 read;   /* when */
	__u64 thread; /* and who */
};

/* A hash, not one that forgets the oldest: that is the very call a controller must know. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, LIBRARY_MAX_CALLS);
	__type(key, struct call_key);
	__type(value, struct call);
} calls SEC(".maps");

/* How many calls a read of several chunks brought.  What is forgotten has its first arrival as if it had come alone. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, LIBRARY_MAX_BATCHES);
	__type(key, struct batch_key);
	__type(value, __u32);
} batches SEC(".maps");

/* The row: set by the loader. */
const volatile struct library_event begin_event, end_event, write_event;
const volatile __u32 max_writes; /* of one answer */

/* Written by user space. */
__u32 observed[EXCHANGE_MAX_SERVICES]; /* nonzero: its calls are measured here */
__u64 target_ns[EXCHANGE_MAX_SERVICES];
__u64 long_ns; /* an answer spread over more than that is a stream */
/* Written by the sweep, which user space clears first. */
struct exchange_sweep swept[EXCHANGE_MAX_SERVICES];
__u32 pending;                     /* nonzero: a call may be in flight; set by programs, cleared before a sweep */
__u32 wants_writes;                /* nonzero: writes should be counted */
__u32 seen[EXCHANGE_MAX_SERVICES]; /* nonzero: a call of the service began */
__u64 nr_missed;                   /* calls without an entry (no room), or whose end did not come by here */

/* Of the probed function; numbered from 1.  The numbers are in read-only data, so each access is one of a known place. */
struct arguments {
	__u64 values[8];
};

static __always_inline struct arguments arguments_of(const struct pt_regs *ctx)
{
	return (struct arguments){ { 0, ctx->rdi, ctx->rsi, ctx->rdx, ctx->rcx, ctx->r8, ctx->r9 } };
}

static __always_inline __u64 argument(const struct arguments *args, __u32 number)
{
	return args->values[number & 7];
}

/* By the low half: a flag leaves the rest of its register as it was. */
static __always_inline bool happened(const struct arguments *args, const volatile struct library_event *event,
				     __u32 shift)
{
	return !event->only_if || (__u32)argument(args, event->only_if + shift);
}

static __always_inline struct call_key key_of(__u64 object)
{
	struct call_key key = { .object = object, .tgid = bpf_get_current_pid_tgid() >> 32 };

	return key;
}

/* What the current thread works on, or NULL when it has read nothing lately.  A thread that only lost its CPU since is
 * where it was, until it has ended a call. */
static __always_inline struct exchange_read *recent_read(__u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct exchange_read *read = bpf_task_storage_get(&reads, task, NULL, 0);

	return read && (now - read->read < LIBRARY_READ_NS || (read->read && read->sleeps == task->nvcsw)) ? read : NULL;
}

static __always_inline void forget_read(__u64 now)
{
	struct exchange_read *read = bpf_task_storage_get(&reads, bpf_get_current_task_btf(), NULL, 0);

	if (read && now - read->read >= LIBRARY_READ_NS)
		read->read = 0;
}

static __always_inline void count(struct exchange_cell *cell, enum exchange_counter which)
{
	__sync_fetch_and_add(&cell->counters[which], 1);
}

/* Others may come with the same read, or came. */
static __always_inline void join_batch(struct call *call, const struct exchange_read *read)
{
	struct batch_key key = { .read = read->read, .thread = bpf_get_current_pid_tgid() };
	__u32 *nr = bpf_map_lookup_elem(&batches, &key), one = 1;

	call->read = key.read;
	call->thread = key.thread;
	if (nr)
		call->nr_before = __sync_fetch_and_add(nr, 1);
	else
		bpf_map_update_elem(&batches, &key, &one, BPF_ANY);
}

/* One of several that a read brought: they are taken to have arrived evenly between its first and its last byte. */
static __always_inline void spread_batch(struct call *call)
{
	struct batch_key key = { .read = call->read, .thread = call->thread };
	__u32 *nr = call->read ? bpf_map_lookup_elem(&batches, &key) : NULL;
	__u64 others = nr ? *nr - 1 : 0;

	if (others)
		call->first = call->last = call->first + (call->last - call->first) * call->nr_before / others;
}

SEC("uprobe")
int call_begins(struct pt_regs *ctx)
{
	const struct arguments args = arguments_of(ctx);
	struct call_key key = key_of(argument(&args, begin_event.id));
	__u32 tgid = key.tgid, service, *known;
	struct exchange_cell *cell;
	struct exchange_read *read;
	struct call call = {};

	if (!happened(&args, &begin_event, 0))
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
		if (call.first != call.last)
			join_batch(&call, read);
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
	return call->nr_writes > max_writes || (call->first_write && now - call->first_write > long_ns);
}

/* gRPC: an absl::Status by reference; its one word is 1 when all is well, 0 in older versions. */
static __always_inline bool is_error(__u64 status)
{
	__u64 word = 0;

	return !bpf_probe_read_user(&word, sizeof(word), (void *)status) && word > 1;
}

static __always_inline void end(const struct call_key *key, const struct call *found, bool failed, __u64 now)
{
	struct exchange_cell *cell = cell_of(found->service);
	struct call call = *found;

	if (bpf_map_delete_elem(&calls, key) || !cell)
		return;
	if (failed) {
		count(cell, EXCHANGE_ABORTED);
	} else if (is_stream(&call, now)) {
		count(cell, EXCHANGE_LONG_LIVED);
	} else {
		spread_batch(&call);
		book_one(cell, EXCHANGE_RESIDENCY, call.begin - call.first, 1);
		book_one(cell, EXCHANGE_SERVICE, now - call.begin, 1);
		book_one(cell, EXCHANGE_TOTAL, now - call.first, 1);
		book_one(cell, EXCHANGE_OWED, now - call.last, 1);
		trace(cell, call.service, now - call.last);
	}
}

SEC("uprobe")
int call_ends(struct pt_regs *ctx)
{
	const struct arguments args = arguments_of(ctx);
	struct call_key key = key_of(argument(&args, end_event.id));
	struct call *call = bpf_map_lookup_elem(&calls, &key);
	struct exchange_read *read;
	__u32 shift = 0;
	bool failed;
	__u64 now;

	if (!call && end_event.shifts) {
		shift = 1;
		key.object = argument(&args, end_event.id + 1);
		call = bpf_map_lookup_elem(&calls, &key);
	}
	if (!call)
		return 0;
	now = bpf_ktime_get_ns();
	if (happened(&args, &end_event, shift)) {
		failed = end_event.status && is_error(argument(&args, end_event.status + shift));
		end(&key, call, failed, now);
		forget_read(now);
		return 0;
	}
	read = recent_read(now);
	if (read && read->read != call->read) { /* not the one that brought its beginning */
		call->last = read->last;
		call->read = 0;
	}
	return 0;
}

SEC("uprobe")
int call_writes(struct pt_regs *ctx)
{
	const struct arguments args = arguments_of(ctx);
	struct call_key key = key_of(argument(&args, write_event.id));
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
	if (age > LIBRARY_SUSPECT_NS)
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
