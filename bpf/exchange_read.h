/* SPDX-License-Identifier: GPL-2.0 */
/*
 * exchange_read.h - what happens when bytes arrive, when they are read, and when a connection ends.  Bodies only;
 * exchange.bpf.c hangs them up.
 */
#ifndef EBEE_EXCHANGE_READ_H
#define EBEE_EXCHANGE_READ_H

#include "exchange_find.h"

/* More is here, up to `end`. */
static __always_inline void stamp(struct exchange *x, bool tcp, __u32 end, __u64 now)
{
	if (!x->arrival) {
		x->arrival = now;
	} else if (!tcp) {
		x->arrival_last = now;
	} else if (end != x->seq_stamped) {
		x->arrival_last = now;
		x->seq_last = x->seq_stamped;
	}
	x->seq_stamped = end;
}

static __always_inline int on_arrival(struct sock *sk)
{
	struct tcp_sock *tp;
	struct exchange *x;
	struct pipeline *line;
	__u32 end = 0, service;
	__u64 now;

	if (sk->__sk_common.skc_state == TCP_LISTEN)
		return 0;
	x = find_any(sk, false);
	if (!x)
		return 0;
	service = x->service;
	tp = tcp_of(sk);
	now = tp ? tp->tcp_clock_cache : bpf_ktime_get_ns(); /* it was looked at for this very packet */
	if (tp) {
		if (is_subflow(tp))
			return 0; /* its connection is stamped, too */
		end = stream_end(sk, tp);
		if (end == tp->copied_seq)
			return 0; /* a FIN alone */
	}
	if (is_left(x)) {
		count(service, EXCHANGE_UNMEASURED, 1);
		return 0;
	}
	line = find_pipeline(x, sk);
	if (line) {
		if (tp)
			stamps_add(&line->stamps, end, (__s32)(x->in.next - tp->copied_seq) < 0 ? x->in.next : tp->copied_seq, now);
	} else if (tp && is_alone(x)) {
		stamp(x, true, end, now);
	} else {
		bpf_spin_lock(&x->lock);
		stamp(x, tp, end, now);
		bpf_spin_unlock(&x->lock);
	}
	set_pending(service);
	return 0;
}

