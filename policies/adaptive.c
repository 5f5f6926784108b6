// SPDX-License-Identifier: GPL-2.0
/*
 * adaptive.c - gives every service at once what it is predicted to need, and corrects the prediction by what it sees.
 * Pure.
 *
 * Every window, for every service: the cheapest pair of cores and speed whose predicted latency (demand.h) is well
 * inside the target.  More is given at once, to several services in one step; less only after the smaller share looked
 * enough for a while.  Between the two nothing moves.  Whether a share was enough is told by the requests that were
 * late with it: how many more than may be, against what chance does.  Where wishes exceed the machine, the service for
 * which it costs least gives a core for speed; then the one that is predicted to stay furthest below its target.  When
 * for some seconds that serves not everybody, as predicted and as seen, the machine is reported as too small, and
 * services named last in the configuration go short until all have fitted for as long.
 *
 * "Cheapest": a busy core draws one third, and two thirds with the square of its speed; an idle one an eighth; and
 * where there is best-effort work, a core is worth what that would do with it.  Nothing here is read from the machine.
 *
 * It moves no cache and migrates nobody.  Without a signal nothing is taken away.
 */
#include "demand.h"
#include "shares.h"

#include <math.h>
#include <string.h>

static const uint64_t patience_ns = 1000000000, infeasible_ns = 3000000000, again_ns = 60000000000;
/* Parts of it, each of which can be left out to see what it is worth. */
enum part { TWO_QUEUES, IN_ORDER };
#define PART(text) POLICY_NO_YES, .standard = 1, .help = text
static const struct policy_option options[] = {
	[TWO_QUEUES] = { "two_queues", PART(
		"Whether a queue for each core is thought of beside one for all; what expects better is believed.") },
	[IN_ORDER] = { "in_order", PART(
		"Whether services named last go short on a machine that was found too small.\n"
		"Otherwise all share in it.") },
};
#undef PART

static const double goal = 0.88, limit = 0.95; /* of the target: what is chosen, and what is left */
static const double least_missed = 0.9; /* of it: what the latency is believed to have been where it was missed */
static const double sure = 1.5;       /* standard deviations of what chance does to the number of late requests */
static const double reluctance = 1.1; /* by less than that of the longest latency nothing is gained by a move */
static const double worthwhile = 0.03, overload = 1000, short_strain = 1.2;
static const double idle_cost = 0.125, parked_cost = 0.03, best_effort_worth = 0.6;
static const double squeezed = 1e6; /* above any cost */

/* A share and what it costs, in busy cores at nominal speed. */
struct option {
	struct policy_share share;
	double cost;
	bool holds;     /* predicted to be enough */
	uint32_t floor; /* cores that nobody may take */
};

struct adaptive_service {
	struct demand demand;
	struct policy_share last;     /* of the window before */
	double too_many;              /* late requests with this share, less those that may be; never below 0 */
	double chance;                /* its variance, as requests that wait are late together */
	uint64_t spare_since_ns;
	bool has_spare;
	double missed;                /* latency in targets while violated, else 0 */
};

struct adaptive {
	struct adaptive_service services[POLICY_MAX_SERVICES];
	bool too_small; /* the machine, for all of them */
	uint64_t changed_ns, reported_ns;
};

static void reject(struct policy_decision *d, uint32_t service, enum policy_resource resource, enum policy_refusal why)
{
	if (d->nr_rejected < POLICY_MAX_REJECTED)
		d->rejected[d->nr_rejected++] = (struct policy_rejected){ (int32_t)service, resource, why };
}

static bool same_share(const struct policy_share *a, const struct policy_share *b)
{
	return a->cores == b->cores && a->speed == b->speed && a->ways == b->ways;
}

static double cost_of(const struct adaptive_service *mine, const struct policy_view *view, uint32_t cores,
		      uint32_t speed)
{
	double work = demand_work(&mine->demand, speed);
	double pace = demand_cost_ns(&mine->demand, view->nominal_speed) / demand_cost_ns(&mine->demand, speed);

	if (work > cores)
		work = cores;
	return work * (1 + 2 * pace * pace) / 3 + (cores - work) * idle_cost +
	       cores * (view->has_be ? best_effort_worth : -parked_cost);
}

