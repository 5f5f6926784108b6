/* SPDX-License-Identifier: GPL-2.0 */
/*
 * exchange_path.h - what happens at each hook: arrival, read, write, close.  Bodies only; exchange.bpf.c hangs them up.
 */
#ifndef EBEE_EXCHANGE_PATH_H
#define EBEE_EXCHANGE_PATH_H

#include "exchange_state.h"

static __always_inline struct exchange *mark(void *sk, __u32 service)
{
	struct exchange *x = bpf_sk_storage_get(&exchanges, sk, NULL, 0);

	if (x)
		return x;
	x = bpf_sk_storage_get(&exchanges, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (x)
		x->service = service;
	else
		__sync_fetch_and_add(&nr_missed, 1);
	return x;
}

static __always_inline struct exchange *mark_unix(struct sock *sk, __u32 service)
{
	struct exchange_cell *cell = cell_of(service);
	__u64 cookie = bpf_get_socket_cookie(sk);
	struct exchange fresh = { .service = service };

	if (bpf_map_update_elem(&unix_exchanges, &cookie, &fresh, BPF_NOEXIST))
		__sync_fetch_and_add(&nr_missed, 1);
	else if (by_stream(service) && cell)
		__sync_fetch_and_add(&cell->counters[EXCHANGE_OPAQUE], 1); /* frames are found in TCP alone */
	return bpf_map_lookup_elem(&unix_exchanges, &cookie);
}

static __always_inline __u64 unix_address(struct sock *sk)
{
	struct unix_sock *u = bpf_skc_to_unix_sock(sk);

	return u ? (__u64)u->addr : 0;
}

/* The service of an AF_UNIX connection not seen before: its listener is known, or an observed process reads it. */
static __always_inline __u32 *unix_service(struct sock *sk, bool reading)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32, *service = NULL;
	__u64 address = unix_address(sk);

	if (!address)
		return NULL;
	if (unix_seen)
		service = bpf_map_lookup_elem(&unix_listeners, &address);
	if (!service && reading) {
		service = bpf_map_lookup_elem(&processes, &tgid);
		if (service) {
			bpf_map_update_elem(&unix_listeners, &address, service, BPF_ANY);
			unix_seen = 1;
		}
	}
	return service;
}

static __always_inline struct exchange *find_unix(struct sock *sk, bool reading)
{
	__u64 cookie;
	__u32 *service;
	struct exchange *x;

	if (unix_seen) {
		cookie = bpf_get_socket_cookie(sk);
		x = bpf_map_lookup_elem(&unix_exchanges, &cookie);
		if (x)
			return x;
	}
	service = unix_service(sk, reading);
	return service ? mark_unix(sk, *service) : NULL;
}

/* UDP is declared, not measured. */
static __always_inline void count_datagram(void)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32, *service = bpf_map_lookup_elem(&processes, &tgid);
	struct exchange_cell *cell = service ? cell_of(*service) : NULL;

	if (cell)
		__sync_fetch_and_add(&cell->counters[EXCHANGE_DATAGRAM], 1);
}

/* The exchange of an observed socket whose requests are counted here, or NULL: after two or three tests on nearly every
 * socket of a machine. */
static __always_inline struct exchange *find(struct sock *sk, bool reading)
{
	struct exchange *x = NULL;

	if (sk->sk_bpf_storage)
		x = bpf_sk_storage_get(&exchanges, sk, NULL, 0);
	else if (sk->__sk_common.skc_family == AF_UNIX && (reading || unix_seen))
		x = find_unix(sk, reading);
	else if (reading && sk->sk_protocol == IPPROTO_UDP)
		count_datagram();
	return x && x->owner != OWNER_FOREIGN && !by_stream(x->service) ? x : NULL;
}

/* Of Multipath TCP. */
static __always_inline bool is_subflow(const struct tcp_sock *tp)
{
	return bpf_core_field_exists(tp->is_mptcp) && tp->is_mptcp;
}

static __always_inline int on_arrival(struct sock *sk)
{
	struct tcp_sock *tp;
	struct exchange *x;
	__u32 end = 0, service;
	__u64 now;

	if (sk->__sk_common.skc_state == TCP_LISTEN)
		return 0;
	x = find(sk, false);
	if (!x)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	now = bpf_ktime_get_ns();
	if (tp) {
		if (is_subflow(tp))
			return 0; /* its connection is stamped, too */
		end = stream_end(sk, tp);
		if (end == tp->copied_seq)
			return 0; /* a FIN alone */
	}

	bpf_spin_lock(&x->lock);
	service = x->service;
	if (!x->arrival) {
		x->arrival = now;
	} else if (!tp) {
		x->arrival_last = now;
	} else if (end != x->seq_stamped) {
		x->arrival_last = now;
		x->seq_last = x->seq_stamped;
	}
	x->seq_stamped = end;
	bpf_spin_unlock(&x->lock);

	/* Read first: the line stays shared between CPUs while a service is busy. */
	if (!pending[SERVICE_INDEX(service)])
		pending[SERVICE_INDEX(service)] = 1;
	return 0;
}

