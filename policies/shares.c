// SPDX-License-Identifier: GPL-2.0
/*
 * shares.c - arithmetic on units that all policies share.  Pure; it knows no latency and judges nobody.
 */
#include "shares.h"

uint32_t shares_total(const struct policy_view *view, enum policy_resource resource)
{
	switch (resource) {
	case POLICY_CORE:
		return view->nr_cores;
	case POLICY_CACHE:
		return view->nr_ways;
	case POLICY_MEMORY:
		return view->nr_memory;
	case POLICY_DISK:
		return view->nr_disk;
	default:
		return view->nr_speeds > 1 ? view->nr_speeds : 0;
	}
}

uint32_t *shares_of(struct policy_share *share, enum policy_resource resource)
{
	switch (resource) {
	case POLICY_CORE:
		return &share->cores;
	case POLICY_CACHE:
		return &share->ways;
	default:
		return &share->speed;
	}
}

uint32_t shares_count(const struct policy_share *share, enum policy_resource resource)
{
	struct policy_share copy = *share;

	return *shares_of(&copy, resource);
}

uint32_t *shares_idle(struct policy_decision *d, enum policy_resource resource)
{
	return resource == POLICY_CORE ? &d->idle_cores : &d->idle_ways;
}

uint32_t *shares_be(struct policy_decision *d, enum policy_resource resource)
{
	switch (resource) {
	case POLICY_CORE:
		return &d->be_cores;
	case POLICY_MEMORY:
		return &d->be_memory;
	case POLICY_DISK:
		return &d->be_disk;
	default:
		return &d->be_ways;
	}
}

static uint32_t clamp(uint32_t value, uint32_t min, uint32_t max)
{
	return value < min ? min : value > max ? max : value;
}

static uint32_t clamp_speed(const struct policy_view *view, const struct policy_service *service, uint32_t speed)
{
	uint32_t top = view->nr_speeds - 1;

	if (!shares_total(view, POLICY_SPEED))
		return 0;
	return clamp(speed, service->min.speed, service->max.speed < top ? service->max.speed : top);
}

static void hold(struct policy_decision *d)
{
	*d = (struct policy_decision){ .reason = POLICY_REASON_HOLD,
				       .subject = POLICY_NOBODY,
				       .victim = POLICY_NOBODY,
				       .resource = POLICY_NR_RESOURCES };
}

/* One unit at a time to the poorest service below its ceiling: limits bend the split no more than they must. */
static void split_resource(const struct policy_view *view, enum policy_resource resource, struct policy_decision *d)
{
	uint32_t left = shares_total(view, resource);

	for (uint32_t i = 0; i < view->nr_services && left; i++) {
		uint32_t floor = shares_count(&view->services[i].min, resource);

		*shares_of(&d->shares[i], resource) = floor;
		left -= floor < left ? floor : left;
	}
	while (left) {
		uint32_t *poorest = NULL;

		for (uint32_t i = 0; i < view->nr_services; i++) {
			uint32_t *units = shares_of(&d->shares[i], resource);

			if (*units < shares_count(&view->services[i].max, resource) && (!poorest || *units < *poorest))
				poorest = units;
		}
		if (!poorest)
			break;
		++*poorest;
		left--;
	}
	*shares_idle(d, resource) = left;
}

void shares_split(const struct policy_view *view, struct policy_decision *ret)
{
	hold(ret);
	split_resource(view, POLICY_CORE, ret);
	split_resource(view, POLICY_CACHE, ret);
	ret->be_memory = view->nr_memory;
	ret->be_disk = view->nr_disk;
	for (uint32_t i = 0; i < view->nr_services; i++)
		ret->shares[i].speed = clamp_speed(view, &view->services[i], view->nominal_speed);
}

/* Takes units that do not exist away from whoever misses them least; false when every service is at its floor. */
static bool take_missing(const struct policy_view *view, enum policy_resource resource, struct policy_decision *d)
{
	uint32_t *be = shares_be(d, resource), *richest = NULL, most = 0;

	if (*be) {
		--*be;
		return true;
	}
	for (uint32_t i = 0; i < view->nr_services; i++) {
		uint32_t *units = shares_of(&d->shares[i], resource);
		uint32_t above = *units - shares_count(&view->services[i].min, resource);

		if (above > most) {
			most = above;
			richest = units;
		}
	}
	if (richest)
		--*richest;
	return richest;
}

static void keep_resource(const struct policy_view *view, enum policy_resource resource, struct policy_decision *d)
{
	uint32_t total = shares_total(view, resource), used = 0;

	if (view->has_be)
		*shares_be(d, resource) = resource == POLICY_CORE ? view->be_cores : view->be_ways;
	for (uint32_t i = 0; i < view->nr_services && total; i++) {
		const struct policy_service *s = &view->services[i];
		uint32_t units = clamp(shares_count(&s->have, resource), shares_count(&s->min, resource),
				       shares_count(&s->max, resource));

		*shares_of(&d->shares[i], resource) = units;
		used += units;
	}
	used += *shares_be(d, resource);
	while (used > total && take_missing(view, resource, d))
		used--;
	*shares_idle(d, resource) = used < total ? total - used : 0;
}

void shares_keep(const struct policy_view *view, struct policy_decision *ret)
{
	hold(ret);
	keep_resource(view, POLICY_CORE, ret);
	keep_resource(view, POLICY_CACHE, ret);
	ret->be_memory = view->be_memory;
	ret->be_disk = view->be_disk;
	for (uint32_t i = 0; i < view->nr_services; i++)
		ret->shares[i].speed = clamp_speed(view, &view->services[i], view->services[i].have.speed);
}
