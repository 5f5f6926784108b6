// SPDX-License-Identifier: GPL-2.0
/*
 * wheel.c - one unit at a time along the ring of resources.  Pure.  It chooses no subject and judges no action.
 */
#include "wheel.h"

#include "shares.h"

enum { NOTHING_KNOWN_PERMILLE = 1000, ENOUGH_REQUESTS = 200 };

static const uint64_t verdict_ns = 5000000000, merge_ns = 10000000000, scarce_bytes = UINT64_C(1) << 30;

void wheel_reject(struct policy_decision *d, int32_t service, enum policy_resource resource, enum policy_refusal why)
{
	if (d->nr_rejected < POLICY_MAX_REJECTED)
		d->rejected[d->nr_rejected++] = (struct policy_rejected){ service, resource, why };
}

/*
 * Whether this window completes a verdict, whose latency is then *latency_ns.  Of few requests a percentile is the worst
 * one, so the worst of the merged windows stands for all of them.
 */
static bool merge(struct wheel_service *mine, uint64_t now_ns, uint64_t window_ns, const struct policy_service *s,
		  uint64_t *latency_ns)
{
	if (!mine->nr_merged) {
		mine->merged_since_ns = now_ns - window_ns;
		mine->merged_worst_ns = 0;
	}
	mine->nr_merged += s->nr_completed;
	if (s->latency_ns > mine->merged_worst_ns)
		mine->merged_worst_ns = s->latency_ns;
	*latency_ns = mine->merged_worst_ns;
	if (mine->nr_merged < ENOUGH_REQUESTS && now_ns - mine->merged_since_ns < merge_ns && !s->nr_listen_drops)
		return false;
	mine->nr_merged = 0;
	return true;
}

/*
 * Decision 13: without a completion there is no verdict, for at most 5 s; then requests in flight prove a violation of
 * at least the age of the oldest.  A connection turned away is as good as a request completed too late.
 */
static void listen(struct wheel_service *mine, uint64_t now_ns, uint64_t window_ns, const struct policy_service *s,
		   const struct wheel_rules *rules)
{
	bool completed = (s->nr_completed || s->nr_listen_drops) && s->signal != POLICY_LOST;
	bool stalled = rules->stall_is_violation && s->signal == POLICY_STALLED && !completed;
	uint64_t latency_ns = s->latency_ns;

	if (completed || !s->nr_in_flight)
		mine->heard_ns = now_ns;
	if (rules->merge_thin && (completed || mine->nr_merged))
		completed = merge(mine, now_ns, window_ns, s, &latency_ns);
	mine->judged = completed || stalled || now_ns - mine->heard_ns >= verdict_ns;
	if (!mine->judged)
		return;
	if (completed)
		mine->latency_ns = latency_ns;
	else
		mine->latency_ns = s->oldest_ns > s->target_ns ? s->oldest_ns : s->target_ns + 1;
	mine->slack_permille = policy_slack_permille(s->target_ns, mine->latency_ns);
}

static bool is_storage(enum policy_resource resource)
{
	return resource >= POLICY_NR_COMPUTE;
}

/*
 * Whether a service may try a resource at all, its limits aside.  Whoever serves from memory alone has no use for the disk;
 * it gets memory only where that is scarce, and gives it only where it is not.
 */
static bool is_open(const struct policy_view *view, const struct wheel_rules *rules, uint32_t service,
		    enum policy_direction direction, enum policy_resource resource)
{
	bool on_disk = view->services[service].on_disk, scarce = view->memory_slack_bytes < scarce_bytes;

	if (!shares_total(view, resource) || (is_storage(resource) && !rules->storage))
		return false;
	if (resource == POLICY_MEMORY)
		return on_disk || scarce == (direction == POLICY_UP);
	return resource != POLICY_DISK || on_disk;
}

/*
 * Decision 7: only what the machine lacks is skipped here; limits are looked at when taking.  Stays on its wheel: compute
 * or storage.
 */
static enum policy_resource next_resource(const struct policy_view *view, enum policy_resource resource)
{
	do
		resource = resource == POLICY_NR_COMPUTE - 1	? POLICY_CORE :
			   resource == POLICY_NR_RESOURCES - 1 ? POLICY_MEMORY :
								 resource + 1;
	while (!shares_total(view, resource));
	return resource;
}

/* One of the first `nr` resources, of those that are open, all equally likely. */
static enum policy_resource draw(const struct policy_view *view, const struct wheel_rules *rules, uint32_t service,
				 enum policy_direction direction, enum policy_resource nr, struct rng *rng)
{
	enum policy_resource drawn = POLICY_CORE;
	uint64_t skip;
	uint32_t nr_open = 0;

