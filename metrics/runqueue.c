// SPDX-License-Identifier: GPL-2.0
/*
 * runqueue.c - port: run-queue delay by walks over the tasks, and who ran meanwhile.  What is measured is runqueue.bpf.c's.
 */
#include "runqueue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/runqueue.h"
#include "handle.h"
#include "runqueue.skel.h"

enum { WALK_ONE_OF = 1000 }; /* of a CPU's time */

_Static_assert((int)EBEE_COMM_SIZE == (int)RUNQUEUE_COMM, "public and kernel names have the same size");

struct runqueue {
	struct runqueue_bpf *skel;
	uint64_t next_walk_ns, nr_walks;
	bool traced;
	struct runqueue_waits before[EXCHANGE_MAX_SERVICES];
	struct ebee_culprits found[EXCHANGE_MAX_SERVICES];
	/* As read, and those to delete. */
	struct runqueue_culprit keys[RUNQUEUE_MAX_CULPRITS], done[RUNQUEUE_MAX_CULPRITS];
	__u64 values[RUNQUEUE_MAX_CULPRITS];
};

static int load(struct runqueue *r, struct exchange_bpf *exchange)
{
	int err;

	r->skel = runqueue_bpf__open();
	if (!r->skel)
		return -errno;
	bpf_map__set_autocreate(r->skel->maps.cells, false);
	bpf_map__set_autocreate(r->skel->maps.reads, false);
	bpf_map__set_max_entries(r->skel->maps.logs, (__u32)libbpf_num_possible_cpus());
	err = bpf_map__reuse_fd(r->skel->maps.processes, bpf_map__fd(exchange->maps.processes));
	if (!err)
		err = runqueue_bpf__load(r->skel);
	if (err)
		return err;
	bpf_program__set_autoattach(r->skel->progs.switched, false);
	bpf_program__set_autoattach(r->skel->progs.woken, false);
	bpf_program__set_autoattach(r->skel->progs.woken_new, false);
	return runqueue_bpf__attach(r->skel);
}

static void note_feature(struct ebee *e, const char *how)
{
	size_t used = strlen(e->features);

	if (!strstr(e->features, "run_delay="))
		snprintf(e->features + used, sizeof(e->features) - used, " run_delay=%s", how);
}

int runqueue_enter(struct ebee *e)
{
	libbpf_print_fn_t print_before = programs_keep_warnings();
	struct runqueue *r = calloc(1, sizeof(*r));
	int err = r ? load(r, e->skel) : -ENOMEM;

	if (err) {
		snprintf(e->error, sizeof(e->error), "programs for run queues did not load: %s: %s", strerror(-err),
			 programs_last_warning());
		runqueue_close(r);
	} else {
		e->runqueue = r;
	}
	note_feature(e, err ? "none" : "iter");
	libbpf_set_print(print_before);
	return err;
}

void runqueue_close(struct runqueue *r)
{
	if (!r)
		return;
	runqueue_bpf__destroy(r->skel);
	free(r);
}

const struct bpf_object *runqueue_object(const struct runqueue *r)
{
	return r->skel->obj;
}

uint64_t runqueue_delay_ns(const struct runqueue *r, unsigned int service, uint64_t *ret_nr_walks)
{
	*ret_nr_walks = r ? r->nr_walks : 0;
	return r ? __atomic_load_n(&r->skel->bss->run_delay_ns[service], __ATOMIC_RELAXED) : 0;
}

static void detach(struct bpf_link **link)
{
	bpf_link__destroy(*link);
	*link = NULL;
}

static int attach(struct bpf_program *program, struct bpf_link **link)
{
	*link = bpf_program__attach(program);
	return *link ? 0 : -errno;
}

/* Keeps the largest; what falls off the end is added to the others. */
static void insert(struct ebee_culprits *c, const struct runqueue_culprit *key, uint64_t ns)
{
	unsigned int at = c->nr;

	while (at > 0 && c->top[at - 1].wait_ns < ns)
		at--;
	if (c->nr == EBEE_MAX_CULPRITS)
		c->others_ns += at < c->nr ? c->top[--c->nr].wait_ns : ns;
	if (at == EBEE_MAX_CULPRITS)
		return;
	memmove(&c->top[at + 1], &c->top[at], (c->nr - at) * sizeof(c->top[0]));
	c->top[at] = (struct ebee_culprit){ .cgroup_id = key->cgroup_id, .wait_ns = ns };
	memcpy(c->top[at].comm, key->comm, RUNQUEUE_COMM - 1);
	c->nr++;
}

