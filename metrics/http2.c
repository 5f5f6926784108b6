// SPDX-License-Identifier: GPL-2.0
/*
 * http2.c - port: HTTP/2 by stream, loaded and attached as one.  What it measures is http2.bpf.c's.
 */
#include "http2.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "bpf/http2.h"
#include "http2.skel.h"
#include "meter.h"

_Static_assert(EXCHANGE_MAX_SERVICES <= 64, "a bit for each");

struct http2 {
	struct exchange_bpf *exchange;
	struct http2_bpf *skel;
	uint64_t services; /* a bit for each that is measured here */
};

/* What the programs need, the latest to come to Linux first. */
static const struct { const char *name, *btf_name; int kind; } needed[] = {
	{ "tracepoint tcp_sendmsg_locked", "btf_trace_tcp_sendmsg_locked", BTF_KIND_TYPEDEF },
	{ "bpf_dynptr_from_skb", "bpf_dynptr_from_skb", BTF_KIND_FUNC },
	{ "tracepoint sk_data_ready", "btf_trace_sk_data_ready", BTF_KIND_TYPEDEF },
	{ "tracepoint skb_copy_datagram_iovec", "btf_trace_skb_copy_datagram_iovec", BTF_KIND_TYPEDEF },
};

static int check_kernel(char *error, size_t error_size)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int err = btf ? 0 : -ENOTSUP;

	if (err)
		snprintf(error, error_size, "this kernel has no type information (/sys/kernel/btf/vmlinux)");
	for (size_t i = 0; !err && i < sizeof(needed) / sizeof(needed[0]); i++) {
		if (btf__find_by_name_kind(btf, needed[i].btf_name, needed[i].kind) > 0)
			continue;
		snprintf(error, error_size,
			 "HTTP/2 cannot be measured by stream: this kernel has no %s; Linux 6.16 or newer is needed",
			 needed[i].name);
		err = -ENOTSUP;
	}
	btf__free(btf);
	return err;
}

static int load(struct http2 *h, struct exchange_bpf *exchange)
{
	int err;

	h->exchange = exchange;
	h->skel = http2_bpf__open();
	if (!h->skel)
		return -errno;
	err = meter_share(h->skel->maps.cells, exchange->maps.cells);
	if (!err)
		err = meter_share(h->skel->maps.processes, exchange->maps.processes);
	if (!err)
		err = meter_share(h->skel->maps.exchanges, exchange->maps.exchanges);
	if (!err)
		err = meter_share_ring(h->skel->maps.requests, exchange);
	if (err)
		return err;
	h->skel->rodata->ring_wakeup = exchange->rodata->ring_wakeup;
	h->skel->rodata->nr_slots = exchange->rodata->nr_slots;
	h->skel->bss->long_ns = exchange->data->long_ns;
	return http2_bpf__load(h->skel);
}

static int attach(struct http2_bpf *skel)
{
	int err = meter_attach_walk(&skel->links.sweep_streams, skel->progs.sweep_streams, skel->maps.streams);

	if (!err)
		err = meter_attach_walk(&skel->links.sweep_connections, skel->progs.sweep_connections, skel->maps.connections);
	return err ? err : http2_bpf__attach(skel);
}

int http2_open(struct http2 **ret, struct exchange_bpf *exchange, char *error, size_t error_size)
{
	libbpf_print_fn_t print_before = programs_keep_warnings();
	int err = check_kernel(error, error_size);
	struct http2 *h = NULL;

	if (err)
		goto out;
	h = calloc(1, sizeof(*h));
	err = h ? load(h, exchange) : -ENOMEM;
	if (err)
		err = programs_explain(err, "HTTP/2", error, error_size);
	else
		*ret = h;
out:
	if (err)
		http2_close(h);
	libbpf_set_print(print_before);
	return err;
}

void http2_close(struct http2 *h)
{
	if (!h)
		return;
	http2_bpf__destroy(h->skel);
	free(h);
}

const struct bpf_object *http2_object(const struct http2 *h)
{
	return h->skel->obj;
}

void http2_refresh(struct http2 *h)
{
	memcpy(h->skel->bss->by_process, h->exchange->bss->by_process, sizeof(h->skel->bss->by_process));
	memcpy(h->skel->bss->traced, h->exchange->bss->traced, sizeof(h->skel->bss->traced));
	memcpy(h->skel->bss->target_ns, h->exchange->bss->target_ns, sizeof(h->skel->bss->target_ns));
}

int http2_add(struct http2 *h, unsigned int service)
{
	int err = h->services ? 0 : attach(h->skel);

	if (err) {
		http2_bpf__detach(h->skel);
		return err;
	}
	h->services |= 1ULL << service;
	h->skel->bss->wanted[service] = 1;
	return 0;
}

void http2_remove(struct http2 *h, unsigned int service)
{
	if (!(h->services & 1ULL << service))
		return;
	h->services &= ~(1ULL << service);
	h->skel->bss->wanted[service] = 0;
	/* They drop what nobody wants any more. */
	programs_iterate(h->skel->links.sweep_connections);
	programs_iterate(h->skel->links.sweep_streams);
	if (!h->services)
		http2_bpf__detach(h->skel);
}

bool http2_is_pending(struct http2 *h)
{
	bool any = false;

	for (unsigned int i = 0; i < EXCHANGE_MAX_SERVICES; i++)
		any |= __atomic_exchange_n(&h->skel->bss->pending[i], 0, __ATOMIC_RELAXED);
	return any;
}

int http2_sweep(struct http2 *h)
{
	int err;

	if (!h->services)
		return 0;
	http2_refresh(h);
	memset(h->skel->bss->swept, 0, sizeof(h->skel->bss->swept));
	err = programs_iterate(h->skel->links.sweep_streams);
	if (!err)
		err = programs_iterate(h->skel->links.sweep_connections);
	if (!err)
		meter_add_sweep(h->exchange->bss->swept, h->skel->bss->swept);
	return err;
}
