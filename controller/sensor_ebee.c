// SPDX-License-Identifier: GPL-2.0
/*
 * sensor_ebee.c - port: windows of libebee as samples.  It measures nothing itself and judges nothing.
 */
#include "sensor_ebee.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "culprits.h"
#include "ebee.h"

_Static_assert((int)CONFIG_LIFECYCLE_CONNECTION == (int)EBEE_CONNECTION && (int)CONFIG_LIFECYCLE_GRPC == (int)EBEE_GRPC &&
		       (int)CONFIG_LIFECYCLE_HTTP2 == (int)EBEE_HTTP2,
	       "configuration and library agree");
_Static_assert((int)CONFIG_LIFECYCLE_READ_SEND == (int)EBEE_READ_SEND && (int)CONFIG_LIFECYCLE_AUTO == (int)EBEE_AUTO &&
		       (int)CONFIG_LIFECYCLE_EBEE == (int)EBEE_STUDY,
	       "configuration and library agree");
_Static_assert((int)CULPRITS_MAX == (int)EBEE_MAX_CULPRITS && (int)CULPRIT_COMM_SIZE == (int)EBEE_COMM_SIZE,
	       "sample and library agree");

struct sensor_ebee {
	struct ebee *ebee;
	uint32_t nr_services;
	struct ebee_window *windows[POLICY_MAX_SERVICES];
	bool by_port[POLICY_MAX_SERVICES]; /* and by nothing else */
	enum ebee_lifecycle lifecycle[POLICY_MAX_SERVICES]; /* in use when it was looked at last */
	uint32_t percentile_permille[POLICY_MAX_SERVICES];
	uint64_t target_ns[POLICY_MAX_SERVICES];
	struct match_pids known[POLICY_MAX_SERVICES]; /* processes already told to libebee */
	struct cgroup_names *names;
	uint32_t nr_reads;
	uint64_t bpf_before_ns, bpf_ns; /* at the start of the counted window; the sum, scaled */
};

enum { COUNT_ONE_OF = 10 };

/* A port's process may listen on others that are not the service's.  But libraries and descriptors are the process's. */
static bool by_port_alone(const struct config_service *service)
{
	return service->match.kind == MATCH_PORT && service->lifecycle != CONFIG_LIFECYCLE_GRPC &&
	       service->lifecycle != CONFIG_LIFECYCLE_READ_SEND && service->lifecycle != CONFIG_LIFECYCLE_EBEE;
}

/* Without data every latency is 0, and nr_completed says so. */
static uint64_t percentile(const struct ebee_window *w, enum ebee_latency which, uint32_t permille)
{
	uint64_t ns = 0;

	return ebee_window_percentile(w, which, permille, &ns) ? 0 : ns;
}

/* Looks idle, and is not: there is traffic, and none of it is measured. */
static bool is_blind(const struct ebee_window_info *info)
{
	return !info->nr_arrived && !info->nr_completed && !info->nr_in_flight &&
	       info->coverage.nr_unmeasured + info->coverage.nr_datagram + info->coverage.nr_unprobed > 0;
}

