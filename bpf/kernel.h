/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kernel.h - the few kernel types our programs touch, with only the fields they touch.
 *
 * preserve_access_index makes every access a CO-RE relocation, so layouts come from the running kernel's BTF and the
 * build needs neither kernel headers nor a generated vmlinux.h.
 */
#ifndef EBEE_KERNEL_H
#define EBEE_KERNEL_H

#include <linux/bpf.h>

#include "types.h"

/* include/net/tcp_states.h; stable, user space sees the same numbers in /proc/net/tcp. */
enum {
	TCP_ESTABLISHED = 1,
	TCP_SYN_RECV = 3,
	TCP_FIN_WAIT1 = 4,
	TCP_CLOSE = 7,
	TCP_CLOSE_WAIT = 8,
	TCP_LAST_ACK = 9,
	TCP_LISTEN = 10,
	TCP_CLOSING = 11,
};

enum { AF_UNIX = 1, IPPROTO_TCP = 6, IPPROTO_UDP = 17, IPPROTO_MPTCP = 262 };
enum iter_type { ITER_UBUF, ITER_IOVEC };
enum { MSG_PEEK = 0x2, MSG_ERRQUEUE = 0x2000, SOCK_NOSPACE = 2, EAGAIN = 11 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	atomic_t refs;
} refcount_t;

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	unsigned short skc_family;
	volatile unsigned char skc_state;
	__u16 skc_num; /* local port, host order */
	possible_net_t skc_net;
};

struct bpf_local_storage;

struct socket {
	unsigned long flags;
	struct sock *sk;
};

struct sock {
	struct sock_common __sk_common;
	struct socket *sk_socket;
	struct bpf_local_storage *sk_bpf_storage;
	__u16 sk_protocol;
	refcount_t sk_wmem_alloc;
	int sk_sndbuf;
	int sk_wmem_queued;
	atomic_t sk_drops;
};

struct tcp_sock {
	__u32 rcv_nxt;
	__u32 copied_seq;
	__u32 write_seq;
	__u32 snd_una;
	__u32 snd_nxt;
	__u64 tcp_clock_cache; /* ktime_get_ns() at the latest packet that came or went */
	__u64 bytes_received; /* of the stream, and 1 for a FIN */
	__u64 bytes_acked;
	bool is_mptcp; /* since 5.6, where it is configured */
};

struct sk_buff {
	struct sock *sk;
	char cb[48];
};

struct tcp_skb_cb {
	__u32 seq;
	__u32 end_seq;
};

struct iovec {
	void *iov_base;
	unsigned long iov_len;
};

/* As of 6.4; the kernel has the pointers in a union. */
struct iov_iter {
	__u8 iter_type;
	unsigned long iov_offset;
	const struct iovec *__iov;
	void *ubuf;
	unsigned long count;
	unsigned long nr_segs;
};

struct msghdr {
	struct iov_iter msg_iter;
};

struct unix_address;

struct unix_sock {
	struct unix_address *addr;
};

struct signal_struct {
	atomic_t live;
};

struct kernfs_node {
	__u64 id;
};

struct cgroup_root;

struct cgroup {
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct task_group {
	struct cgroup_subsys_state css; /* its group is NULL for an automatic task group */
};

struct css_set {
	struct cgroup *dfl_cgrp; /* of version 2 */
};

struct cfs_rq {
	__u64 throttled_clock_self_time; /* since 6.6 */
	__u64 throttled_clock_pelt_time; /* since 5.19 */
};

struct sched_entity {
	struct cfs_rq *cfs_rq;
};

struct sched_info {
	unsigned long long run_delay; /* ns; the second field of /proc/PID/schedstat */
};

struct thread_info {
	__u32 cpu;
};

struct task_struct {
	struct thread_info thread_info;
	int pid;
	int tgid;
	char comm[16];
	struct task_struct *real_parent;
	struct signal_struct *signal;
	struct sched_entity se;
	struct task_group *sched_task_group;
	struct sched_info sched_info;
	struct css_set *cgroups;
	unsigned long nvcsw; /* how often it gave up the CPU to wait */
};

struct file;
struct page;
struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	__u32 fd;
	struct file *file;
};

struct bpf_iter__unix {
	struct bpf_iter_meta *meta;
	struct unix_sock *unix_sk;
};

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
};

struct bpf_iter__bpf_sk_storage_map {
	struct bpf_iter_meta *meta;
	struct bpf_map *map;
	struct sock *sk;
	void *value;
};

struct bpf_iter__bpf_map_elem {
	struct bpf_iter_meta *meta;
	struct bpf_map *map;
	void *key;
	void *value;
};

#pragma clang attribute pop

#endif
