/* SPDX-License-Identifier: GPL-2.0 */
/*
 * recognise.h - what the first bytes of a connection say, and what every read brings: requests that begin, parts of one
 * that was there, commands that want no answer, handshakes.
 *
 * A byte is looked at once, where the kernel is about to hand it over (skb_copy_datagram_iovec), under the socket's lock.
 * When bytes go past that hook (splice, zero copy), or are not what the protocol allows, the connection is opaque from
 * then on and declared; then every read after an answer is a request again.
 *
 * Connections that are older than we are are tried at the beginnings of a few reads.
 *
 * Cost: experiments/cost has it (bytes_tp).  It is the dearest of the hooks; a part of it is the first touch of bytes that
 * another CPU has written, which the server's own copy is spared.
 */
#ifndef EBEE_RECOGNISE_H
#define EBEE_RECOGNISE_H

#include "exchange_read.h"
#include "feed.h"
#include "requests.h"
#include "whole.h"

/* `size` bytes, PARSE_CHUNK at most, that are `at` into the read.  false: they cannot be had. */
static __always_inline bool read_chunk(struct feed *f, __u32 at, __u32 size)
{
	asm volatile("" : "+r"(size)); /* or the test goes into another one, of another number */
	return size <= PARSE_CHUNK && !bpf_dynptr_read(f->chunk.bytes, size, &f->skb, f->offset + at, 0);
}

/* At the first byte of a request.  false: to be called again, with a pipeline. */
static __always_inline bool request_begin(struct feed *f)
{
	struct exchange *x = f->x;

	if (f->line) {
		pipeline_request_begin(f->line, x->in.next, f->now);
	} else if (f->open || f->nr_begun) {
		f->over = FEED_SPLIT;
		return false;
	} else {
		f->nr_begun = 1;
		x->in.begin = x->in.next;
	}
	x->in.step = STEP_FIRST;
	x->in.flags &= PARSE_OLD;
	return true;
}

/* After the last byte of a request. */
static __always_inline void request_ended(struct feed *f)
{
	struct exchange *x = f->x;
	__u8 flags = x->in.ended;

	if (flags & PARSE_ONE_WAY) {
		count(x->service, EXCHANGE_ONE_WAY, 1);
		if (f->line)
			f->line->reading = 0;
		else if (f->nr_begun)
			f->nr_begun = 0;
		else if (f->open)
			f->open = x->begin = 0; /* an earlier read began it */
	} else if (f->line) {
		if (pipeline_request_end(f->line, x->service, x->in.next - 1, flags))
			f->over = FEED_LOST;
	} else if (flags & PARSE_UPGRADE) {
		f->over = FEED_SPLIT; /* only its answer tells whether requests and answers go on: it must be looked at */
	}
}

/* What the grammar found, in terms of exchanges. */
static __always_inline void request_did(struct feed *f, int did)
{
	struct exchange *x = f->x;

	if (did == DID_BAD)
		f->over = FEED_LOST;
	else if (parse_is_left(&x->in))
		f->over = FEED_LEFT;
	else if (did == DID_END)
		request_ended(f);
	if (did == DID_UNSURE)
		count(x->service, EXCHANGE_TLS_UNSURE, 1);
	if (did == DID_UNSURE || did == DID_DATA)
		f->nr_begun = 1; /* or more of one: records do not tell */
}

static long request_step(__u32 index, struct feed *f)
{
	struct parse *p = &f->x->in;
	__u32 at = p->next - f->start;
	int did = DID_MORE;

	if (at >= f->size) {
		/* Bytes before the first one were read past our hook. */
		f->over = (__s32)at < 0 ? FEED_LOST : FEED_DONE;
		return 1;
	}
	if (p->skip) {
		if (feed_skip(f, p, at))
			did = request_payload_end(p);
	} else if (at - f->from >= f->held) {
		f->from = at;
		f->held = f->size - at < PARSE_CHUNK ? f->size - at : PARSE_CHUNK;
		if (!read_chunk(f, at, f->held))
			did = DID_BAD;
	} else {
		if (p->step == STEP_START) {
			enum request_first first = request_first_byte(p, f->chunk.bytes[(at - f->from) & (PARSE_CHUNK - 1)]);

			if (first == FIRST_MESSAGE && !request_begin(f))
				return 1;
			if (first == FIRST_NOTHING) {
				p->next++;
				return 0;
			}
		}
		did = request_bytes(p, &f->chunk, at - f->from, f->held);
	}
	request_did(f, did);
	return f->over != FEED_GOES_ON;
}

