// SPDX-License-Identifier: GPL-2.0
/*
 * demand.c - the learned model of one service.  Pure; it chooses no allocation.
 */
#include "demand.h"

#include <math.h>

enum { COST_COUNT = 500, SPEED_COUNT = 1000, FEW_COUNT = 200, RATE_COUNT = 40, USUAL_WAIT_PARTS = 4 };

static const double least_memory_s = 1, sigmas_of_change = 3, sigmas_of_chance = 2, doubt = 0.07, drain_s = 0.25;
static const double step_ratio = 1.12, hoped_ratio = 1.1; /* of the costs at two speeds, where one is not known */
static const double most_trust = 0.3; /* in what half a second says of the cost, however many requests it saw */
static const double full = 0.97, log_of_100 = 4.605, endless_ns = DEMAND_ENDLESS_NS;
/* Of a service about which nothing is known; the wait of an exponential or a nearly constant request lies within it. */
static const double first_tail = 0.55, first_wait = -1.4, var_first_tail = 1, var_first_wait = 0.1;
static const double least_wait = -2, drift = 0.0005; /* of both, from one lesson to the next */
/* What chance does to the logarithm of a percentile: its variance is of_one / (requests + count) + of_any. */
static const double chance_of_one = 9, chance_count = 8, chance_of_any = 0.01;
/* How long is looked until something is learned: of a cost, of waiting, and of either where requests are few. */
static const double look_ns = 0.5e9, waits_ns = 2e9, few_ns = 10e9;
static const double euler = 0.577, surprise_fades = 0.98, sure = 4;

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

void demand_init(struct demand *d, bool two_queues)
{
	*d = (struct demand){ .two_queues = two_queues, .bunching = 1 };
	for (int kind = 0; kind < DEMAND_NR_KINDS; kind++)
		d->queues[kind] = (struct demand_queue){ .tail = first_tail, .wait = first_wait,
							 .var_tail = var_first_tail, .var_wait = var_first_wait };
}

/* Two windows that know nothing of each other differ by the root of their sum. */
static void observe_bunching(struct demand *d, double nr)
{
	double change = nr - d->nr_before, sum = nr + d->nr_before;

	if (sum > 0)
		d->bunching += (smaller(change * change / sum, 4 * d->bunching) - d->bunching) / 20;
	d->bunching = larger(d->bunching, 1);
	d->nr_before = nr;
}

/* A rate that chance does not explain is a new rate; otherwise it is averaged. */
static void observe_rate(struct demand *d, const struct policy_service *s, double window_s)
{
	double rate = (double)s->nr_arrived / window_s, change = rate - d->rate;
	double chance = sqrt(d->bunching * larger(d->rate, rate) / window_s);

	if (fabs(change) > sigmas_of_change * chance + d->bunching / window_s)
		d->memory_s = 0;
	d->memory_s = smaller(d->memory_s, larger(least_memory_s, RATE_COUNT * d->bunching / d->rate)) + window_s;
	d->rate += change * window_s / d->memory_s;
	chance = sqrt(d->bunching * d->rate / d->memory_s);
	change = rate - d->rate - sqrt(d->bunching * d->rate / window_s); /* what a ramp may have added */
	d->busy_rate = d->rate + smaller(larger(change, 0), chance) + sigmas_of_chance * chance;
}

static void observe_backlog(struct demand *d, const struct policy_service *s)
{
	double usual = s->have.cores + d->rate * (double)s->target_ns / 1e9 / USUAL_WAIT_PARTS;

	d->backlog_rate = larger((double)s->nr_in_flight - usual, 0) / larger(drain_s, (double)s->target_ns / 1e9);
}

/*
 * Until a speed is well known a different cost is the speed's; after that it is the request's.
 */
static void observe_cost(struct demand *d, uint32_t speed, double n, double span_ns, double cost_ns)
{
	double trust;

	if (d->nr_costed == 0) {
		d->slowness[speed] = 1;
		d->nr_timed[speed] = SPEED_COUNT;
	} else if (d->slowness[speed] == 0) {
		d->slowness[speed] = demand_cost_ns(d, speed) / d->cost_ns;
	}
	if (d->nr_timed[speed] < SPEED_COUNT) {
		d->slowness[speed] += (cost_ns / d->cost_ns - d->slowness[speed]) * n / (d->nr_timed[speed] + n);
		d->nr_timed[speed] += n;
		return;
	}
	trust = d->nr_costed > 0 ? smaller(n / (d->nr_costed + n), most_trust * larger(span_ns / look_ns, 1)) : 1;
	d->cost_ns += (cost_ns / d->slowness[speed] - d->cost_ns) * trust;
	d->nr_costed = smaller(d->nr_costed + n, COST_COUNT);
}

/* The percentile of the waiting time, in costs. */
static double waiting(enum demand_kind kind, double cores, double utilisation)
{
	double servers = kind == DEMAND_SHARED ? cores : 1, log_wait;

	if (utilisation <= 0)
		return 0;
	log_wait = log_of_100 + (sqrt(2 * (servers + 1)) - 1) * log(utilisation);
	return log_wait > 0 ? log_wait / (servers * (1 - utilisation)) : 0;
}

