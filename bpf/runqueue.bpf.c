// SPDX-License-Identifier: GPL-2.0
/*
 * runqueue.bpf.c - how long do runnable threads of a service wait for a CPU, and who runs meanwhile?
 *
 * How long is in every task anyway (sched_info.run_delay, the second field of schedstat).  `collect` walks the tasks and
 * adds what each thread's figure grew by to its service; two hooks at birth and death keep threads that come and go
 * between two walks in the sum.  A wait is counted when it ends.
 *
 * Who is asked for now and then, and only then are the hooks on switches and wake-ups attached.  Every CPU logs its last
 * RUNQUEUE_LOG turns: who came on, when.  When a thread of a service gets a CPU, the turns since it became runnable are
 * charged:
 *
 *    t = 10  web wakes up on a CPU where burner runs since 4
 *    t = 13  kworker comes on      log: burner 4, kworker 13
 *    t = 14  burner comes on       log: burner 4, kworker 13, burner 14
 *    t = 18  web comes on: waited 8 ns; burner is charged 3 + 4, kworker 1
 *
 * Held back by a quota is not waiting for anybody: the time for which the thread's own queue was throttled meanwhile is
 * taken off the beginning of the wait.  (Where a wait was throttled in its middle, the turns before are charged less and
 * those after more; the sum is right.)
 *
 * Cost by kernel.bpf_stats_enabled, Linux 6.18 on a small virtual machine, where an empty program takes 70 ns: 370-440 ns
 * per switch and 195-280 ns per wake-up of any process; walks 0.6 us per thread of the machine and 0.3 us more per thread
 * of a service, against 1.7 us to read schedstat from a descriptor kept open.
 *
 * What it cannot see: a wait that has not ended; turns of a CPU before the one a waiting thread was moved to, unless it
 * was woken or preempted there (then that one's log is asked, which is the usual case).
 */
#include "cells.h"

#include <bpf/bpf_core_read.h>

#include "runqueue.h"

enum { NOT_SEEN = -1 }; /* pid of a turn that may have been several */

/* One thread of a service, from its birth or from the first walk that found it. */
struct thread {
	__u32 service;
	__u32 cpu;         /* on whose queue it waits */
	__u64 run_delay;   /* what of it is in the sum */
	__u64 since;       /* it waits since then; 0: it does not */
	__u64 queue;       /* address of its struct cfs_rq then, and */
	__u64 throttled;   /* for how long that had been throttled */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

/* Processes of services that are known by port: sockets say nothing about these.  Otherwise as `processes`. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, EXCHANGE_MAX_PROCESSES);
	__type(key, __u32);
	__type(value, __u32);
} servers SEC(".maps");

/* Who came on a CPU, and when. */
struct turn {
	__u64 start;
	__u64 cgroup_id;
	char comm[RUNQUEUE_COMM];
	__s32 pid;     /* 0: idle */
	__u32 service; /* 1 + its number; 0: none */
};

struct log {
	__u64 nr; /* turns logged so far */
	struct turn turns[RUNQUEUE_LOG];
};

/* By CPU; only that CPU writes. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by the loader */
	__type(key, __u32);
	__type(value, struct log);
} logs SEC(".maps");

/* Allocated beforehand: no hook may allocate while it holds a run queue's lock. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RUNQUEUE_MAX_CULPRITS);
	__type(key, struct runqueue_culprit);
	__type(value, __u64);
} culprits SEC(".maps");

__u64 run_delay_ns[EXCHANGE_MAX_SERVICES];
struct runqueue_waits waits[EXCHANGE_MAX_SERVICES];
__u64 nr_unfollowed; /* threads that could not be remembered (memory) */
/* Written by user space. */
__u32 generation;
__u64 started_ns; /* switches are seen since then: what is older is of an earlier time */

/* ---- how long ---------------------------------------------------------------------------------------------------- */

static __always_inline __u32 *service_of(__u32 tgid)
{
	__u32 *service = bpf_map_lookup_elem(&processes, &tgid);

	return service ? service : bpf_map_lookup_elem(&servers, &tgid);
}

