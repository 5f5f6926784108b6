// SPDX-License-Identifier: GPL-2.0
/*
 * oracle.c - glue: finds the best shares of all services together among those that levels.c found for each.
 */
#include "oracle.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "totals.h"

static const double nowhere = 1e30;
static const double JUMP = 0.0495; /* of the maximum; 5 points, and rounding */
enum { PRECISION_NS = 1000000 };

struct oracle {
	const struct plant *plant;
	struct levels *levels;
	uint32_t nr_services, nr_cores, nr_speeds;
};

int oracle_open(struct oracle **ret, const struct plant *plant, const char *scenario, const char *dir, char *error,
		size_t error_size)
{
	struct oracle *o = calloc(1, sizeof(*o));
	int err;

	if (!o) {
		snprintf(error, error_size, "%s: not enough memory", scenario);
		return -ENOMEM;
	}
	o->plant = plant;
	o->nr_services = plant_config(plant)->nr_services;
	o->nr_cores = plant_topology(plant)->nr_cores - plant_config(plant)->reserved_cpus;
	o->nr_speeds = plant_ladder(plant)->nr_steps ? plant_ladder(plant)->nr_steps : 1;
	err = levels_open(&o->levels, plant, scenario, dir, error, error_size);
	if (err)
		free(o);
	else
		*ret = o;
	return err;
}

void oracle_close(struct oracle *o)
{
	if (!o)
		return;
	if (levels_nr_played(o->levels))
		fputc('\n', stderr);
	levels_close(o->levels);
	free(o);
}

static void loads(const struct oracle *o, uint64_t t_ns, uint16_t *ret_pct)
{
	for (uint32_t i = 0; i < o->nr_services; i++)
		ret_pct[i] = (uint16_t)(plant_load_at(o->plant, i, t_ns) * 100 + 0.5);
}

/* Adds one service to what its forerunners cost: cost[n] is the least power with n cores in use. */
static void add_service(const struct oracle *o, const struct level *l, double *cost)
{
	double with[TOPOLOGY_MAX_CORES + 1];

	for (uint32_t n = 0; n <= o->nr_cores; n++) {
		with[n] = nowhere;
		for (uint32_t speed = 0; speed < o->nr_speeds; speed++) {
			uint32_t cores = l->needs[speed].calm_cores;

			if (cores && cores <= n && cost[n - cores] + l->needs[speed].power_w < with[n])
				with[n] = cost[n - cores] + l->needs[speed].power_w;
		}
	}
	memcpy(cost, with, sizeof(*cost) * (o->nr_cores + 1));
}

static void choose(const struct oracle *o, struct oracle_answer *ret)
{
	struct policy_view second = { .window_ns = 1000000000, .nr_cores = o->nr_cores };
	double cost[TOPOLOGY_MAX_CORES + 1], least = nowhere;
	struct totals work = { 0 };
	uint32_t n;

	cost[0] = 0;
	for (n = 1; n <= o->nr_cores; n++)
		cost[n] = nowhere;
	for (uint32_t i = 0; i < o->nr_services; i++)
		add_service(o, ret->levels[i], cost);
	for (n = o->nr_cores + 1; n-- > 0;) {
		struct totals parked = { 0 };

		if (cost[n] == nowhere)
			continue;
		second.idle_cores = o->nr_cores - n;
		totals_add(&parked, plant_config(o->plant), plant_ladder(o->plant), &second, NULL, true);
		if (cost[n] + parked.energy_j < least)
			least = cost[n] + parked.energy_j;
		second.be_cores = o->nr_cores - n; /* the fewest cores come last */
	}
	if (least == nowhere)
		return;
	second.idle_cores = 0;
	totals_add(&work, plant_config(o->plant), plant_ladder(o->plant), &second, NULL, true);
	ret->power_w = least;
	ret->be_rate = work.be_work;
}

int oracle_ask(struct oracle *o, uint64_t t_ns, struct oracle_answer *ret)
{
	uint16_t load_pct[POLICY_MAX_SERVICES];
	uint32_t fewest = 0, nr_played = levels_nr_played(o->levels);

	*ret = (struct oracle_answer){ .feasible = true };
	loads(o, t_ns, load_pct);
	for (uint32_t i = 0; i < o->nr_services; i++) {
		const struct level *level = levels_get(o->levels, i, load_pct);
		const struct need *need;

		if (!level)
			return -ENOMEM;
		if (levels_nr_played(o->levels) != nr_played)
			fprintf(stderr, "\roracle: %u loads played, at %.0f s of %.0f s ", levels_nr_played(o->levels),
				(double)t_ns / 1e9, (double)plant_duration_ns(o->plant) / 1e9);
		need = &level->needs[o->nr_speeds - 1];
		ret->levels[i] = level;
		ret->feasible = ret->feasible && need->valid_cores;
		fewest += need->valid_cores;
	}
	ret->feasible = ret->feasible && fewest <= o->nr_cores;
	choose(o, ret);
	return 0;
}

bool oracle_is_valid(const struct oracle *o, const struct oracle_answer *answer, const struct policy_share *shares)
{
	for (uint32_t i = 0; i < o->nr_services; i++) {
		uint32_t cores = answer->levels[i]->needs[shares[i].speed].valid_cores;

		if (!cores || shares[i].cores < cores)
			return false;
	}
	return true;
}

static bool jumps(const struct oracle *o, uint32_t service, uint64_t from_ns, uint64_t to_ns)
{
	return fabs(plant_load_at(o->plant, service, to_ns) - plant_load_at(o->plant, service, from_ns)) > JUMP;
}

double oracle_jump_s(const struct oracle *o, uint64_t from_ns, uint64_t to_ns)
{
	for (uint32_t i = 0; i < o->nr_services; i++) {
		uint64_t low_ns = from_ns, high_ns = to_ns;

		if (!jumps(o, i, from_ns, to_ns))
			continue;
		while (high_ns - low_ns > PRECISION_NS) {
			uint64_t middle_ns = (low_ns + high_ns) / 2;

			if (jumps(o, i, from_ns, middle_ns))
				high_ns = middle_ns;
			else
				low_ns = middle_ns;
		}
		return (double)high_ns / 1e9;
	}
	return -1;
}