	for (enum policy_resource r = 0; r < nr; r++)
		nr_open += is_open(view, rules, service, direction, r);
	skip = rng_below(rng, nr_open);
	while (!is_open(view, rules, service, direction, drawn) || skip--)
		drawn++;
	return drawn;
}

/* Decision 6: one draw per entry into a direction. */
static void enter(const struct policy_view *view, const struct wheel_rules *rules, struct wheel_service *mine,
		  uint32_t service, enum policy_direction direction, struct rng *rng)
{
	if (mine->direction == direction)
		return;
	mine->direction = direction;
	mine->nr_fruitless = 0;
	mine->resource = draw(view, rules, service, direction, POLICY_NR_RESOURCES, rng);
}

static uint32_t nr_compute(const struct policy_view *view)
{
	uint32_t nr = 0;

	for (enum policy_resource r = 0; r < POLICY_NR_COMPUTE; r++)
		nr += shares_total(view, r) > 0;
	return nr;
}

/* The first resource of the storage wheel that is open where a turn of compute was in vain; POLICY_NR_RESOURCES: none. */
static enum policy_resource find_storage(const struct policy_view *view, const struct wheel_rules *rules, uint32_t service,
					 enum policy_direction direction)
{
	enum policy_resource resource = POLICY_MEMORY;

	if (direction == POLICY_UP && view->memory_slack_bytes >= scarce_bytes)
		return POLICY_NR_RESOURCES;
	while (resource < POLICY_NR_RESOURCES && !is_open(view, rules, service, direction, resource))
		resource++;
	return resource;
}

void wheel_advance(struct wheel *w, const struct policy_view *view, const struct wheel_rules *rules, struct rng *rng)
{
	uint32_t service = (uint32_t)w->watched;
	struct wheel_service *mine = &w->services[service];
	enum policy_resource storage = find_storage(view, rules, service, mine->direction);

	if (is_storage(mine->resource)) {
		mine->resource = draw(view, rules, service, mine->direction, POLICY_NR_COMPUTE, rng);
		mine->nr_fruitless = 0;
	} else if (mine->direction == POLICY_UP && ++mine->nr_fruitless >= nr_compute(view) &&
		   storage < POLICY_NR_RESOURCES) {
		mine->resource = storage;
	} else {
		mine->resource = next_resource(view, mine->resource);
	}
}

/* Of storage a service has what best effort has not. */
static bool above_floor(const struct policy_view *view, const struct policy_decision *d, uint32_t i,
			enum policy_resource resource)
{
	if (is_storage(resource))
		return (resource == POLICY_MEMORY ? d->be_memory : d->be_disk) < shares_total(view, resource);
	return shares_total(view, resource) &&
	       shares_count(&d->shares[i], resource) > shares_count(&view->services[i].min, resource);
}

static bool below_ceiling(const struct policy_view *view, const struct policy_decision *d, uint32_t i,
			  enum policy_resource resource, bool boost)
{
	uint32_t ceiling = shares_count(&view->services[i].max, resource), top = shares_total(view, resource) - 1;

	if (resource == POLICY_SPEED && !boost && view->nominal_speed < top)
		top = view->nominal_speed;
	if (resource == POLICY_SPEED && ceiling > top)
		ceiling = top;
	return shares_count(&d->shares[i], resource) < ceiling;
}

/* Decision 8: the LC service that can pay with the largest slack. */
static int32_t find_victim(const struct wheel *w, const struct policy_view *view, const struct policy_decision *d,
			   uint32_t subject, enum policy_resource resource, bool violated_pays)
{
	int32_t victim = POLICY_NOBODY;

	for (uint32_t i = 0; i < view->nr_services; i++) {
		int32_t slack_permille = w->services[i].slack_permille;

		if (i == subject || !above_floor(view, d, i, resource) || (slack_permille < 0 && !violated_pays))
			continue;
		if (victim == POLICY_NOBODY || slack_permille > w->services[victim].slack_permille)
			victim = (int32_t)i;
	}
	return victim;
}

/* A victim that is after the same thing turns to another, or the two would take it from each other for ever. */
static void pay(struct wheel *w, const struct policy_view *view, enum policy_resource resource,
		struct policy_decision *d)
{
	struct wheel_service *victim = &w->services[d->victim];

	--*shares_of(&d->shares[d->victim], resource);
	if (victim->direction == POLICY_UP && victim->resource == resource)
		victim->resource = next_resource(view, resource);
}

