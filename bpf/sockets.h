/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sockets.h - which sockets are observed, whose they are, what is remembered on each: what the programs that look at
 * sockets share.  The object loaded first owns the map.
 */
#ifndef EBEE_SOCKETS_H
#define EBEE_SOCKETS_H

#include "cells.h"
#include "parse.h"

/* A listener may be shared with processes that are not of the service: who reads first decides, once per connection. */
enum owner { OWNER_UNKNOWN, OWNER_SERVICE, OWNER_FOREIGN };

/* Lives in socket storage: bounded by the sockets of the observed listeners, freed by the kernel with the socket. */
struct exchange {
	/* What an arrival needs, which another CPU often sees, in one cache line with the kernel's eight bytes before it. */
	struct bpf_spin_lock lock;
	__u32 service;
	__u8 owner;        /* enum owner: does a process of the service read this connection? */
	__u8 pipelined;    /* nonzero: pipeline.h has its requests */
	__u8 left;         /* nonzero: neither requests nor answers can be told apart any more */
	__u32 seen;        /* AF_UNIX: the sweep that found its socket last; 0: it is in another network namespace */
	__u32 seq_stamped; /* TCP sequence number up to which arrival is stamped */
	__u32 seq_last;    /* where the latest chunk starts */
	__u64 arrival;     /* first unread byte; 0: none */
	__u64 arrival_last; /* latest chunk, when it is not the first; 0: none */
	__u64 send_since;  /* a send that may wait is under way since */
	__u32 read_seq, write_seq; /* TCP positions that we have accounted for */
	__u64 begin;       /* 0: no exchange open */
	__u64 first_read;
	__u64 owed_from;
	/* Of the exchange that is open, or was last; last_write 0: not answered yet. */
	__u64 first_write, last_write;
	/* What the sweep ended, for more of its answer may come; swept_begin 0: nothing.  first_read, owed_from and
	 * first_write stay until the next read. */
	__u64 swept_begin, swept_end, swept_blocked_ns;
	__u64 blocked_since, blocked_ns;
	__u32 buffered;    /* nonzero: much of the answer was not delivered at the last write */
	__u64 send_sleeps; /* nvcsw of the thread of `send_since` then */
	struct parse in;   /* requests: what the first bytes said, and every read since, see recognise.h */
};

/* BPF_F_CLONE: a connection inherits its listener's value when the kernel clones the listener.  So exactly the
 * passively opened sockets of observed listeners have a value, and all others pay for one NULL test. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct exchange);
} exchanges SEC(".maps");

/* Written by user space. */
__u32 by_process[EXCHANGE_MAX_SERVICES]; /* nonzero: the service is its processes, not a port */

/* The first read of a connection: false when the reader is not of the service. */
static __always_inline bool claim(struct exchange *x)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32, *service;

	if (by_process[SERVICE_INDEX(x->service)]) {
		service = bpf_map_lookup_elem(&processes, &tgid);
		if (!service) {
			x->owner = OWNER_FOREIGN;
			return false;
		}
		x->service = *service; /* two services may share a listener */
	}
	x->owner = OWNER_SERVICE;
	return true;
}

/* The peer's FIN takes one sequence number and is no request. */
static __always_inline __u32 stream_end(const struct sock *sk, const struct tcp_sock *tp)
{
	__u8 state = sk->__sk_common.skc_state;

	return tp->rcv_nxt - (state == TCP_CLOSE_WAIT || state == TCP_LAST_ACK || state == TCP_CLOSING);
}

#endif