/* Speeds worth having, both inclusive.  A quota saves no energy and shows nothing until it bites. */
static void speed_range(const struct policy_view *view, const struct policy_service *s, uint32_t *low, uint32_t *high)
{
	uint32_t top = view->nr_speeds > 1 ? view->nr_speeds - 1 : 0;

	*high = s->max.speed < top ? s->max.speed : top;
	*low = s->min.speed < *high && !view->speed_is_quota ? s->min.speed : *high;
}

/* Nothing is enough: as much as there is, but no more cores than keep requests from queueing. */
static struct option best_effort_option(const struct adaptive_service *mine, const struct policy_view *view,
					const struct policy_service *s, uint32_t most, uint32_t speed)
{
	struct option o = { .share = { most, s->have.ways, speed } };
	double enough = 2 * mine->demand.busy_rate * demand_cost_ns(&mine->demand, speed) / 1e9 + 2;

	if (enough < s->min.cores)
		enough = s->min.cores;
	if (enough < most)
		o.share.cores = (uint32_t)enough;
	o.cost = cost_of(mine, view, o.share.cores, speed);
	return o;
}

static struct option choose(const struct adaptive_service *mine, const struct policy_view *view,
			    const struct policy_service *s, uint32_t most)
{
	uint32_t low, high;
	struct option best = { 0 };

	speed_range(view, s, &low, &high);
	for (uint32_t speed = low; speed <= high; speed++) {
		struct option o = { .share = { 0, s->have.ways, speed }, .holds = true };

		if (!demand_may_try(&mine->demand, speed))
			continue;
		if (best.holds && cost_of(mine, view, demand_least_cores(&mine->demand, speed), speed) >= best.cost)
			continue;
		o.share.cores = demand_cores(&mine->demand, speed, goal * (double)s->target_ns, s->min.cores, most);
		if (o.share.cores > most)
			continue;
		o.cost = cost_of(mine, view, o.share.cores, speed);
		if (!best.holds || o.cost < best.cost)
			best = o;
	}
	return best.holds ? best : best_effort_option(mine, view, s, most, high);
}

/* More requests are late with this share than may be, and than chance explains. */
static bool is_violated(struct adaptive_service *mine, const struct policy_service *s)
{
	double late = (double)(s->nr_late + s->nr_listen_drops);

	mine->too_many += late - (double)s->nr_completed * s->late_permille / 1000;
	mine->chance += late * sqrt(late);
	if (mine->too_many <= 0 || !same_share(&s->have, &mine->last))
		mine->too_many = mine->chance = 0;
	mine->last = s->have;
	return s->signal == POLICY_STALLED || mine->too_many > sure * sqrt(mine->chance + 1);
}

static struct option keep(const struct adaptive_service *mine, const struct policy_view *view,
			  const struct policy_share *now)
{
	return (struct option){ *now, cost_of(mine, view, now->cores, now->speed), true };
}

/* The prediction was wrong or cannot be made: one core more, at full speed. */
static struct option step_up(const struct adaptive_service *mine, const struct policy_view *view,
			     const struct policy_service *s, const struct policy_share *now)
{
	struct policy_share more = *now;
	uint32_t low;

	speed_range(view, s, &low, &more.speed);
	if (more.cores < s->max.cores)
		more.cores++;
	return keep(mine, view, &more);
}

/* Less must look enough for a while. */
static bool may_shrink(struct adaptive_service *mine, uint64_t now_ns, bool spare)
{
	if (!spare || !mine->has_spare)
		mine->spare_since_ns = now_ns;
	mine->has_spare = spare;
	return spare && now_ns - mine->spare_since_ns >= patience_ns;
}