static bool take_from_be(uint32_t subject, enum policy_resource resource, struct policy_decision *d)
{
	if (*shares_be(d, resource) <= 1) {
		wheel_reject(d, (int32_t)subject, resource, POLICY_REFUSED_NO_DONOR);
		return false;
	}
	--*shares_be(d, resource);
	d->victim = POLICY_BE;
	return true;
}

/* Moves one unit to the subject, if somebody has it.  Speed takes from nobody. */
static bool take_unit(struct wheel *w, const struct policy_view *view, const struct wheel_rules *rules,
		      uint32_t subject, enum policy_resource resource, struct policy_decision *d)
{
	if (!is_storage(resource) && !below_ceiling(view, d, subject, resource, rules->boost)) {
		wheel_reject(d, (int32_t)subject, resource, POLICY_REFUSED_AT_LIMIT);
		return false;
	}
	if (resource == POLICY_SPEED) {
		d->shares[subject].speed++;
		return true;
	}
	if (is_storage(resource))
		return take_from_be(subject, resource, d);
	if (*shares_idle(d, resource)) {
		--*shares_idle(d, resource);
	} else if (*shares_be(d, resource)) {
		--*shares_be(d, resource);
		d->victim = POLICY_BE;
	} else {
		d->victim = find_victim(w, view, d, subject, resource, rules->violated_pays);
		if (d->victim == POLICY_NOBODY) {
			wheel_reject(d, (int32_t)subject, resource, POLICY_REFUSED_NO_DONOR);
			return false;
		}
		pay(w, view, resource, d);
	}
	++*shares_of(&d->shares[subject], resource);
	return true;
}

static uint32_t *pool(struct policy_decision *d, int32_t owner, enum policy_resource resource)
{
	return owner == POLICY_BE ? shares_be(d, resource) : shares_idle(d, resource);
}

static bool give_unit(const struct policy_view *view, const struct wheel_rules *rules, uint32_t subject,
		      enum policy_resource resource, struct policy_decision *d)
{
	if (!above_floor(view, d, subject, resource)) {
		wheel_reject(d, (int32_t)subject, resource, POLICY_REFUSED_AT_LIMIT);
		return false;
	}
	if (is_storage(resource)) {
		++*shares_be(d, resource);
		d->victim = POLICY_BE;
		return true;
	}
	--*shares_of(&d->shares[subject], resource);
	if (resource == POLICY_SPEED)
		return true;
	d->victim = view->has_be && rules->feeds_be ? POLICY_BE : POLICY_NOBODY;
	++*pool(d, d->victim, resource);
	return true;
}

bool wheel_may_give(const struct wheel *w, uint64_t now_ns, const struct policy_view *view,
		    const struct wheel_rules *rules, uint32_t service, struct policy_decision *d)
{
	if (now_ns < w->services[service].locked_until_ns) {
		wheel_reject(d, (int32_t)service, POLICY_NR_RESOURCES, POLICY_REFUSED_LOCKED);
		return false;
	}
	for (enum policy_resource r = 0; r < POLICY_NR_RESOURCES; r++)
		if (is_open(view, rules, service, POLICY_DOWN, r) && above_floor(view, d, service, r))
			return true;
	wheel_reject(d, (int32_t)service, POLICY_NR_RESOURCES, POLICY_REFUSED_AT_LIMIT);
	return false;
}

/* Round the wheel of the remembered resource, then the other wheel: storage only where a fruitless turn leads there. */
static uint32_t list_tries(const struct policy_view *view, const struct wheel_rules *rules, uint32_t subject,
			   enum policy_direction direction, enum policy_resource first,
			   enum policy_resource ret[POLICY_NR_RESOURCES])
{
	enum policy_resource other = is_storage(first) ? POLICY_CORE : find_storage(view, rules, subject, direction);
	enum policy_resource end = is_storage(first) ? POLICY_NR_COMPUTE : POLICY_NR_RESOURCES, resource = first;
	uint32_t nr = 0;

	do {
		ret[nr++] = resource;
		resource = next_resource(view, resource);
	} while (resource != first);
	for (; other < end; other++)
		if (is_open(view, rules, subject, direction, other))
			ret[nr++] = other;
	return nr;
}

static bool move_unit(struct wheel *w, const struct policy_view *view, const struct wheel_rules *rules, uint32_t subject,
		      enum policy_direction direction, enum policy_resource resource, struct policy_decision *d)
{
	if (!is_open(view, rules, subject, direction, resource)) {
		if (resource == POLICY_MEMORY)
			wheel_reject(d, (int32_t)subject, resource, POLICY_REFUSED_SCARCE);
		return false;
	}
	return direction == POLICY_UP ? take_unit(w, view, rules, subject, resource, d) :
					give_unit(view, rules, subject, resource, d);
}

