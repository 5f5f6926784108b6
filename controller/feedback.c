// SPDX-License-Identifier: GPL-2.0
/*
 * feedback.c - pure: two samples of one window become one.  It judges neither and reads nothing itself.
 */
#include "feedback.h"

#include <string.h>

static struct sample_other beside(const struct sample *s)
{
	if (s->signal == POLICY_LOST)
		return (struct sample_other){ 0 };
	return (struct sample_other){ true, s->nr_completed, s->p50_ns, s->p95_ns, s->p99_ns, s->steer_ns };
}

/* What the client waited in place of what the kernel saw of it. */
static void put_client_first(struct sample *s, const struct sample *client)
{
	if (s->signal == POLICY_LOST) {
		*s = *client;
		return;
	}
	s->other = beside(s);
	s->nr_completed = client->nr_completed;
	s->nr_late = client->nr_late;
	s->mean_ns = client->mean_ns;
	s->p50_ns = client->p50_ns;
	s->p95_ns = client->p95_ns;
	s->p99_ns = client->p99_ns;
	s->steer_ns = client->steer_ns;
	s->signal = client->signal;
}

static int read_both(void *ctx, uint64_t now_ns, struct sample *samples, uint32_t nr_services)
{
	struct feedback *f = ctx;
	bool client_first = f->kind == CONFIG_FEEDBACK_CLIENT_FIRST;
	int kernel_err = f->kernel.read(f->kernel.ctx, now_ns, samples, nr_services);
	int client_err = f->client.read(f->client.ctx, now_ns, f->reported, nr_services);
	int err = client_first ? client_err : kernel_err;
	bool clients_alone = client_first && (kernel_err || f->kernel_failed);

	f->kernel_failed = kernel_err != 0;
	for (uint32_t i = 0; !err && i < nr_services; i++) {
		if (clients_alone)
			samples[i] = f->reported[i];
		else if (client_first)
			put_client_first(&samples[i], &f->reported[i]);
		else if (!client_err)
			samples[i].other = beside(&f->reported[i]);
	}
	return err;
}

struct sensor feedback_port(struct feedback *f)
{
	if (feedback_has_other(f->kind))
		return (struct sensor){ .ctx = f, .read = read_both };
	return f->kind == CONFIG_FEEDBACK_CLIENT ? f->client : f->kernel;
}
