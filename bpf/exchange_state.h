/* SPDX-License-Identifier: GPL-2.0 */
/*
 * exchange_state.h - the maps of exchange.bpf.c and the life of one exchange on one socket.
 *
 * The model, with a worked example.  A request of two pieces is answered by two writes:
 *
 *    arrive(10)  arrive(14)  read(15)  read(16)   write(30)  write(34)   arrive(50) read(51)
 *      begin ----^ 10        first_read ^ 15                 last_write ^ 34        ^ over: counted here
 *                  owed_from ---------------^ 14 (what the last read before the answer took, arrived then)
 *
 *    residency = 15 - 10     service = 34 - 15     total = 34 - 10     owed = 34 - 14 - time blocked by the peer
 *
 * An exchange is counted once, when it is over: at the next request's read, when our side or the connection closes, or
 * when the sweep finds no write for one settling time.  Its value ends at the last write either way.  If the server
 * writes on after the sweep, the sample is taken back and the exchange goes on (`amended`): over both windows the count
 * is right, and the last value.  An answer that the server spreads over more than long_ns is a stream, not a slow
 * request, and is counted apart.
 *
 * Arrival is stamped per chunk, not per read: a stamp belongs to the first unread byte, a second one to the latest
 * chunk, each with its sequence number, so that a read that takes a part leaves the right stamp behind and an arrival
 * between the copy and our hook is not lost.
 *
 * Concurrency.  Softirq (arrival), several threads (reads, writes), and the sweep meet on one socket.  Where the kernel
 * shows bytes and offers (6.16), a TCP connection's arrivals, reads, sends and end are seen under the socket's own lock, and
 * need no other: reads count when they are about to be copied, sends that have room when they are offered.  The hooks
 * after the lock find by read_seq and write_seq that nothing is left to do.  The sweep alone comes from outside; who turns
 * `begin` to zero, atomically, has ended the exchange.  A send that may wait for the peer (send_since) is over outside,
 * too: until then, and for all else (older kernels, AF_UNIX, Multipath TCP, other lifecycles), fields are under the value's
 * spin lock.  It is held for some dozens of instructions and never across a helper; taken and given back it costs more
 * than all that is done under it.  When a lifecycle changes, one exchange may be in between.
 *
 * Where hooks come after the lock a client may answer before the write hook of the previous response has run: the next
 * read then finds write_seq advanced and ends the exchange itself, and the late hook finds nothing new and leaves.
 *
 * A service whose clients make one connection per request may be measured per connection (enum exchange_lifecycle):
 * then reads and settling end nothing, so the handshakes of a protocol above TCP (HTTP/2 settings, TLS) fall inside the
 * one exchange instead of looking like short ones of their own.
 *
 * A service whose library tells its requests apart (gRPC) is measured there; here a read only hands its stamps to the
 * thread, and bytes that wait unread count as in flight: a server that hangs does not even begin its requests.
 *
 * A read that no hook shows (splice, zero copy) is found out by the answer: arrival stamped, bytes gone, nothing begun.
 *
 * TCP has sequence numbers; AF_UNIX and Multipath TCP have not, so there every read takes all stamps, every write is
 * new, and the end of a connection is seen when the server reads it.  AF_UNIX raises no event when the server closes
 * first and takes socket storage along, so its exchanges live in a hash by socket cookie, outlive the socket, and are
 * ended by the sweep, which looks through the sockets of our network namespace for those that are gone.
 *
 * What a connection speaks is told by its first bytes where the kernel shows them (recognise.h): then a read may bring
 * no new request (a body, a handshake), and a connection with several open at once has a queue of them (pipeline.h).
 *
 * What it cannot see: several requests in one read of an unknown protocol, which count as one exchange, and the time
 * between the handover to the kernel and the client.
 */
#ifndef EBEE_EXCHANGE_STATE_H
#define EBEE_EXCHANGE_STATE_H

#include "ring.h"
#include "sockets.h"

#include <bpf/bpf_core_read.h>

