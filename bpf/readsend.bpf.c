// SPDX-License-Identifier: GPL-2.0
/*
 * readsend.bpf.c - how long is it from a read to the next send on the same descriptor?  The study's pairing for servers
 * that keep their connections, here in the histograms of every other lifecycle, so that the two can be compared.
 *
 * One descriptor, times in ms, the request in two pieces:
 *
 *   arrives   read    read (rest)   send    send (rest)
 *   10 ------ 12 ---- 14 ---------- 30 ---- 31
 *   residency = 12 - 10             service = total = owed = 30 - 12
 *
 * A read that returned bytes of an observed connection opens, the first send that took bytes ends, both when the call
 * returns; reads in between change nothing.  Key: (process, descriptor).  Whether the descriptor is a connection of the
 * service is the exchange programs' knowledge: they note for the thread what it has just read.
 *
 * Known errors, kept for they are the pairing's own: the wait before the read is in no latency but residency; an answer
 * of several sends ends at its first; a read by one process and a send by another never meet; requests that share a
 * connection are one; a send that blocks has the peer's time in it; io_uring is not seen.  What descriptor pairing often
 * has and this has not: a failed read opens nothing, and neither does waiting in one.
 *
 * Cost: one look-up at the return of every system call of every process while a service is measured so.
 *
 * The second question here is how connections end, for the choice between this and accept -> close.
 */
#include "ring.h"
#include "sockets.h"

#include <asm/unistd.h>

#include "readsend.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct pt_regs {
	unsigned long di, orig_ax;
};
#pragma clang attribute pop

struct readsend_key {
	__u32 tgid, fd;
};

struct readsend {
	__u64 arrival, read; /* read 0: nothing is open */
	__u64 sent;          /* the last answer's; 0: none yet */
	__u32 service;
	__u32 nr_sent;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, READSEND_MAX_OPEN);
	__type(key, struct readsend_key);
	__type(value, struct readsend);
} descriptors SEC(".maps");

/* Written by user space. */
__u32 observed[EXCHANGE_MAX_SERVICES]; /* nonzero: measured here */
__u64 target_ns[EXCHANGE_MAX_SERVICES];
/* Written by the walks, which user space clears first. */
struct exchange_sweep swept[EXCHANGE_MAX_SERVICES];
struct readsend_ends ends[EXCHANGE_MAX_SERVICES];
__u32 pending;   /* nonzero: something may be open; set by programs, cleared before a sweep */
__u64 nr_missed; /* reads that could not be remembered */

static __always_inline void count(struct exchange_cell *cell, enum exchange_counter which)
{
	__sync_fetch_and_add(&cell->counters[which], 1);
}

/* What the thread has read of an observed connection since the last call, once. */
static __always_inline bool take_read(struct exchange_read *ret)
{
	struct exchange_read *read = bpf_task_storage_get(&reads, bpf_get_current_task_btf(), NULL, 0);

	if (!read || !read->read)
		return false;
	*ret = *read;
	read->read = 0;
	return true;
}

static __always_inline void on_read(const struct readsend_key *key, __u32 service)
{
	struct readsend *known = bpf_map_lookup_elem(&descriptors, key), fresh = { .service = service };
	struct exchange_cell *cell = cell_of(service);
	struct exchange_read read;

	if (!take_read(&read) || !cell || (known && known->read))
		return;
	if (known)
		fresh = *known;
	fresh.arrival = read.first;
	fresh.read = read.read;
	if (bpf_map_update_elem(&descriptors, key, &fresh, BPF_ANY)) {
		__sync_fetch_and_add(&nr_missed, 1);
		return;
	}
	count(cell, EXCHANGE_BEGUN);
	if (!pending)
		pending = 1;
}

