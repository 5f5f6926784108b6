/* SPDX-License-Identifier: GPL-2.0 */
/*
 * exchange_read.h - what happens when bytes arrive, when they are read, and when a connection ends.  Bodies only;
 * exchange.bpf.c hangs them up.
 */
#ifndef EBEE_EXCHANGE_READ_H
#define EBEE_EXCHANGE_READ_H

#include "exchange_find.h"

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
	tp = bpf_skc_to_tcp_sock(sk);
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
		goto pend;
	}

	bpf_spin_lock(&x->lock);
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
pend:
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
	tp = bpf_skc_to_tcp_sock(sk);
	if (!x)
		return;
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

/* How many requests began in what was just read, by its bytes; 1 where those do not tell: then every read begins one, or
 * brings more of the one that is open. */
static __always_inline __u32 taken_begun(struct exchange *x)
{
	__u32 nr = x->nr_begun ? __sync_lock_test_and_set(&x->nr_begun, 0) : 0;

	return x->in.protocol >= EXCHANGE_HTTP1 || (x->in.protocol == EXCHANGE_NEW && x->in.kind == NEW_FRAMES) ? nr : 1;
}

/* Under the lock: more of the request that is open, or nothing of any.  true: the sweep had ended it, and *booked is to be
 * taken back. */
static __always_inline bool go_on(struct exchange *x, __u64 last, struct exchange_done *booked)
{
	bool amended = false;

	if (x->revoked) {
		if (!x->last_write)
			x->begin = 0;
		x->revoked = 0;
	}
	/* What was written so far was an interim answer: the body was waited for. */
	if (x->in.protocol == EXCHANGE_HTTP1 && (x->in.flags | x->in.ended) & PARSE_EXPECT && (x->last_write || x->swept_begin)) {
		amended = !x->begin;
		if (amended)
			reopen(x, booked);
		x->in.flags &= ~PARSE_EXPECT;
		x->in.ended &= ~PARSE_EXPECT;
		x->first_write = x->last_write = 0;
	}
	if (x->begin && !x->last_write)
		x->owed_from = last;
	return amended;
}

static __always_inline int on_read(struct sock *sk, int ret, int flags)
{
	struct exchange_done done = {};
	struct exchange_cell *cell;
	struct tcp_sock *tp;
	struct exchange *x;
	bool over = false, unseen = false, amended = false, begun = false, stamped, whole;
	__u64 now, first, last;
	__u32 copied = 0, written = 0, service, nr_begun = 1;

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
	if (x->pipelined)
		return 0;
	if (x->in.protocol)
		nr_begun = taken_begun(x);
	whole = per_connection(service);

	bpf_spin_lock(&x->lock);
	if (!tp)
		written = x->write_seq;
	stamped = x->arrival;
	consume(x, tp, copied, now, &first, &last);
	if (!nr_begun) {
		amended = go_on(x, last, &done);
		goto out;
	}
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
out:
	bpf_spin_unlock(&x->lock);

	if (over || amended)
		book(&done, service, over ? 1 : -1);
	if (amended)
		count_amended(cell, service);
	if (unseen)
		__sync_fetch_and_add(&cell->counters[EXCHANGE_UNSEEN_WRITE], 1);
	if (begun)
		__sync_fetch_and_add(&cell->counters[EXCHANGE_BEGUN], 1);
	if (begun && !stamped)
		__sync_fetch_and_add(&cell->counters[EXCHANGE_NO_ARRIVAL], 1);
	return 0;
}

#endif
