// SPDX-License-Identifier: GPL-2.0
/*
 * lifecycle.c - glue of libebee: what a request is, per service, and so which programs measure it.  The lifecycles by
 * socket are the exchange programs' own; what the others need is lifecycle_programs.c's, and which one fits choose.c's.
 */
#include "lifecycle.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "handle.h"
#include "readsend.h"

/* The table: name, and what the exchange programs do meanwhile.  The library, when it is one of ours. */
static const struct {
	const char *name, *feature;
	enum exchange_lifecycle sockets;
	const struct ebee_library *row;
} table[EBEE_NR_LIFECYCLES] = {
	[EBEE_EXCHANGE] = { "exchange", "", EXCHANGE_PER_REQUEST, NULL },
	[EBEE_CONNECTION] = { "connection", "", EXCHANGE_PER_CONNECTION, NULL },
	[EBEE_GRPC] = { "grpc", " grpc=uprobe", EXCHANGE_BY_LIBRARY, &ebee_library_grpc },
	[EBEE_HTTP2] = { "http2", " http2=tp_btf", EXCHANGE_BY_STREAM, NULL },
	[EBEE_READ_SEND] = { "read-send", " read_send=tp_btf", EXCHANGE_BY_LIBRARY, NULL },
	[EBEE_AUTO] = { "auto", "", EXCHANGE_PER_REQUEST, NULL },
	[EBEE_STUDY] = { "ebee", "", EXCHANGE_PER_REQUEST, NULL },
	[EBEE_LIBRARY] = { "library", " library=uprobe", EXCHANGE_BY_LIBRARY, NULL },
};

const char *ebee_lifecycle_name(enum ebee_lifecycle lifecycle)
{
	return lifecycle < EBEE_NR_LIFECYCLES ? table[lifecycle].name : NULL;
}

bool lifecycle_chooses(enum ebee_lifecycle asked)
{
	return asked == EBEE_AUTO || asked == EBEE_STUDY;
}

static void use_sockets(struct ebee *e, unsigned int service, enum exchange_lifecycle lifecycle)
{
	struct exchange_bpf__bss *bss = e->skel->bss;
	bool matter = false;

	bss->lifecycle[service] = lifecycle;
	for (unsigned int i = 0; i < EXCHANGE_MAX_SERVICES; i++)
		matter |= bss->lifecycle[i] == EXCHANGE_PER_CONNECTION || bss->lifecycle[i] == EXCHANGE_BY_LIBRARY;
	bss->reads_matter = matter;
}

void lifecycle_leave(struct ebee *e, unsigned int service)
{
	struct lifecycle *l = &e->lifecycles.services[service];

	l->asked = EBEE_EXCHANGE;
	lifecycle_exit(e, service);
	memset(l, 0, sizeof(*l));
	use_sockets(e, service, EXCHANGE_PER_REQUEST);
}

/* ---- a service changes ------------------------------------------------------------------------------------------- */

/* From here on the service is measured so.  What is in flight is forgotten.  On failure it is as every service begins. */
static int use(struct ebee *e, unsigned int service, enum ebee_lifecycle lifecycle, const struct ebee_library *row)
{
	const char *feature = table[lifecycle].feature;
	int err;

	lifecycle_exit(e, service);
	err = lifecycle_enter(e, service, lifecycle, row);
	if (err)
		lifecycle = EBEE_EXCHANGE;
	else if (!strstr(e->features, feature))
		strncat(e->features, feature, sizeof(e->features) - strlen(e->features) - 1);
	e->lifecycles.services[service].in_use = lifecycle;
	use_sockets(e, service, table[lifecycle].sockets);
	return err;
}

static int use_anew(struct ebee *e, unsigned int service, enum ebee_lifecycle lifecycle, const struct ebee_library *row)
{
	int err = use(e, service, lifecycle, row);

	if (!err && handle_is_known(e, service)) {
		err = handle_forget(e, service);
		if (!err)
			err = ebee_seed(e);
	}
	return err;
}

static int set(struct ebee *e, unsigned int service, enum ebee_lifecycle asked, const struct ebee_library *row)
{
	struct lifecycle *l = &e->lifecycles.services[service];
	enum ebee_lifecycle first = asked;
	int err = 0;

	e->error[0] = '\0';
	if (l->asked == asked && (lifecycle_chooses(asked) || l->row == row))
		return 0;
	l->reason[0] = '\0';
	l->asked = asked;
	if (lifecycle_chooses(asked)) {
		choose_init(&l->choose, asked);
		first = l->choose.in_use;
		snprintf(l->reason, sizeof(l->reason), "%s", l->choose.reason);
		err = lifecycle_load_choices(e, asked);
	}
	if (!err && (first != l->in_use || row != l->row))
		err = use_anew(e, service, first, row);
	if (l->in_use != first) /* while a library that is not there may come later */
		l->asked = EBEE_EXCHANGE;
	lifecycle_unload(e);
	return err;
}

int lifecycle_set(struct ebee *e, unsigned int service, enum ebee_lifecycle lifecycle)
{
	return set(e, service, lifecycle, table[lifecycle].row);
}

