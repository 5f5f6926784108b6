// SPDX-License-Identifier: GPL-2.0
/*
 * lifecycle_programs.c - glue of libebee: the programs that the lifecycles of a handle's services need, loaded, attached,
 * swept and unloaded.  Which service has which lifecycle is lifecycle.c's.
 */
#include "lifecycle.h"

#include <errno.h>

#include "handle.h"
#include "http2.h"
#include "library.h"
#include "readsend.h"

static struct library **library_of(struct ebee *e, const struct ebee_library *row)
{
	struct library **at = e->lifecycles.libraries, **end = at + LIFECYCLE_MAX_LIBRARIES, **free_place = NULL;

	for (; at < end; at++) {
		if (*at && library_row(*at) == row)
			return at;
		if (!*at && !free_place)
			free_place = at;
	}
	return free_place;
}

static int load_library(struct ebee *e, const struct ebee_library *row, struct library **ret)
{
	struct library **place = library_of(e, row);
	int err = place ? 0 : -ENOSPC;

	if (!err && !*place)
		err = library_open(place, row, e->skel, e->error, sizeof(e->error));
	if (!err)
		*ret = *place;
	return err;
}

static int load_http2(struct ebee *e)
{
	struct http2 **place = &e->lifecycles.http2;

	return *place ? 0 : http2_open(place, e->skel, e->error, sizeof(e->error));
}

static int load_readsend(struct ebee *e)
{
	struct readsend **place = &e->lifecycles.readsend;

	return *place ? 0 : readsend_open(place, e->skel, e->error, sizeof(e->error));
}

int lifecycle_load_choices(struct ebee *e, enum ebee_lifecycle asked)
{
	struct library *unused;

	load_library(e, &ebee_library_grpc, &unused);
	if (asked == EBEE_AUTO)
		load_http2(e);
	e->error[0] = '\0';
	return asked == EBEE_STUDY ? load_readsend(e) : 0;
}

int lifecycle_enter(struct ebee *e, unsigned int service, enum ebee_lifecycle lifecycle, const struct ebee_library *row)
{
	struct library *library;
	int err = 0;

	if (row) {
		err = load_library(e, row, &library);
		if (!err) {
			library_add(library, service);
			e->lifecycles.services[service].row = row;
		}
	} else if (lifecycle == EBEE_HTTP2) {
		err = load_http2(e);
		if (!err)
			err = http2_add(e->lifecycles.http2, service);
	} else if (lifecycle == EBEE_READ_SEND) {
		err = load_readsend(e);
		if (!err)
			err = readsend_add(e->lifecycles.readsend, service);
	}
	return err;
}

int lifecycle_try_library(struct ebee *e, unsigned int service, const struct ebee_library *row)
{
	struct library *library;
	int err = load_library(e, row, &library);

	if (err)
		return err;
	library_add(library, service);
	err = library_attach(library, e->error, sizeof(e->error));
	if (library_is_attached(library, service))
		err = 0; /* it is another service that has it not */
	else if (!err)
		err = -ESRCH; /* no process */
	library_remove(library, service);
	return err;
}

static bool wants_library(const struct lifecycle *l, const struct ebee_library *row)
{
	return l->row == row || (lifecycle_chooses(l->asked) && row == &ebee_library_grpc);
}

static bool wants_http2(const struct lifecycle *l)
{
	return l->asked == EBEE_AUTO || l->in_use == EBEE_HTTP2;
}

static bool wants_readsend(const struct lifecycle *l)
{
	return l->asked == EBEE_STUDY || l->in_use == EBEE_READ_SEND;
}

void lifecycle_unload(struct ebee *e)
{
	struct lifecycles *all = &e->lifecycles;
	bool http2 = false, readsend = false;

	for (unsigned int i = 0; i < e->nr_services; i++) {
		http2 |= wants_http2(&all->services[i]);
		readsend |= wants_readsend(&all->services[i]);
	}
	if (!http2) {
		http2_close(all->http2);
		all->http2 = NULL;
	}
	if (!readsend) {
		readsend_close(all->readsend);
		all->readsend = NULL;
	}
	for (struct library **at = all->libraries; at < all->libraries + LIFECYCLE_MAX_LIBRARIES; at++) {
		bool wanted = false;

		for (unsigned int i = 0; *at && i < e->nr_services; i++)
			wanted |= wants_library(&all->services[i], library_row(*at));
		if (!wanted) {
			library_close(*at);
			*at = NULL;
		}
	}
}

