// SPDX-License-Identifier: GPL-2.0
/*
 * parties_paper.c - PARTIES (Chen, Delimitrou, Martinez, ASPLOS 2019, section 4) as the paper describes it.  Pure.
 *
 * Two kinds of windows alternate.  MAIN looks at every service's slack and moves at most one unit: to the neediest
 * service, or else away from the one with most to spare.  WATCH looks at that one service again and judges the move:
 * an upsize that did not help is kept but the service tries another resource next time; a downsize that hurt is undone
 * at once.  So one action costs two windows, unless `overlap` lets a window do both.  The resources form a ring, and
 * with `storage` two (wheel.h).  Where the paper is silent a comment says "decision N", and the test of that name shows it.
 *
 * It does not model, predict or remember loads, and it migrates nobody: a mix that stays violated is only reported.
 */
#include "wheel.h"

enum option { OVERLAP, MERGE_THIN, STALL_IS_VIOLATION, ANY_SERVICE, VIOLATED_PAYS, NEXT_NEEDIEST, BOOST, LOCK_S, STORAGE };
static const struct policy_option options[] = {
	[OVERLAP] = { "overlap", POLICY_NO_YES, .help =
		"Whether the window that judges an action is also the one the next action rests on.\n"
		"An action then costs one window, otherwise two." },
	[MERGE_THIN] = { "merge_thin", POLICY_NO_YES, .help =
		"Whether windows of a service are judged together until they hold 200 requests or span 10 s." },
	[STALL_IS_VIOLATION] = { "stall_is_violation", POLICY_NO_YES, .help =
		"Whether a service that completes nothing while a request is overdue counts as violated at once,\n"
		"otherwise after 5 s." },
	[ANY_SERVICE] = { "any_service", POLICY_NO_YES, .help =
		"Whether a downsize is undone when any service is short of slack after it, otherwise only when its own is." },
	[VIOLATED_PAYS] = { "violated_pays", POLICY_NO_YES, .standard = 1, .help =
		"Whether a service that misses its own target may have to give to one that is worse off." },
	[NEXT_NEEDIEST] = { "next_neediest", POLICY_NO_YES, .help =
		"Whether the next service that is short of slack is served when the neediest can be given nothing,\n"
		"otherwise nobody is." },
	[BOOST] = { "boost", POLICY_NO_YES, .standard = 1, .help =
		"Whether the steps above nominal speed may be used." },
	[LOCK_S] = { "lock_s", .standard = 30, .max = 3600, .help =
		"Seconds for which a service gives nothing after a downsize was undone." },
	[STORAGE] = { "storage", POLICY_NO_YES, .help =
		"Whether\n.Ic memory_high\nand\n.Ic io_max\n"
		"of best-effort work are moved, by tenths of what is configured and down to one.\n"
		"A service takes from them where compute did not help and less than 1 GB of memory is free,\n"
		"and those with\n.Ql storage = disk\nat other times too." },
};

static const uint64_t infeasible_ns = 60000000000;

struct paper {
	struct wheel wheel;
	bool violated;
	uint64_t violated_since_ns;
};

/* Decision 12.  A service that waits for its verdict keeps the last one. */
static bool infeasible_event(struct paper *p, uint64_t now_ns, const struct policy_view *view)
{
	bool violated = false;

	for (uint32_t i = 0; i < view->nr_services; i++)
		violated |= p->wheel.services[i].slack_permille < 0 &&
			    (p->wheel.services[i].judged || view->services[i].nr_in_flight);
	if (violated && !p->violated)
		p->violated_since_ns = now_ns;
	p->violated = violated;
	if (!violated || now_ns - p->violated_since_ns < infeasible_ns)
		return false;
	p->violated_since_ns = now_ns;
	return true;
}

/* Decision 4: smallest slack, ties in configuration order.  After `last`, if that is a service. */
static int32_t find_neediest(const struct wheel *w, const struct policy_view *view, int32_t last)
{
	const struct wheel_service *services = w->services;
	int32_t neediest = POLICY_NOBODY;

	for (int32_t i = 0; i < (int32_t)view->nr_services; i++) {
		bool after = last == POLICY_NOBODY || services[i].slack_permille > services[last].slack_permille ||
			     (services[i].slack_permille == services[last].slack_permille && i > last);

		if (services[i].judged && after &&
		    (neediest == POLICY_NOBODY || services[i].slack_permille < services[neediest].slack_permille))
			neediest = i;
	}
	return neediest;
}