/* Of the percentile in costs. */
static double log_expected(const struct demand_queue *q, double w)
{
	return q->tail + log(1 + exp(q->wait) * w);
}

/* A percentile in costs was seen where a queue makes requests wait w; `chance` is the variance of its logarithm. */
static void learn(struct demand_queue *q, double log_seen, double w, double chance)
{
	double waited = exp(q->wait) * w, slope = waited / (1 + waited); /* of the expected by q->wait */
	double error = log_seen - log_expected(q, w);
	double along_tail = q->var_tail + slope * q->cov, along_wait = q->cov + slope * q->var_wait;
	double spread = along_tail + slope * along_wait + chance;

	q->surprise = q->surprise * surprise_fades + error * error / spread + log(spread);
	q->tail = larger(q->tail + error * along_tail / spread, 0);
	q->wait = larger(q->wait + error * along_wait / spread, least_wait);
	q->var_tail += drift - along_tail * along_tail / spread;
	q->var_wait += drift - along_wait * along_wait / spread;
	q->cov -= along_tail * along_wait / spread;
}

/* The slowest of `n` as a percentile: what it is above one cost grows with n as that of exponential requests would. */
static double slowest_as_percentile(double costs, double n)
{
	return 1 + larger(costs - 1, 0.05) * log_of_100 / (log(larger(n, 1)) + euler);
}

/* CPU time per request.  Windows of few become one, longer and longer. */
static void learn_cost(struct demand *d, const struct policy_service *s, uint64_t window_ns)
{
	struct demand_work *sum = &d->work;
	double half_done = smaller((double)s->nr_in_flight, s->have.cores) / 2;

	if (s->have.speed != sum->speed)
		*sum = (struct demand_work){ .speed = s->have.speed, .half_done = sum->half_done };
	sum->nr += (double)s->nr_completed;
	sum->cpu_ns += (double)s->cpu_ns;
	sum->span_ns += (double)window_ns;
	if (sum->nr <= 0 || sum->cpu_ns <= 0 ||
	    sum->span_ns < smaller(sum->nr < FEW_COUNT * d->bunching ? few_ns : look_ns, d->age_ns / 2))
		return;
	observe_cost(d, sum->speed, sum->nr, sum->span_ns,
		     sum->cpu_ns / larger(sum->nr + half_done - sum->half_done, 1));
	d->known = true;
	*sum = (struct demand_work){ .speed = sum->speed, .half_done = half_done };
}

/*
 * How requests wait.  In costs, windows at different speeds go together; the worst of them count most, since a window
 * that is bad holds most of those that are late.
 */
static void learn_waits(struct demand *d, const struct policy_service *s, uint64_t window_ns)
{
	struct demand_waits *sum = &d->waits;
	double n = (double)s->nr_completed, costs;
	double utilisation = (double)s->cpu_ns / ((double)window_ns * s->have.cores);

	sum->span_ns += (double)window_ns;
	if (n < FEW_COUNT)
		utilisation = demand_work(d, s->have.speed) / s->have.cores;
	/* Full cores, and a queue from before, say how long that was, not how requests wait. */
	if (n > 0 && utilisation < full && !d->began_queued) {
		costs = (double)s->latency_ns / demand_cost_ns(d, s->have.speed);
		sum->nr += n;
		sum->nr_windows++;
		sum->slowest = larger(sum->slowest, costs);
		sum->fourth_powers += n * costs * costs * costs * costs;
		sum->spare += n * (1 - utilisation) * (1 - utilisation);
		for (enum demand_kind kind = 0; kind < DEMAND_NR_KINDS; kind++)
			sum->waits[kind] += n * waiting(kind, s->have.cores, utilisation);
	}
	if (sum->nr <= 0 ||
	    sum->span_ns < smaller(sum->nr < FEW_COUNT * d->bunching ? few_ns : waits_ns, d->age_ns / 2))
		return;
	n = sum->nr;
	costs = n < FEW_COUNT * sum->nr_windows ? slowest_as_percentile(sum->slowest, n)
						: sqrt(sqrt(sum->fourth_powers / n));
	for (enum demand_kind kind = 0; kind < DEMAND_NR_KINDS; kind++)
		learn(&d->queues[kind], log(costs), sum->waits[kind] / n,
		      chance_of_one / (sum->spare / d->bunching + chance_count) + chance_of_any);
	*sum = (struct demand_waits){ 0 };
}

void demand_observe(struct demand *d, const struct policy_service *s, uint64_t window_ns)
{
	if (s->signal == POLICY_LOST || !window_ns)
		return;
	observe_bunching(d, (double)s->nr_arrived);
	observe_rate(d, s, (double)window_ns / 1e9);
	observe_backlog(d, s);
	d->began_queued = d->nr_left > s->have.cores + d->rate * (double)s->target_ns / 1e9;
	d->age_ns += (double)window_ns;
	if (s->have.speed >= DEMAND_MAX_SPEEDS || !s->have.cores)
		return;
	learn_cost(d, s, window_ns);
	if (d->known)
		learn_waits(d, s, window_ns);
	d->nr_left = (double)s->nr_in_flight;
}

