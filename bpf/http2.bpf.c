// SPDX-License-Identifier: GPL-2.0
/*
 * http2.bpf.c - how long do the streams of HTTP/2 connections take, whatever serves them?  One request = one stream
 * that the client opened: its HEADERS arrive -> the last frame of its answer is handed to the kernel.
 *
 * Frames are found by their headers: nine bytes, of which three are the payload's length.  From the connection's
 * first byte on, a cursor per direction jumps from header to header through what is read (the skb, at copied_seq) and
 * what is sent (the sender's memory, at write_seq), wherever reads and sends cut them.  Payloads are jumped over,
 * header blocks are not unpacked, and of the nine bytes nothing leaves the kernel but counts and times.
 *
 * A worked example.  Two requests on one connection, the second a POST in two pieces, are answered by one sendmsg:
 *
 *    arrive(10) HEADERS 1 END_STREAM, HEADERS 3, DATA 3     read(12)
 *    arrive(20) DATA 3 END_STREAM                           read(21)
 *    send(30)   HEADERS 3, DATA 3 END_STREAM, HEADERS 1, DATA 1 END_STREAM
 *
 *    stream 1: residency = 12 - 10   service = 30 - 12   total = 30 - 10   owed = 30 - 10
 *    stream 3: residency = 12 - 10   service = 30 - 12   total = 30 - 10   owed = 30 - 20
 *
 * Owed begins with the arrival of the last byte of the request.  A stream ends when the kernel is offered its
 * END_STREAM frame and is about to take it, 64 KiB away at most; RST_STREAM of either side, or the end of the
 * connection, aborts it.  What the server spreads over more than long_ns from its first HEADERS on (events, streaming
 * calls) is counted as long_lived, is in no histogram, and is not in flight once it is known for what it is.
 * Trailers, pushed streams and the frames of the connection are no requests.
 *
 * Arrival is stamped per chunk, 64 chunks per connection; when more wait unread, neighbours are merged under the
 * later time.  What waits unread is not told apart: a connection with unread bytes counts as one request in flight.
 *
 * Where frames begin is known from a connection's beginning.  One that is older than the attach is declared
 * (multiplexed), and measured once both directions have shown four frames in a row, beginning where some read or send
 * does.  Not measured is one whose bytes bypass the hooks or are not the protocol (opaque): TLS, splice, sendfile or
 * registered buffers where a header is due, an HTTP/1 upgrade, AF_UNIX, Multipath TCP.  A cursor that lands on what
 * cannot be a frame is lost, and so are the streams then open (lost).  What a send offered and the
 * kernel did not take must be offered again as it was; every implementation keeps what it has framed.
 *
 * Concurrency: everything about one connection happens under its socket's lock, see struct http2_connection.
 *
 * Cost, measured: 1.1 us per stream with 32 at a time on a connection (0.5 us where it is read, 0.6 us where it is
 * sent), 2.3 us with one at a time.  A socket that is not observed costs one NULL test per hook.
 *
 * What it cannot see: how long a peer's closed flow-control window kept an answer back (it is part of owed), and the
 * time between the handover to the kernel and the client.
 */
#include "http2_walk.h"

/* ---- connections ------------------------------------------------------------------------------------------------- */

/* First sight of a connection: followed from here, or declared. */
static __always_inline void begin(struct http2_connection *c, const struct tcp_sock *tp)
{
	c->number = __sync_fetch_and_add(&last_number, 1) + 1;
	c->in.next = tp->rcv_nxt - (__u32)tp->bytes_received;
	c->out.next = tp->snd_una - (__u32)tp->bytes_acked;
	if (c->in.next != tp->copied_seq || c->out.next != tp->write_seq) {
		count(c->service, EXCHANGE_MULTIPLEXED, 1); /* it was there before us */
		c->in.footing = c->out.footing = FOOTING_NONE;
	}
	if (bpf_map_update_elem(&alive, &c->number, &c->service, BPF_ANY))
		lose_opaque(c);
}