int ebee_set_lifecycle(struct ebee *e, unsigned service, enum ebee_lifecycle lifecycle)
{
	if (service >= e->nr_services || lifecycle >= EBEE_LIBRARY || e->tracing)
		return -EINVAL;
	return lifecycle_set(e, service, lifecycle);
}

int ebee_set_library(struct ebee *e, unsigned service, const struct ebee_library *library)
{
	if (service >= e->nr_services || !library || e->tracing)
		return -EINVAL;
	return set(e, service, EBEE_LIBRARY, library);
}

enum ebee_lifecycle ebee_lifecycle_in_use(const struct ebee *e, unsigned service)
{
	return service < e->nr_services ? e->lifecycles.services[service].in_use : EBEE_EXCHANGE;
}

const char *ebee_lifecycle_reason(const struct ebee *e, unsigned service)
{
	return service < e->nr_services ? e->lifecycles.services[service].reason : "";
}

/* ---- at a sweep -------------------------------------------------------------------------------------------------- */

static uint64_t counted(struct ebee *e, unsigned int service, enum exchange_counter which)
{
	uint64_t *before = &e->lifecycles.services[service].counters[which], sum = 0, delta;

	for (unsigned int i = 0; i < e->nr_slots; i++)
		sum += e->cells[service * e->nr_slots + i].counters[which];
	delta = sum - *before;
	*before = sum;
	return delta;
}

static uint64_t recognised(struct ebee *e, unsigned int service, enum exchange_protocol which)
{
	__u32 *before = &e->lifecycles.services[service].protocols[which];
	__u32 now = e->skel->bss->nr_protocol[service][which], delta = now - *before;

	*before = now;
	return delta;
}

static struct choose_seen look(struct ebee *e, unsigned int service)
{
	struct lifecycle *l = &e->lifecycles.services[service];
	struct choose_seen seen = {
		.nr_http2 = recognised(e, service, EXCHANGE_MULTIPLEX),
		.nr_tls = recognised(e, service, EXCHANGE_TLS),
		.nr_plain = recognised(e, service, EXCHANGE_HTTP1) + recognised(e, service, EXCHANGE_UPGRADED) +
			    recognised(e, service, EXCHANGE_MEMCACHED) + recognised(e, service, EXCHANGE_RESP),
		.nr_unknown = recognised(e, service, EXCHANGE_OPAQUE_BYTES),
		.nr_connections = e->skel->bss->swept[service].nr_connections,
		.nr_begun = counted(e, service, EXCHANGE_BEGUN),
		.nr_reads = counted(e, service, EXCHANGE_LIBRARY_READ),
		.nr_opaque = counted(e, service, EXCHANGE_OPAQUE),
	};

	if (l->asked == EBEE_STUDY) {
		const struct readsend_ends *ends = readsend_ends(e->lifecycles.readsend, service);

		seen.nr_lingering = ends->nr_lingering;
		seen.nr_closed = ends->nr_closed - l->nr_closed;
		l->nr_closed = ends->nr_closed;
	}
	return seen;
}

static bool is_out_of_reach(const struct ebee *e, unsigned int service, enum ebee_lifecycle lifecycle)
{
	return table[lifecycle].sockets == EXCHANGE_BY_LIBRARY && !e->skel->bss->by_process[service];
}

/* To what was chosen.  What cannot be had is found out before anything in flight is forgotten. */
static int change(struct ebee *e, unsigned int service, enum ebee_lifecycle to)
{
	const struct ebee_library *row = table[to].row;
	int err;

	if (is_out_of_reach(e, service, to)) {
		snprintf(e->error, sizeof(e->error), "it is known by its port alone, and that needs its processes");
		return -ESRCH;
	}
	err = row ? lifecycle_try_library(e, service, row) : 0;
	if (err)
		return err;
	err = use_anew(e, service, to, row);
	return row && err == -ENOTSUP ? 0 : err; /* it is another service that has not its library */
}

/* What was chosen is used, or else what every choice begins with, and why is written down. */
static int follow(struct ebee *e, unsigned int service)
{
	struct lifecycle *l = &e->lifecycles.services[service];
	enum ebee_lifecycle wanted = l->choose.in_use;
	int err;

	e->error[0] = '\0';
	err = change(e, service, wanted);
	if (!err) {
		snprintf(l->reason, sizeof(l->reason), "%s", l->choose.reason);
		return 0;
	}
	choose_refused(&l->choose, wanted == EBEE_HTTP2 && err == -ENOTSUP);
	snprintf(l->reason, sizeof(l->reason), "%.100s: %.400s", l->choose.reason, e->error[0] ? e->error : strerror(-err));
	return l->choose.in_use == l->in_use ? 0 : use_anew(e, service, l->choose.in_use, NULL);
}

int lifecycle_step(struct ebee *e)
{
	bool looked = false;
	int err = 0;

	lifecycle_look_for_libraries(e);
	for (unsigned int i = 0; !err && i < e->nr_services; i++) {
		struct lifecycle *l = &e->lifecycles.services[i];
		struct choose_seen seen;

		if (!lifecycle_chooses(l->asked))
			continue;
		if (l->asked == EBEE_STUDY && !looked) {
			err = readsend_look(e->lifecycles.readsend);
			looked = true;
		}
		seen = look(e, i);
		if (!err && choose_step(&l->choose, &seen))
			err = follow(e, i);
	}
	return err;
}

