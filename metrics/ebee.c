// SPDX-License-Identifier: GPL-2.0
/*
 * ebee.c - glue of libebee: handles, services, windows.  Measuring is in bpf/, arithmetic in window.c.
 */
#include "ebee.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "handle.h"
#include "window.h"

_Static_assert((int)EBEE_MAX_SERVICES == (int)EXCHANGE_MAX_SERVICES, "the library's limit is the programs'");
_Static_assert((int)EBEE_OWED == (int)EXCHANGE_OWED && (int)EBEE_NR_LATENCIES == (int)EXCHANGE_NR_HISTS,
	       "public and kernel histograms have the same order");

struct ebee_window {
	struct ebee *e;
	unsigned int service;
	uint64_t start_ns;
	uint64_t nr_waiting_before, nr_drops_before, run_delay_before_ns, nr_walks_before;
	struct window window;
};

uint64_t handle_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

/* CPUs share a service's slots modulo their number, so it is a power of two. */
static unsigned int slots_for_machine(void)
{
	long nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
	unsigned int nr_slots = 1;

	while (nr_slots < EXCHANGE_MAX_SLOTS && (long)nr_slots < nr_cpus)
		nr_slots *= 2;
	return nr_slots;
}

static int map_cells(struct ebee *e)
{
	void *p;

	e->cells_size = (size_t)e->nr_services * e->nr_slots * sizeof(struct exchange_cell);
	p = mmap(NULL, e->cells_size, PROT_READ, MAP_SHARED, bpf_map__fd(e->skel->maps.cells), 0);
	if (p == MAP_FAILED)
		return -errno;
	e->cells = p;
	return 0;
}

static int check_opts(const struct ebee_opts *opts, char *error, size_t error_size)
{
	const unsigned int page = (unsigned int)sysconf(_SC_PAGESIZE);

	if (!opts)
		return 0;
	if (opts->sz != sizeof(*opts) || opts->nr_services > EBEE_MAX_SERVICES) {
		snprintf(error, error_size, "options of another version, or more than %d services", EBEE_MAX_SERVICES);
		return -EINVAL;
	}
	if (opts->trace_lifecycle >= EBEE_LIBRARY) {
		snprintf(error, error_size, "trace_lifecycle %d is none", (int)opts->trace_lifecycle);
		return -EINVAL;
	}
	if (opts->ring_size % page || opts->ring_size & (opts->ring_size - 1)) {
		snprintf(error, error_size, "ring_size %u: a power of two of at least %u is wanted", opts->ring_size, page);
		return -EINVAL;
	}
	return 0;
}

int ebee_open(struct ebee **ret, const struct ebee_opts *opts, char *error, size_t error_size)
{
	char unwanted[1];
	struct programs_opts programs;
	struct stat netns;
	struct ebee *e;
	int err;

	if (!error) {
		error = unwanted;
		error_size = sizeof(unwanted);
	}
	err = check_opts(opts, error, error_size);
	if (err)
		return err;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->nr_services = opts && opts->nr_services ? opts->nr_services : EBEE_MAX_SERVICES;
	e->nr_slots = slots_for_machine();
	e->stats_fd = -1;
	if (stat("/proc/self/ns/net", &netns)) {
		err = -errno;
		snprintf(error, error_size, "/proc/self/ns/net: %s; /proc must be mounted", strerror(-err));
		goto out;
	}
	e->netns = (__u32)netns.st_ino;
	programs = (struct programs_opts){
		.nr_services = e->nr_services,
		.nr_slots = e->nr_slots,
		.ring_size = opts ? opts->ring_size : 0,
		.features = e->features,
		.features_size = sizeof(e->features),
	};
	err = programs_load(&e->skel, &programs, error, error_size);
	if (err)
		goto out;
	e->skel->bss->own_netns = e->netns;
	e->skel->bss->sweep_number = 1;
	if (opts && opts->settle_ns)
		e->skel->data->settle_ns = opts->settle_ns;
	if (opts && opts->long_ns)
		e->skel->data->long_ns = opts->long_ns;
	err = map_cells(e);
	if (!err && opts && opts->ring_size)
		err = tracing_open(&e->tracing, e, opts);
	if (err)
		snprintf(error, error_size, "histograms and ring could not be mapped: %s", strerror(-err));
	if (!err && !e->tracing)
		runqueue_enter(e);
out:
	if (err)
		ebee_close(e);
	else
		*ret = e;
	return err;
}

void ebee_close(struct ebee *e)
{
	if (!e)
		return;
	tracing_close(e->tracing);
	ebee_count_cpu(e, 0);
	if (e->cells)
		munmap((void *)e->cells, e->cells_size);
	lifecycle_close(e);
	runqueue_close(e->runqueue);
	exchange_bpf__destroy(e->skel);
	free(e);
}

const char *ebee_features(const struct ebee *e)
{
	return e->features;
}

const char *ebee_error(const struct ebee *e)
{
	return e->error;
}