static void take_waits(struct runqueue *r)
{
	for (unsigned int i = 0; i < EXCHANGE_MAX_SERVICES; i++) {
		const struct runqueue_waits now = r->skel->bss->waits[i], *before = &r->before[i];

		r->found[i] = (struct ebee_culprits){
			.self_ns = now.self_ns - before->self_ns,
			.idle_ns = now.idle_ns - before->idle_ns,
			.throttled_ns = now.throttled_ns - before->throttled_ns,
			.lost_ns = now.lost_ns - before->lost_ns,
		};
		r->before[i] = now;
	}
}

static int take_culprits(struct runqueue *r)
{
	int fd = bpf_map__fd(r->skel->maps.culprits);
	__u32 nr = RUNQUEUE_MAX_CULPRITS, nr_done = 0, done, position;

	take_waits(r);
	done = r->skel->bss->generation++;
	if (bpf_map_lookup_batch(fd, NULL, &position, r->keys, r->values, &nr, NULL) && errno != ENOENT)
		return -errno;
	for (__u32 i = 0; i < nr; i++) {
		if (r->keys[i].generation != done)
			continue;
		insert(&r->found[r->keys[i].service], &r->keys[i], r->values[i]);
		r->done[nr_done++] = r->keys[i];
	}
	return nr_done && bpf_map_delete_batch(fd, r->done, &nr_done, NULL) ? -errno : 0;
}

static uint64_t own_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static int walk(struct runqueue *r)
{
	uint64_t before_ns = own_cpu_ns();
	int err = programs_iterate(r->skel->links.collect);

	r->nr_walks += !err;
	r->next_walk_ns = handle_now_ns() + (own_cpu_ns() - before_ns) * WALK_ONE_OF;
	return err;
}

int runqueue_sweep(struct runqueue *r)
{
	int err = handle_now_ns() >= r->next_walk_ns ? walk(r) : 0;

	return err || !r->traced ? err : take_culprits(r);
}

static int start_tracing(struct runqueue *r)
{
	struct runqueue_bpf *skel = r->skel;
	/* Threads are followed from the first walk that finds them. */
	int err = walk(r);

	take_culprits(r); /* what was left when it ended last */
	memset(r->found, 0, sizeof(r->found));
	skel->bss->started_ns = handle_now_ns();
	if (!err)
		err = attach(skel->progs.switched, &skel->links.switched);
	if (!err)
		err = attach(skel->progs.woken, &skel->links.woken);
	if (!err)
		err = attach(skel->progs.woken_new, &skel->links.woken_new);
	return err;
}

static void stop_tracing(struct runqueue *r)
{
	detach(&r->skel->links.woken_new);
	detach(&r->skel->links.woken);
	detach(&r->skel->links.switched);
}

int ebee_trace_culprits(struct ebee *e, int on)
{
	int err;

	if (e->tracing)
		return -EINVAL;
	if (!e->runqueue && (!on || runqueue_enter(e))) /* once more, for the reason */
		return on ? -ENOTSUP : 0;
	if (!on == !e->runqueue->traced)
		return 0;
	err = on ? start_tracing(e->runqueue) : 0;
	e->runqueue->traced = on && !err;
	if (!on || err)
		stop_tracing(e->runqueue);
	return err;
}

int ebee_get_culprits(const struct ebee *e, unsigned service, struct ebee_culprits *ret)
{
	if (service >= e->nr_services || !e->runqueue || !e->runqueue->traced)
		return -EINVAL;
	*ret = e->runqueue->found[service];
	return 0;
}

int ebee_add_server(struct ebee *e, unsigned service, pid_t pid)
{
	__u32 key = (__u32)pid;

	if (service >= e->nr_services || pid <= 0 || e->tracing)
		return -EINVAL;
	if (!e->runqueue)
		return -ENOTSUP;
	if (bpf_map_update_elem(bpf_map__fd(e->runqueue->skel->maps.servers), &key, &service, BPF_ANY))
		return errno == E2BIG ? -ENOSPC : -errno;
	return 0;
}

int runqueue_remove(struct runqueue *r, unsigned int service)
{
	handle_map_drop(r->skel->maps.servers, service);
	return walk(r);
}
