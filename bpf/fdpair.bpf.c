// SPDX-License-Identifier: GPL-2.0
/*
 * fdpair.bpf.c - request latency as descriptor pairing sees it, in the manner of the published eBeeMetrics probes.  It
 * is here only so that the hard cases and the cost figures have something to stand beside; nothing steers on it.
 *
 * State is keyed by (process, descriptor) in hash maps and fed by the raw system call tracepoints.  A request is what
 * lies between accept and close, and also what lies between a read and the first send after it.  Each becomes a ring
 * record, and wakes the reader unless that one polls.
 *
 * Known errors, kept on purpose: a read is stamped when it is entered, so waiting for a request counts as latency; a
 * failed read stamps again; only the usual calls are known; a descriptor that goes without close leaves its stamp to
 * the next owner of the number; children of the process are strangers.  Cost: every system call of every process.
 */
#include "kernel.h"

#include <asm/unistd.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "fdpair.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct pt_regs {
	unsigned long di, orig_ax;
};
#pragma clang attribute pop

struct fdpair_key {
	__u32 tgid, fd;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct fdpair_key);
	__type(value, __u64);
} accepted SEC(".maps"), reads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} records SEC(".maps");

const volatile __u32 target; /* thread group */
const volatile __u64 wakeup = BPF_RB_FORCE_WAKEUP; /* of the reader, by each record; or BPF_RB_NO_WAKEUP: it looks by itself */
__u64 nr_lost;               /* records that found the ring full */

static __always_inline void emit(enum fdpair_kind kind, __u64 since)
{
	struct fdpair_record record = { .kind = kind, .ns = bpf_ktime_get_ns() - since };

	if (bpf_ringbuf_output(&records, &record, sizeof(record), wakeup))
		__sync_fetch_and_add(&nr_lost, 1);
}

static __always_inline void on_read(struct fdpair_key *key)
{
	__u64 now = bpf_ktime_get_ns();

	if (bpf_map_lookup_elem(&accepted, key))
		bpf_map_update_elem(&reads, key, &now, BPF_ANY);
}

static __always_inline void on_send(struct fdpair_key *key)
{
	__u64 *since = bpf_map_lookup_elem(&reads, key);

	if (!since)
		return;
	emit(FDPAIR_READ_SEND, *since);
	bpf_map_delete_elem(&reads, key);
}

static __always_inline void on_close(struct fdpair_key *key)
{
	__u64 *since = bpf_map_lookup_elem(&accepted, key);

	if (!since)
		return;
	emit(FDPAIR_ACCEPT_CLOSE, *since);
	bpf_map_delete_elem(&accepted, key);
	bpf_map_delete_elem(&reads, key);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(enter, struct pt_regs *regs, long id)
{
	struct fdpair_key key = { .tgid = bpf_get_current_pid_tgid() >> 32 };

	if (key.tgid != target)
		return 0;
	key.fd = regs->di;
	switch (id) {
	case __NR_read:
	case __NR_recvfrom:
		on_read(&key);
		break;
	case __NR_write:
	case __NR_sendto:
	case __NR_sendmsg:
		on_send(&key);
		break;
	case __NR_close:
		on_close(&key);
		break;
	}
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(leave, struct pt_regs *regs, long ret)
{
	struct fdpair_key key = { .tgid = bpf_get_current_pid_tgid() >> 32 };
	__u64 now;
	long id;

	if (key.tgid != target || ret < 0)
		return 0;
	id = regs->orig_ax;
	if (id != __NR_accept && id != __NR_accept4)
		return 0;
	key.fd = ret;
	now = bpf_ktime_get_ns();
	bpf_map_update_elem(&accepted, &key, &now, BPF_ANY);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