void handle_map_drop(const struct bpf_map *map, __u32 service)
{
	union { __u32 pid; struct exchange_port port; __u64 address; } key, next;
	void *at = NULL;
	__u32 value;

	while (!bpf_map_get_next_key(bpf_map__fd(map), at, &next)) {
		if (at && !bpf_map_lookup_elem(bpf_map__fd(map), at, &value) && value == service)
			bpf_map_delete_elem(bpf_map__fd(map), at);
		key = next;
		at = &key;
	}
	if (at && !bpf_map_lookup_elem(bpf_map__fd(map), at, &value) && value == service)
		bpf_map_delete_elem(bpf_map__fd(map), at);
}

bool handle_is_known(const struct ebee *e, unsigned int service)
{
	return e->skel->bss->by_process[service] || e->has_port[service];
}

int handle_forget(struct ebee *e, unsigned int service)
{
	int err;

	e->skel->bss->forgotten = service;
	err = programs_iterate(e->skel->links.forget);
	return err ? err : programs_iterate(e->skel->links.forget_unix);
}

int ebee_remove(struct ebee *e, unsigned service)
{
	int err = 0;

	if (service >= e->nr_services)
		return -EINVAL;
	lifecycle_leave(e, service);
	e->has_port[service] = false;
	handle_map_drop(e->skel->maps.processes, service);
	handle_map_drop(e->skel->maps.ports, service);
	handle_map_drop(e->skel->maps.listeners, service);
	handle_map_drop(e->skel->maps.unix_listeners, service);
	e->skel->bss->by_process[service] = 0;
	e->skel->bss->target_ns[service] = 0;
	if (e->runqueue)
		err = runqueue_remove(e->runqueue, service);
	return err ? err : handle_forget(e, service);
}

static int map_add(const struct bpf_map *map, const void *key, __u32 service)
{
	if (bpf_map_update_elem(bpf_map__fd(map), key, &service, BPF_ANY))
		return errno == E2BIG ? -ENOSPC : -errno;
	return 0;
}

int ebee_add_pid(struct ebee *e, unsigned service, pid_t pid)
{
	__u32 key = (__u32)pid;

	if (service >= e->nr_services || pid <= 0)
		return -EINVAL;
	if (kill(pid, 0) && errno == ESRCH)
		return -ESRCH;
	e->skel->bss->by_process[service] = 1;
	return map_add(e->skel->maps.processes, &key, service);
}

int ebee_add_port(struct ebee *e, unsigned service, uint16_t port)
{
	struct exchange_port key = { .netns = e->netns, .port = port };

	if (service >= e->nr_services || !port)
		return -EINVAL;
	e->has_port[service] = true;
	return map_add(e->skel->maps.ports, &key, service);
}

int ebee_seed(struct ebee *e)
{
	unsigned int depth = 0;
	int err;

	e->error[0] = '\0';
	/* Descendants appear in order of birth, so one pass finds nearly all; a later parent needs one more each. */
	do {
		e->skel->bss->nr_found = 0;
		err = programs_iterate(e->skel->links.find_children);
	} while (!err && e->skel->bss->nr_found && ++depth < 64);
	/* First listeners, then the connections they are recognised by. */
	if (!err)
		err = programs_iterate(e->skel->links.find_files);
	if (!err)
		err = programs_iterate(e->skel->links.find_files);
	if (!err)
		err = programs_iterate(e->skel->links.find_tcp);
	return err ? err : lifecycle_seed(e);
}

int ebee_set_target(struct ebee *e, unsigned service, uint64_t target_ns)
{
	if (service >= e->nr_services)
		return -EINVAL;
	e->skel->bss->target_ns[service] = target_ns;
	return 0;
}

int ebee_sweep(struct ebee *e)
{
	bool any = lifecycle_is_pending(e);
	unsigned int i;
	int err;

	err = e->runqueue ? runqueue_sweep(e->runqueue) : 0;
	if (err)
		return err;

	for (i = 0; i < e->nr_services; i++) {
		any |= __atomic_exchange_n(&e->skel->bss->pending[i], 0, __ATOMIC_RELAXED);
		e->skel->bss->swept[i].nr_open = e->skel->bss->swept[i].nr_waiting = 0;
		e->skel->bss->swept[i].nr_over_target = e->skel->bss->swept[i].oldest_ns = 0;
	}
	if (!any)
		return lifecycle_step(e);
	for (i = 0; i < e->nr_services; i++)
		e->skel->bss->swept[i].nr_connections = e->skel->bss->swept[i].nr_listen_drops = 0;
	err = programs_iterate(e->skel->links.sweep);
	if (!err && e->skel->bss->unix_seen) {
		e->skel->bss->sweep_number += 1 + (e->skel->bss->sweep_number == UINT32_MAX); /* never 0 */
		err = programs_iterate(e->skel->links.see_unix);
		if (!err)
			err = programs_iterate(e->skel->links.sweep_unix);
	}
	if (!err)
		err = lifecycle_sweep(e);
	return err ? err : lifecycle_step(e);
}

void ebee_set_settle(struct ebee *e, uint64_t settle_ns)
{
	e->skel->data->settle_ns = settle_ns;
}

static const struct exchange_cell *cells_of(const struct ebee *e, unsigned int service)
{
	return &e->cells[service * e->nr_slots];
}

