// SPDX-License-Identifier: GPL-2.0
/*
 * heracles.c - Heracles (Lo et al., ISCA 2015), a baseline: one service is protected, everybody else lives on what it does
 * not need.  Pure.
 *
 * As published.  The top-level controller looks every 15 s at latency and load of the protected service.  Slack below 0:
 * the others lose their cores, for a cool-down of five minutes.  Load above 85 %: they lose them until it is below 80 %.
 * Slack below 10 %: they do not grow; below 5 %: they keep two cores.  The core controller gives them one core every
 * 2 s while they may grow and the slack of the last look is above 10 %.
 *
 * Our interpretation, where Heracles was made for something else or needs what we do not have:
 * - It knows one latency-critical service.  Here that is the first of the configuration (or `protected`); all the other
 *   services are on the side of best-effort work, and share with it, the poorest first, what that side has.  They cannot be
 *   suspended: what is taken away leaves them their floors.
 * - What it does below a slack of 10 % holds at any load below 85 %, as its text says; read to the letter, its pseudo code
 *   does that only between 80 % and 85 %.
 * - It polls a tail latency of 15 s.  Here that is the mean of the windows' latencies, weighted by their requests; when
 *   nothing was completed but something is overdue, the age of that.
 * - Load is relative to a maximum from a profile made beforehand: `max_rps`.  Without one it is the CPU time the service
 *   uses relative to that of all cores there are, so that 85 % comes later than for a service whose maximum leaves cores idle.
 * - Its gradient descent over cores and cache asks for memory bandwidth and best-effort throughput, which are not seen
 *   here: cores and ways grow by turns.  Nor are power and network: everybody runs at nominal speed.
 * It never says that targets are infeasible.  While the signal of the protected service is lost, nobody grows.
 */
#include "shares.h"

enum option { PROTECTED, MAX_RPS, COOL_DOWN_S };
static const struct policy_option options[] = {
	[PROTECTED] = { "protected", .standard = 1, .min = 1, .max = POLICY_MAX_SERVICES, .help =
		"Which service of the configuration is protected, counted from 1; with fewer, the last." },
	[MAX_RPS] = { "max_rps", .max = UINT32_MAX, .help =
		"Requests per second that this service can take at most; 0: its load is told by the CPU time it uses." },
	[COOL_DOWN_S] = { "cool_down_s", .standard = 300, .max = 3600, .help =
		"Seconds for which the others have to do without after it missed its target." },
};

enum { LOAD_HIGH_PERMILLE = 850, LOAD_LOW_PERMILLE = 800, SLACK_GROW_PERMILLE = 100, SLACK_KEEP_PERMILLE = 50,
       NR_KEPT = 2 };

static const uint64_t poll_ns = 15000000000, grow_ns = 2000000000;

struct heracles {
	uint64_t poll_due_ns, grow_due_ns, cool_until_ns;
	bool enabled, may_grow, ways_next;
	uint64_t span_ns, nr_arrived, nr_completed, cpu_ns; /* since the last look */
	double latency_sum_ns;                              /* of completed requests */
	uint64_t overdue_ns;                                /* worst age while nothing completed */
};

static uint32_t protected_service(const struct policy_view *view)
{
	uint32_t i = view->options[PROTECTED] ? view->options[PROTECTED] - 1 : 0;

	return i < view->nr_services ? i : view->nr_services - 1;
}

static void add(struct heracles *h, const struct policy_view *view)
{
	const struct policy_service *s = &view->services[protected_service(view)];

	if (s->signal == POLICY_LOST)
		return;
	h->span_ns += view->window_ns;
	h->nr_arrived += s->nr_arrived;
	h->cpu_ns += s->cpu_ns;
	h->nr_completed += s->nr_completed;
	h->latency_sum_ns += (double)s->latency_ns * (double)s->nr_completed;
	if (s->signal == POLICY_STALLED)
		h->overdue_ns = s->oldest_ns > s->target_ns ? s->oldest_ns : s->target_ns + 1;
}

static uint64_t load_permille(const struct heracles *h, const struct policy_view *view)
{
	double share = (double)h->cpu_ns / view->nr_cores;

	if (view->options[MAX_RPS])
		share = (double)h->nr_arrived * 1e9 / view->options[MAX_RPS];
	return (uint64_t)(1000 * share / (double)h->span_ns);
}

/* The top-level controller.  Returns how many units of each kind the others may keep at most. */
static uint32_t look(struct heracles *h, uint64_t now_ns, const struct policy_view *view)
{
	uint64_t target_ns = view->services[protected_service(view)].target_ns, load = load_permille(h, view);
	uint64_t latency_ns = h->nr_completed ? (uint64_t)(h->latency_sum_ns / (double)h->nr_completed) : h->overdue_ns;
	int32_t slack = policy_slack_permille(target_ns, latency_ns);

	if (slack < 0) {
		h->enabled = false;
		h->cool_until_ns = now_ns + view->options[COOL_DOWN_S] * UINT64_C(1000000000);
	} else if (load > LOAD_HIGH_PERMILLE) {
		h->enabled = false;
	} else if (load < LOAD_LOW_PERMILLE && now_ns >= h->cool_until_ns) {
		h->enabled = true;
	}
	h->may_grow = slack > SLACK_GROW_PERMILLE;
	return !h->enabled ? 0 : slack < SLACK_KEEP_PERMILLE ? NR_KEPT : UINT32_MAX;
}