/* Decision 4: largest slack among those that are not locked and have something to give. */
static int32_t find_donor(const struct wheel *w, uint64_t now_ns, const struct policy_view *view,
			  const struct wheel_rules *rules, struct policy_decision *d)
{
	int32_t donor = POLICY_NOBODY;

	for (uint32_t i = 0; i < view->nr_services; i++) {
		const struct wheel_service *mine = &w->services[i];

		if (!mine->judged || mine->slack_permille <= WHEEL_GIVES_ABOVE || 
		    !wheel_may_give(w, now_ns, view, rules, i, d))
			continue;
		if (donor == POLICY_NOBODY || mine->slack_permille > w->services[donor].slack_permille)
			donor = (int32_t)i;
	}
	return donor;
}

static void main_window(struct wheel *w, uint64_t now_ns, const struct policy_view *view,
			const struct wheel_rules *rules, struct rng *rng, struct policy_decision *d)
{
	int32_t subject = find_neediest(w, view, POLICY_NOBODY);
	bool moved;

	for (uint32_t i = 0; i < view->nr_services; i++)
		if (!w->services[i].judged)
			wheel_reject(d, (int32_t)i, POLICY_NR_RESOURCES, POLICY_REFUSED_BLIND);
	if (subject == POLICY_NOBODY) {
		d->reason = POLICY_REASON_NO_SIGNAL;
		return;
	}
	if (w->services[subject].slack_permille >= WHEEL_NEEDS_BELOW) {
		subject = find_donor(w, now_ns, view, rules, d);
		if (subject != POLICY_NOBODY)
			wheel_act(w, now_ns, view, rules, (uint32_t)subject, POLICY_DOWN, rng, d);
		return;
	}
	do {
		wheel_act(w, now_ns, view, rules, (uint32_t)subject, POLICY_UP, rng, d);
		moved = d->direction != POLICY_HOLD;
		subject = find_neediest(w, view, subject);
	} while (!moved && view->options[NEXT_NEEDIEST] && subject != POLICY_NOBODY &&
		 w->services[subject].slack_permille < WHEEL_NEEDS_BELOW);
}

static bool hurts(const struct wheel *w, const struct policy_view *view)
{
	for (uint32_t i = 0; i < view->nr_services; i++)
		if ((i == (uint32_t)w->watched || view->options[ANY_SERVICE]) && w->services[i].judged &&
		    w->services[i].slack_permille < WHEEL_NEEDS_BELOW)
			return true;
	return false;
}

static void watch_window(struct wheel *w, uint64_t now_ns, const struct policy_view *view,
			 const struct wheel_rules *rules, struct rng *rng, struct policy_decision *d)
{
	struct wheel_service *mine = &w->services[w->watched];

	d->reason = POLICY_REASON_WATCH;
	d->subject = w->watched;
	d->resource = mine->resource;
	if (!mine->judged) {
		wheel_reject(d, d->subject, d->resource, POLICY_REFUSED_BLIND);
		if (!wheel_is_overdue(w, now_ns, rules))
			return; /* the verdict waits (decision 13) */
	} else if (mine->direction == POLICY_UP) {
		if (mine->latency_ns > w->latency_before_ns)
			wheel_advance(w, view, rules, rng);
		else
			mine->nr_fruitless = 0;
	} else if (hurts(w, view) && wheel_may_undo(w, view, d)) {
		wheel_undo(w, now_ns, view, rules, view->options[LOCK_S] * UINT64_C(1000000000), rng, d);
	}
	w->watched = POLICY_NOBODY;
}

static void paper_init(void *state, uint64_t now_ns, const struct policy_view *view, struct policy_decision *ret)
{
	struct paper *p = state;

	*p = (struct paper){ .violated = false };
	wheel_init(&p->wheel, now_ns, view, ret);
}

static void paper_step(void *state, uint64_t now_ns, const struct policy_view *view, struct rng *rng,
		       struct policy_decision *ret)
{
	const struct wheel_rules rules = {
		.feeds_be = true, .violated_pays = view->options[VIOLATED_PAYS], .boost = view->options[BOOST],
		.merge_thin = view->options[MERGE_THIN], .stall_is_violation = view->options[STALL_IS_VIOLATION],
		.storage = view->options[STORAGE],
	};
	struct paper *p = state;
	bool infeasible, watched;

	wheel_begin(&p->wheel, now_ns, view, &rules, ret);
	infeasible = infeasible_event(p, now_ns, view);
	watched = p->wheel.watched != POLICY_NOBODY;
	if (watched)
		watch_window(&p->wheel, now_ns, view, &rules, rng, ret);
	/* Never two moves in a step: after an undone one MAIN waits. */
	if (!watched ||
	    (view->options[OVERLAP] && p->wheel.watched == POLICY_NOBODY && ret->direction == POLICY_HOLD))
		main_window(&p->wheel, now_ns, view, &rules, rng, ret);
	ret->infeasible = infeasible;
	wheel_end(&p->wheel, ret);
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
