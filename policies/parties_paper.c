// SPDX-License-Identifier: GPL-2.0
/*
 * parties_paper.c - PARTIES (Chen, Delimitrou, Martinez, ASPLOS 2019, section 4) as the paper describes it.  Pure.
 *
 * Two kinds of windows alternate.  MAIN looks at every service's slack and moves at most one unit: to the neediest
 * service, or else away from the one with most to spare.  WATCH looks at that one service again and judges the move:
 * an upsize that did not help is kept but the service tries another resource next time; a downsize that hurt is undone
 * at once.  So one action costs two windows, unless `overlap` lets a window do both.  The resources form a ring, CORE -> CACHE -> SPEED -> CORE; what the
 * machine lacks is skipped.  Where the paper is silent a comment says "decision N", and the test of that name shows it.
 *
 * It does not model, predict or remember loads, and it migrates nobody: a mix that stays violated is only reported.
 */
#include "shares.h"

enum option { OVERLAP };
static const struct policy_option options[] = {
	[OVERLAP] = { "overlap", POLICY_NO_YES, .help =
		"Whether the window that judges an action is also the one the next action rests on.\n"
		"An action then costs one window, otherwise two." },
};

enum { UPSIZE_BELOW_PERMILLE = 50, DOWNSIZE_ABOVE_PERMILLE = 200, NOTHING_KNOWN_PERMILLE = 1000 };

static const uint64_t lock_ns = 30000000000, infeasible_ns = 60000000000, verdict_ns = 5000000000;

struct action {
	enum policy_direction direction;
	enum policy_resource resource;
};

struct paper_service {
	struct action action;   /* what it tries next */
	bool judged;            /* this window says something about it */
	uint64_t latency_ns;    /* of the last window that did */
	int32_t slack_permille; /* likewise */
	uint64_t heard_ns;      /* when it last completed something or had nothing to complete */
	uint64_t locked_until_ns;
};

struct paper {
	struct paper_service services[POLICY_MAX_SERVICES];
	int32_t watched;            /* whose move is on trial; POLICY_NOBODY: the next window is MAIN's */
	uint64_t acted_ns;          /* when it was made */
	uint64_t latency_before_ns; /* what made us do it (decision 2) */
	int32_t receiver;           /* of a unit given: POLICY_BE or POLICY_NOBODY, the idle pool */
	bool violated;
	uint64_t violated_since_ns;
	struct policy_decision decided;
};

static void reject(struct policy_decision *d, int32_t service, enum policy_resource resource, enum policy_refusal why)
{
	if (d->nr_rejected < POLICY_MAX_REJECTED)
		d->rejected[d->nr_rejected++] = (struct policy_rejected){ service, resource, why };
}

/*
 * Decision 13: without a completion there is no verdict, for at most 5 s; then requests in flight prove a violation of
 * at least the age of the oldest.  A connection turned away is as good as a request completed too late.
 */
static void judge(struct paper *p, uint64_t now_ns, const struct policy_view *view)
{
	for (uint32_t i = 0; i < view->nr_services; i++) {
		const struct policy_service *s = &view->services[i];
		struct paper_service *mine = &p->services[i];
		bool completed = (s->nr_completed || s->nr_listen_drops) && s->signal != POLICY_LOST;

		if (completed || !s->nr_in_flight)
			mine->heard_ns = now_ns;
		mine->judged = completed || now_ns - mine->heard_ns >= verdict_ns;
		if (!mine->judged)
			continue;
		if (completed)
			mine->latency_ns = s->latency_ns;
		else
			mine->latency_ns = s->oldest_ns > s->target_ns ? s->oldest_ns : s->target_ns + 1;
		mine->slack_permille = policy_slack_permille(s->target_ns, mine->latency_ns);
	}
}

/* Decision 12.  A service that waits for its verdict keeps the last one. */
static bool infeasible_event(struct paper *p, uint64_t now_ns, const struct policy_view *view)
{
	bool violated = false;

	for (uint32_t i = 0; i < view->nr_services; i++)
		violated |= p->services[i].slack_permille < 0 &&
			    (p->services[i].judged || view->services[i].nr_in_flight);
	if (violated && !p->violated)
		p->violated_since_ns = now_ns;
	p->violated = violated;
	if (!violated || now_ns - p->violated_since_ns < infeasible_ns)
		return false;
	p->violated_since_ns = now_ns;
	return true;
}