/* Ports asked for by number. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, EXCHANGE_MAX_PORTS);
	__type(key, struct exchange_port);
	__type(value, __u32);
} ports SEC(".maps");

/* Where listeners of observed processes were found: what a connection that is already open is recognised by. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, EXCHANGE_MAX_PORTS);
	__type(key, struct exchange_port);
	__type(value, __u32);
} listeners SEC(".maps");

/* AF_UNIX: a connection carries the very address object of its listener, and a client has none.  Key: that pointer. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, EXCHANGE_MAX_PORTS);
	__type(key, __u64);
	__type(value, __u32);
} unix_listeners SEC(".maps");

/* AF_UNIX: the exchange of a connection.  Key: the socket's cookie. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, EXCHANGE_MAX_UNIX);
	__type(key, __u64);
	__type(value, struct exchange);
} unix_exchanges SEC(".maps");

/* Written by user space. */
__u32 lifecycle[EXCHANGE_MAX_SERVICES];
__u32 reads_matter; /* nonzero: some service's lifecycle looks at TCP reads when they are over */
__u64 target_ns[EXCHANGE_MAX_SERVICES];
__u64 long_ns = 2000000000;
__u64 settle_ns = 500000000; /* no write for that long: the exchange is over */
/* Written by the sweep, which user space clears first. */
struct exchange_sweep swept[EXCHANGE_MAX_SERVICES];
/* Nonzero: something on a socket of the service may be open.  Set by programs, cleared before a sweep. */
__u32 pending[EXCHANGE_MAX_SERVICES];
__u32 unix_seen; /* nonzero: some service listens on AF_UNIX */
__u32 own_netns, sweep_number; /* written by user space */
__u32 pipelined_seen; /* nonzero: some connection had several requests open at once */
/* Connections by what they turned out to speak. */
__u32 nr_protocol[EXCHANGE_MAX_SERVICES][EXCHANGE_NR_PROTOCOLS];
/* Sockets whose storage could not be made (memory): their requests are not measured. */
__u64 nr_missed;

static __always_inline void set_pending(__u32 service)
{
	/* Read first: the line stays shared between CPUs while a service is busy. */
	if (!pending[SERVICE_INDEX(service)])
		pending[SERVICE_INDEX(service)] = 1;
}

static __always_inline bool per_connection(__u32 service)
{
	return lifecycle[SERVICE_INDEX(service)] == EXCHANGE_PER_CONNECTION;
}

/* Another program counts its requests: here nothing is done on its sockets. */
static __always_inline bool by_stream(__u32 service)
{
	return lifecycle[SERVICE_INDEX(service)] == EXCHANGE_BY_STREAM;
}

static __always_inline bool by_library(__u32 service)
{
	return lifecycle[SERVICE_INDEX(service)] == EXCHANGE_BY_LIBRARY;
}

/* Set by the loader; nonzero: there are programs on bytes and on offers. */
const volatile __u32 under_socket_lock;

/* The caller has the TCP connection for itself, but for the sweep. */
static __always_inline bool is_alone(const struct exchange *x)
{
	return under_socket_lock && !x->send_since && lifecycle[SERVICE_INDEX(x->service)] == EXCHANGE_PER_REQUEST;
}

/* A finished exchange, taken out of the socket and booked outside its lock. */
struct exchange_done {
	__u64 begin, first_read, first_write, owed_from, end, blocked_ns;
	__u64 buffered; /* a flag; no padding, which a function's argument may not have */
};

/* A verifier looks at a global function once, and not once for each of its callers.  `sign` is 1, or -1 to take a sample
 * back. */
__noinline int book(const struct exchange_done *done, __u32 service, int sign)
{
	struct exchange_cell *cell = cell_of(service);
	__u64 owed, spread;

	if (!done || !cell)
		return 0;
	owed = done->end - done->owed_from;
	spread = done->end - done->first_write;
	if (done->blocked_ns) {
		owed = owed > done->blocked_ns ? owed - done->blocked_ns : 0;
		spread = spread > done->blocked_ns ? spread - done->blocked_ns : 0;
		__sync_fetch_and_add(&cell->counters[EXCHANGE_BLOCKED], sign);
	}
	if (spread > long_ns) {
		__sync_fetch_and_add(&cell->counters[EXCHANGE_LONG_LIVED], sign);
		return 0;
	}
	if (done->buffered)
		__sync_fetch_and_add(&cell->counters[EXCHANGE_BUFFERED], sign);
	book_one(cell, EXCHANGE_RESIDENCY, done->first_read - done->begin, sign);
	book_one(cell, EXCHANGE_SERVICE, done->end - done->first_read, sign);
	book_one(cell, EXCHANGE_TOTAL, done->end - done->begin, sign);
	book_one(cell, EXCHANGE_OWED, owed, sign);
	if (sign > 0)
		trace(cell, service, owed);
	return 0;
}

