// SPDX-License-Identifier: GPL-2.0
/*
 * lifecycle.c - glue of libebee: what a request is, per service, and so which programs measure it.  The lifecycles by
 * socket are the exchange programs' own; what the others need is loaded while a service has them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "handle.h"

_Static_assert((int)EBEE_CONNECTION == (int)EXCHANGE_PER_CONNECTION && (int)EBEE_GRPC == (int)EXCHANGE_BY_LIBRARY &&
		       (int)EBEE_HTTP2 == (int)EXCHANGE_BY_STREAM &&
		       (int)EBEE_NR_LIFECYCLES == (int)EXCHANGE_NR_LIFECYCLES,
	       "public and kernel lifecycles have the same order");

static void add_feature(struct ebee *e, const char *feature)
{
	if (!strstr(e->features, feature))
		strncat(e->features, feature, sizeof(e->features) - strlen(e->features) - 1);
}

static int enter_grpc(struct ebee *e, unsigned int service)
{
	int err = e->grpc ? 0 : grpc_open(&e->grpc, e->skel, e->error, sizeof(e->error));

	if (err)
		return err;
	grpc_add(e->grpc, service);
	add_feature(e, " grpc=uprobe");
	return 0;
}

static int enter_http2(struct ebee *e, unsigned int service)
{
	int err = e->http2 ? 0 : http2_open(&e->http2, e->skel, e->error, sizeof(e->error));

	if (err)
		return err;
	http2_add(e->http2, service);
	add_feature(e, " http2=tp_btf");
	return 0;
}

void lifecycle_leave(struct ebee *e, unsigned int service)
{
	if (e->grpc && !grpc_remove(e->grpc, service)) {
		grpc_close(e->grpc);
		e->grpc = NULL;
	}
	if (e->http2 && !http2_remove(e->http2, service)) {
		http2_close(e->http2);
		e->http2 = NULL;
	}
}

int ebee_set_lifecycle(struct ebee *e, unsigned service, enum ebee_lifecycle lifecycle)
{
	int err = 0;

	e->error[0] = '\0';
	if (service >= e->nr_services || lifecycle >= EBEE_NR_LIFECYCLES)
		return -EINVAL;
	if (e->skel->bss->lifecycle[service] == lifecycle)
		return 0;
	if (e->tracing && lifecycle > EBEE_CONNECTION) {
		snprintf(e->error, sizeof(e->error), "a handle that traces requests knows neither gRPC nor HTTP/2");
		return -EINVAL;
	}
	lifecycle_leave(e, service);
	if (lifecycle == EBEE_GRPC)
		err = enter_grpc(e, service);
	else if (lifecycle == EBEE_HTTP2)
		err = enter_http2(e, service);
	e->skel->bss->lifecycle[service] = err ? EBEE_EXCHANGE : lifecycle;
	return err;
}
