/* SPDX-License-Identifier: GPL-2.0 */
/*
 * bytes.h - the bytes of one read or send, where they are: in the skb that is read, at the socket's copied_seq; or in the
 * sender's memory, in pieces, at its write_seq.  Positions are relative to the first byte of the read or send, so that
 * sequence numbers may wrap.  Nothing is kept and nothing leaves the kernel.
 */
#ifndef EBEE_BYTES_H
#define EBEE_BYTES_H

#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

extern void *bpf_rdonly_cast(const void *object, __u32 type) __ksym __weak;
extern int bpf_dynptr_from_skb(struct __sk_buff *skb, __u64 flags, struct bpf_dynptr *ret) __ksym __weak;

enum { BYTES_MAX_PIECES = 1024 }; /* of one send */

/* A socket found through its skb is no pointer that bpf_skc_to_tcp_sock takes. */
static __always_inline struct tcp_sock *bytes_tcp(struct sock *sk)
{
	return bpf_rdonly_cast(sk, bpf_core_type_id_kernel(struct tcp_sock));
}

/* `size` bytes at copied_seq are about to be read.  Where in the skb; negative: it is not that skb's turn.  That is a look
 * (MSG_PEEK) past the first one, which will be read later, or a message of the error queue. */
static __always_inline __s64 bytes_offset(struct sk_buff *skb, const struct tcp_sock *tp, __u32 size)
{
	const struct tcp_skb_cb *cb = bpf_rdonly_cast(skb->cb, bpf_core_type_id_kernel(struct tcp_skb_cb));
	__u32 held = cb->end_seq - cb->seq, offset = tp->copied_seq - cb->seq;

	return offset >= held || size > held - offset ? -1 : offset;
}

/* The piece of memory that holds bytes `from` to `to` of a send, and the pieces after it. */
struct pieces {
	__u32 from, to;
	__u64 base;
	__u64 next, end; /* addresses as plain numbers: a pointer that moves is a new state to the verifier */
};

/* false: there is none that we can see. */
static __always_inline bool pieces_next(struct pieces *p)
{
	struct iovec piece;

	if (p->next >= p->end || bpf_probe_read_kernel(&piece, sizeof(piece), (void *)p->next))
		return false;
	p->from = p->to;
	p->to += piece.iov_len;
	p->base = (__u64)piece.iov_base;
	p->next += sizeof(piece);
	return true;
}

/* Memory of `size` bytes; what is neither of user space's two kinds (sendfile, splice) has no pieces. */
static __always_inline void pieces_begin(struct pieces *p, const struct iov_iter *from, __u32 size)
{
	__u64 nr = from->nr_segs < BYTES_MAX_PIECES ? from->nr_segs : BYTES_MAX_PIECES;

	if (from->iter_type == bpf_core_enum_value(enum iter_type, ITER_UBUF)) {
		bpf_core_read(&p->base, sizeof(p->base), &from->ubuf);
		p->base += from->iov_offset;
		p->to = size;
	} else if (from->iter_type == bpf_core_enum_value(enum iter_type, ITER_IOVEC)) {
		bpf_core_read(&p->next, sizeof(p->next), &from->__iov);
		p->end = p->next + nr * sizeof(struct iovec);
		pieces_next(p);
		p->base += from->iov_offset;
		p->to -= from->iov_offset;
	}
}

#endif