void sensor_ebee_fill(const struct ebee_window *w, const struct ebee_window_info *info, uint32_t percentile_permille,
		      uint64_t target_ns, struct sample *ret)
{
	uint64_t mean_ns = 0;

	if (ebee_window_mean(w, EBEE_OWED, &mean_ns))
		mean_ns = 0;
	*ret = (struct sample){
		.window_ns = info->length_ns,
		.nr_arrived = info->nr_arrived,
		.nr_completed = info->nr_completed,
		.mean_ns = mean_ns,
		.p50_ns = percentile(w, EBEE_OWED, 500),
		.p95_ns = percentile(w, EBEE_OWED, 950),
		.p99_ns = percentile(w, EBEE_OWED, 990),
		.total_p50_ns = percentile(w, EBEE_TOTAL, 500),
		.total_p99_ns = percentile(w, EBEE_TOTAL, 990),
		.residency_p99_ns = percentile(w, EBEE_RESIDENCY, 990),
		.service_p99_ns = percentile(w, EBEE_SERVICE, 990),
		.steer_ns = percentile(w, EBEE_OWED, percentile_permille),
		.nr_late = target_ns ? ebee_window_count_over(w, EBEE_OWED, target_ns) : 0,
		.nr_in_flight = info->nr_in_flight,
		.nr_over_target = info->nr_over_target,
		.oldest_ns = info->oldest_ns,
		.nr_listen_drops = info->nr_listen_drops,
		.has_run_delay = info->has_run_delay,
		.run_delay_ns = info->run_delay_ns,
		.signal = is_blind(info) ? POLICY_LOST : POLICY_FRESH,
	};
}

void sensor_ebee_fill_culprits(const struct ebee *e, uint32_t service, struct cgroup_names *names, struct culprits *ret)
{
	struct ebee_culprits found;

	*ret = (struct culprits){ 0 };
	if (ebee_get_culprits(e, service, &found))
		return;
	*ret = (struct culprits){
		.known = true, .nr = found.nr, .others_ns = found.others_ns, .self_ns = found.self_ns,
		.idle_ns = found.idle_ns, .throttled_ns = found.throttled_ns, .lost_ns = found.lost_ns,
	};
	for (uint32_t i = 0; i < found.nr; i++) {
		struct culprit *c = &ret->top[i];

		c->cgroup_id = found.top[i].cgroup_id;
		c->wait_ns = found.top[i].wait_ns;
		memcpy(c->comm, found.top[i].comm, sizeof(c->comm));
		/* Programs name themselves; nobody's terminal shall obey. */
		for (char *at = c->comm; *at; at++)
			if (iscntrl((unsigned char)*at))
				*at = '?';
		cgroup_names_find(names, c->cgroup_id, c->cgroup, sizeof(c->cgroup));
	}
}

int sensor_ebee_open(struct sensor_ebee **ret, const struct config *config, char *error, size_t error_size)
{
	const struct ebee_opts opts = {
		.sz = sizeof(opts),
		.nr_services = config->nr_services,
		.settle_ns = config->interval_ns,
	};
	struct sensor_ebee *s = calloc(1, sizeof(*s));
	uint32_t i;
	int err;

	if (!s)
		return -ENOMEM;
	s->names = cgroup_names_open();
	err = s->names ? ebee_open(&s->ebee, &opts, error, error_size) : -ENOMEM;
	s->nr_services = config->nr_services;
	for (i = 0; !err && i < s->nr_services; i++) {
		const struct config_service *service = &config->services[i];

		s->percentile_permille[i] = service->percentile_permille;
		s->target_ns[i] = service->target_ns;
		err = ebee_set_target(s->ebee, i, service->target_ns);
		if (!err)
			err = ebee_set_lifecycle(s->ebee, i, (enum ebee_lifecycle)service->lifecycle);
		s->lifecycle[i] = ebee_lifecycle_in_use(s->ebee, i);
		s->by_port[i] = by_port_alone(service);
		if (!err && service->match.kind == MATCH_PORT)
			err = ebee_add_port(s->ebee, i, (uint16_t)service->match.number);
		if (!err)
			err = ebee_window_open(&s->windows[i], s->ebee, i);
		if (err)
			snprintf(error, error_size, "service %s: %s", service->name,
				 ebee_error(s->ebee)[0] ? ebee_error(s->ebee) : strerror(-err));
	}
	if (!err) {
		err = ebee_seed(s->ebee);
		if (err)
			snprintf(error, error_size, "open connections could not be listed: %s", strerror(-err));
	}
	if (err)
		sensor_ebee_close(s);
	else
		*ret = s;
	return err;
}

