// SPDX-License-Identifier: GPL-2.0
/*
 * exchange.bpf.c - how long do the requests of a service take?  One exchange = request arrives -> response completely
 * handed to the kernel; exchange_state.h explains the model.
 *
 * Each hook has one static body and thin SEC wrappers: tp_btf where the kernel has the tracepoint (sk_data_ready,
 * sock_send_length and sock_recv_length came with 6.4), fentry/fexit where it has not.  The loader keeps the one
 * that works.  Cost of a socket that is not observed: one NULL test per hook.
 */
#include "exchange_state.h"

/* ---- hot path ---------------------------------------------------------------------------------------------------- */

static __always_inline int on_arrival(struct sock *sk)
{
	struct tcp_sock *tp;
	struct exchange *x;
	__u32 end, service;
	__u64 now;

	if (!sk->sk_bpf_storage || sk->__sk_common.skc_state == TCP_LISTEN)
		return 0;
	x = bpf_sk_storage_get(&exchanges, sk, NULL, 0);
	tp = bpf_skc_to_tcp_sock(sk);
	if (!x || !tp)
		return 0;
	now = bpf_ktime_get_ns();
	end = stream_end(sk, tp);
	if (end == tp->copied_seq)
		return 0; /* a FIN alone */

	bpf_spin_lock(&x->lock);
	service = x->service;
	if (!x->arrival) {
		x->arrival = now;
	} else if (end != x->seq_stamped) {
		x->arrival_last = now;
		x->seq_last = x->seq_stamped;
	}
	x->seq_stamped = end;
	bpf_spin_unlock(&x->lock);

	/* Read first: the line stays shared between CPUs while a service is busy. */
	if (!pending[SERVICE_INDEX(service)])
		pending[SERVICE_INDEX(service)] = 1;
	return 0;
}

/* Under the lock: takes the stamps of what a read consumed.  *ret_first, *ret_last: arrival of its first, last byte. */
static __always_inline void consume(struct exchange *x, __u32 copied, __u64 now, __u64 *ret_first, __u64 *ret_last)
{
	*ret_first = x->arrival ? x->arrival : now;
	if ((__s32)(copied - x->seq_stamped) >= 0) {
		*ret_last = x->arrival_last ? x->arrival_last : *ret_first;
		x->arrival = x->arrival_last = 0;
	} else if (x->arrival_last && (__s32)(copied - x->seq_last) >= 0) {
		*ret_last = copied == x->seq_last ? *ret_first : x->arrival_last;
		x->arrival = x->arrival_last;
		x->arrival_last = 0;
	} else {
		*ret_last = *ret_first;
	}
}

static __always_inline int on_read(struct sock *sk, int ret, int flags)
{
	struct exchange_done done = {};
	struct exchange_cell *cell;
	struct tcp_sock *tp;
	struct exchange *x;
	bool over = false, unseen = false, begun = false, stamped, whole;
	__u64 now, first, last;
	__u32 copied, written, service;

	if (!sk->sk_bpf_storage || ret <= 0 || flags & (MSG_PEEK | MSG_ERRQUEUE))
		return 0;
	x = bpf_sk_storage_get(&exchanges, sk, NULL, 0);
	tp = bpf_skc_to_tcp_sock(sk);
	if (!x || !tp)
		return 0;
	service = x->service;
	cell = cell_of(service);
	if (!cell)
		return 0;
	now = bpf_ktime_get_ns();
	copied = tp->copied_seq;
	written = tp->write_seq;
	whole = per_connection(service);

	bpf_spin_lock(&x->lock);
	stamped = x->arrival;
	consume(x, copied, now, &first, &last);
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
	}
	x->write_seq = written;
	x->owed_from = last;
	x->swept = 0;
	bpf_spin_unlock(&x->lock);

	if (over)
		book(cell, service, &done);
	if (unseen)
		__sync_fetch_and_add(&cell->counters[EXCHANGE_UNSEEN_WRITE], 1);
	if (begun)
		__sync_fetch_and_add(&cell->counters[EXCHANGE_BEGUN], 1);
	if (begun && !stamped)
		__sync_fetch_and_add(&cell->counters[EXCHANGE_NO_ARRIVAL], 1);
	return 0;
}