static __always_inline void follow(struct task_struct *task, __u32 service, __u64 run_delay)
{
	struct thread fresh = { .service = service, .run_delay = run_delay };

	if (!bpf_task_storage_get(&threads, task, &fresh, BPF_LOCAL_STORAGE_GET_F_CREATE))
		__sync_fetch_and_add(&nr_unfollowed, 1);
}

/* The walk and the thread's end may meet here; exchanged and added as a difference, the sum comes out right. */
static __always_inline void add_growth(struct thread *t, __u64 run_delay)
{
	__u64 before = __sync_lock_test_and_set(&t->run_delay, run_delay);

	if (before != run_delay)
		__sync_fetch_and_add(&run_delay_ns[SERVICE_INDEX(t->service)], run_delay - before);
}

SEC("iter/task")
int collect(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread *t;
	__u32 *service;

	if (!task)
		return 0;
	service = service_of(task->tgid);
	t = bpf_task_storage_get(&threads, task, NULL, 0);
	if (t && (!service || *service != t->service)) {
		bpf_task_storage_delete(&threads, task); /* given up, or of another service now */
		t = NULL;
	}
	if (t)
		add_growth(t, task->sched_info.run_delay);
	else if (service)
		follow(task, *service, task->sched_info.run_delay);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(born, struct task_struct *parent, struct task_struct *child)
{
	__u32 from = parent->tgid, to = child->tgid, *service = service_of(from);

	if (!service)
		return 0;
	follow(child, *service, 0);
	if (from != to && bpf_map_lookup_elem(&servers, &from))
		bpf_map_update_elem(&servers, &to, service, BPF_ANY);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(gone, struct task_struct *task)
{
	struct thread *t = bpf_task_storage_get(&threads, task, NULL, 0);
	__u32 tgid = task->tgid;

	if (t)
		add_growth(t, task->sched_info.run_delay);
	if (!task->signal->live.counter)
		bpf_map_delete_elem(&servers, &tgid);
	return 0;
}

/* ---- who --------------------------------------------------------------------------------------------------------- */

static __always_inline __u64 throttled_so_far(__u64 queue)
{
	struct cfs_rq *cfs_rq = (struct cfs_rq *)queue;
	__u64 ns = 0;

	if (bpf_core_field_exists(cfs_rq->throttled_clock_self_time))
		bpf_core_read(&ns, sizeof(ns), &cfs_rq->throttled_clock_self_time);
	else if (bpf_core_field_exists(cfs_rq->throttled_clock_pelt_time))
		bpf_core_read(&ns, sizeof(ns), &cfs_rq->throttled_clock_pelt_time);
	return ns;
}

static __always_inline void begin_wait(struct thread *t, struct task_struct *task, __u64 now)
{
	t->cpu = task->thread_info.cpu;
	t->queue = (__u64)task->se.cfs_rq;
	t->throttled = throttled_so_far(t->queue);
	t->since = now;
}

static __always_inline void charge(const struct thread *t, const struct turn *turn, __u64 ns)
{
	__u32 service = SERVICE_INDEX(t->service);
	struct runqueue_culprit key = {};
	struct runqueue_waits *w = &waits[service];
	__u64 *sum;

	if (turn->pid == NOT_SEEN) {
		__sync_fetch_and_add(&w->lost_ns, ns);
	} else if (!turn->pid) {
		__sync_fetch_and_add(&w->idle_ns, ns);
	} else if (turn->service == service + 1) {
		__sync_fetch_and_add(&w->self_ns, ns);
	} else {
		key.service = service;
		key.generation = generation;
		key.cgroup_id = turn->cgroup_id;
		__builtin_memcpy(key.comm, turn->comm, sizeof(key.comm));
		sum = bpf_map_lookup_elem(&culprits, &key);
		if (sum)
			__sync_fetch_and_add(sum, ns);
		else if (bpf_map_update_elem(&culprits, &key, &ns, BPF_NOEXIST))
			__sync_fetch_and_add(&w->lost_ns, ns); /* no room, or both CPUs at once */
	}
}

/* What of a wait is not charged yet: from .. end. */
struct rest {
	const struct thread *thread;
	const struct log *log;
	__u64 from, end;
};

/* The turn before those that were looked at. */
static long charge_turn(__u32 nr_before, struct rest *rest)
{
	const struct turn *turn = &rest->log->turns[(rest->log->nr - 1 - nr_before) & (RUNQUEUE_LOG - 1)];
	__u64 start = turn->start;

	if (start < started_ns)
		return 1;
	if (start >= rest->end)
		return 0; /* on another CPU, since we began to read */
	charge(rest->thread, turn, rest->end - (start > rest->from ? start : rest->from));
	rest->end = start;
	return start <= rest->from;
}

/* The thread comes on: whose turns it waited for is looked up from the latest back. */
static __always_inline void end_wait(struct thread *t, __u64 now)
{
	__u64 from = t->since, stood;
	struct runqueue_waits *w;
	struct rest rest;
	__u32 cpu;

	t->since = 0; /* 0 is before any start */
	if (from < started_ns || from >= now)
		return;
	w = &waits[SERVICE_INDEX(t->service)];
	stood = throttled_so_far(t->queue) - t->throttled;
	if (stood > now - from)
		stood = now - from;
	if (stood) {
		__sync_fetch_and_add(&w->throttled_ns, stood);
		from += stood;
	}
	cpu = t->cpu;
	rest.thread = t;
	rest.log = bpf_map_lookup_elem(&logs, &cpu);
	rest.from = from;
	rest.end = now;
	if (rest.log && from < now)
		bpf_loop(RUNQUEUE_LOG, charge_turn, &rest, 0);
	if (rest.end > from)
		__sync_fetch_and_add(&w->lost_ns, rest.end - from);
}

/* The group that CPU time is shared out by: the cpu controller's, on version 2 the task's own. */
static __always_inline __u64 cgroup_of(struct task_struct *task)
{
	struct cgroup *cpu = task->sched_task_group->css.cgroup, *own = task->cgroups->dfl_cgrp;

	return cpu && cpu->root != own->root ? cpu->kn->id : own->kn->id;
}

static __always_inline void log_turn(struct log *log, struct task_struct *next, const struct thread *t, __u64 now)
{
	struct turn *turn = &log->turns[log->nr & (RUNQUEUE_LOG - 1)];

	turn->start = now;
	turn->pid = next->pid;
	if (turn->pid) {
		__builtin_memcpy(turn->comm, next->comm, sizeof(turn->comm));
		turn->cgroup_id = cgroup_of(next);
		turn->service = t ? t->service + 1 : 0;
	}
	log->nr++;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switched, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct log *log = bpf_map_lookup_elem(&logs, &cpu);
	__u64 now = bpf_ktime_get_ns();
	struct thread *t;
	struct turn *last;

	if (!log)
		return 0;
	/* Programs do not run everywhere: somebody came and went unseen. */
	last = &log->turns[(log->nr - 1) & (RUNQUEUE_LOG - 1)];
	if (last->pid != prev->pid)
		last->pid = NOT_SEEN;
	t = prev->pid ? bpf_task_storage_get(&threads, prev, NULL, 0) : NULL;
	if (t) {
		t->since = 0;
		if (preempt || !prev_state)
			begin_wait(t, prev, now);
	}
	t = next->pid ? bpf_task_storage_get(&threads, next, NULL, 0) : NULL;
	if (t)
		end_wait(t, now);
	log_turn(log, next, t, now);
	return 0;
}

static __always_inline int on_wakeup(struct task_struct *task)
{
	struct thread *t = bpf_task_storage_get(&threads, task, NULL, 0);

	if (t)
		begin_wait(t, task, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(woken, struct task_struct *task)
{
	return on_wakeup(task);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(woken_new, struct task_struct *task)
{
	return on_wakeup(task);
}

char LICENSE[] SEC("license") = "GPL";