void wheel_act(struct wheel *w, uint64_t now_ns, const struct policy_view *view, const struct wheel_rules *rules,
	       uint32_t subject, enum policy_direction direction, struct rng *rng, struct policy_decision *d)
{
	struct wheel_service *mine = &w->services[subject];
	enum policy_resource tries[POLICY_NR_RESOURCES];
	uint32_t nr, i = 0;

	enter(view, rules, mine, subject, direction, rng);
	d->subject = (int32_t)subject;
	nr = list_tries(view, rules, subject, direction, mine->resource, tries);
	while (i < nr && !move_unit(w, view, rules, subject, direction, tries[i], d))
		i++;
	if (i == nr) {
		d->reason = POLICY_REASON_EXHAUSTED;
		d->resource = mine->resource;
		return;
	}
	mine->resource = d->resource = tries[i];
	d->reason = direction == POLICY_UP ? POLICY_REASON_UPSIZE : POLICY_REASON_DOWNSIZE;
	d->direction = direction;
	w->watched = d->subject;
	w->acted_ns = now_ns;
	w->latency_before_ns = mine->latency_ns;
	w->receiver = d->victim;
}

bool wheel_is_at_top(const struct wheel *w, const struct policy_view *view, const struct wheel_rules *rules,
		     const struct policy_decision *d)
{
	return !below_ceiling(view, d, (uint32_t)w->watched, w->services[w->watched].resource, rules->boost);
}

bool wheel_may_undo(const struct wheel *w, const struct policy_view *view, const struct policy_decision *d)
{
	enum policy_resource resource = w->services[w->watched].resource;

	if (is_storage(resource))
		return (resource == POLICY_MEMORY ? d->be_memory : d->be_disk) > 1;
	return below_ceiling(view, d, (uint32_t)w->watched, resource, true);
}

void wheel_undo(struct wheel *w, uint64_t now_ns, const struct policy_view *view, const struct wheel_rules *rules,
		uint64_t lock_ns, struct rng *rng, struct policy_decision *d)
{
	struct wheel_service *mine = &w->services[w->watched];

	d->subject = w->watched;
	d->resource = mine->resource;
	if (!is_storage(d->resource))
		++*shares_of(&d->shares[w->watched], d->resource);
	if (d->resource != POLICY_SPEED) {
		--*pool(d, w->receiver, d->resource);
		d->victim = w->receiver;
	}
	d->reason = POLICY_REASON_REVERT;
	d->direction = POLICY_UP;
	wheel_advance(w, view, rules, rng);
	w->acted_ns = now_ns;
	mine->locked_until_ns = now_ns + lock_ns;
}

bool wheel_is_overdue(const struct wheel *w, uint64_t now_ns, const struct wheel_rules *rules)
{
	return now_ns - w->acted_ns >= (rules->merge_thin ? merge_ns : verdict_ns);
}

static bool same_allocation(const struct policy_view *view, const struct policy_decision *a,
			    const struct policy_decision *b)
{
	for (uint32_t i = 0; i < view->nr_services; i++)
		if (a->shares[i].cores != b->shares[i].cores || a->shares[i].ways != b->shares[i].ways ||
		    a->shares[i].speed != b->shares[i].speed)
			return false;
	return a->be_cores == b->be_cores && a->be_ways == b->be_ways && a->idle_cores == b->idle_cores &&
	       a->idle_ways == b->idle_ways && a->be_memory == b->be_memory && a->be_disk == b->be_disk;
}

void wheel_init(struct wheel *w, uint64_t now_ns, const struct policy_view *view, struct policy_decision *ret)
{
	*w = (struct wheel){ .watched = POLICY_NOBODY };
	for (uint32_t i = 0; i < view->nr_services; i++) {
		w->services[i].heard_ns = now_ns;
		w->services[i].slack_permille = NOTHING_KNOWN_PERMILLE;
	}
	shares_split(view, ret);
	ret->reason = POLICY_REASON_START;
	w->decided = *ret;
}

void wheel_begin(struct wheel *w, uint64_t now_ns, const struct policy_view *view, const struct wheel_rules *rules,
		 struct policy_decision *d)
{
	for (uint32_t i = 0; i < view->nr_services; i++)
		listen(&w->services[i], now_ns, view->window_ns, &view->services[i], rules);
	shares_keep(view, d);
	if (!same_allocation(view, d, &w->decided))
		w->watched = POLICY_NOBODY;
}

void wheel_end(struct wheel *w, const struct policy_decision *d)
{
	w->decided = *d;
}
