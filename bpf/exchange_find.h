/* SPDX-License-Identifier: GPL-2.0 */
/*
 * exchange_find.h - which exchange belongs to a socket, if any, and how a socket comes to have one.
 */
#ifndef EBEE_EXCHANGE_FIND_H
#define EBEE_EXCHANGE_FIND_H

#include "pipeline.h"

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
	struct exchange fresh = {
		.service = service,
		.seen = sk->__sk_common.skc_net.net->ns.inum == own_netns ? sweep_number : 0,
	};

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

/* Neither requests nor answers that we could tell apart: declared once, when it was recognised. */
static __always_inline bool is_left(const struct exchange *x)
{
	return x->left && lifecycle[SERVICE_INDEX(x->service)] == EXCHANGE_PER_REQUEST;
}

/* NULL: not TCP, or Multipath TCP.  Of an observed socket alone: any other may have the number for something else. */
static __always_inline struct tcp_sock *tcp_of(struct sock *sk)
{
	if (!under_socket_lock)
		return bpf_skc_to_tcp_sock(sk);
	return sk->sk_protocol == IPPROTO_TCP ? bytes_tcp(sk) : NULL; /* a cast is no call */
}

/* The exchange of an observed socket, measured or not, or NULL: after two or three tests on nearly every socket of a
 * machine. */
static __always_inline struct exchange *find_any(struct sock *sk, bool reading)
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

/* One whose requests are counted here. */
static __always_inline struct exchange *find(struct sock *sk, bool reading)
{
	struct exchange *x = find_any(sk, reading);

	return x && !is_left(x) ? x : NULL;
}

/* Its requests are in its pipeline, which its bytes feed; here only arrivals are stamped, and the end is seen. */
static __always_inline struct pipeline *find_pipeline(const struct exchange *x, struct sock *sk)
{
	return x->pipelined ? bpf_sk_storage_get(&pipelines, sk, NULL, 0) : NULL;
}

/* Of Multipath TCP. */
static __always_inline bool is_subflow(const struct tcp_sock *tp)
{
	return bpf_core_field_exists(tp->is_mptcp) && tp->is_mptcp;
}

#endif