/* Nothing may be taken from a service that cannot show whether it misses it. */
static bool is_blind(const struct adaptive_service *mine, const struct policy_service *s)
{
	return s->signal == POLICY_LOST || s->signal == POLICY_STALLED ||
	       (!mine->demand.known && s->signal != POLICY_IDLE);
}

/* What the service should have, whatever the others want.  `now` is what it has. */
static struct option wish(struct adaptive_service *mine, uint64_t now_ns, const struct policy_view *view, uint32_t i,
			  const struct policy_share *now, struct policy_decision *d)
{
	const struct policy_service *s = &view->services[i];
	struct option best, here = keep(mine, view, now);
	bool violated, enough, spare;

	if (s->signal == POLICY_LOST) {
		reject(d, i, POLICY_NR_RESOURCES, POLICY_REFUSED_BLIND);
		return here;
	}
	violated = is_violated(mine, s);
	mine->missed = violated ? (double)s->latency_ns / (double)s->target_ns : 0;
	if (is_blind(mine, s))
		return violated ? step_up(mine, view, s, now) : here;
	enough = demand_latency_ns(&mine->demand, demand_rush(&mine->demand), now->cores, now->speed) <=
		 limit * (double)s->target_ns;
	best = choose(mine, view, s, s->max.cores);
	spare = enough && !violated && best.holds && best.cost < here.cost * (1 - worthwhile);
	if (may_shrink(mine, now_ns, spare))
		return best;
	/* Where nothing is enough, what was not missed so far stays. */
	if (!violated)
		return enough || (!best.holds && best.share.cores <= now->cores) ? here : best;
	if (!mine->demand.began_queued)
		demand_correct(&mine->demand, s, least_missed * (double)s->target_ns);
	mine->too_many = mine->chance = 0;
	best = choose(mine, view, s, s->max.cores);
	return best.share.cores > now->cores || best.share.speed > now->speed ? best : step_up(mine, view, s, now);
}

/* The predicted latency in targets, whatever is queued now. */
static double strain(const struct adaptive_service *mine, const struct policy_service *s,
		     const struct policy_share *share)
{
	const struct demand *d = &mine->demand;
	double predicted = demand_latency_ns(d, d->rate, share->cores, share->speed);

	return predicted / (predicted < DEMAND_ENDLESS_NS ? (double)s->target_ns : DEMAND_ENDLESS_NS / overload);
}

/*
 * A service with a core less and how much it misses it: least where more than it had may help or not (stalled), then
 * where speed makes up for it, the cheapest first, then where the latency stays furthest below the target.
 */
struct loss {
	struct option less;
	double missed;
	bool possible;
};

static struct loss without_core(const struct adaptive *a, const struct policy_view *view, uint32_t i,
				const struct option *wanted)
{
	const struct policy_service *s = &view->services[i];
	struct loss l = { .less = *wanted, .possible = wanted->share.cores > wanted->floor };
	uint32_t low;

	if (!l.possible)
		return l;
	l.less.share.cores--;
	if (s->signal == POLICY_STALLED) {
		l.missed = -squeezed;
		return l;
	}
	l.less = choose(&a->services[i], view, s, wanted->share.cores - 1);
	l.missed = l.less.cost - wanted->cost;
	if (!l.less.holds || a->services[i].missed > 0) {
		l.less = *wanted;
		l.less.share.cores--;
		speed_range(view, s, &low, &l.less.share.speed);
		l.missed = squeezed + strain(&a->services[i], s, &l.less.share);
	}
	l.less.floor = wanted->floor;
	return l;
}

/* Who gives a core: who misses it least, of equals who is named last; `in_order`: of those who miss it, the last. */
static int32_t choose_donor(const struct policy_view *view, const struct loss *losses, bool in_order)
{
	int32_t who = POLICY_NOBODY;

	for (uint32_t i = 0; i < view->nr_services; i++) {
		if (!losses[i].possible)
			continue;
		if (who == POLICY_NOBODY || losses[i].missed <= losses[who].missed ||
		    (in_order && losses[who].missed > squeezed))
			who = (int32_t)i;
	}
	return who;
}

