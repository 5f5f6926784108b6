// SPDX-License-Identifier: GPL-2.0
/*
 * tracing.c - glue: request by request, for callers that ask by pid.  One lock guards everything below; it is held for
 * microseconds, except while a process is looked for in the file tables (start and stop).
 *
 * The thread looks at the ring and sweeps ten times a second, and is woken sooner when the ring is half full.  A caller
 * that asks empties the ring first, so an answer is never a look behind.
 */
#include "tracing.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "handle.h"
#include "rolling.h"
#include "window.h"

enum { LOOK_MS = 100, DEFAULT_REQUESTS = 100000, DEFAULT_SPAN_MS = 10000, DEFAULT_RATE_MS = 1000 };

struct traced {
	pid_t pid; /* 0: free */
	struct rolling rolling;
	struct window window; /* for the count of drops */
	uint64_t nr_dropped;
};

struct tracing {
	struct ebee *e;
	struct ring_buffer *ring;
	uint32_t nr_requests, span_ms, rate_ms;
	enum ebee_lifecycle lifecycle;
	int wake_fd; /* eventfd: the thread shall end */
	pthread_t thread;
	bool running;
	pthread_mutex_t lock;
	struct traced services[EBEE_MAX_SERVICES];
	uint32_t now_ms; /* of the records being taken in */
};

static uint32_t now_ms(void)
{
	return (uint32_t)(handle_now_ns() / 1000000);
}

static int take_record(void *ctx, void *data, size_t size)
{
	struct tracing *t = ctx;
	__u64 entry;
	unsigned int service;

	if (size != sizeof(entry))
		return 0;
	memcpy(&entry, data, sizeof(entry));
	service = (unsigned int)(entry >> EXCHANGE_RECORD_SHIFT);
	if (service < EBEE_MAX_SERVICES && t->services[service].pid)
		rolling_add(&t->services[service].rolling, t->now_ms, entry & EXCHANGE_RECORD_NS);
	return 0;
}

/* Under the lock. */
static void look(struct tracing *t)
{
	t->now_ms = now_ms();
	ring_buffer__consume(t->ring);
}

static void *empty_ring(void *arg)
{
	struct tracing *t = arg;
	struct epoll_event event = { .events = EPOLLIN };
	int epoll_fd = ring_buffer__epoll_fd(t->ring);
	bool running;

	epoll_ctl(epoll_fd, EPOLL_CTL_ADD, t->wake_fd, &event);
	do {
		epoll_wait(epoll_fd, &event, 1, LOOK_MS); /* whatever woke us, we do all of it */
		pthread_mutex_lock(&t->lock);
		look(t);
		ebee_sweep(t->e);
		running = t->running;
		pthread_mutex_unlock(&t->lock);
	} while (running);
	return NULL;
}

int tracing_open(struct tracing **ret, struct ebee *e, const struct ebee_opts *opts)
{
	struct tracing *t = calloc(1, sizeof(*t));
	int err = 0;

	if (!t)
		return -ENOMEM;
	t->e = e;
	t->lifecycle = opts->trace_lifecycle;
	t->nr_requests = opts->trace_requests ? opts->trace_requests : DEFAULT_REQUESTS;
	t->span_ms = opts->trace_span_ns ? (uint32_t)(opts->trace_span_ns / 1000000) : DEFAULT_SPAN_MS;
	t->rate_ms = opts->rate_span_ns ? (uint32_t)(opts->rate_span_ns / 1000000) : DEFAULT_RATE_MS;
	pthread_mutex_init(&t->lock, NULL);
	t->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	t->ring = ring_buffer__new(bpf_map__fd(e->skel->maps.requests), take_record, t, NULL);
	if (t->wake_fd < 0 || !t->ring)
		err = -errno;
	if (!err) {
		t->running = true;
		err = -pthread_create(&t->thread, NULL, empty_ring, t);
		t->running = !err;
	}
	if (err)
		tracing_close(t);
	else
		*ret = t;
	return err;
}