/* Under the lock: everything that is stamped has been read. */
static __always_inline bool all_read(const struct exchange *x, bool tcp, __u32 copied)
{
	return !tcp || (__s32)(copied - x->seq_stamped) >= 0;
}

/* Under the lock: takes the stamps of what a read consumed.  *ret_first, *ret_last: arrival of its first, last byte. */
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

/* Our side closed or the connection died: nothing will be added to the exchange any more. */
static __always_inline void on_close(struct sock *sk)
{
	struct exchange_done done = {};
	struct exchange_cell *cell;
	struct tcp_sock *tp;
	struct exchange *x;
	bool over = false, aborted = false, unseen = false;
	__u32 written = 0, service;
	__u64 now;

	x = find(sk, false);
	tp = bpf_skc_to_tcp_sock(sk);
	if (!x)
		return;
	service = x->service;
	cell = cell_of(service);
	if (!cell || by_library(service))
		return;
	now = bpf_ktime_get_ns();
	if (tp)
		written = tp->write_seq;

	bpf_spin_lock(&x->lock);
	if (!tp)
		written = x->write_seq;
	if (x->begin && x->last_write) {
		over = true;
		take(x, x->last_write, &done);
	} else if (x->begin && written != x->write_seq) {
		over = unseen = true;
		take(x, now, &done);
	} else if (x->begin || (tp && x->arrival)) { /* outside TCP an end raises the stamp, too */
		aborted = true;
	}
	x->begin = x->arrival = x->arrival_last = x->swept_begin = 0;
	x->write_seq = written;
	bpf_spin_unlock(&x->lock);

	if (over)
		book(cell, service, &done, 1);
	if (unseen)
		__sync_fetch_and_add(&cell->counters[EXCHANGE_UNSEEN_WRITE], 1);
	if (aborted)
		__sync_fetch_and_add(&cell->counters[EXCHANGE_ABORTED], 1);
}

/* A read of a service that its library measures: what it took, the thread may turn into requests next. */
static __always_inline int note_read(struct exchange *x, struct exchange_cell *cell, bool tcp, __u32 copied, __u64 now)
{
	struct exchange_read *read;
	__u64 first, last;

	bpf_spin_lock(&x->lock);
	consume(x, tcp, copied, now, &first, &last);
	bpf_spin_unlock(&x->lock);

	__sync_fetch_and_add(&cell->counters[EXCHANGE_LIBRARY_READ], 1);
	read = bpf_task_storage_get(&reads, bpf_get_current_task_btf(), NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (read) {
		read->first = first;
		read->last = last;
		read->read = now;
		read->sleeps = ((struct task_struct *)bpf_get_current_task_btf())->nvcsw;
	}
	return 0;
}

static __always_inline int on_read(struct sock *sk, int ret, int flags)
{
	struct exchange_done done = {};
	struct exchange_cell *cell;
	struct tcp_sock *tp;
	struct exchange *x;
	bool over = false, unseen = false, begun = false, stamped, whole;
	__u64 now, first, last;
	__u32 copied = 0, written = 0, service;

	if (ret < 0 || flags & (MSG_PEEK | MSG_ERRQUEUE))
		return 0;
	x = find(sk, true);
	if (!x)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!ret) {
		if (!tp)
			on_close(sk); /* the only sign of an end outside TCP */
		return 0;
	}
	if (x->owner == OWNER_UNKNOWN && !claim(x))
		return 0;
	service = x->service;
	cell = cell_of(service);
	if (!cell)
		return 0;
	now = bpf_ktime_get_ns();
	if (tp) {
		copied = tp->copied_seq;
		written = tp->write_seq;
	}
	if (by_library(service))
		return note_read(x, cell, tp, copied, now);
	whole = per_connection(service);

	bpf_spin_lock(&x->lock);
	if (!tp)
		written = x->write_seq;
	stamped = x->arrival;
	consume(x, tp, copied, now, &first, &last);
	if (whole && x->begin) {
		last = x->owed_from;
	} else if (x->begin && x->last_write) {
		over = true;
		take(x, x->last_write, &done);
	} else if (x->begin && written != x->write_seq) {
		/* Answered, but the hook of that write has not run yet or never will. */
		over = unseen = true;
		take(x, first, &done);
	}
	if (!x->begin) {
		begun = true;
		x->begin = first;
		x->first_read = now;
		x->first_write = 0;
	}
	x->write_seq = written;
	x->owed_from = last;
	x->swept_begin = 0;
	bpf_spin_unlock(&x->lock);

	if (over)
		book(cell, service, &done, 1);
	if (unseen)
		__sync_fetch_and_add(&cell->counters[EXCHANGE_UNSEEN_WRITE], 1);
	if (begun)
		__sync_fetch_and_add(&cell->counters[EXCHANGE_BEGUN], 1);
	if (begun && !stamped)
		__sync_fetch_and_add(&cell->counters[EXCHANGE_NO_ARRIVAL], 1);
	return 0;
}