/* Decision 7: only what the machine lacks is skipped here; limits are looked at when taking. */
static enum policy_resource next_resource(const struct policy_view *view, enum policy_resource resource)
{
	do
		resource = (resource + 1) % POLICY_NR_RESOURCES;
	while (!shares_total(view, resource));
	return resource;
}

static void advance(const struct policy_view *view, struct paper_service *mine)
{
	mine->action.resource = next_resource(view, mine->action.resource);
}

/* Decision 6: one draw per entry into a direction. */
static void enter(const struct policy_view *view, struct paper_service *mine, enum policy_direction direction,
		  struct rng *rng)
{
	uint32_t nr = 0;

	if (mine->action.direction == direction)
		return;
	for (enum policy_resource r = 0; r < POLICY_NR_RESOURCES; r++)
		nr += shares_total(view, r) > 0;
	mine->action = (struct action){ direction, POLICY_CORE };
	for (uint64_t skip = rng_below(rng, nr); skip; skip--)
		advance(view, mine);
}

static bool above_floor(const struct policy_view *view, const struct policy_decision *d, uint32_t i,
			enum policy_resource resource)
{
	return shares_total(view, resource) &&
	       shares_count(&d->shares[i], resource) > shares_count(&view->services[i].min, resource);
}

static bool below_ceiling(const struct policy_view *view, const struct policy_decision *d, uint32_t i,
			  enum policy_resource resource)
{
	uint32_t ceiling = shares_count(&view->services[i].max, resource), top = shares_total(view, resource) - 1;

	if (resource == POLICY_SPEED && ceiling > top)
		ceiling = top;
	return shares_count(&d->shares[i], resource) < ceiling;
}

/* Decision 8: the LC service that can pay with the largest slack, even if it is itself violated. */
static int32_t find_victim(const struct paper *p, const struct policy_view *view, const struct policy_decision *d,
			   uint32_t subject, enum policy_resource resource)
{
	int32_t victim = POLICY_NOBODY;

	for (uint32_t i = 0; i < view->nr_services; i++) {
		if (i == subject || !above_floor(view, d, i, resource))
			continue;
		if (victim == POLICY_NOBODY || p->services[i].slack_permille > p->services[victim].slack_permille)
			victim = (int32_t)i;
	}
	return victim;
}

/* Moves one unit to the subject, if somebody has it.  Speed takes from nobody. */
static bool take_unit(struct paper *p, const struct policy_view *view, uint32_t subject, enum policy_resource resource,
		      struct policy_decision *d)
{
	const struct action wanted = { POLICY_UP, resource };
	struct action *theirs;

	if (!below_ceiling(view, d, subject, resource)) {
		reject(d, (int32_t)subject, resource, POLICY_REFUSED_AT_LIMIT);
		return false;
	}
	if (resource == POLICY_SPEED) {
		d->shares[subject].speed++;
		return true;
	}
	if (*shares_idle(d, resource)) {
		--*shares_idle(d, resource);
	} else if (*shares_be(d, resource)) {
		--*shares_be(d, resource);
		d->victim = POLICY_BE;
	} else {
		d->victim = find_victim(p, view, d, subject, resource);
		if (d->victim == POLICY_NOBODY) {
			reject(d, (int32_t)subject, resource, POLICY_REFUSED_NO_DONOR);
			return false;
		}
		--*shares_of(&d->shares[d->victim], resource);
		theirs = &p->services[d->victim].action;
		if (theirs->direction == wanted.direction && theirs->resource == wanted.resource)
			advance(view, &p->services[d->victim]);
	}
	++*shares_of(&d->shares[subject], resource);
	return true;
}

static uint32_t *pool(struct policy_decision *d, int32_t owner, enum policy_resource resource)
{
	return owner == POLICY_BE ? shares_be(d, resource) : shares_idle(d, resource);
}