/* What is remembered of an observed socket whose service is measured by stream, or NULL. */
static __always_inline struct http2_connection *new_connection(struct sock *sk)
{
	struct http2_connection *c;
	struct exchange *x;

	x = bpf_sk_storage_get(&exchanges, sk, NULL, 0);
	if (!x || x->owner == OWNER_FOREIGN || !wanted[SERVICE_INDEX(x->service)])
		return NULL;
	/* No memory: at the next event it looks like one that was there before. */
	c = bpf_sk_storage_get(&connections, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!c)
		return NULL;
	c->service = x->service;
	if (sk->sk_protocol == IPPROTO_TCP)
		begin(c, bytes_tcp(sk));
	else
		lose_opaque(c); /* it has no positions */
	return c;
}

/* The connection on a socket, or NULL when it is none or not followed. */
static __always_inline struct http2_connection *find(struct sock *sk)
{
	struct http2_connection *c;

	if (!sk->sk_bpf_storage)
		return NULL;
	c = bpf_sk_storage_get(&connections, sk, NULL, 0);
	if (!c)
		c = new_connection(sk);
	return c && !c->lost && wanted[SERVICE_INDEX(c->service)] ? c : NULL;
}

/* ---- hooks ------------------------------------------------------------------------------------------------------- */

SEC("tp_btf/sk_data_ready")
int BPF_PROG(arrival, struct sock *sk)
{
	struct http2_connection *c;
	struct tcp_sock *tp;

	if (sk->__sk_common.skc_state == TCP_LISTEN)
		return 0;
	c = find(sk);
	if (!c)
		return 0;
	tp = bytes_tcp(sk);
	stamps_add(&c->stamps, stream_end(sk, tp), (__s32)(c->in.next - tp->copied_seq) < 0 ? c->in.next : tp->copied_seq,
		   bpf_ktime_get_ns());
	set_pending(c->service);
	return 0;
}

/* The first read shows whose the connection is: a listener may be shared. */
static __always_inline bool read_by_service(struct http2_connection *c, struct sock *sk)
{
	struct exchange *x = bpf_sk_storage_get(&exchanges, sk, NULL, 0);

	if (!x || (x->owner == OWNER_UNKNOWN && !claim(x)) || !wanted[SERVICE_INDEX(x->service)]) {
		lose(c, EXCHANGE_ABORTED);
		return false;
	}
	c->claimed = 1;
	c->service = x->service;
	return true;
}

/* More of the frame whose header was seen before. */
static __always_inline void read_on(struct http2_connection *c, __u32 from, __u32 to)
{
	if (!c->in.stream || (__s32)(c->in.next - from) <= 0)
		return;
	stream_touch(c, c->in.stream, stamps_find(&c->stamps, ((__s32)(c->in.next - to) < 0 ? c->in.next : to) - 1));
}

/* `size` bytes at copied_seq are about to be read, out of the skb that holds them. */
SEC("tp_btf/skb_copy_datagram_iovec")
int BPF_PROG(read, struct sk_buff *skb, int size)
{
	struct walk_in walk = {};
	struct http2_connection *c;
	struct sock *sk = skb->sk;
	__s64 offset;

	if (!sk)
		return 0;
	c = find(sk);
	if (!c)
		return 0;
	if (!c->claimed && !read_by_service(c, sk))
		return 0;
	offset = bytes_offset(skb, bytes_tcp(sk), size);
	if (offset < 0)
		return 0;
	walk.w.c = c;
	walk.w.now = bpf_ktime_get_ns();
	walk.w.start = bytes_tcp(sk)->copied_seq;
	walk.w.size = size;
	walk.w.skip = offset;
	try_here(&c->in, walk.w.start);
	read_on(c, walk.w.start, walk.w.start + size);
	bpf_dynptr_from_skb((struct __sk_buff *)skb, 0, &walk.bytes);
	bpf_loop(HTTP2_MAX_STEPS, step_in, &walk, 0);
	if (!walk.w.over)
		stop(&walk.w, &c->in, true);
	return 0;
}