static __always_inline int on_send_entry(struct sock *sk)
{
	struct task_struct *task;
	struct exchange *x;
	__u64 now, sleeps;

	if (!sk->sk_bpf_storage)
		return 0;
	x = bpf_sk_storage_get(&exchanges, sk, NULL, 0);
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

static __always_inline int on_write(struct sock *sk, int ret)
{
	bool unmatched = false, late = false;
	struct tcp_sock *tp;
	struct exchange *x;
	bool full, whole, large;
	__u32 written, service;
	__u64 now, sleeps;

	if (!sk->sk_bpf_storage)
		return 0;
	x = bpf_sk_storage_get(&exchanges, sk, NULL, 0);
	tp = bpf_skc_to_tcp_sock(sk);
	if (!x || !tp)
		return 0;
	now = bpf_ktime_get_ns();
	written = tp->write_seq;
	whole = per_connection(x->service);
	/* tcp_sendmsg sets the bit when the send buffer is full; the peer's window opens it again. */
	full = sk->sk_socket->flags & (1UL << SOCK_NOSPACE);
	large = ret > sk->sk_sndbuf;
	sleeps = ((struct task_struct *)bpf_get_current_task_btf())->nvcsw;

	bpf_spin_lock(&x->lock);
	service = x->service;
	if (!x->begin) {
		/* write_seq equal: the late hook of a write that the next read, or a close, already accounted for.
		 * A greeting before the request is part of a connection, and of no request otherwise. */
		unmatched = ret > 0 && written != x->write_seq && !whole;
		late = x->swept;
	} else {
		if (ret > 0 && written != x->write_seq) {
			x->last_write = now;
			add_blocked(x, now, sleeps);
		}
		if ((full || ret == -EAGAIN) && !x->blocked_since)
			x->blocked_since = now;
	}
	if (ret > 0) {
		x->write_seq = written;
		x->swept = 0;
	}
	x->send_since = 0;
	bpf_spin_unlock(&x->lock);

	if (large && !wants_send_entry)
		wants_send_entry = 1;
	if (unmatched)
		count(service, EXCHANGE_UNMATCHED);
	if (unmatched && late)
		count(service, EXCHANGE_LATE_WRITE);
	return 0;
}

/* Our side closed or the connection died: nothing will be added to the exchange any more. */
static __always_inline void on_close(struct sock *sk)
{
	struct exchange_done done = {};
	struct exchange_cell *cell;
	struct tcp_sock *tp;
	struct exchange *x;
	bool over = false, aborted = false, unseen = false;
	__u32 written, service;
	__u64 now;

	x = bpf_sk_storage_get(&exchanges, sk, NULL, 0);
	tp = bpf_skc_to_tcp_sock(sk);
	if (!x || !tp)
		return;
	service = x->service;
	cell = cell_of(service);
	if (!cell)
		return;
	now = bpf_ktime_get_ns();
	written = tp->write_seq;

	bpf_spin_lock(&x->lock);
	if (x->begin && x->last_write) {
		over = true;
		take(x, x->last_write, &done);
	} else if (x->begin && written != x->write_seq) {
		over = unseen = true;
		take(x, now, &done);
	} else if (x->begin || x->arrival) {
		aborted = true;
	}
	x->begin = x->arrival = x->arrival_last = 0;
	x->write_seq = written;
	bpf_spin_unlock(&x->lock);

	if (over)
		book(cell, service, &done);
	if (unseen)
		__sync_fetch_and_add(&cell->counters[EXCHANGE_UNSEEN_WRITE], 1);
	if (aborted)
		__sync_fetch_and_add(&cell->counters[EXCHANGE_ABORTED], 1);
}

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
	return on_write(sk, ret);
}

SEC("fexit/tcp_sendmsg")
int BPF_PROG(write_fexit, struct sock *sk, struct msghdr *msg, unsigned long size, int ret)
{
	return on_write(sk, ret);
}

/* sendfile and splice until 6.5; later they arrive at tcp_sendmsg. */
SEC("fexit/tcp_sendpage")
int BPF_PROG(sendpage_fexit, struct sock *sk, struct page *page, int offset, unsigned long size, int flags, int ret)
{
	return on_write(sk, ret);
}

SEC("tp_btf/tcp_sendmsg_locked")
int BPF_PROG(send_entry_tp, struct sock *sk)
{
	return on_send_entry(sk);
}

SEC("fentry/tcp_sendmsg")
int BPF_PROG(send_entry_fentry, struct sock *sk)
{
	return on_send_entry(sk);
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

static __always_inline void mark(void *sk, __u32 service)
{
	struct exchange *x = bpf_sk_storage_get(&exchanges, sk, NULL, 0);

	if (!x) {
		x = bpf_sk_storage_get(&exchanges, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
		if (!x) {
			__sync_fetch_and_add(&nr_missed, 1);
			return;
		}
		x->service = service;
	}
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
	if (!sk || !bpf_skc_to_tcp_sock(sk))
		return 0;
	port = port_of(&sk->__sk_common);
	state = sk->__sk_common.skc_state;
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
	if (!service && is_open(state) && !((struct sock *)tp)->sk_socket)
		service = bpf_map_lookup_elem(&listeners, &port);
	if (service)
		mark(tp, *service);
	return 0;
}

/* ---- the tick's sweep -------------------------------------------------------------------------------------------- */

SEC("iter/bpf_sk_storage_map")
int sweep(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct exchange_done done = {};
	struct exchange_sweep *result;
	struct exchange_cell *cell;
	struct sock *sk = ctx->sk;
	bool over = false, open = false, waiting = false, alive, whole, closing;
	__u64 now, since = 0, age;
	struct exchange *x;
	__u32 service;

	if (!sk)
		return 0;
	x = bpf_sk_storage_get(&exchanges, sk, NULL, 0);
	if (!x)
		return 0;
	service = x->service;
	cell = cell_of(service);
	if (!cell)
		return 0;
	service = SERVICE_INDEX(service);
	result = &swept[service];
	if (sk->__sk_common.skc_state == TCP_LISTEN) {
		result->nr_listen_drops += sk->sk_drops.counter;
		return 0;
	}
	now = bpf_ktime_get_ns();
	whole = per_connection(service);
	closing = sk->__sk_common.skc_state != TCP_ESTABLISHED; /* the client has all it wanted, or left */

	bpf_spin_lock(&x->lock);
	if (!whole && x->begin && x->last_write && now - x->last_write >= settle_ns) {
		over = true;
		take(x, x->last_write, &done);
		x->swept = 1;
	}
	alive = x->begin || x->arrival;
	if (x->begin && (!x->last_write || (whole && !closing))) {
		open = true;
		since = x->begin;
	} else if (x->arrival) {
		open = waiting = true;
		since = x->arrival;
	}
	bpf_spin_unlock(&x->lock);

	if (over)
		book(cell, service, &done);
	if (alive)
		pending[service] = 1;
	result->nr_connections++;
	if (!open)
		return 0;
	age = now > since ? now - since : 0;
	result->nr_open++;
	result->nr_waiting += waiting;
	result->nr_over_target += target_ns[service] && age > target_ns[service];
	if (age > result->oldest_ns)
		result->oldest_ns = age;
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
	if (x && x->service == forgotten)
		bpf_sk_storage_delete(&exchanges, sk);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
