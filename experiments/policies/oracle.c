// SPDX-License-Identifier: GPL-2.0
/*
 * oracle.c - what nobody who steers can know: the least energy, and the most best-effort work, with which a scenario
 * can be served.  Glue over the plant's stations and the tick's sums; it steers nothing.
 *
 *	oracle SCENARIO      prints {"energy_j":J,"be_work":W,"impossible_s":S}
 *
 * For every load that occurs (in percent, with the neighbours') and every speed it plays the service alone with more
 * and more cores, until no judged window is violated and at most 1 % of the requests are late.  Then it takes, interval by
 * interval, those shares that fit the machine together and cost least, or leave most cores; switching costs it nothing.
 * Neighbours disturb by their load and not by their shares, so that services can be played one by one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/plant/plant.h"
#include "experiments/plant/station.h"
#include "totals.h"

enum { WARM_UP_NS = 2000000000, PLAY_SECONDS = 40, MAX_LEVELS = 4096 };
static const double nowhere = 1e30;

/* One service under one load: per speed the fewest cores that hold, 0 where none do, and the power they draw. */
struct level {
	uint32_t service;
	double loads[POLICY_MAX_SERVICES];
	uint32_t cores[SPEED_MAX_STEPS];
	double power_w[SPEED_MAX_STEPS];
};

struct oracle {
	struct plant *plant;
	uint32_t nr_services, nr_cores, nr_speeds;
	uint32_t nr_levels;
	struct level *levels[MAX_LEVELS];
};

static void die(const char *why)
{
	fprintf(stderr, "oracle: %s\n", why);
	exit(1);
}

/* False when the share does not hold; else the power in *ret. */
static bool play(const struct oracle *o, const struct level *l, uint32_t cores, uint32_t speed, double *ret)
{
	const struct config *config = plant_config(o->plant);
	uint64_t interval_ns = config->interval_ns;
	struct config alone = { .nr_services = 1 };
	struct policy_view view = { .window_ns = interval_ns, .nr_services = 1, .nr_cores = cores };
	struct totals totals = { 0 };
	struct judge *judge = &totals.judges[0];
	struct station *station;
	struct sample sample;

	if (plant_open_alone(o->plant, l->service, l->loads, cores, speed, &station))
		die("not enough memory");
	alone.services[0] = config->services[l->service];
	view.services[0].target_ns = alone.services[0].target_ns;
	view.services[0].have = (struct policy_share){ cores, 0, speed };
	for (uint64_t now_ns = interval_ns; now_ns <= PLAY_SECONDS * UINT64_C(1000000000) && !judge->violated_ns;
	     now_ns += interval_ns) {
		station_advance(station, now_ns);
		station_read(station, interval_ns, &sample);
		view.services[0].cpu_ns = sample.cpu_ns;
		if (now_ns > WARM_UP_NS)
			totals_add(&totals, &alone, plant_ladder(o->plant), &view, &sample, true);
	}
	station_close(station);
	judge_close_window(judge, alone.services[0].percentile_permille);
	*ret = totals.energy_j / totals.span_s;
	return !judge->violated_ns && judge->nr_late_requests * 100 <= judge->nr_requests;
}

/* From the fastest speed down: a slower one never needs fewer cores. */
static struct level *explore(struct oracle *o, uint32_t service, const double *loads)
{
	struct level *l = calloc(1, sizeof(*l));
	uint32_t cores = 1, floor = plant_config(o->plant)->services[service].cores_min;

	if (!l || o->nr_levels == MAX_LEVELS)
		die("too many different loads");
	l->service = service;
	memcpy(l->loads, loads, sizeof(l->loads));
	if (cores < floor)
		cores = floor;
	for (uint32_t speed = o->nr_speeds; speed-- > 0;) {
		while (cores <= o->nr_cores && !play(o, l, cores, speed, &l->power_w[speed]))
			cores++;
		l->cores[speed] = cores <= o->nr_cores ? cores : 0;
	}
	fprintf(stderr, "\roracle: %u loads played", o->nr_levels + 1);
	return o->levels[o->nr_levels++] = l;
}