/* The rest of a send is offered at write_seq; the kernel takes at most `size_goal` bytes before it comes here again. */
SEC("tp_btf/tcp_sendmsg_locked")
int BPF_PROG(send, const struct sock *const_sk, const struct msghdr *msg, const struct sk_buff *skb, int size_goal)
{
	struct sock *sk = (struct sock *)const_sk;
	struct http2_connection *c;
	struct walk walk = {};
	__u64 offered;

	c = find(sk);
	if (!c)
		return 0;
	offered = msg->msg_iter.count;
	walk.c = c;
	walk.now = bpf_ktime_get_ns();
	walk.start = bytes_tcp(sk)->write_seq;
	walk.size = offered < (__u32)size_goal ? offered : (__u32)size_goal;
	try_here(&c->out, walk.start);
	if ((__s32)(c->out.next + c->out.held - walk.start - walk.size) >= 0)
		return 0; /* all payload, or offered before */
	pieces_begin(&walk.pieces, &msg->msg_iter, walk.size);
	bpf_loop(HTTP2_MAX_STEPS, step_out, &walk, 0);
	if (!walk.over)
		stop(&walk, &c->out, true);
	return 0;
}

/* Our side closed or the connection died: what is open stays without an answer. */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(state, const struct sock *const_sk, int old, int new)
{
	struct sock *sk = (struct sock *)const_sk;
	struct http2_connection *c;

	if (!sk->sk_bpf_storage || old == TCP_LISTEN)
		return 0;
	if (new != TCP_FIN_WAIT1 && new != TCP_LAST_ACK && new != TCP_CLOSE)
		return 0;
	c = bpf_sk_storage_get(&connections, sk, NULL, 0);
	if (c && !c->lost)
		lose(c, EXCHANGE_ABORTED);
	return 0;
}

/* ---- the tick's sweep -------------------------------------------------------------------------------------------- */

static __always_inline void sweep_one(__u32 service, __u64 since, __u64 now, bool waiting)
{
	struct exchange_sweep *result = &swept[SERVICE_INDEX(service)];
	__u64 target = target_ns[SERVICE_INDEX(service)], age = now > since ? now - since : 0;

	set_pending(service);
	result->nr_open++;
	result->nr_waiting += waiting;
	result->nr_over_target += target && age > target;
	if (age > result->oldest_ns)
		result->oldest_ns = age;
}

SEC("iter/bpf_map_elem")
int sweep_streams(struct bpf_iter__bpf_map_elem *ctx)
{
	struct http2_stream *stream = ctx->value;
	struct http2_stream_key *at = ctx->key, key;
	__u64 now;

	if (!stream || !at)
		return 0;
	key = *at;
	if (!wanted[SERVICE_INDEX(stream->service)] || !bpf_map_lookup_elem(&alive, &key.connection)) {
		bpf_map_delete_elem(&streams, &key);
		return 0;
	}
	now = bpf_ktime_get_ns();
	if (is_long(stream, now))
		set_pending(stream->service);
	else
		sweep_one(stream->service, stream->owed_from, now, false);
	return 0;
}

/* Bytes that nobody reads: how many requests they are is not known, so a connection counts as one. */
SEC("iter/bpf_sk_storage_map")
int sweep_connections(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct sock *sk = ctx->sk;
	struct http2_connection *c;
	__u64 waiting;

	if (!sk)
		return 0;
	c = bpf_sk_storage_get(&connections, sk, NULL, 0);
	if (!c)
		return 0;
	if (!wanted[SERVICE_INDEX(c->service)]) {
		bpf_map_delete_elem(&alive, &c->number);
		bpf_sk_storage_delete(&connections, sk);
		return 0;
	}
	if (c->lost)
		return 0;
	waiting = stamps_waiting(&c->stamps, bytes_tcp(sk)->copied_seq);
	if (waiting)
		sweep_one(c->service, waiting, bpf_ktime_get_ns(), true);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
