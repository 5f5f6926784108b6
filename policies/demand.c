// SPDX-License-Identifier: GPL-2.0
/*
 * demand.c - the learned model of one service.  Pure; it chooses no allocation.
 */
#include "demand.h"

#include <math.h>

enum { FIRST_TAIL = 3, COST_COUNT = 500, SPEED_COUNT = 1000, TAIL_COUNT = 200, FEW_COUNT = 100, USUAL_WAIT_PARTS = 4 };

static const double least_memory_s = 1, sigmas_of_change = 3, sigmas_of_chance = 2, doubt = 0.07, drain_s = 0.25;
static const double step_ratio = 1.25, hoped_ratio = 1.1; /* of the costs at two speeds, where one is not known */
static const double first_wait = 0.6, least_wait = 0.2, most_wait = 12, light_wait = 0.3, few_excess = 0.3;
static const double most_trust = 0.3; /* in what a single window says of the cost, however many requests it saw */
static const double full = 0.97, log_of_100 = 4.605, endless_ns = 1e18;

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

void demand_init(struct demand *d)
{
	*d = (struct demand){ .tail = FIRST_TAIL, .wait = first_wait };
}

/* A rate that chance does not explain is a new rate; otherwise it is averaged. */
static void observe_rate(struct demand *d, const struct policy_service *s, double window_s)
{
	double rate = (double)s->nr_arrived / window_s;
	double chance = sqrt(larger(d->rate, rate) / window_s);
	double change = rate - d->rate, memory_s = larger(least_memory_s, 2 * (double)s->target_ns / 1e9);

	if (!d->known || fabs(change) > sigmas_of_change * chance)
		d->rate = rate;
	else
		d->rate += change * window_s / (window_s + memory_s);
	chance = sqrt(d->rate / (window_s + memory_s));
	d->busy_rate = larger(d->rate, smaller(rate, d->rate + chance)) + sigmas_of_chance * chance;
}

static void observe_backlog(struct demand *d, const struct policy_service *s)
{
	double usual = s->have.cores + d->rate * (double)s->target_ns / 1e9 / USUAL_WAIT_PARTS;

	d->backlog = larger((double)s->nr_in_flight - usual, 0);
}

/* Until a speed is well known a different cost is the speed's; after that it is the request's. */
static void observe_cost(struct demand *d, const struct policy_service *s)
{
	uint32_t speed = s->have.speed;
	double n = (double)s->nr_completed, cost_ns = (double)s->cpu_ns / n, trust;

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
	trust = d->nr_costed > 0 ? smaller(n / (d->nr_costed + n), most_trust) : 1;
	d->cost_ns += (cost_ns / d->slowness[speed] - d->cost_ns) * trust;
	d->nr_costed = smaller(d->nr_costed + n, COST_COUNT);
}

/* The percentile of the waiting time, in costs. */
static double waiting(double cores, double utilisation)
{
	double log_wait;

	if (utilisation <= 0)
		return 0;
	log_wait = log_of_100 + (sqrt(2 * (cores + 1)) - 1) * log(utilisation);
	return log_wait > 0 ? log_wait / (cores * (1 - utilisation)) : 0;
}

/* A service whose cores were full says how long its queue was, not how it waits. */
static void observe_tail(struct demand *d, const struct policy_service *s, uint64_t window_ns)
{
	double n = (double)s->nr_completed, trust = larger(n / (n + TAIL_COUNT) / 2, n / (n + d->nr_tailed));
	double cores = s->have.cores, utilisation = (double)s->cpu_ns / ((double)window_ns * cores);
	double seen = (double)s->latency_ns / demand_cost_ns(d, s->have.speed), w;

	if (n < FEW_COUNT) /* the slowest of a few is no high percentile yet */
		seen *= 1 + few_excess * (1 - n / FEW_COUNT);

	if (utilisation >= full)
		return;
	w = waiting(cores, utilisation);
	if (w < light_wait || seen < d->tail)
		d->tail += (larger(seen - d->wait * w, 1) - d->tail) * trust;
	else
		d->wait += ((seen - d->tail) / w - d->wait) * trust;
	d->wait = smaller(larger(d->wait, least_wait), most_wait);
	d->nr_tailed += n;
}

void demand_observe(struct demand *d, const struct policy_service *s, uint64_t window_ns, bool settled)
{
	if (s->signal == POLICY_LOST || !window_ns)
		return;
	observe_rate(d, s, (double)window_ns / 1e9);
	observe_backlog(d, s);
	if (!s->nr_completed || !s->cpu_ns || s->have.speed >= DEMAND_MAX_SPEEDS)
		return;
	observe_cost(d, s);
	d->known = true;
	if (settled && s->have.cores && d->backlog == 0)
		observe_tail(d, s, window_ns);
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
	return d->busy_rate * (1 + doubt) + d->backlog / drain_s;
}

static double latency_at(const struct demand *d, double cost_ns, double rate, uint32_t cores)
{
	double utilisation = rate * cost_ns / 1e9 / cores;

	if (!cores || utilisation >= full)
		return endless_ns;
	return cost_ns * (d->tail + d->wait * waiting(cores, utilisation));
}

double demand_latency_ns(const struct demand *d, double rate, uint32_t cores, uint32_t speed)
{
	return latency_at(d, demand_cost_ns(d, speed), rate, cores);
}

uint32_t demand_cores(const struct demand *d, uint32_t speed, double latency_ns, uint32_t min, uint32_t max)
{
	double cost_ns = demand_cost_ns(d, speed), rate = demand_rush(d), work = rate * cost_ns / 1e9;
	uint32_t cores = min > 1 ? min : 1;

	if (cost_ns * d->tail > latency_ns || work > max)
		return max + 1;
	if (work > cores)
		cores = (uint32_t)work;
	while (cores <= max && latency_at(d, cost_ns, rate, cores) > latency_ns)
		cores++;
	return cores;
}