static const struct level *level_of(struct oracle *o, uint32_t service, const double *loads)
{
	for (uint32_t i = 0; i < o->nr_levels; i++) {
		const struct level *l = o->levels[i];

		if (l->service == service && !memcmp(l->loads, loads, sizeof(l->loads)))
			return l;
	}
	return explore(o, service, loads);
}

/* Adds one service to what its forerunners cost: cost[n] is the least with n cores in use. */
static void add_service(const struct oracle *o, const struct level *l, double *cost)
{
	double with[TOPOLOGY_MAX_CORES + 1];

	for (uint32_t n = 0; n <= o->nr_cores; n++) {
		with[n] = nowhere;
		for (uint32_t speed = 0; speed < o->nr_speeds; speed++) {
			uint32_t cores = l->cores[speed];

			if (cores && cores <= n && cost[n - cores] + l->power_w[speed] < with[n])
				with[n] = cost[n - cores] + l->power_w[speed];
		}
	}
	memcpy(cost, with, sizeof(*cost) * (o->nr_cores + 1));
}

/* An interval under `loads`, for itself: the machine with the services alone, empty of best-effort work. */
static void serve(struct oracle *o, const double *loads, double dt, struct totals *energy, struct totals *work,
		  double *impossible_s)
{
	struct policy_view view = { .window_ns = (uint64_t)(dt * 1e9), .nr_cores = o->nr_cores };
	double cost[TOPOLOGY_MAX_CORES + 1], least = nowhere;
	uint32_t fewest = o->nr_cores + 1, n;

	cost[0] = 0;
	for (n = 1; n <= o->nr_cores; n++)
		cost[n] = nowhere;
	for (uint32_t i = 0; i < o->nr_services; i++)
		add_service(o, level_of(o, i, loads), cost);
	for (n = o->nr_cores + 1; n-- > 0;) {
		if (cost[n] < nowhere)
			fewest = n;
		view.idle_cores = o->nr_cores - n;
		if (cost[n] < nowhere) {
			struct totals parked = { 0 };

			totals_add(&parked, plant_config(o->plant), plant_ladder(o->plant), &view, NULL, true);
			if (cost[n] * dt + parked.energy_j < least)
				least = cost[n] * dt + parked.energy_j;
		}
	}
	if (fewest > o->nr_cores) {
		*impossible_s += dt;
		return;
	}
	energy->energy_j += least;
	view.idle_cores = 0;
	view.be_cores = o->nr_cores - fewest;
	totals_add(work, plant_config(o->plant), plant_ladder(o->plant), &view, NULL, true);
}

int main(int argc, char **argv)
{
	struct oracle o = { 0 };
	struct totals energy = { 0 }, work = { 0 };
	double impossible_s = 0;
	uint64_t interval_ns;
	char error[512];

	if (argc != 2) {
		fprintf(stderr, "usage: oracle SCENARIO\n");
		return 2;
	}
	if (plant_open(&o.plant, argv[1], 0, error, sizeof(error))) {
		fprintf(stderr, "%s\n", error);
		return 2;
	}
	interval_ns = plant_config(o.plant)->interval_ns;
	o.nr_services = plant_config(o.plant)->nr_services;
	o.nr_cores = plant_topology(o.plant)->nr_cores - plant_config(o.plant)->reserved_cpus;
	o.nr_speeds = plant_ladder(o.plant)->nr_steps ? plant_ladder(o.plant)->nr_steps : 1;
	for (uint64_t t_ns = 0; t_ns < plant_duration_ns(o.plant); t_ns += interval_ns) {
		double loads[POLICY_MAX_SERVICES] = { 0 };

		for (uint32_t i = 0; i < o.nr_services; i++)
			loads[i] = (int)(plant_load_at(o.plant, i, t_ns + interval_ns / 2) * 100 + 0.5) / 100.0;
		serve(&o, loads, (double)interval_ns / 1e9, &energy, &work, &impossible_s);
	}
	fprintf(stderr, "\n");
	printf("{\"energy_j\":%.1f,\"be_work\":%.2f,\"impossible_s\":%.1f}\n", energy.energy_j, work.be_work,
	       impossible_s);
	while (o.nr_levels)
		free(o.levels[--o.nr_levels]);
	plant_close(o.plant);
	return 0;
}
