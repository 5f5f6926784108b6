// SPDX-License-Identifier: GPL-2.0
/*
 * describe.c - pure but for printf: the knobs of a machine in words.  It looks at nothing itself.
 */
#include "describe.h"

#include <stdio.h>
#include <string.h>

static void add_periods(const struct described *d, char *ret, size_t size)
{
	uint32_t low_us = UINT32_MAX, high_us = 0;

	for (uint32_t i = 0; i < d->nr_services; i++) {
		uint32_t us = bandwidth_period_us(d->groups[i].target_ns);

		low_us = us < low_us ? us : low_us;
		high_us = us > high_us ? us : high_us;
	}
	if (low_us == high_us)
		snprintf(ret, size, " period=%gms", low_us / 1e3);
	else
		snprintf(ret, size, " period=%g..%gms", low_us / 1e3, high_us / 1e3);
}

void describe_knobs(const struct described *d, char *ret, size_t size)
{
	static const char *const speeds[] = { "none", "cpufreq", "bandwidth" };
	const struct cgroup_mount *cpuset = &d->mounts->kinds[CGROUP_CPUSET];
	const char *home = cpuset->home + strlen(cpuset->dir);
	const struct speed *s = d->speed;
	size_t len;

	len = (size_t)snprintf(ret, size, "cpuset=%s%s%.100s freezer=v%d%s%s%s%s speed=%s", d->cores->by_affinity ? "none,affinity" :
			       cpuset->version == 1 ? "v1" : "v2", home[0] ? " subtree=" : "", home,
			       d->mounts->kinds[CGROUP_FREEZER].version, d->cache->ways.nr ? " cache=resctrl" : "", egress_describe(d->egress),
			       s->clocks ? " clock=" : "", s->clocks ? clocks_source_name(clocks_source(s->clocks)) : "",
			       speeds[s->ladder.kind]);
	if (s->frequency)
		len += (size_t)snprintf(ret + len, size - len, " by=%s steps=%u", s->gone ? "quota,cpufreq-refuses" :
					ladder_way_name(frequency_way(s->frequency)), s->ladder.nr_steps);
	if (s->ladder.kind == SPEED_BANDWIDTH && d->nr_services)
		add_periods(d, ret + len, size - len);
}

void describe_trouble(const struct described *d, struct trouble *ret)
{
	*ret = (struct trouble){ .speed = { d->speed->drift.nr_all, d->speed->left }, .given_up = d->speed->given_up };
	for (uint32_t i = 0; i < d->nr_groups; i++) {
		const struct group *g = &d->groups[i];
		struct trouble_knobs *knobs = i < d->nr_services ? &ret->services[i] : &ret->batches;

		knobs->nr_changed += g->drift.nr_all;
		knobs->left |= g->left_alone && !group_is_gone(g);
		if (i < d->nr_services)
			ret->nr_apart[i] = g->nr_apart;
	}
}