void lifecycle_exit(struct ebee *e, unsigned int service)
{
	struct lifecycles *all = &e->lifecycles;
	struct lifecycle *l = &all->services[service];

	for (unsigned int i = 0; i < LIFECYCLE_MAX_LIBRARIES; i++)
		if (all->libraries[i])
			library_remove(all->libraries[i], service);
	if (all->http2)
		http2_remove(all->http2, service);
	if (all->readsend)
		readsend_remove(all->readsend, service);
	l->row = NULL;
	l->in_use = EBEE_EXCHANGE;
	lifecycle_unload(e);
}

void lifecycle_close(struct ebee *e)
{
	for (unsigned int i = 0; i < LIFECYCLE_MAX_LIBRARIES; i++)
		library_close(e->lifecycles.libraries[i]);
	http2_close(e->lifecycles.http2);
	readsend_close(e->lifecycles.readsend);
}

/* ---- at a sweep -------------------------------------------------------------------------------------------------- */

int lifecycle_seed(struct ebee *e)
{
	struct lifecycles *all = &e->lifecycles;
	int err = 0;

	if (all->http2)
		http2_refresh(all->http2);
	if (all->readsend)
		readsend_refresh(all->readsend);
	for (unsigned int i = 0; !err && i < LIFECYCLE_MAX_LIBRARIES; i++) {
		if (!all->libraries[i])
			continue;
		library_refresh(all->libraries[i]);
		err = library_attach(all->libraries[i], e->error, sizeof(e->error));
	}
	return err;
}

bool lifecycle_is_pending(struct ebee *e)
{
	bool any = false;

	for (unsigned int i = 0; i < LIFECYCLE_MAX_LIBRARIES; i++)
		any |= e->lifecycles.libraries[i] && library_is_pending(e->lifecycles.libraries[i]);
	any |= e->lifecycles.http2 && http2_is_pending(e->lifecycles.http2);
	any |= e->lifecycles.readsend && readsend_is_pending(e->lifecycles.readsend);
	return any;
}

int lifecycle_sweep(struct ebee *e)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < LIFECYCLE_MAX_LIBRARIES; i++)
		if (e->lifecycles.libraries[i])
			err = library_sweep(e->lifecycles.libraries[i]);
	if (!err && e->lifecycles.http2)
		err = http2_sweep(e->lifecycles.http2);
	if (!err && e->lifecycles.readsend)
		err = readsend_sweep(e->lifecycles.readsend);
	return err;
}

void lifecycle_look_for_libraries(struct ebee *e)
{
	char unwanted[1]; /* ebee_seed has said it */

	for (unsigned int i = 0; i < LIFECYCLE_MAX_LIBRARIES; i++)
		if (e->lifecycles.libraries[i] && library_is_waiting(e->lifecycles.libraries[i]))
			library_attach(e->lifecycles.libraries[i], unwanted, sizeof(unwanted));
}

/* ---- for windows and statistics ---------------------------------------------------------------------------------- */

uint64_t lifecycle_nr_missed(const struct ebee *e)
{
	uint64_t nr = e->lifecycles.readsend ? readsend_nr_missed(e->lifecycles.readsend) : 0;

	for (unsigned int i = 0; i < LIFECYCLE_MAX_LIBRARIES; i++)
		nr += e->lifecycles.libraries[i] ? library_nr_missed(e->lifecycles.libraries[i]) : 0;
	return nr;
}

bool lifecycle_is_unprobed(const struct ebee *e, unsigned int service)
{
	for (unsigned int i = 0; i < LIFECYCLE_MAX_LIBRARIES; i++) {
		const struct library *l = e->lifecycles.libraries[i];

		if (l && library_has(l, service))
			return !library_was_hit(l, service);
	}
	return false;
}

void lifecycle_each_object(const struct ebee *e, void (*fn)(const struct bpf_object *object, void *ctx), void *ctx)
{
	for (unsigned int i = 0; i < LIFECYCLE_MAX_LIBRARIES; i++)
		if (e->lifecycles.libraries[i])
			fn(library_object(e->lifecycles.libraries[i]), ctx);
	if (e->lifecycles.http2)
		fn(http2_object(e->lifecycles.http2), ctx);
	if (e->lifecycles.readsend)
		fn(readsend_object(e->lifecycles.readsend), ctx);
}
