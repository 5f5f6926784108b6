// SPDX-License-Identifier: GPL-2.0
/*
 * parties_released.c - PARTIES as the controller works that its authors released, where that differs from their paper.
 * Pure.
 *
 * Made for windows of 100 ms.  It counts windows, whatever their length: the mean is of the last 10, an action is judged by
 * the next 5, so that with windows of 500 ms it is as calm as it is slow.  Only the cool-down is by the clock.
 *
 * One action at a time.  The neediest service, short of slack in this window and in the mean of the last ten, gets a unit:
 * from the idle pool, else from the service with the largest slack.  When nobody is short, the service with the largest
 * slack gives one.  Then five windows are watched: an upsize has helped when at least three were better than the one before
 * it; a downsize has failed when in at least three any service was short, and is undone.  After an undone one five more are
 * watched, and when those are bad too, five pass.  The window after a verdict is the first that decides again.
 *
 * No storage, network, best-effort work or migration: a unit given goes to the idle pool.  Not taken over are the faults of
 * the released program: a window without a completion is no sample, where that reuses the last latency silently, and it is
 * not counted among the five (for at most 5 s); a service that misses its own target does not pay, unless `violated_pays`.
 * What the released program's behaviour leaves open is decided as in the paper's profile (wheel.h).
 */
#include "wheel.h"

enum option { VIOLATED_PAYS, BOOST };
static const struct policy_option options[] = {
	[VIOLATED_PAYS] = { "violated_pays", POLICY_NO_YES, .help =
		"Whether a service that misses its own target may have to give to one that is worse off,\n"
		"as in the released program." },
	[BOOST] = { "boost", POLICY_NO_YES, .standard = 1, .help =
		"Whether the steps above nominal speed may be used." },
};

enum { NR_MEAN = 10, NR_TRIAL = 5, NR_PROOF = 3, NR_PAUSE = 5 };

static const uint64_t cool_down_ns = 10000000000;

/* What the windows to come are for. */
enum phase { DECIDE, JUDGE_UP, JUDGE_DOWN, JUDGE_UNDONE, PAUSE };

struct recent {
	uint64_t latency_ns[NR_MEAN]; /* of the last windows; 0: no sample */
	int32_t slack_permille;       /* of their mean */
};

struct released {
	struct wheel wheel;
	struct recent recent[POLICY_MAX_SERVICES];
	uint32_t at;               /* where the next sample goes */
	enum phase phase;
	uint32_t nr_seen, nr_hits; /* windows of the phase, and those of them that prove what is looked for */
};

static void remember(struct released *r, const struct policy_view *view)
{
	for (uint32_t i = 0; i < view->nr_services; i++) {
		const struct wheel_service *mine = &r->wheel.services[i];
		struct recent *recent = &r->recent[i];
		uint64_t sum_ns = 0, nr = 0;

		recent->latency_ns[r->at] = mine->judged ? mine->latency_ns : 0;
		for (uint32_t k = 0; k < NR_MEAN; k++) {
			sum_ns += recent->latency_ns[k];
			nr += recent->latency_ns[k] > 0;
		}
		if (nr)
			recent->slack_permille = policy_slack_permille(view->services[i].target_ns, sum_ns / nr);
	}
	r->at = (r->at + 1) % NR_MEAN;
}

static bool is_short(const struct wheel_service *mine)
{
	return mine->judged && mine->slack_permille < WHEEL_NEEDS_BELOW;
}

/* The smallest slack of the mean, ties in configuration order. */
static int32_t find_neediest(const struct released *r, const struct policy_view *view, bool *ret_blind,
			     struct policy_decision *d)
{
	int32_t neediest = POLICY_NOBODY;

	*ret_blind = true;
	for (uint32_t i = 0; i < view->nr_services; i++) {
		if (!r->wheel.services[i].judged) {
			wheel_reject(d, (int32_t)i, POLICY_NR_RESOURCES, POLICY_REFUSED_BLIND);
			continue;
		}
		*ret_blind = false;
		if (is_short(&r->wheel.services[i]) && r->recent[i].slack_permille < WHEEL_NEEDS_BELOW &&
		    (neediest == POLICY_NOBODY || r->recent[i].slack_permille < r->recent[neediest].slack_permille))
			neediest = (int32_t)i;
	}
	return neediest;
}

/* The largest slack of this window. */
static int32_t find_donor(const struct released *r, uint64_t now_ns, const struct policy_view *view,
			  const struct wheel_rules *rules, struct policy_decision *d)
{
	const struct wheel_service *services = r->wheel.services;
	int32_t donor = POLICY_NOBODY;

	for (uint32_t i = 0; i < view->nr_services; i++) {
		if (!services[i].judged || services[i].slack_permille <= WHEEL_GIVES_ABOVE ||
		    r->recent[i].slack_permille <= WHEEL_GIVES_ABOVE || !wheel_may_give(&r->wheel, now_ns, view, rules, i, d))
			continue;
		if (donor == POLICY_NOBODY || services[i].slack_permille > services[donor].slack_permille)
			donor = (int32_t)i;
	}
	return donor;
}

static void turn_to(struct released *r, enum phase phase)
{
	r->phase = phase;
	r->nr_seen = r->nr_hits = 0;
	if (phase == DECIDE)
		r->wheel.watched = POLICY_NOBODY;
}

