/* SPDX-License-Identifier: GPL-2.0 */
/*
 * exchange_sweep.h - what the tick's sweep finds on a connection: an exchange that is over, or one that is open, and how old.
 * Bodies only; exchange.bpf.c walks the sockets.
 */
#ifndef EBEE_EXCHANGE_SWEEP_H
#define EBEE_EXCHANGE_SWEEP_H

#include "exchange_find.h"

/* Ends what is answered and open.  false: a read did, just now. */
static __always_inline bool settle(struct exchange *x, struct exchange_done *done)
{
	__u64 begin = x->begin;

	x->swept_begin = begin;
	x->swept_end = x->last_write;
	x->swept_blocked_ns = x->blocked_ns;
	if (__sync_val_compare_and_swap(&x->begin, begin, 0) != begin) {
		x->swept_begin = 0;
		return false;
	}
	x->swept_end = x->last_write; /* again: an offer that came before this knows nothing of it */
	copy_done(x, begin, x->swept_end, x->swept_blocked_ns, done);
	return true;
}

/* Returns false when nothing is open on the connection.  `closing`: the client has all it wanted, or left.  `request`: what
 * waits unread is one, or a part. */
static __always_inline bool sweep_one(struct exchange *x, bool whole, bool closing, bool request, __u64 now)
{
	struct exchange_done done = {};
	struct exchange_sweep *result;
	struct exchange_cell *cell;
	bool over = false, open = false, waiting = false, alive;
	__u32 service = x->service;
	__u64 since = 0, age;

	cell = cell_of(service);
	if (!cell)
		return false;
	service = SERVICE_INDEX(service);
	result = &swept[service];

	bpf_spin_lock(&x->lock);
	if (!whole && x->begin && x->last_write && now - x->last_write >= settle_ns)
		over = settle(x, &done);
	alive = x->begin || x->arrival;
	if (x->begin && (!x->last_write || (whole && !closing))) {
		open = true;
		since = x->begin;
	} else if (x->arrival && request) {
		open = waiting = true;
		since = x->arrival;
	}
	bpf_spin_unlock(&x->lock);

	if (over)
		book(&done, service, 1);
	if (alive)
		pending[service] = 1;
	result->nr_connections++;
	if (!open)
		return alive;
	age = now > since ? now - since : 0;
	result->nr_open++;
	result->nr_waiting += waiting;
	result->nr_over_target += target_ns[service] && age > target_ns[service];
	if (age > result->oldest_ns)
		result->oldest_ns = age;
	return true;
}

static __always_inline int sweep_pipeline(const struct exchange *x, struct sock *sk, __u64 now)
{
	struct exchange_sweep *result = &swept[SERVICE_INDEX(x->service)];
	struct pipeline *line = bpf_sk_storage_get(&pipelines, sk, NULL, 0);
	__u64 target = target_ns[SERVICE_INDEX(x->service)], oldest;
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	__u32 i;

	result->nr_connections++;
	if (!line || !tp)
		return 0;
	oldest = stamps_waiting(&line->stamps, tp->copied_seq);
	if (oldest) {
		result->nr_open++;
		result->nr_waiting++;
		result->nr_over_target += target && now - oldest > target;
	}
	for (i = line->from; i != line->to && i - line->from < PIPELINE_NR; i++) {
		const struct pipelined *request = QUEUED(line, i);

		result->nr_open += request->nr;
		result->nr_over_target += target && now - request->arrival > target ? request->nr : 0;
		if (!oldest || request->arrival < oldest)
			oldest = request->arrival;
	}
	if (!oldest)
		return 0;
	if (now - oldest > result->oldest_ns)
		result->oldest_ns = now - oldest;
	pending[SERVICE_INDEX(x->service)] = 1;
	return 0;
}

/* What waits unread for a library, before it was seen to begin a call, may be a few bytes about the connection. */
static __always_inline bool may_be_request(struct sock *sk, __u32 service)
{
	struct tcp_sock *tp;

	if (!by_library(service))
		return true;
	tp = bpf_skc_to_tcp_sock(sk);
	return !tp || stream_end(sk, tp) - tp->copied_seq > EXCHANGE_NO_REQUEST_BYTES;
}

#endif