int sensor_ebee_adopt(struct sensor_ebee *s, uint32_t service, const struct match_pids *pids)
{
	struct match_pids *known = &s->known[service];
	uint32_t i, nr_added = 0;

	if (known->nr == pids->nr && !memcmp(known->pids, pids->pids, pids->nr * sizeof(pids->pids[0])))
		return 0;
	for (i = 0; i < pids->nr; i++) {
		/* Sockets of a port are known by it; what is told of its processes is that they wait for a CPU. */
		int err = s->by_port[service] ? ebee_add_server(s->ebee, service, pids->pids[i]) :
						ebee_add_pid(s->ebee, service, pids->pids[i]);

		if (err && err != -ESRCH && (err != -ENOTSUP || !s->by_port[service])) /* gone since it was matched */
			return err;
		nr_added += !err && !s->by_port[service];
	}
	known->nr = pids->nr;
	memcpy(known->pids, pids->pids, pids->nr * sizeof(pids->pids[0]));
	return nr_added ? ebee_seed(s->ebee) : 0;
}

const char *sensor_ebee_error(const struct sensor_ebee *s)
{
	return ebee_error(s->ebee);
}

bool sensor_ebee_changed(struct sensor_ebee *s, uint32_t service, const char **ret_lifecycle, const char **ret_reason)
{
	enum ebee_lifecycle now = ebee_lifecycle_in_use(s->ebee, service);

	if (now == s->lifecycle[service])
		return false;
	s->lifecycle[service] = now;
	*ret_lifecycle = ebee_lifecycle_name(now);
	*ret_reason = ebee_lifecycle_reason(s->ebee, service);
	return true;
}

/* The window between the first and the second read of every ten is counted. */
static void count_cost(struct sensor_ebee *s)
{
	uint32_t phase = s->nr_reads++ % COUNT_ONE_OF;

	if (phase == 0) {
		s->bpf_before_ns = ebee_cpu_ns(s->ebee);
		ebee_count_cpu(s->ebee, 1);
	} else if (phase == 1) {
		ebee_count_cpu(s->ebee, 0);
		s->bpf_ns += (ebee_cpu_ns(s->ebee) - s->bpf_before_ns) * COUNT_ONE_OF;
	}
}

static int read_samples(void *ctx, uint64_t now_ns, struct sample *samples, uint32_t nr_services)
{
	struct sensor_ebee *s = ctx;
	int err = ebee_sweep(s->ebee);
	uint32_t i;

	count_cost(s);
	(void)now_ns; /* windows end when they are read; the kernel's clock is the loop's clock */
	for (i = 0; !err && i < nr_services; i++) {
		struct ebee_window_info info;

		err = ebee_window_advance(s->windows[i], &info);
		if (err)
			break;
		sensor_ebee_fill(s->windows[i], &info, s->percentile_permille[i], s->target_ns[i], &samples[i]);
		sensor_ebee_fill_culprits(s->ebee, i, s->names, &samples[i].culprits);
		samples[i].has_run_delay &= s->known[i].nr > 0; /* a port whose processes we do not see */
	}
	return err;
}

int sensor_ebee_look(struct sensor_ebee *s, bool on)
{
	return ebee_trace_culprits(s->ebee, on);
}

struct sensor sensor_ebee_port(struct sensor_ebee *s)
{
	return (struct sensor){ .ctx = s, .read = read_samples };
}

const char *sensor_ebee_features(const struct sensor_ebee *s)
{
	return ebee_features(s->ebee);
}

uint64_t sensor_ebee_bpf_ns(const struct sensor_ebee *s)
{
	return s->bpf_ns;
}

void sensor_ebee_close(struct sensor_ebee *s)
{
	uint32_t i;

	if (!s)
		return;
	for (i = 0; i < s->nr_services; i++)
		ebee_window_close(s->windows[i]);
	ebee_close(s->ebee);
	cgroup_names_close(s->names);
	free(s);
}