int ebee_window_open(struct ebee_window **ret, struct ebee *e, unsigned service)
{
	struct ebee_window *w;

	if (service >= e->nr_services)
		return -EINVAL;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->e = e;
	w->service = service;
	w->start_ns = handle_now_ns();
	w->nr_drops_before = e->skel->bss->swept[service].nr_listen_drops;
	w->run_delay_before_ns = runqueue_delay_ns(e->runqueue, service, &w->nr_walks_before);
	window_start(&w->window, cells_of(e, service), e->nr_slots);
	*ret = w;
	return 0;
}

void ebee_window_close(struct ebee_window *w)
{
	free(w);
}

int ebee_window_advance(struct ebee_window *w, struct ebee_window_info *ret)
{
	const struct exchange_sweep *swept = &w->e->skel->bss->swept[w->service];
	const __u64 *delta = w->window.delta.counters;
	uint64_t now = handle_now_ns(), nr_walks, delay_ns = runqueue_delay_ns(w->e->runqueue, w->service, &nr_walks);

	window_advance(&w->window, cells_of(w->e, w->service), w->e->nr_slots);
	*ret = (struct ebee_window_info){
		.end_ns = now,
		.length_ns = now - w->start_ns,
		/* What was read in the window, and what came but was not read; less what had come before it. */
		.nr_arrived = delta[EXCHANGE_BEGUN] + swept->nr_waiting > w->nr_waiting_before ?
				      delta[EXCHANGE_BEGUN] + swept->nr_waiting - w->nr_waiting_before : 0,
		.nr_completed = window_count(&w->window, EXCHANGE_OWED),
		.nr_connections = swept->nr_connections,
		.nr_in_flight = swept->nr_open,
		.nr_waiting = swept->nr_waiting,
		.nr_over_target = swept->nr_over_target,
		.oldest_ns = swept->oldest_ns,
		/* Less than before: a listener closed and took its count along. */
		.nr_listen_drops = swept->nr_listen_drops > w->nr_drops_before ? swept->nr_listen_drops - w->nr_drops_before : 0,
		.has_run_delay = nr_walks != w->nr_walks_before,
		.run_delay_ns = nr_walks != w->nr_walks_before ? delay_ns - w->run_delay_before_ns : 0,
		.coverage = {
			.nr_aborted = delta[EXCHANGE_ABORTED],
			.nr_unmatched = delta[EXCHANGE_UNMATCHED],
			.nr_no_arrival = delta[EXCHANGE_NO_ARRIVAL],
			.nr_unseen_write = delta[EXCHANGE_UNSEEN_WRITE],
			.nr_unseen_read = delta[EXCHANGE_UNSEEN_READ],
			.nr_buffered = delta[EXCHANGE_BUFFERED],
			.nr_datagram = delta[EXCHANGE_DATAGRAM],
			.nr_blocked = delta[EXCHANGE_BLOCKED],
			.nr_amended = delta[EXCHANGE_AMENDED],
			.nr_long_lived = delta[EXCHANGE_LONG_LIVED],
			.nr_missed = w->e->skel->bss->nr_missed + lifecycle_nr_missed(w->e),
			.nr_unprobed = lifecycle_is_unprobed(w->e, w->service) ? delta[EXCHANGE_LIBRARY_READ] : 0,
			.nr_opaque = delta[EXCHANGE_OPAQUE],
			.nr_multiplexed = delta[EXCHANGE_MULTIPLEXED],
			.nr_lost = delta[EXCHANGE_STREAM_LOST],
			.nr_one_way = delta[EXCHANGE_ONE_WAY],
			.nr_tls_unsure = delta[EXCHANGE_TLS_UNSURE],
			.nr_unmeasured = delta[EXCHANGE_UNMEASURED],
		},
	};
	w->start_ns = now;
	w->nr_waiting_before = swept->nr_waiting;
	w->nr_drops_before = swept->nr_listen_drops;
	if (nr_walks != w->nr_walks_before)
		w->run_delay_before_ns = delay_ns;
	w->nr_walks_before = nr_walks;
	return 0;
}

int ebee_window_percentile(const struct ebee_window *w, enum ebee_latency which, unsigned permille, uint64_t *ret_ns)
{
	if (which >= EBEE_NR_LATENCIES || !permille || permille > 1000)
		return -EINVAL;
	if (!window_count(&w->window, (enum exchange_hist)which))
		return -ENODATA;
	*ret_ns = window_percentile(&w->window, (enum exchange_hist)which, permille);
	return 0;
}

int ebee_window_mean(const struct ebee_window *w, enum ebee_latency which, uint64_t *ret_ns)
{
	if (which >= EBEE_NR_LATENCIES)
		return -EINVAL;
	if (!window_count(&w->window, (enum exchange_hist)which))
		return -ENODATA;
	*ret_ns = window_mean(&w->window, (enum exchange_hist)which);
	return 0;
}

uint64_t ebee_window_count_over(const struct ebee_window *w, enum ebee_latency which, uint64_t ns)
{
	return window_count_over(&w->window, (enum exchange_hist)which, ns);
}