/* Makes the wishes fit the machine, core by core.  Returns how much who gave misses it, at most. */
static double fit(const struct adaptive *a, const struct policy_view *view, bool in_order, struct option *wanted)
{
	struct loss losses[POLICY_MAX_SERVICES];
	double missed = 0;
	uint32_t sum = 0;

	for (uint32_t i = 0; i < view->nr_services; i++)
		sum += wanted[i].share.cores;
	for (uint32_t i = 0; i < view->nr_services && sum > view->nr_cores; i++)
		losses[i] = without_core(a, view, i, &wanted[i]);
	while (sum > view->nr_cores) {
		int32_t who = choose_donor(view, losses, in_order);

		if (who == POLICY_NOBODY)
			break;
		missed = losses[who].missed > missed ? losses[who].missed : missed;
		sum -= wanted[who].share.cores - losses[who].less.share.cores;
		wanted[who] = losses[who].less;
		losses[who] = without_core(a, view, (uint32_t)who, &wanted[who]);
	}
	return missed;
}

/*
 * Where cores are short, wishes shift with every window's chance: all stay, though not slower than was fitted, unless who
 * is worst off gains clearly.
 */
static void stay_unless_better(const struct adaptive *a, const struct policy_view *view, struct option *fitted)
{
	double worst_now = 0, worst_then = 0;
	uint32_t sum = 0;

	for (uint32_t i = 0; i < view->nr_services; i++) {
		const struct policy_service *s = &view->services[i];
		const struct policy_share *now = &s->have;
		double here = strain(&a->services[i], s, now), there = strain(&a->services[i], s, &fitted[i].share);

		if (now->cores < s->min.cores || now->cores > s->max.cores || now->speed > s->max.speed)
			return;
		worst_now = here > worst_now ? here : worst_now;
		worst_then = there > worst_then ? there : worst_then;
		sum += now->cores;
	}
	if (sum != view->nr_cores || worst_now >= worst_then * reluctance)
		return;
	for (uint32_t i = 0; i < view->nr_services; i++) {
		const struct policy_share *now = &view->services[i].have;

		fitted[i].share.cores = now->cores;
		if (fitted[i].share.speed < now->speed)
			fitted[i].share.speed = now->speed;
	}
}

static void hand_out(const struct policy_view *view, const struct option *wanted, struct policy_decision *d)
{
	uint32_t left = view->nr_cores;

	for (uint32_t i = 0; i < view->nr_services; i++) {
		d->shares[i].cores = wanted[i].share.cores;
		d->shares[i].speed = wanted[i].share.speed;
		left -= wanted[i].share.cores;
	}
	d->be_cores = view->has_be ? left : 0;
	d->idle_cores = view->has_be ? 0 : left;
}

/* The record names one service: the one that gains most, or else the one that gives most. */
static void explain(const struct policy_decision *before, uint32_t nr_services, struct policy_decision *d)
{
	int64_t most_up = 0, most_down = 0;

	for (uint32_t i = 0; i < nr_services; i++) {
		int64_t cores = (int64_t)d->shares[i].cores - before->shares[i].cores;
		int64_t speed = (int64_t)d->shares[i].speed - before->shares[i].speed;
		int64_t change = cores * DEMAND_MAX_SPEEDS + speed;

		if (change > most_up || (most_up == 0 && change < most_down)) {
			d->subject = (int32_t)i;
			d->resource = cores ? POLICY_CORE : POLICY_SPEED;
			d->direction = change > 0 ? POLICY_UP : POLICY_DOWN;
			d->reason = change > 0 ? POLICY_REASON_UPSIZE : POLICY_REASON_DOWNSIZE;
		}
		if (change > most_up)
			most_up = change;
		if (change < most_down)
			most_down = change;
	}
	for (uint32_t i = 0; i < nr_services && d->direction == POLICY_UP; i++)
		if (d->shares[i].cores < before->shares[i].cores)
			d->victim = (int32_t)i;
	if (d->victim == POLICY_NOBODY && d->be_cores != before->be_cores)
		d->victim = POLICY_BE;
}