static bool give_unit(const struct policy_view *view, uint32_t subject, enum policy_resource resource,
		      struct policy_decision *d)
{
	if (!above_floor(view, d, subject, resource)) {
		reject(d, (int32_t)subject, resource, POLICY_REFUSED_AT_LIMIT);
		return false;
	}
	--*shares_of(&d->shares[subject], resource);
	if (resource == POLICY_SPEED)
		return true;
	d->victim = view->has_be ? POLICY_BE : POLICY_NOBODY;
	++*pool(d, d->victim, resource);
	return true;
}

/*
 * Tries the remembered resource, then the others in ring order, and puts the first move that is possible on trial.
 * After a fruitless turn the remembered resource stays (decision 7) and nobody is watched (decision 5).
 */
static void act(struct paper *p, uint64_t now_ns, const struct policy_view *view, uint32_t subject,
		enum policy_direction direction, struct policy_decision *d)
{
	struct paper_service *mine = &p->services[subject];
	enum policy_resource resource = mine->action.resource;
	bool moved;

	d->subject = (int32_t)subject;
	do {
		moved = direction == POLICY_UP ? take_unit(p, view, subject, resource, d) :
						 give_unit(view, subject, resource, d);
		d->resource = resource;
		resource = next_resource(view, resource);
	} while (!moved && resource != mine->action.resource);
	if (!moved) {
		d->reason = POLICY_REASON_EXHAUSTED;
		d->resource = mine->action.resource;
		return;
	}
	mine->action.resource = d->resource;
	d->reason = direction == POLICY_UP ? POLICY_REASON_UPSIZE : POLICY_REASON_DOWNSIZE;
	d->direction = direction;
	p->watched = d->subject;
	p->acted_ns = now_ns;
	p->latency_before_ns = mine->latency_ns;
	p->receiver = d->victim;
}

/* Decision 4: smallest slack, ties in configuration order. */
static int32_t find_neediest(const struct paper *p, const struct policy_view *view, struct policy_decision *d)
{
	int32_t neediest = POLICY_NOBODY;

	for (uint32_t i = 0; i < view->nr_services; i++) {
		if (!p->services[i].judged)
			reject(d, (int32_t)i, POLICY_NR_RESOURCES, POLICY_REFUSED_BLIND);
		else if (neediest == POLICY_NOBODY ||
			 p->services[i].slack_permille < p->services[neediest].slack_permille)
			neediest = (int32_t)i;
	}
	return neediest;
}

/* Decision 4: largest slack among those that are not locked and have something to give. */
static int32_t find_donor(const struct paper *p, uint64_t now_ns, const struct policy_view *view,
			  struct policy_decision *d)
{
	int32_t donor = POLICY_NOBODY;

	for (uint32_t i = 0; i < view->nr_services; i++) {
		const struct paper_service *mine = &p->services[i];

		if (!mine->judged || mine->slack_permille <= DOWNSIZE_ABOVE_PERMILLE)
			continue;
		if (now_ns < mine->locked_until_ns)
			reject(d, (int32_t)i, POLICY_NR_RESOURCES, POLICY_REFUSED_LOCKED);
		else if (!above_floor(view, d, i, POLICY_CORE) && !above_floor(view, d, i, POLICY_CACHE) &&
			 !above_floor(view, d, i, POLICY_SPEED))
			reject(d, (int32_t)i, POLICY_NR_RESOURCES, POLICY_REFUSED_AT_LIMIT);
		else if (donor == POLICY_NOBODY || mine->slack_permille > p->services[donor].slack_permille)
			donor = (int32_t)i;
	}
	return donor;
}

static void main_window(struct paper *p, uint64_t now_ns, const struct policy_view *view, struct rng *rng,
			struct policy_decision *d)
{
	enum policy_direction direction = POLICY_UP;
	int32_t subject = find_neediest(p, view, d);

	if (subject == POLICY_NOBODY) {
		d->reason = POLICY_REASON_NO_SIGNAL;
		return;
	}
	if (p->services[subject].slack_permille >= UPSIZE_BELOW_PERMILLE) {
		direction = POLICY_DOWN;
		subject = find_donor(p, now_ns, view, d);
		if (subject == POLICY_NOBODY)
			return;
	}
	enter(view, &p->services[subject], direction, rng);
	act(p, now_ns, view, (uint32_t)subject, direction, d);
}