static void decide(struct released *r, uint64_t now_ns, const struct policy_view *view, const struct wheel_rules *rules,
		   struct rng *rng, struct policy_decision *d)
{
	enum policy_direction direction = POLICY_UP;
	bool blind;
	int32_t subject = find_neediest(r, view, &blind, d);

	if (blind) {
		d->reason = POLICY_REASON_NO_SIGNAL;
		return;
	}
	if (subject == POLICY_NOBODY) {
		direction = POLICY_DOWN;
		subject = find_donor(r, now_ns, view, rules, d);
		if (subject == POLICY_NOBODY)
			return;
	}
	wheel_act(&r->wheel, now_ns, view, rules, (uint32_t)subject, direction, rng, d);
	if (d->direction != POLICY_HOLD)
		turn_to(r, direction == POLICY_UP ? JUDGE_UP : JUDGE_DOWN);
}

static void judge_up(struct released *r, const struct policy_view *view, const struct wheel_rules *rules,
		     struct rng *rng, const struct policy_decision *d)
{
	struct wheel *w = &r->wheel;
	const struct wheel_service *mine = &w->services[w->watched];

	r->nr_hits += mine->latency_ns < w->latency_before_ns;
	if (++r->nr_seen < NR_TRIAL)
		return;
	if (r->nr_hits < NR_PROOF || (mine->resource == POLICY_SPEED && wheel_is_at_top(w, view, rules, d)))
		wheel_advance(w, view, rules, rng);
	turn_to(r, DECIDE);
}

static void judge_down(struct released *r, uint64_t now_ns, const struct policy_view *view,
		       const struct wheel_rules *rules, struct rng *rng, struct policy_decision *d)
{
	bool failed;

	for (uint32_t i = 0; i < view->nr_services; i++) {
		if (is_short(&r->wheel.services[i])) {
			r->nr_hits++;
			break;
		}
	}
	if (++r->nr_seen < NR_TRIAL)
		return;
	failed = r->nr_hits >= NR_PROOF;
	if (failed && r->phase == JUDGE_UNDONE) {
		turn_to(r, PAUSE);
	} else if (failed && wheel_may_undo(&r->wheel, view, d)) {
		wheel_undo(&r->wheel, now_ns, view, rules, cool_down_ns, rng, d);
		turn_to(r, JUDGE_UNDONE);
	} else {
		turn_to(r, DECIDE);
	}
}

/* A window in which the subject says nothing is not one of the five, unless another service says that it is short. */
static bool counts(const struct released *r, const struct policy_view *view)
{
	if (r->wheel.services[r->wheel.watched].judged)
		return true;
	for (uint32_t i = 0; i < view->nr_services && r->phase != JUDGE_UP; i++)
		if (is_short(&r->wheel.services[i]))
			return true;
	return false;
}

static void watch(struct released *r, uint64_t now_ns, const struct policy_view *view, const struct wheel_rules *rules,
		  struct rng *rng, struct policy_decision *d)
{
	d->reason = POLICY_REASON_WATCH;
	d->subject = r->wheel.watched;
	d->resource = r->wheel.services[d->subject].resource;
	if (r->phase == PAUSE) {
		if (++r->nr_seen >= NR_PAUSE)
			turn_to(r, DECIDE);
	} else if (!counts(r, view)) {
		wheel_reject(d, d->subject, d->resource, POLICY_REFUSED_BLIND);
		if (wheel_is_overdue(&r->wheel, now_ns, rules))
			turn_to(r, DECIDE);
	} else if (r->phase == JUDGE_UP) {
		judge_up(r, view, rules, rng, d);
	} else {
		judge_down(r, now_ns, view, rules, rng, d);
	}
}

static void released_init(void *state, uint64_t now_ns, const struct policy_view *view, struct policy_decision *ret)
{
	struct released *r = state;

	*r = (struct released){ .phase = DECIDE };
	wheel_init(&r->wheel, now_ns, view, ret);
}

static void released_step(void *state, uint64_t now_ns, const struct policy_view *view, struct rng *rng,
			  struct policy_decision *ret)
{
	const struct wheel_rules rules = { .violated_pays = view->options[VIOLATED_PAYS], .boost = view->options[BOOST] };
	struct released *r = state;

	wheel_begin(&r->wheel, now_ns, view, &rules, ret);
	remember(r, view);
	if (r->wheel.watched == POLICY_NOBODY)
		turn_to(r, DECIDE);
	if (r->phase == DECIDE)
		decide(r, now_ns, view, &rules, rng, ret);
	else
		watch(r, now_ns, view, &rules, rng, ret);
	wheel_end(&r->wheel, ret);
}

const struct policy_ops policy_parties_released = {
	.name = "parties-released",
	.help = "The published algorithm as its authors' program has it.\n"
		"An action is judged over five windows, a downsize by all services; best-effort work gets nothing.\n"
		"It was made for\n.Ql interval = 100ms\n"
		"and counts windows: with longer ones all but its cool-down of 10 s takes as much longer.\n",
	.interval_ms = 100,
	.state_size = sizeof(struct released),
	.options = options,
	.nr_options = sizeof(options) / sizeof(options[0]),
	.init = released_init,
	.step = released_step,
};