/*
 * The machine is too small when no division of it serves everybody for a while, as predicted and as seen.  From then on
 * those named first are served, until all have fitted for as long.
 */
static bool is_too_small(struct adaptive *a, uint64_t now_ns, const struct policy_view *view, bool somebody_short)
{
	bool missed = false;

	for (uint32_t i = 0; i < view->nr_services; i++)
		missed |= a->services[i].missed > 0;
	if (a->too_small ? somebody_short : !somebody_short)
		a->changed_ns = now_ns;
	if (now_ns - a->changed_ns < infeasible_ns || !(a->too_small || missed))
		return false;
	a->too_small = !a->too_small;
	a->changed_ns = a->reported_ns = now_ns;
	return a->too_small;
}

/* The event: when the machine has become too small, and again after each minute in which it stays so. */
static bool infeasible_event(struct adaptive *a, uint64_t now_ns, const struct policy_view *view, bool somebody_short)
{
	if (is_too_small(a, now_ns, view, somebody_short))
		return true;
	if (!a->too_small || now_ns - a->reported_ns < again_ns)
		return false;
	a->reported_ns = now_ns;
	return true;
}

static void adaptive_init(void *state, uint64_t now_ns, const struct policy_view *view, struct policy_decision *ret)
{
	struct adaptive *a = state;

	*a = (struct adaptive){ .changed_ns = now_ns };
	for (uint32_t i = 0; i < view->nr_services; i++) {
		demand_init(&a->services[i].demand, view->options[TWO_QUEUES]);
	}
	shares_split(view, ret);
	ret->reason = POLICY_REASON_START;
}

static void adaptive_step(void *state, uint64_t now_ns, const struct policy_view *view, struct rng *rng,
			  struct policy_decision *ret)
{
	struct adaptive *a = state;
	struct option wanted[POLICY_MAX_SERVICES], fitted[POLICY_MAX_SERVICES];
	struct policy_decision before;
	double missed;
	bool somebody_short;

	(void)rng;
	shares_keep(view, ret);
	before = *ret;
	for (uint32_t i = 0; i < view->nr_services; i++) {
		struct adaptive_service *mine = &a->services[i];
		const struct policy_service *s = &view->services[i];

		demand_observe(&mine->demand, s, view->window_ns);
		wanted[i] = wish(mine, now_ns, view, i, &before.shares[i], ret);
		wanted[i].floor = is_blind(mine, s) ? before.shares[i].cores : s->min.cores;
	}
	memcpy(fitted, wanted, view->nr_services * sizeof(wanted[0]));
	missed = fit(a, view, false, fitted);
	somebody_short = missed > squeezed + short_strain;
	ret->infeasible = infeasible_event(a, now_ns, view, somebody_short);
	if (a->too_small && view->options[IN_ORDER]) {
		memcpy(fitted, wanted, view->nr_services * sizeof(wanted[0]));
		fit(a, view, true, fitted);
	} else if (missed > squeezed) {
		stay_unless_better(a, view, fitted);
	}
	hand_out(view, fitted, ret);
	explain(&before, view->nr_services, ret);
	if (somebody_short)
		ret->reason = POLICY_REASON_EXHAUSTED;
	else if (ret->direction == POLICY_HOLD && ret->nr_rejected == view->nr_services)
		ret->reason = POLICY_REASON_NO_SIGNAL;
}

const struct policy_ops policy_adaptive = {
	.name = "adaptive",
	.help = "Learns what each service needs (its rate, the CPU time of a request at each speed,\n"
		"how its latency grows as its cores fill up) and gives that at once, to several services in one step;\n"
		"with best-effort work it "
		"saves cores, without it energy.\n"
		"Where the machine is too small, which it reports within seconds, services named last go short.\n",
	.state_size = sizeof(struct adaptive),
	.interval_ms = 100,
	.options = options,
	.nr_options = sizeof(options) / sizeof(options[0]),
	.init = adaptive_init,
	.step = adaptive_step,
};
