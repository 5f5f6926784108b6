// SPDX-License-Identifier: GPL-2.0
/*
 * exchange.bpf.c - how long do the requests of a service take?  One exchange = request arrives -> response completely
 * handed to the kernel; exchange_state.h explains the model.
 *
 * Each hook has one static body and thin SEC wrappers: tp_btf where the kernel has the tracepoint (sk_data_ready,
 * sock_send_length and sock_recv_length came with 6.4), fentry/fexit where it has not.  The loader keeps the one
 * that works.  Cost of a socket that is not observed: one NULL test per hook.
 */
#include "exchange_read.h"
#include "exchange_sweep.h"
#include "exchange_write.h"
#include "recognise.h"

/* ---- hooks ------------------------------------------------------------------------------------------------------- */

SEC("tp_btf/sk_data_ready")
int BPF_PROG(arrival_tp, struct sock *sk)
{
	return on_arrival(sk);
}

/* Every TCP socket without a handler of its own (kernel TLS, sockmap) is woken by this function. */
SEC("fentry/sock_def_readable")
int BPF_PROG(arrival_fentry, struct sock *sk)
{
	return on_arrival(sk);
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(read_tp, struct sock *sk, int ret, int flags)
{
	return on_read(sk, ret, flags);
}

/* Arguments as of 5.19. */
SEC("fexit/tcp_recvmsg")
int BPF_PROG(read_fexit, struct sock *sk, struct msghdr *msg, unsigned long len, int flags, int *addr_len, int ret)
{
	return on_read(sk, ret, flags);
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(write_tp, struct sock *sk, int ret, int flags)
{
	return on_write(sk, ret, true);
}

SEC("fexit/tcp_sendmsg")
int BPF_PROG(write_fexit, struct sock *sk, struct msghdr *msg, unsigned long size, int ret)
{
	return on_write(sk, ret, false);
}

/* sendfile and splice until 6.5; later they arrive at tcp_sendmsg. */
SEC("fexit/tcp_sendpage")
int BPF_PROG(sendpage_fexit, struct sock *sk, struct page *page, int offset, unsigned long size, int flags, int ret)
{
	return on_write(sk, ret, false);
}

/* On AF_UNIX, where the tracepoints are missing. */
SEC("fexit/unix_stream_recvmsg")
int BPF_PROG(unix_read_fexit, struct socket *socket, struct msghdr *msg, unsigned long size, int flags, int ret)
{
	return on_read(socket->sk, ret, flags);
}

SEC("fexit/unix_stream_sendmsg")
int BPF_PROG(unix_write_fexit, struct socket *socket, struct msghdr *msg, unsigned long len, int ret)
{
	return on_write(socket->sk, ret, false);
}

/* What is read, and what is sent on pipelined connections. */
SEC("tp_btf/skb_copy_datagram_iovec")
int BPF_PROG(bytes_tp, struct sk_buff *skb, int size)
{
	return on_bytes(skb, size);
}

SEC("tp_btf/tcp_sendmsg_locked")
int BPF_PROG(offer_tp, const struct sock *sk, const struct msghdr *msg, const struct sk_buff *skb, int size_goal)
{
	return on_offer((struct sock *)sk, msg, size_goal);
}

SEC("fentry/tcp_sendmsg")
int BPF_PROG(send_entry_fentry, struct sock *sk, struct msghdr *msg, unsigned long size)
{
	return may_wait(sk, size) ? on_send_entry(sk) : 0;
}

/* ---- which sockets ----------------------------------------------------------------------------------------------- */

static __always_inline struct exchange_port port_of(const struct sock_common *skc)
{
	struct exchange_port port = {
		.netns = skc->skc_net.net->ns.inum,
		.port = skc->skc_num,
	};

	return port;
}

/* The service that a new or found listener belongs to, or NULL.  The process decides before the port. */
static __always_inline __u32 *listener_service(__u32 tgid, struct exchange_port *port)
{
	__u32 *service = bpf_map_lookup_elem(&processes, &tgid);

	return service ? service : bpf_map_lookup_elem(&ports, port);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(state_tp, const struct sock *const_sk, int old, int new)
{
	struct sock *sk = (struct sock *)const_sk;
	struct exchange_port port;
	__u32 *service;

	if (new == TCP_LISTEN) {
		port = port_of(&sk->__sk_common);
		service = listener_service(bpf_get_current_pid_tgid() >> 32, &port);
		if (service) {
			mark(sk, *service);
			bpf_map_update_elem(&listeners, &port, service, BPF_ANY);
		}
	} else if (sk->sk_bpf_storage && old != TCP_LISTEN &&
		   (new == TCP_FIN_WAIT1 || new == TCP_LAST_ACK || new == TCP_CLOSE)) {
		on_close(sk);
	}
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(fork_tp, struct task_struct *parent, struct task_struct *child)
{
	__u32 from = parent->tgid, to = child->tgid, *service;

	if (from == to)
		return 0; /* a thread */
	service = bpf_map_lookup_elem(&processes, &from);
	if (service)
		bpf_map_update_elem(&processes, &to, service, BPF_ANY);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(exit_tp, struct task_struct *task)
{
	__u32 tgid = task->tgid;

	if (!task->signal->live.counter)
		bpf_map_delete_elem(&processes, &tgid);
	return 0;
}

/* ---- what was there before us ------------------------------------------------------------------------------------ */

__u64 nr_found; /* grows while an iterator finds something new; user space repeats until it does not */

/* Children born before the attach. */
SEC("iter/task")
int find_children(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	__u32 tgid, parent, *service;

	if (!task || task->pid != task->tgid)
		return 0;
	tgid = task->tgid;
	parent = task->real_parent->tgid;
	service = bpf_map_lookup_elem(&processes, &parent);
	if (service && !bpf_map_lookup_elem(&processes, &tgid)) {
		bpf_map_update_elem(&processes, &tgid, service, BPF_ANY);
		nr_found++;
	}
	return 0;
}

static __always_inline bool is_open(__u8 state)
{
	return state == TCP_ESTABLISHED || state == TCP_CLOSE_WAIT;
}

static __always_inline void find_unix_file(struct sock *sk, __u8 state, __u32 *service)
{
	__u64 address = unix_address(sk);

	if (!address)
		return;
	if (state == TCP_LISTEN) {
		bpf_map_update_elem(&unix_listeners, &address, service, BPF_ANY);
		unix_seen = 1;
	} else if (is_open(state) && bpf_map_lookup_elem(&unix_listeners, &address)) {
		find_unix(sk, true);
	}
}

static __always_inline bool is_mptcp(struct sock *sk)
{
	return sk->sk_protocol == IPPROTO_MPTCP;
}

/* Listeners first, then (second run) the connections that observed processes have open, in any network namespace. */
SEC("iter/task_file")
int find_files(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct exchange_port port;
	struct socket *socket;
	__u32 tgid, *service;
	struct sock *sk;
	__u8 state;

	if (!task || !file)
		return 0;
	tgid = task->tgid;
	service = bpf_map_lookup_elem(&processes, &tgid);
	if (!service)
		return 0;
	socket = bpf_sock_from_file(file);
	sk = socket ? socket->sk : NULL;
	if (!sk)
		return 0;
	state = sk->__sk_common.skc_state;
	if (sk->__sk_common.skc_family == AF_UNIX) {
		find_unix_file(sk, state, service);
		return 0;
	}
	if (!bpf_skc_to_tcp_sock(sk) && !is_mptcp(sk))
		return 0;
	port = port_of(&sk->__sk_common);
	if (state == TCP_LISTEN) {
		mark(sk, *service);
		bpf_map_update_elem(&listeners, &port, service, BPF_ANY);
	} else if (is_open(state) && bpf_map_lookup_elem(&listeners, &port)) {
		mark(sk, *service);
	}
	return 0;
}

/* By port, and connections that nobody has accepted yet: they are in no file table.  Our network namespace only. */
SEC("iter/tcp")
int find_tcp(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct exchange_port port;
	struct tcp_sock *tp;
	__u32 *service;
	__u8 state;

	if (!skc)
		return 0;
	state = skc->skc_state;
	if (state != TCP_LISTEN && !is_open(state))
		return 0;
	tp = bpf_skc_to_tcp_sock(skc);
	if (!tp)
		return 0;
	port = port_of(skc);
	service = bpf_map_lookup_elem(&ports, &port);
	/* Not in a file table: a connection that nobody has accepted, and what a Multipath TCP listener listens with. */
	if (!service && (is_open(state) ? !((struct sock *)tp)->sk_socket : is_subflow(tp)))
		service = bpf_map_lookup_elem(&listeners, &port);
	if (service)
		mark(tp, *service);
	return 0;
}

/* ---- the tick's sweep -------------------------------------------------------------------------------------------- */

#define UNIX_IDLE_NS 60000000000ULL

SEC("iter/bpf_sk_storage_map")
int sweep(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct sock *sk = ctx->sk;
	struct exchange *x;

	if (!sk)
		return 0;
	x = bpf_sk_storage_get(&exchanges, sk, NULL, 0);
	if (!x || x->owner == OWNER_FOREIGN || is_left(x))
		return 0;
	if (x->pipelined)
		return sweep_pipeline(x, sk, bpf_ktime_get_ns());
	if (sk->__sk_common.skc_state == TCP_LISTEN)
		swept[SERVICE_INDEX(x->service)].nr_listen_drops += sk->sk_drops.counter;
	else
		sweep_one(x, per_connection(x->service), sk->__sk_common.skc_state != TCP_ESTABLISHED,
			  may_be_request(sk, x->service), bpf_ktime_get_ns());
	return 0;
}

/* Before sweep_unix: which sockets are still there. */
SEC("iter/unix")
int see_unix(struct bpf_iter__unix *ctx)
{
	struct unix_sock *sk = ctx->unix_sk;
	struct exchange *x;
	__u64 cookie;

	if (!sk)
		return 0;
	cookie = bpf_get_socket_cookie(sk);
	x = bpf_map_lookup_elem(&unix_exchanges, &cookie);
	if (x && x->seen)
		x->seen = sweep_number;
	return 0;
}

/* The socket is gone, and nothing said so: what was answered is over, and what was not never will be. */
static __always_inline void end_unix(struct exchange *x)
{
	struct exchange_done done = {};
	__u32 service = x->service;
	bool over, aborted;

	bpf_spin_lock(&x->lock);
	over = x->begin && x->last_write;
	aborted = x->begin && !x->last_write;
	if (over)
		over = take(x, x->last_write, &done);
	bpf_spin_unlock(&x->lock);

	if (over)
		book(&done, service, 1);
	if (aborted)
		count(service, EXCHANGE_ABORTED, 1);
}

/* Nothing says when an AF_UNIX server closes, so every exchange ends by settling, and an entry with its socket, or in another
 * network namespace by being idle. */
SEC("iter/bpf_map_elem")
int sweep_unix(struct bpf_iter__bpf_map_elem *ctx)
{
	__u64 *key = ctx->key;
	struct exchange *x;
	__u64 cookie, now;
	bool gone;

	if (!key)
		return 0;
	cookie = *key;
	x = bpf_map_lookup_elem(&unix_exchanges, &cookie);
	now = bpf_ktime_get_ns();
	if (!x)
		return 0;
	gone = x->seen && x->seen != sweep_number;
	if (gone)
		end_unix(x);
	if (gone || (!sweep_one(x, false, false, true, now) && now - x->first_read > UNIX_IDLE_NS))
		bpf_map_delete_elem(&unix_exchanges, &cookie);
	return 0;
}

/* ---- a service is given up --------------------------------------------------------------------------------------- */

__u32 forgotten; /* whose sockets `forget` releases */

SEC("iter/bpf_sk_storage_map")
int forget(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct sock *sk = ctx->sk;
	struct exchange *x;

	if (!sk)
		return 0;
	x = bpf_sk_storage_get(&exchanges, sk, NULL, 0);
	if (x && x->service == forgotten) {
		bpf_sk_storage_delete(&pipelines, sk);
		bpf_sk_storage_delete(&exchanges, sk);
	}
	return 0;
}

SEC("iter/bpf_map_elem")
int forget_unix(struct bpf_iter__bpf_map_elem *ctx)
{
	__u64 *key = ctx->key;
	struct exchange *x;
	__u64 cookie;

	if (!key)
		return 0;
	cookie = *key;
	x = bpf_map_lookup_elem(&unix_exchanges, &cookie);
	if (x && x->service == forgotten)
		bpf_map_delete_elem(&unix_exchanges, &cookie);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
