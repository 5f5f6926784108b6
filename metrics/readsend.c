// SPDX-License-Identifier: GPL-2.0
/*
 * readsend.c - port: pairs of calls on a descriptor, loaded as one.  What they measure is readsend.bpf.c's.
 */
#include "readsend.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "meter.h"
#include "readsend.skel.h"

struct readsend {
	struct exchange_bpf *exchange;
	struct readsend_bpf *skel;
	uint64_t services; /* a bit for each that is measured here */
};

_Static_assert(EXCHANGE_MAX_SERVICES <= 64, "a bit for each");

static int load(struct readsend *r, struct exchange_bpf *exchange)
{
	int err;

	r->exchange = exchange;
	r->skel = readsend_bpf__open();
	if (!r->skel)
		return -errno;
	err = meter_share(r->skel->maps.cells, exchange->maps.cells);
	if (!err)
		err = meter_share(r->skel->maps.processes, exchange->maps.processes);
	if (!err)
		err = meter_share(r->skel->maps.reads, exchange->maps.reads);
	if (!err)
		err = meter_share(r->skel->maps.exchanges, exchange->maps.exchanges);
	if (!err)
		err = meter_share_ring(r->skel->maps.requests, exchange);
	if (err)
		return err;
	r->skel->rodata->nr_slots = exchange->rodata->nr_slots;
	r->skel->rodata->ring_wakeup = exchange->rodata->ring_wakeup;
	err = readsend_bpf__load(r->skel);
	if (!err)
		err = meter_attach_walk(&r->skel->links.sweep, r->skel->progs.sweep, r->skel->maps.descriptors);
	if (!err)
		err = meter_attach_walk(&r->skel->links.linger, r->skel->progs.linger, r->skel->maps.exchanges);
	return err;
}

int readsend_open(struct readsend **ret, struct exchange_bpf *exchange, char *error, size_t error_size)
{
	libbpf_print_fn_t print_before = programs_keep_warnings();
	struct readsend *r = calloc(1, sizeof(*r));
	int err = r ? load(r, exchange) : -ENOMEM;

	if (err) {
		err = programs_explain(err, "calls on descriptors", error, error_size);
		readsend_close(r);
	} else {
		*ret = r;
	}
	libbpf_set_print(print_before);
	return err;
}

void readsend_close(struct readsend *r)
{
	if (!r)
		return;
	readsend_bpf__destroy(r->skel);
	free(r);
}

const struct bpf_object *readsend_object(const struct readsend *r)
{
	return r->skel->obj;
}

int readsend_add(struct readsend *r, unsigned int service)
{
	if (!r->skel->links.leave) {
		r->skel->links.leave = bpf_program__attach(r->skel->progs.leave);
		if (!r->skel->links.leave)
			return -errno;
	}
	r->services |= 1ULL << service;
	r->skel->bss->observed[service] = 1;
	return 0;
}

void readsend_remove(struct readsend *r, unsigned int service)
{
	if (!(r->services & 1ULL << service))
		return;
	r->services &= ~(1ULL << service);
	r->skel->bss->observed[service] = 0;
	programs_iterate(r->skel->links.sweep); /* drops what is open in services that are not observed */
	if (!r->services) {
		bpf_link__destroy(r->skel->links.leave);
		r->skel->links.leave = NULL;
	}
}

void readsend_refresh(struct readsend *r)
{
	memcpy(r->skel->bss->target_ns, r->exchange->bss->target_ns, sizeof(r->skel->bss->target_ns));
	memcpy(r->skel->bss->traced, r->exchange->bss->traced, sizeof(r->skel->bss->traced));
}

bool readsend_is_pending(struct readsend *r)
{
	return __atomic_exchange_n(&r->skel->bss->pending, 0, __ATOMIC_RELAXED);
}

int readsend_sweep(struct readsend *r)
{
	int err;

	if (!r->services)
		return 0;
	readsend_refresh(r);
	memset(r->skel->bss->swept, 0, sizeof(r->skel->bss->swept));
	err = programs_iterate(r->skel->links.sweep);
	if (!err)
		meter_add_sweep(r->exchange->bss->swept, r->skel->bss->swept);
	return err;
}

int readsend_look(struct readsend *r)
{
	for (unsigned int i = 0; i < EXCHANGE_MAX_SERVICES; i++)
		r->skel->bss->ends[i].nr_lingering = 0;
	return programs_iterate(r->skel->links.linger);
}

const struct readsend_ends *readsend_ends(const struct readsend *r, unsigned int service)
{
	return &r->skel->bss->ends[service];
}

uint64_t readsend_nr_missed(const struct readsend *r)
{
	return r->skel->bss->nr_missed;
}