/* Our side closed or the connection died: nothing will be added to the exchange any more. */
static __always_inline void on_close(struct sock *sk)
{
	struct exchange_done done = {};
	struct exchange_cell *cell;
	struct pipeline *line;
	struct tcp_sock *tp;
	struct exchange *x;
	bool over = false, aborted = false, unseen = false;
	__u32 written = 0, service;
	__u64 now;

	x = find(sk, false);
	if (!x)
		return;
	tp = tcp_of(sk);
	service = x->service;
	cell = cell_of(service);
	if (!cell || by_library(service))
		return;
	now = bpf_ktime_get_ns();
	line = find_pipeline(x, sk);
	if (line) {
		if (line->out.step == STEP_UNTIL_CLOSE)
			pipeline_answered(line, service, now);
		pipeline_end(line, service, EXCHANGE_ABORTED);
		return;
	}
	if (tp)
		written = tp->write_seq;

	bpf_spin_lock(&x->lock);
	if (!tp)
		written = x->write_seq;
	if (x->begin && x->last_write) {
		over = take(x, x->last_write, &done);
	} else if (x->begin && written != x->write_seq) {
		over = unseen = take(x, now, &done);
	} else if (x->begin || (tp && x->arrival)) { /* outside TCP an end raises the stamp, too */
		aborted = true;
	}
	x->begin = x->arrival = x->arrival_last = x->swept_begin = 0;
	x->write_seq = written;
	bpf_spin_unlock(&x->lock);

	if (over)
		book(&done, service, 1);
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

/* More of the request that is open, or nothing of any.  true: the sweep had ended it, and *booked is to be taken back. */
static __always_inline bool go_on(struct exchange *x, __u64 last, struct exchange_done *booked)
{
	bool amended = false;

	/* What was written so far was an interim answer: the body was waited for. */
	if (x->in.protocol == EXCHANGE_HTTP1 && (x->in.flags | x->in.ended) & PARSE_EXPECT && is_answered(x)) {
		amended = !x->begin;
		x->last_write = 0;
		if (amended)
			reopen(x, booked);
		x->first_write = 0;
		x->in.flags &= ~PARSE_EXPECT;
		x->in.ended &= ~PARSE_EXPECT;
	}
	if (x->begin && !x->last_write)
		x->owed_from = last;
	return amended;
}

/* What a read did to a connection's exchange. */
struct read_did {
	bool over, amended; /* *done is to be booked, or to be taken back */
	bool unseen, begun, no_arrival;
};

/* Bytes up to `copied` have been read; `begins`: a request began in them, or more of one that is open came. */
static __always_inline void take_read(struct exchange *x, bool tcp, __u32 copied, __u32 written, __u64 now, bool begins,
				      struct exchange_done *done, struct read_did *did)
{
	bool stamped = x->arrival, whole = per_connection(x->service);
	__u64 first, last;

	consume(x, tcp, copied, now, &first, &last);
	x->read_seq = copied;
	if (!begins) {
		did->amended = go_on(x, last, done);
		return;
	}
	if (whole && x->begin) {
		last = x->owed_from;
	} else if (x->begin && x->last_write) {
		did->over = take(x, x->last_write, done);
	} else if (x->begin && written != x->write_seq) {
		/* Answered, but the hook of that write has not run yet or never will. */
		did->over = did->unseen = take(x, first, done);
	}
	x->write_seq = written;
	x->owed_from = last;
	if (x->begin) {
		x->swept_begin = 0;
	} else {
		did->begun = true;
		did->no_arrival = !stamped;
		open_exchange(x, first, now);
	}
}

static __always_inline void count_read(const struct exchange_done *done, const struct read_did *did, __u32 service)
{
	struct exchange_cell *cell = cell_of(service);

	if (!cell)
		return;
	if (did->over || did->amended)
		book(done, service, did->over ? 1 : -1);
	if (did->amended)
		count_amended(cell, service);
	if (did->unseen)
		__sync_fetch_and_add(&cell->counters[EXCHANGE_UNSEEN_WRITE], 1);
	if (did->begun)
		__sync_fetch_and_add(&cell->counters[EXCHANGE_BEGUN], 1);
	if (did->no_arrival)
		__sync_fetch_and_add(&cell->counters[EXCHANGE_NO_ARRIVAL], 1);
}

/* Its bytes tell where requests begin; elsewhere every read after an answer is one. */
static __always_inline bool bytes_tell(const struct exchange *x)
{
	return x->in.protocol >= EXCHANGE_HTTP1 || (x->in.protocol == EXCHANGE_NEW && x->in.kind == NEW_FRAMES);
}

/* What on_bytes (recognise.h) did not see. */
static __always_inline int on_read(struct sock *sk, int ret, int flags)
{
	struct exchange_done done = {};
	struct exchange_cell *cell;
	struct read_did did = {};
	struct tcp_sock *tp;
	struct exchange *x;
	__u64 now;
	__u32 copied = 0, written = 0;
	bool begins;

	if (ret < 0 || flags & (MSG_PEEK | MSG_ERRQUEUE) ||
	    (under_socket_lock && !reads_matter && sk->sk_protocol == IPPROTO_TCP))
		return 0;
	x = find(sk, true);
	if (!x)
		return 0;
	tp = tcp_of(sk);
	if (tp) {
		copied = tp->copied_seq;
		written = tp->write_seq;
		if (!ret || copied == x->read_seq)
			return 0;
	} else if (!ret) {
		on_close(sk); /* the only sign of an end outside TCP */
		return 0;
	}
	if (x->owner == OWNER_UNKNOWN && !claim(x))
		return 0;
	cell = cell_of(x->service);
	if (!cell)
		return 0;
	now = bpf_ktime_get_ns();
	if (by_library(x->service))
		return note_read(x, cell, tp, copied, now);
	if (x->pipelined)
		return 0;
	begins = lifecycle[SERVICE_INDEX(x->service)] != EXCHANGE_PER_REQUEST || !bytes_tell(x);

	bpf_spin_lock(&x->lock);
	take_read(x, tp, copied, tp ? written : x->write_seq, now, begins, &done, &did);
	bpf_spin_unlock(&x->lock);

	count_read(&done, &did, x->service);
	return 0;
}

#endif