/* What the open exchange would be booked as if it ended then. */
static __always_inline void copy_done(const struct exchange *x, __u64 begin, __u64 end, __u64 blocked_ns,
				      struct exchange_done *done)
{
	done->begin = begin;
	done->first_read = x->first_read;
	/* A hook that was delayed past the next stamp cannot make a time negative. */
	done->end = end > x->first_read ? end : x->first_read;
	done->first_write = x->first_write && x->first_write < done->end ? x->first_write : done->end;
	done->owed_from = x->owed_from < done->end ? x->owed_from : done->end;
	done->blocked_ns = blocked_ns;
	done->buffered = x->buffered;
}

/* Closes the exchange that is open and answered.  false: the sweep has just done it. */
static __always_inline bool take(struct exchange *x, __u64 end, struct exchange_done *done)
{
	copy_done(x, x->begin, end, x->blocked_ns, done);
	return __sync_lock_test_and_set(&x->begin, 0);
}

/* Opens one.  `begin` comes last: the sweep must not see it with the answer of the one before. */
static __always_inline void open_exchange(struct exchange *x, __u64 begin, __u64 first_read)
{
	x->first_read = first_read;
	x->first_write = x->last_write = x->swept_begin = 0;
	x->blocked_since = x->blocked_ns = 0;
	__sync_lock_test_and_set(&x->begin, begin);
}

/* Of the exchange that is open, or that the sweep ended. */
static __always_inline bool is_answered(const struct exchange *x)
{
	return x->begin ? x->last_write : x->swept_begin;
}

/* It goes on, and so must the sweep. */
static __always_inline void count_amended(struct exchange_cell *cell, __u32 service)
{
	__sync_fetch_and_add(&cell->counters[EXCHANGE_AMENDED], 1);
	set_pending(service);
}

/* The sweep ended it too early.  Opens it again and says what was booked. */
static __always_inline void reopen(struct exchange *x, struct exchange_done *booked)
{
	copy_done(x, x->swept_begin, x->swept_end, x->swept_blocked_ns, booked);
	x->blocked_ns = x->swept_blocked_ns;
	x->begin = x->swept_begin;
	x->swept_begin = 0;
}

/* Everything that is stamped has been read. */
static __always_inline bool all_read(const struct exchange *x, bool tcp, __u32 copied)
{
	return !tcp || (__s32)(copied - x->seq_stamped) >= 0;
}

/* So has at least the first chunk of it.  Seen late, the next request may have arrived meanwhile. */
static __always_inline bool first_is_read(const struct exchange *x, __u32 copied)
{
	return all_read(x, true, copied) || (x->arrival_last && (__s32)(copied - x->seq_last) >= 0);
}

/* Takes the stamps of what a read consumed.  *ret_first, *ret_last: arrival of its first, last byte. */
static __always_inline void consume(struct exchange *x, bool tcp, __u32 copied, __u64 now, __u64 *ret_first,
				    __u64 *ret_last)
{
	*ret_first = x->arrival ? x->arrival : now;
	if (all_read(x, tcp, copied)) {
		*ret_last = x->arrival_last ? x->arrival_last : *ret_first;
		x->arrival = x->arrival_last = 0;
	} else if (x->arrival_last && (__s32)(copied - x->seq_last) >= 0) {
		*ret_last = copied == x->seq_last ? *ret_first : x->arrival_last;
		x->arrival = x->arrival_last;
		x->arrival_last = 0;
	} else {
		*ret_last = *ret_first;
	}
}

#endif