static __always_inline void on_send(const struct readsend_key *key)
{
	struct readsend *known = bpf_map_lookup_elem(&descriptors, key);
	struct exchange_cell *cell;
	__u64 now, read;

	if (!known)
		return;
	cell = cell_of(known->service);
	read = known->read;
	if (!cell || !read)
		return;
	now = bpf_ktime_get_ns();
	known->read = 0;
	known->sent = now;
	known->nr_sent++;
	book_one(cell, EXCHANGE_RESIDENCY, read - known->arrival, 1);
	book_one(cell, EXCHANGE_SERVICE, now - read, 1);
	book_one(cell, EXCHANGE_TOTAL, now - read, 1);
	book_one(cell, EXCHANGE_OWED, now - read, 1);
	trace(cell, known->service, now - read);
}

static __always_inline void on_close(const struct readsend_key *key)
{
	struct readsend *known = bpf_map_lookup_elem(&descriptors, key);
	struct exchange_cell *cell;

	if (!known)
		return;
	cell = cell_of(known->service);
	if (known->read && cell)
		count(cell, EXCHANGE_ABORTED);
	else if (known->nr_sent == 1 && bpf_ktime_get_ns() - known->sent < READSEND_LINGER_NS)
		__sync_fetch_and_add(&ends[SERVICE_INDEX(known->service)].nr_closed, 1);
	bpf_map_delete_elem(&descriptors, key);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(leave, struct pt_regs *regs, long ret)
{
	struct readsend_key key = { .tgid = bpf_get_current_pid_tgid() >> 32 };
	__u32 *service = bpf_map_lookup_elem(&processes, &key.tgid);

	if (!service || !observed[SERVICE_INDEX(*service)])
		return 0;
	key.fd = regs->di;
	switch (regs->orig_ax) {
	case __NR_read:
	case __NR_readv:
	case __NR_recvfrom:
	case __NR_recvmsg:
	case __NR_recvmmsg:
		if (ret > 0)
			on_read(&key, *service);
		break;
	case __NR_write:
	case __NR_writev:
	case __NR_sendto:
	case __NR_sendmsg:
	case __NR_sendmmsg:
	case __NR_sendfile:
		if (ret > 0)
			on_send(&key);
		break;
	case __NR_close:
		on_close(&key);
		break;
	}
	return 0;
}

/* ---- the tick's sweep -------------------------------------------------------------------------------------------- */

/* The process is over, or the service was given up. */
static __always_inline void drop(const struct readsend_key *key, __u32 service, bool open)
{
	struct exchange_cell *cell = cell_of(service);

	if (!bpf_map_delete_elem(&descriptors, key) && open && cell)
		count(cell, EXCHANGE_ABORTED);
}

SEC("iter/bpf_map_elem")
int sweep(struct bpf_iter__bpf_map_elem *ctx)
{
	struct readsend_key *found = ctx->key, key;
	struct readsend *open = ctx->value;
	struct exchange_sweep *result;
	__u32 service, *known;
	__u64 age, now, read, target;

	if (!found || !open)
		return 0;
	key = *found;
	known = bpf_map_lookup_elem(&processes, &key.tgid);
	service = open->service;
	read = open->read;
	if (!known || *known != service || !observed[SERVICE_INDEX(service)]) {
		drop(&key, service, read);
		return 0;
	}
	if (!read)
		return 0;
	pending = 1;
	now = bpf_ktime_get_ns();
	age = now > read ? now - read : 0;
	result = &swept[SERVICE_INDEX(service)];
	target = target_ns[SERVICE_INDEX(service)];
	result->nr_open++;
	result->nr_over_target += target && age > target;
	if (age > result->oldest_ns)
		result->oldest_ns = age;
	return 0;
}

/* Connections that live on after an answer, as the exchange programs know them. */
SEC("iter/bpf_sk_storage_map")
int linger(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct sock *sk = ctx->sk;
	struct exchange *x;
	__u64 last;

	if (!sk)
		return 0;
	x = bpf_sk_storage_get(&exchanges, sk, NULL, 0);
	if (!x || x->owner == OWNER_FOREIGN)
		return 0;
	last = x->last_write;
	if (x->begin && last && bpf_ktime_get_ns() - last > READSEND_LINGER_NS)
		ends[SERVICE_INDEX(x->service)].nr_lingering++;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
