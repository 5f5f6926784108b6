// SPDX-License-Identifier: GPL-2.0
/*
 * policy.c - the list of policies, stable words for records, slack, and the check every decision passes before it is
 * applied.  Pure; it decides nothing.
 */
#include "policy.h"

#include <errno.h>
#include <string.h>

static const struct policy_ops *const policies[] = {
	&policy_parties_paper, &policy_parties_released, &policy_adaptive, &policy_heracles, &policy_static,
};
enum { NR_POLICIES = sizeof(policies) / sizeof(policies[0]) };

const struct policy_ops *policy_find(const char *name)
{
	for (unsigned int i = 0; i < NR_POLICIES; i++)
		if (!strcmp(policies[i]->name, name))
			return policies[i];
	return NULL;
}

uint64_t policy_interval_ns(const struct policy_ops *policy)
{
	enum { USUAL_MS = 500 };

	return (policy && policy->interval_ms ? policy->interval_ms : USUAL_MS) * UINT64_C(1000000);
}

const char *policy_name(unsigned int i)
{
	return i < NR_POLICIES ? policies[i]->name : NULL;
}

void policy_default_options(const struct policy_ops *policy, uint32_t ret[POLICY_MAX_OPTIONS])
{
	for (uint32_t i = 0; i < POLICY_MAX_OPTIONS; i++)
		ret[i] = i < policy->nr_options ? policy->options[i].standard : 0;
}

const char *policy_reason_name(enum policy_reason reason)
{
	static const char *const names[POLICY_NR_REASONS] = { "start",	  "hold",   "watch",	 "upsize",
							      "downsize", "revert", "exhausted", "no-signal" };

	return names[reason];
}

const char *policy_refusal_name(enum policy_refusal refusal)
{
	static const char *const names[POLICY_NR_REFUSALS] = { "at-limit", "no-donor", "locked", "blind", "scarce" };

	return names[refusal];
}

const char *policy_resource_name(enum policy_resource resource)
{
	static const char *const names[POLICY_NR_RESOURCES + 1] = { "core", "cache", "speed", "memory", "disk", "none" };

	return names[resource];
}

const char *policy_direction_name(enum policy_direction direction)
{
	static const char *const names[] = { "hold", "up", "down" };

	return names[direction];
}

const char *policy_signal_name(enum policy_signal signal)
{
	static const char *const names[] = { "fresh", "thin", "idle", "stalled", "lost" };

	return names[signal];
}

/* Rounded down, so that the smallest violation is negative.  64 bits suffice for targets up to half a year. */
int32_t policy_slack_permille(uint64_t target_ns, uint64_t latency_ns)
{
	uint64_t excess_ns;

	if (latency_ns <= target_ns)
		return (int32_t)((target_ns - latency_ns) * 1000 / target_ns);
	excess_ns = latency_ns - target_ns;
	if (excess_ns / target_ns >= INT32_MAX / 1000)
		return INT32_MIN;
	return -(int32_t)(excess_ns / target_ns * 1000 + (excess_ns % target_ns * 1000 + target_ns - 1) / target_ns);
}

static const char *check_service(const struct policy_view *view, const struct policy_service *service,
				 const struct policy_share *share)
{
	if (share->cores < service->min.cores || share->cores > service->max.cores)
		return "a service's cores are outside its limits";
	if (view->nr_ways && (share->ways < service->min.ways || share->ways > service->max.ways))
		return "a service's cache ways are outside its limits";
	if (view->nr_speeds > 1 ? share->speed >= view->nr_speeds : share->speed != 0)
		return "a service's speed is not on the ladder";
	if (view->nr_speeds > 1 && (share->speed < service->min.speed || share->speed > service->max.speed))
		return "a service's speed is outside its limits";
	return NULL;
}

/* At least one unit of what there is. */
static bool is_part(uint32_t units, uint32_t of)
{
	return of ? units >= 1 && units <= of : !units;
}

int policy_decision_check(const struct policy_view *view, const struct policy_decision *d, const char **ret_why)
{
	uint64_t cores = (uint64_t)d->be_cores + d->idle_cores, ways = (uint64_t)d->be_ways + d->idle_ways;
	const char *why = NULL;

	for (uint32_t i = 0; i < view->nr_services && !why; i++) {
		cores += d->shares[i].cores;
		ways += d->shares[i].ways;
		why = check_service(view, &view->services[i], &d->shares[i]);
	}
	if (!why && cores != view->nr_cores)
		why = "the cores do not add up to those of the machine";
	if (!why && ways != view->nr_ways)
		why = "the cache ways do not add up to those of the machine";
	if (!why && !view->has_be && (d->be_cores || d->be_ways))
		why = "best-effort work owns something although there is none";
	if (!why && (!is_part(d->be_memory, view->nr_memory) || !is_part(d->be_disk, view->nr_disk)))
		why = "best-effort work has no unit of its memory or disk, or more than there are";
	if (why && ret_why)
		*ret_why = why;
	return why ? -EINVAL : 0;
}