/* By the nearest speed that was tried: slower ones are feared, the next faster one is hoped to help a little. */
static double slowness(const struct demand *d, uint32_t speed)
{
	uint32_t below = speed, above = speed;
	double ratio = 1;

	if (speed < DEMAND_MAX_SPEEDS && d->slowness[speed] > 0)
		return d->slowness[speed];
	while (++above < DEMAND_MAX_SPEEDS && d->slowness[above] == 0)
		ratio *= step_ratio;
	if (above < DEMAND_MAX_SPEEDS)
		return d->slowness[above] * ratio * step_ratio;
	for (ratio = 1; below > 0 && (below >= DEMAND_MAX_SPEEDS || d->slowness[below] == 0); below--)
		ratio = 1 / hoped_ratio;
	return d->slowness[below] > 0 ? d->slowness[below] * ratio : 1;
}

bool demand_may_try(const struct demand *d, uint32_t speed)
{
	if (speed >= DEMAND_MAX_SPEEDS)
		return false;
	return d->slowness[speed] > 0 || (speed + 1 < DEMAND_MAX_SPEEDS && d->slowness[speed + 1] > 0) ||
	       (speed > 0 && d->slowness[speed - 1] > 0);
}

double demand_cost_ns(const struct demand *d, uint32_t speed)
{
	return d->cost_ns * slowness(d, speed);
}

double demand_work(const struct demand *d, uint32_t speed)
{
	return d->rate * demand_cost_ns(d, speed) / 1e9;
}

double demand_rush(const struct demand *d)
{
	return d->busy_rate * (1 + doubt) + d->backlog_rate;
}

/* The share of the first model in what is believed. */
static double trust_in_shared(const struct demand *d)
{
	double lead = (d->queues[DEMAND_PER_CORE].surprise - d->queues[DEMAND_SHARED].surprise) / 2;

	return !d->two_queues || lead > sure ? 1 : lead < -sure ? 0 : 1 / (1 + exp(-lead));
}

static double latency_at(const struct demand *d, double shared, double cost_ns, double rate, uint32_t cores)
{
	double utilisation = rate * cost_ns / 1e9 / cores;
	const struct demand_queue *q = d->queues;
	double costs = 0;

	if (!cores)
		return endless_ns * rate;
	if (utilisation >= full)
		return endless_ns * utilisation;
	if (shared > 0)
		costs = shared * exp(log_expected(&q[DEMAND_SHARED], waiting(DEMAND_SHARED, cores, utilisation)));
	if (shared < 1)
		costs += (1 - shared) *
			 exp(log_expected(&q[DEMAND_PER_CORE], waiting(DEMAND_PER_CORE, cores, utilisation)));
	return cost_ns * costs;
}

/* What is known best is corrected least, and no better known after that. */
void demand_correct(struct demand *d, const struct policy_service *s, double latency_ns)
{
	double cost_ns = demand_cost_ns(d, s->have.speed), utilisation = d->rate * cost_ns / 1e9 / s->have.cores;

	if (!s->have.cores || utilisation >= full)
		return;
	for (enum demand_kind kind = 0; kind < DEMAND_NR_KINDS; kind++) {
		struct demand_queue *q = &d->queues[kind];
		double w = waiting(kind, s->have.cores, utilisation), waited = exp(q->wait) * w;
		double error = log(latency_ns / cost_ns) - log_expected(q, w), slope = waited / (1 + waited);
		double along_tail = q->var_tail + slope * q->cov, along_wait = q->cov + slope * q->var_wait;

		if (error <= 0)
			continue;
		q->tail += error * along_tail / (along_tail + slope * along_wait);
		q->wait += error * along_wait / (along_tail + slope * along_wait);
	}
}

double demand_latency_ns(const struct demand *d, double rate, uint32_t cores, uint32_t speed)
{
	return latency_at(d, trust_in_shared(d), demand_cost_ns(d, speed), rate, cores);
}

uint32_t demand_least_cores(const struct demand *d, uint32_t speed)
{
	double busy = demand_rush(d) * demand_cost_ns(d, speed) / 1e9 / full;

	return busy < UINT16_MAX ? (uint32_t)busy + 1 : UINT16_MAX; /* a guess of the first windows may be absurd */
}

uint32_t demand_cores(const struct demand *d, uint32_t speed, double latency_ns, uint32_t min, uint32_t max)
{
	double cost_ns = demand_cost_ns(d, speed), rate = demand_rush(d), shared = trust_in_shared(d);
	uint32_t cores = demand_least_cores(d, speed);

	if (cores < min)
		cores = min;
	while (cores <= max && latency_at(d, shared, cost_ns, rate, cores) > latency_ns)
		cores++;
	return cores <= max ? cores : max + 1;
}