/* The very unit comes back (decision 3); nothing else moved since it left. */
static void revert(struct paper *p, uint64_t now_ns, const struct policy_view *view, uint32_t subject,
		   struct policy_decision *d)
{
	struct paper_service *mine = &p->services[subject];

	++*shares_of(&d->shares[subject], d->resource);
	if (d->resource != POLICY_SPEED) {
		--*pool(d, p->receiver, d->resource);
		d->victim = p->receiver;
	}
	d->reason = POLICY_REASON_REVERT;
	d->direction = POLICY_UP;
	advance(view, mine);
	mine->locked_until_ns = now_ns + lock_ns;
}

static void watch_window(struct paper *p, uint64_t now_ns, const struct policy_view *view, struct policy_decision *d)
{
	uint32_t subject = (uint32_t)p->watched;
	struct paper_service *mine = &p->services[subject];

	d->reason = POLICY_REASON_WATCH;
	d->subject = p->watched;
	d->resource = mine->action.resource;
	if (!mine->judged) {
		reject(d, d->subject, d->resource, POLICY_REFUSED_BLIND);
		if (now_ns - p->acted_ns < verdict_ns)
			return; /* the verdict waits (decision 13) */
	} else if (mine->action.direction == POLICY_UP) {
		if (mine->latency_ns > p->latency_before_ns)
			advance(view, mine);
	} else if (mine->slack_permille < UPSIZE_BELOW_PERMILLE && below_ceiling(view, d, subject, d->resource)) {
		revert(p, now_ns, view, subject, d);
	}
	p->watched = POLICY_NOBODY;
}

static bool same_allocation(const struct policy_view *view, const struct policy_decision *a,
			    const struct policy_decision *b)
{
	for (uint32_t i = 0; i < view->nr_services; i++)
		if (a->shares[i].cores != b->shares[i].cores || a->shares[i].ways != b->shares[i].ways ||
		    a->shares[i].speed != b->shares[i].speed)
			return false;
	return a->be_cores == b->be_cores && a->be_ways == b->be_ways && a->idle_cores == b->idle_cores &&
	       a->idle_ways == b->idle_ways;
}

static void paper_init(void *state, uint64_t now_ns, const struct policy_view *view, struct policy_decision *ret)
{
	struct paper *p = state;

	*p = (struct paper){ .watched = POLICY_NOBODY };
	for (uint32_t i = 0; i < view->nr_services; i++) {
		p->services[i].heard_ns = now_ns;
		p->services[i].slack_permille = NOTHING_KNOWN_PERMILLE;
	}
	shares_split(view, ret);
	ret->reason = POLICY_REASON_START;
	p->decided = *ret;
}

static void paper_step(void *state, uint64_t now_ns, const struct policy_view *view, struct rng *rng,
		       struct policy_decision *ret)
{
	struct paper *p = state;
	bool infeasible, watched;

	judge(p, now_ns, view);
	infeasible = infeasible_event(p, now_ns, view);
	shares_keep(view, ret);
	/* A move that was not made, or that something else undid or mixed with, cannot be judged. */
	if (!same_allocation(view, ret, &p->decided))
		p->watched = POLICY_NOBODY;
	watched = p->watched != POLICY_NOBODY;
	if (watched)
		watch_window(p, now_ns, view, ret);
	/* Never two moves in a step: after an undone one MAIN waits. */
	if (!watched || (view->options[OVERLAP] && p->watched == POLICY_NOBODY && ret->direction == POLICY_HOLD))
		main_window(p, now_ns, view, rng, ret);
	ret->infeasible = infeasible;
	p->decided = *ret;
}

const struct policy_ops policy_parties_paper = {
	.name = "parties-paper",
	.help = "The published algorithm: one unit per step, kept or undone by what the next window shows.\n",
	.state_size = sizeof(struct paper),
	.options = options,
	.nr_options = sizeof(options) / sizeof(options[0]),
	.init = paper_init,
	.step = paper_step,
};