/* A second request is open, or an answer must be looked at: from here on the pipeline has them. */
static __always_inline struct pipeline *become_pipelined(struct feed *f, struct sock *sk)
{
	struct pipeline *line = bpf_sk_storage_get(&pipelines, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	struct pipelined first = { .nr = 1 };
	struct exchange_done done = {};
	struct exchange *x = f->x;
	__u32 written = bytes_tcp(sk)->write_seq;
	bool over;

	if (!line)
		return NULL;
	f->now = bpf_ktime_get_ns();
	line->stamps.from = line->from = line->to = line->reading = line->answered_early = line->again_size = 0;
	__builtin_memset(&line->out, 0, sizeof(line->out));
	line->out.number = NO_NUMBER;
	line->out.protocol = x->in.protocol;
	line->out.next = written;

	bpf_spin_lock(&x->lock);
	first.arrival = x->begin;
	first.read = x->first_read;
	first.owed_from = x->owed_from;
	over = x->begin && !f->open && take(x, x->last_write ? x->last_write : f->now, &done);
	/* What waited unread: up to two chunks. */
	line->stamps.to = !!x->arrival + !!x->arrival_last;
	line->stamps.at[0].ns = x->arrival;
	line->stamps.at[0].end = x->arrival_last ? x->seq_last : x->seq_stamped;
	line->stamps.at[1].ns = x->arrival_last;
	line->stamps.at[1].end = x->seq_stamped;
	x->begin = x->arrival = x->arrival_last = x->swept_begin = 0;
	x->pipelined = pipelined_seen = 1;
	bpf_spin_unlock(&x->lock);

	if (over)
		book(&done, x->service, 1);
	if (f->open) {
		first.flags = x->in.ended;
		pipeline_push(line, x->service, &first);
	} else {
		f->nr_begun = 0;
		pipeline_request_begin(line, x->in.begin, f->now);
		pipeline_request_end(line, x->service, x->in.next - 1, x->in.ended);
	}
	return line;
}

/* First sight of a connection. */
static __always_inline void recognise_begin(struct exchange *x, const struct tcp_sock *tp)
{
	__u8 tries = x->in.tries;

	__builtin_memset(&x->in, 0, sizeof(x->in));
	x->in.next = tp->copied_seq;
	x->in.number = NO_NUMBER;
	x->in.protocol = EXCHANGE_NEW;
	if (tp->rcv_nxt - (__u32)tp->bytes_received != tp->copied_seq) {
		x->in.flags = PARSE_OLD;
		x->in.tries = tries + 1;
	}
}

/* The bytes of a read, told apart into what they are of.  How many requests began, 1 where bytes do not tell. */
static __always_inline __u32 walk_read(struct sk_buff *skb, struct sock *sk, struct exchange *x, __u32 size, __u32 offset)
{
	struct tcp_sock *tp = bytes_tcp(sk);
	struct feed f = { .x = x, .size = size, .offset = offset };

	f.start = tp->copied_seq;
	f.open = x->begin && !x->last_write && tp->write_seq == x->write_seq;
	/* Text that goes on for ever is no first line; on an old connection another read may begin with one. */
	if (x->in.protocol == EXCHANGE_UNSEEN ||
	    (x->in.protocol == EXCHANGE_NEW && x->in.flags & PARSE_OLD && x->in.kind != NEW_FRAMES && !f.open))
		recognise_begin(x, tp);
	f.was = x->in.protocol;
	bpf_dynptr_from_skb((struct __sk_buff *)skb, 0, &f.skb);
	if (x->pipelined) {
		f.line = bpf_sk_storage_get(&pipelines, sk, NULL, 0);
		f.now = bpf_ktime_get_ns();
	}
	bpf_loop(FEED_MAX_STEPS, request_step, &f, 0);
	if (f.over == FEED_SPLIT) {
		f.line = become_pipelined(&f, sk);
		f.over = f.line ? FEED_GOES_ON : FEED_LOST;
		if (f.line)
			bpf_loop(FEED_MAX_STEPS, request_step, &f, 0);
	}
	feed_over(&f);
	return bytes_tell(x) ? f.nr_begun : 1;
}

/* Where a read is looked at as a whole.  One program uses it, which the kernel never starts within itself on one CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct whole);
} wholes SEC(".maps");

/* One short request without a body when none is open, whole and alone: what nearly all reads are. */
static __always_inline bool is_whole(struct sk_buff *skb, const struct tcp_sock *tp, struct exchange *x, __u32 size,
				     __u32 offset)
{
	bool is_http = x->in.protocol == EXCHANGE_HTTP1, found = false;
	struct bpf_dynptr bytes;
	struct whole *w;
	__u32 key = 0;

	if ((!is_http && x->in.protocol != EXCHANGE_MEMCACHED) || x->in.step != STEP_START || x->in.skip || x->pipelined ||
	    x->in.next != tp->copied_seq || (x->begin && !x->last_write))
		return false;
	w = bpf_map_lookup_elem(&wholes, &key);
	bpf_dynptr_from_skb((struct __sk_buff *)skb, 0, &bytes);
	asm volatile("" : "+r"(size));
	if (!w || size > WHOLE_MAX)
		return false;
	if (!bpf_dynptr_read(w->bytes, size, &bytes, offset, 0))
		found = whole_request(w, size, is_http);
	__builtin_memset(w, 0, sizeof(*w)); /* nothing is kept */
	if (found) {
		x->in.begin = x->in.next;
		x->in.next += size;
		x->in.ended = 0;
	}
	return found;
}

/* `size` bytes at copied_seq are about to be read, out of the skb that holds them. */
static __always_inline int on_bytes(struct sk_buff *skb, __u32 size)
{
	struct exchange_done done = {};
	struct read_did did = {};
	struct sock *sk = skb->sk;
	struct tcp_sock *tp;
	struct exchange *x;
	__u32 end, begins = 1;
	__s64 offset;

	if (!sk || !sk->sk_bpf_storage)
		return 0;
	x = bpf_sk_storage_get(&exchanges, sk, NULL, 0);
	if (!x || x->left || lifecycle[SERVICE_INDEX(x->service)] != EXCHANGE_PER_REQUEST ||
	    sk->sk_protocol != IPPROTO_TCP || x->owner == OWNER_FOREIGN || (x->owner == OWNER_UNKNOWN && !claim(x)))
		return 0;
	tp = bytes_tcp(sk);
	offset = bytes_offset(skb, tp, size);
	end = tp->copied_seq + size;
	if (offset < 0 || (x->in.protocol != EXCHANGE_UNSEEN && (__s32)(x->read_seq - end) >= 0))
		return 0; /* or it was looked at before it is read (MSG_PEEK) */
	if (x->in.protocol != EXCHANGE_OPAQUE_BYTES && !is_whole(skb, tp, x, size, offset))
		begins = walk_read(skb, sk, x, size, offset);
	if (x->pipelined || x->left) {
		x->read_seq = end;
		return 0;
	}
	if (is_alone(x)) {
		take_read(x, true, end, tp->write_seq, bpf_ktime_get_ns(), begins, &done, &did);
	} else {
		__u64 now = bpf_ktime_get_ns();
		__u32 written = tp->write_seq;

		bpf_spin_lock(&x->lock);
		take_read(x, true, end, written, now, begins, &done, &did);
		bpf_spin_unlock(&x->lock);
	}
	count_read(&done, &did, x->service);
	return 0;
}

#endif
