/* SPDX-License-Identifier: GPL-2.0 */
/*
 * exchange_write.h - what happens when answers are sent: offered to the kernel, and taken by it.  Bodies only;
 * exchange.bpf.c hangs them up.
 */
#ifndef EBEE_EXCHANGE_WRITE_H
#define EBEE_EXCHANGE_WRITE_H

#include "exchange_find.h"
#include "answers.h"

/* tcp_sendmsg sets the bit when the send buffer is full; the peer's window opens it again. */
static __always_inline bool is_full(const struct sock *sk)
{
	return sk->sk_socket->flags & (1UL << SOCK_NOSPACE);
}

/* A send that finds room for all of it is not worth a note. */
static __always_inline bool may_wait(const struct sock *sk, __u64 offered)
{
	return offered >= EXCHANGE_LARGE_SEND || sk->sk_wmem_queued + 2 * (__s64)offered >= sk->sk_sndbuf || is_full(sk);
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
static __always_inline void begin_unseen(struct exchange *x, __u32 copied, __u64 now)
{
	__u64 first, last;

	consume(x, true, copied, now, &first, &last);
	x->owed_from = last;
	open_exchange(x, first, first);
}

/* Outside TCP: memory of what was sent and not taken. */
static __always_inline __u32 queued(const struct sock *sk)
{
	return sk->__sk_common.skc_family == AF_UNIX ? sk->sk_wmem_alloc.refs.counter : sk->sk_wmem_queued;
}

/* The record that says that no more will come, by its size: two bytes, enciphered. */
static __always_inline bool is_close_notify(const struct exchange *x, int ret)
{
	if (x->in.protocol != EXCHANGE_TLS || !is_answered(x))
		return false;
	return x->in.flags & PARSE_TLS12 ? ret == 31 || ret == 23 : ret == TLS_HEADER_SIZE + TLS_CLOSE_NOTIFY;
}

/* `answers`: kernels that do not show what is sent have no pipelines, and need not be able to load what walks them. */
static __always_inline int on_write(struct sock *sk, int ret, bool answers)
{
	bool unmatched = false, amended = false, over = false, unseen = false, fresh;
	struct exchange_done done = {};
	struct exchange_cell *cell;
	struct tcp_sock *tp;
	struct exchange *x;
	struct pipeline *line;
	bool full, whole;
	__u32 copied = 0, written = 0, waiting = 0, service;
	__u64 now, sleeps;

	x = find(sk, false);
	if (!x)
		return 0;
	tp = tcp_of(sk);
	if (tp && ret > 0 && !x->send_since && !x->pipelined && tp->write_seq == x->write_seq)
		return 0; /* on_offer has seen it */
	line = answers ? find_pipeline(x, sk) : NULL;
	if (line) {
		if (line->again_size)
			walk_again(x, line);
		return 0;
	}
	service = x->service;
	cell = cell_of(service);
	if (!cell || by_library(service))
		return 0;
	if (tp) {
		copied = tp->copied_seq;
		written = tp->write_seq;
		waiting = written - tp->snd_una;
	} else {
		waiting = queued(sk);
	}
	/* All of it has left already, and was stamped then: between the handover and here. */
	now = tp && ret > 0 && tp->snd_nxt == written ? tp->tcp_clock_cache : bpf_ktime_get_ns();
	whole = per_connection(x->service);
	full = is_full(sk);
	sleeps = ((struct task_struct *)bpf_get_current_task_btf())->nvcsw;

	bpf_spin_lock(&x->lock);
	if (!tp)
		written = x->write_seq + (ret > 0);
	if (tp && ret > 0 && x->arrival && first_is_read(x, copied) && (!x->begin || (x->last_write && !whole))) {
		unseen = true;
		over = x->begin && take(x, x->last_write, &done);
		begin_unseen(x, copied, now);
	}
	/* write_seq equal: the late hook of a write that the next read, or a close, already accounted for. */
	fresh = ret > 0 && written != x->write_seq && !is_close_notify(x, ret);
	if (fresh && !x->begin && x->swept_begin) {
		amended = true;
		reopen(x, &done);
	}
	if (!x->begin) {
		/* A greeting before the request is part of a connection, and of no request otherwise; TLS shakes hands. */
		unmatched = fresh && !whole && x->in.protocol != EXCHANGE_TLS;
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

	if (over || amended)
		book(&done, service, over ? 1 : -1);
	if (amended)
		count_amended(cell, service);
	if (unseen) {
		__sync_fetch_and_add(&cell->counters[EXCHANGE_BEGUN], 1);
		__sync_fetch_and_add(&cell->counters[EXCHANGE_UNSEEN_READ], 1);
	}
	if (unmatched)
		__sync_fetch_and_add(&cell->counters[EXCHANGE_UNMATCHED], 1);
	return 0;
}

/* The answers of a pipeline.  The rest of a send is offered at write_seq; the kernel takes at most `size` bytes before it
 * comes here again. */
static __always_inline void offer_answers(struct exchange *x, struct sock *sk, const struct msghdr *msg, __u32 size)
{
	struct feed f = { .x = x, .size = size };

	f.line = bpf_sk_storage_get(&pipelines, sk, NULL, 0);
	if (!f.line)
		return;
	if (f.line->again_size)
		walk_again(x, f.line);
	f.now = bpf_ktime_get_ns();
	f.start = bytes_tcp(sk)->write_seq;
	if (!x->pipelined || (__s32)(f.line->out.next - f.start - f.size) >= 0)
		return; /* offered before */
	f.was = x->in.protocol;
	pieces_begin(&f.pieces, &msg->msg_iter, f.size);
	bpf_loop(FEED_MAX_STEPS, reply_step, &f, 0);
	feed_over(&f);
	if (f.over == FEED_AGAIN) {
		f.line->again = f.pieces;
		f.line->again_now = f.now;
		f.line->again_start = f.start;
		f.line->again_size = f.size;
	}
}

/* An answer, or a part of one, that finds room: it is taken as it is offered.  Whatever is less plain is on_write's, which
 * finds that write_seq is not accounted for. */
static __always_inline void offer_answer(struct exchange *x, const struct tcp_sock *tp, __u32 size)
{
	__u32 end = tp->write_seq + size;
	__u64 now;

	if (!x->begin || (x->arrival && x->last_write && first_is_read(x, tp->copied_seq)) || is_close_notify(x, size))
		return;
	now = bpf_ktime_get_ns();
	if (!x->first_write)
		x->first_write = now;
	add_blocked(x, now, 0);
	x->buffered = end - tp->snd_una > EXCHANGE_BUFFERED_BYTES;
	__sync_lock_test_and_set(&x->last_write, now);
	if (x->begin) /* or the sweep ended it meanwhile */
		x->write_seq = end;
}

static __always_inline int on_offer(struct sock *sk, const struct msghdr *msg, __u32 size_goal)
{
	__u64 offered = msg->msg_iter.count;
	struct exchange *x;

	if (!sk->sk_bpf_storage)
		return 0;
	x = bpf_sk_storage_get(&exchanges, sk, NULL, 0);
	if (!x)
		return 0;
	if (may_wait(sk, offered))
		on_send_entry(sk);
	if (x->pipelined)
		offer_answers(x, sk, msg, offered < size_goal ? offered : size_goal);
	else if (is_alone(x) && !x->left && x->owner != OWNER_FOREIGN && sk->sk_protocol == IPPROTO_TCP)
		offer_answer(x, bytes_tcp(sk), offered);
	return 0;
}

#endif