static __always_inline int on_send_entry(struct sock *sk)
{
	struct task_struct *task;
	struct exchange *x;
	__u64 now, sleeps;

	x = find(sk, false);
	task = bpf_get_current_task_btf();
	if (!x)
		return 0;
	now = bpf_ktime_get_ns();
	sleeps = task->nvcsw;

	bpf_spin_lock(&x->lock);
	if (!x->send_since) { /* the tracepoint fires again for every buffer of one send */
		x->send_since = now;
		x->send_sleeps = sleeps;
	}
	bpf_spin_unlock(&x->lock);
	return 0;
}

/* Under the lock, when bytes were taken: how long the peer kept them waiting.  Either outside, from a full buffer to this
 * send (a non-blocking server), or inside it (a blocking one, which slept). */
static __always_inline void add_blocked(struct exchange *x, __u64 now, __u64 sleeps)
{
	if (x->blocked_since)
		x->blocked_ns += (x->send_since ? x->send_since : now) - x->blocked_since;
	if (x->send_since && x->send_sleeps != sleeps)
		x->blocked_ns += now - x->send_since;
	x->blocked_since = 0;
}

/* Under the lock: a read that no hook showed began an exchange; this write answers it. */
static __always_inline void begin_unseen(struct exchange *x)
{
	x->begin = x->first_read = x->arrival;
	x->first_write = x->swept_begin = 0;
	x->owed_from = x->arrival_last ? x->arrival_last : x->arrival;
	x->arrival = x->arrival_last = 0;
}

static __always_inline int on_write(struct sock *sk, int ret)
{
	bool unmatched = false, amended = false, over = false, unseen = false, fresh;
	struct exchange_done done = {};
	struct exchange_cell *cell;
	struct tcp_sock *tp;
	struct exchange *x;
	bool full, whole, large;
	__u32 copied = 0, written = 0, waiting = 0, service;
	__u64 now, sleeps;

	x = find(sk, false);
	tp = bpf_skc_to_tcp_sock(sk);
	if (!x)
		return 0;
	service = x->service;
	cell = cell_of(service);
	if (!cell || by_library(service))
		return 0;
	now = bpf_ktime_get_ns();
	if (tp) {
		copied = tp->copied_seq;
		written = tp->write_seq;
		waiting = written - tp->snd_una;
	}
	whole = per_connection(x->service);
	/* tcp_sendmsg sets the bit when the send buffer is full; the peer's window opens it again. */
	full = sk->sk_socket->flags & (1UL << SOCK_NOSPACE);
	large = ret >= EXCHANGE_LARGE_SEND;
	sleeps = ((struct task_struct *)bpf_get_current_task_btf())->nvcsw;

	bpf_spin_lock(&x->lock);
	if (!tp)
		written = x->write_seq + (ret > 0);
	if (tp && ret > 0 && x->arrival && all_read(x, true, copied) && (!x->begin || (x->last_write && !whole))) {
		unseen = true;
		over = x->begin;
		if (over)
			take(x, x->last_write, &done);
		begin_unseen(x);
	}
	/* write_seq equal: the late hook of a write that the next read, or a close, already accounted for. */
	fresh = ret > 0 && written != x->write_seq;
	if (fresh && !x->begin && x->swept_begin) {
		amended = true;
		reopen(x, &done);
	}
	if (!x->begin) {
		/* A greeting before the request is part of a connection, and of no request otherwise. */
		unmatched = fresh && !whole;
	} else {
		if (fresh) {
			if (!x->first_write)
				x->first_write = now;
			x->last_write = now;
			x->buffered = waiting > EXCHANGE_BUFFERED_BYTES;
			add_blocked(x, now, sleeps);
		}
		if ((full || ret == -EAGAIN) && !x->blocked_since)
			x->blocked_since = now;
	}
	if (ret > 0)
		x->write_seq = written;
	x->send_since = 0;
	bpf_spin_unlock(&x->lock);

	if (large && !wants_send_entry)
		wants_send_entry = 1;
	if (over || amended)
		book(cell, service, &done, over ? 1 : -1);
	if (amended)
		__sync_fetch_and_add(&cell->counters[EXCHANGE_AMENDED], 1);
	if (unseen) {
		__sync_fetch_and_add(&cell->counters[EXCHANGE_BEGUN], 1);
		__sync_fetch_and_add(&cell->counters[EXCHANGE_UNSEEN_READ], 1);
	}
	if (unmatched)
		__sync_fetch_and_add(&cell->counters[EXCHANGE_UNMATCHED], 1);
	return 0;
}

#endif