void tracing_close(struct tracing *t)
{
	if (!t)
		return;
	if (t->running) {
		pthread_mutex_lock(&t->lock);
		t->running = false;
		pthread_mutex_unlock(&t->lock);
		eventfd_write(t->wake_fd, 1);
		pthread_join(t->thread, NULL);
	}
	for (unsigned int i = 0; i < EBEE_MAX_SERVICES; i++)
		free(t->services[i].rolling.ring);
	ring_buffer__free(t->ring);
	if (t->wake_fd >= 0)
		close(t->wake_fd);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

/* Under the lock.  The service of a traced pid, or of a free place for pid 0; negative when there is none. */
static int find(const struct tracing *t, pid_t pid)
{
	for (unsigned int i = 0; i < t->e->nr_services; i++)
		if (t->services[i].pid == pid)
			return (int)i;
	return pid ? -ESRCH : -ENOSPC;
}

static int start(struct tracing *t, pid_t pid)
{
	int service = find(t, 0), err;
	struct rolling_entry *ring;

	if (find(t, pid) >= 0)
		return -EEXIST;
	if (service < 0)
		return service;
	ring = calloc(t->nr_requests, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	err = lifecycle_set(t->e, (unsigned int)service, t->lifecycle);
	t->e->skel->bss->traced[service] = 1; /* lifecycles take it over when the service is seeded */
	if (!err)
		err = ebee_add_pid(t->e, (unsigned int)service, pid);
	if (!err)
		err = ebee_seed(t->e);
	if (err) {
		t->e->skel->bss->traced[service] = 0;
		ebee_remove(t->e, (unsigned int)service);
		free(ring);
		return err;
	}
	look(t); /* what is left of the number's last owner is nobody's */
	rolling_init(&t->services[service].rolling, ring, t->nr_requests, t->span_ms);
	window_start(&t->services[service].window, &t->e->cells[(unsigned int)service * t->e->nr_slots], t->e->nr_slots);
	t->services[service].pid = pid;
	t->services[service].nr_dropped = 0;
	return 0;
}

int ebee_start_tracing(struct ebee *e, pid_t pid)
{
	int err;

	if (!e->tracing || pid <= 0)
		return -EINVAL;
	pthread_mutex_lock(&e->tracing->lock);
	err = start(e->tracing, pid);
	pthread_mutex_unlock(&e->tracing->lock);
	return err;
}

int ebee_stop_tracing(struct ebee *e, pid_t pid)
{
	struct tracing *t = e->tracing;
	int service, err;

	if (!t || pid <= 0)
		return -EINVAL;
	pthread_mutex_lock(&t->lock);
	err = service = find(t, pid);
	if (service >= 0) {
		e->skel->bss->traced[service] = 0;
		err = ebee_remove(e, (unsigned int)service);
		look(t);
		free(t->services[service].rolling.ring);
		memset(&t->services[service], 0, sizeof(t->services[service]));
	}
	pthread_mutex_unlock(&t->lock);
	return err;
}

/* What is asked of a traced process, under the lock. */
typedef int ask_fn(struct tracing *t, struct traced *service, uint32_t permyriad, void *ret);

static int ask(struct ebee *e, pid_t pid, ask_fn *answer, uint32_t permyriad, void *ret)
{
	struct tracing *t = e->tracing;
	int service, err;

	if (!t || pid <= 0)
		return -EINVAL;
	pthread_mutex_lock(&t->lock);
	err = service = find(t, pid);
	if (service >= 0) {
		look(t);
		rolling_expire(&t->services[service].rolling, t->now_ms);
		err = answer(t, &t->services[service], permyriad, ret);
	}
	pthread_mutex_unlock(&t->lock);
	return err;
}

static int answer_rps(struct tracing *t, struct traced *s, uint32_t permyriad, void *ret)
{
	(void)permyriad;
	*(double *)ret = rolling_count_since(&s->rolling, t->now_ms, t->rate_ms) * 1000.0 / t->rate_ms;
	return 0;
}

int ebee_get_rps(struct ebee *e, pid_t pid, double *ret)
{
	return ask(e, pid, answer_rps, 0, ret);
}

static int answer_latest(struct tracing *t, struct traced *s, uint32_t permyriad, void *ret)
{
	(void)t;
	(void)permyriad;
	if (!s->rolling.nr)
		return -ENODATA;
	*(uint64_t *)ret = s->rolling.latest_ns;
	return 0;
}

int ebee_get_latest_latency(struct ebee *e, pid_t pid, uint64_t *ret_ns)
{
	return ask(e, pid, answer_latest, 0, ret_ns);
}

static int answer_mean(struct tracing *t, struct traced *s, uint32_t permyriad, void *ret)
{
	(void)t;
	(void)permyriad;
	if (!s->rolling.nr)
		return -ENODATA;
	*(uint64_t *)ret = rolling_mean(&s->rolling);
	return 0;
}

int ebee_get_average_latency(struct ebee *e, pid_t pid, uint64_t *ret_ns)
{
	return ask(e, pid, answer_mean, 0, ret_ns);
}

static int answer_percentile(struct tracing *t, struct traced *s, uint32_t permyriad, void *ret)
{
	(void)t;
	if (!s->rolling.nr)
		return -ENODATA;
	*(uint64_t *)ret = rolling_percentile(&s->rolling, permyriad);
	return 0;
}

int ebee_get_latency_percentile(struct ebee *e, pid_t pid, double percentile, uint64_t *ret_ns)
{
	if (!(percentile > 0 && percentile <= 100))
		return -EINVAL;
	/* Half a hundredth more: 99.9 is not exact in binary. */
	return ask(e, pid, answer_percentile, (uint32_t)(percentile * 100 + 0.5), ret_ns);
}

static int answer_dropped(struct tracing *t, struct traced *s, uint32_t permyriad, void *ret)
{
	unsigned int service = (unsigned int)(s - t->services);

	(void)permyriad;
	window_advance(&s->window, &t->e->cells[service * t->e->nr_slots], t->e->nr_slots);
	s->nr_dropped += s->window.delta.counters[EXCHANGE_DROPPED];
	*(uint64_t *)ret = s->nr_dropped;
	return 0;
}

int ebee_get_dropped(struct ebee *e, pid_t pid, uint64_t *ret)
{
	return ask(e, pid, answer_dropped, 0, ret);
}