/* What the side of the others has, floors included. */
static uint32_t lent(const struct policy_view *view, struct policy_decision *d, enum policy_resource resource)
{
	uint32_t sum = *shares_be(d, resource);

	for (uint32_t i = 0; i < view->nr_services; i++)
		if (i != protected_service(view))
			sum += *shares_of(&d->shares[i], resource);
	return sum;
}

/*
 * The others' units, `most` of them if their floors and ceilings allow: one by one to the poorest, best-effort work last
 * among equals.  All the rest is the protected service's, up to its ceiling.
 */
static void divide(const struct policy_view *view, enum policy_resource resource, uint32_t most,
		   struct policy_decision *d)
{
	uint32_t total = shares_total(view, resource), sheltered = protected_service(view), used = 0, room, nr;
	uint32_t floor = shares_count(&view->services[sheltered].min, resource);
	uint32_t ceiling = shares_count(&view->services[sheltered].max, resource);

	*shares_be(d, resource) = 0;
	for (uint32_t i = 0; i < view->nr_services && total; i++)
		if (i != sheltered)
			used += *shares_of(&d->shares[i], resource) = shares_count(&view->services[i].min, resource);
	room = total > floor ? total - floor : 0;
	for (nr = most < room ? most : room; used < nr; used++) {
		uint32_t *poorest = view->has_be ? shares_be(d, resource) : NULL;

		for (uint32_t i = view->nr_services; i-- > 0;) {
			uint32_t *units = shares_of(&d->shares[i], resource);

			if (i != sheltered && *units < shares_count(&view->services[i].max, resource) &&
			    (!poorest || *units <= *poorest))
				poorest = units;
		}
		if (!poorest)
			break;
		++*poorest;
	}
	if (!total)
		return;
	*shares_of(&d->shares[sheltered], resource) = total - used < ceiling ? total - used : ceiling;
	*shares_idle(d, resource) = total - used - *shares_of(&d->shares[sheltered], resource);
}

static enum policy_resource grow(struct heracles *h, const struct policy_view *view)
{
	enum policy_resource resource = h->ways_next && view->nr_ways ? POLICY_CACHE : POLICY_CORE;

	h->ways_next = !h->ways_next;
	return resource;
}

static void explain(const struct policy_view *view, const struct policy_decision *before, struct policy_decision *d)
{
	uint32_t i = protected_service(view);

	for (enum policy_resource r = POLICY_CORE; r <= POLICY_CACHE && d->direction == POLICY_HOLD; r++) {
		uint32_t was = shares_count(&before->shares[i], r), is = shares_count(&d->shares[i], r);

		if (was == is)
			continue;
		d->subject = (int32_t)i;
		d->resource = r;
		d->direction = is > was ? POLICY_UP : POLICY_DOWN;
		d->reason = is > was ? POLICY_REASON_UPSIZE : POLICY_REASON_DOWNSIZE;
	}
}

static void heracles_init(void *state, uint64_t now_ns, const struct policy_view *view, struct policy_decision *ret)
{
	struct heracles *h = state;

	*h = (struct heracles){ .poll_due_ns = now_ns, .grow_due_ns = now_ns };
	shares_split(view, ret);
	divide(view, POLICY_CORE, 0, ret);
	divide(view, POLICY_CACHE, 0, ret);
	ret->reason = POLICY_REASON_START;
}

static void heracles_step(void *state, uint64_t now_ns, const struct policy_view *view, struct rng *rng,
			  struct policy_decision *ret)
{
	struct heracles *h = state;
	struct policy_decision before;
	uint32_t most[] = { [POLICY_CORE] = UINT32_MAX, [POLICY_CACHE] = UINT32_MAX };

	(void)rng;
	shares_keep(view, ret);
	before = *ret;
	add(h, view);
	if (now_ns >= h->poll_due_ns && h->span_ns) {
		most[POLICY_CORE] = most[POLICY_CACHE] = look(h, now_ns, view);
		*h = (struct heracles){ now_ns + poll_ns, h->grow_due_ns, h->cool_until_ns, h->enabled, h->may_grow,
					h->ways_next };
	}
	for (enum policy_resource r = POLICY_CORE; r <= POLICY_CACHE; r++)
		if (most[r] > lent(view, ret, r))
			most[r] = lent(view, ret, r);
	if (h->enabled && h->may_grow && now_ns >= h->grow_due_ns &&
	    view->services[protected_service(view)].signal != POLICY_LOST) {
		most[grow(h, view)]++;
		h->grow_due_ns = now_ns + grow_ns;
	}
	divide(view, POLICY_CORE, most[POLICY_CORE], ret);
	divide(view, POLICY_CACHE, most[POLICY_CACHE], ret);
	explain(view, &before, ret);
}

const struct policy_ops policy_heracles = {
	.name = "heracles",
	.help = "A baseline: protects one service, and gives the others and best-effort work a core every 2 s as long as\n"
		"it has slack, looking at that every 15 s.\n",
	.state_size = sizeof(struct heracles),
	.options = options,
	.nr_options = sizeof(options) / sizeof(options[0]),
	.init = heracles_init,
	.step = heracles_step,
};
