// SPDX-License-Identifier: GPL-2.0
/*
 * plant.c - the simulated machine: moves the loads along their profiles, lets services disturb each other and puts
 * allocations into effect after their delay.  Pure apart from plant_open; how a service queues is station.c's.
 */
#include "plant.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "scenario.h"

enum { LOW_KHZ = 1200000, NOMINAL_KHZ = 2200000, STEP_KHZ = 100000, BOOST_KHZ = 2800000 };

/* Loads and their disturbance are constant within a slice. */
static const uint64_t slice_ns = 10000000, core_delay_ns = 5000000, speed_delay_ns = 1000000, never = UINT64_MAX;
static const double memory_bandwidth_gbs = 50;

struct service {
	struct station *station;
	uint32_t nr_cores, speed; /* as applied last, perhaps not yet in effect */
	uint32_t speed_now;       /* in effect */
};

/* How a sensor sees: each has its own windows and faults. */
struct view {
	uint64_t read_ns;
	struct rng faults;
};

struct plant {
	struct scenario scenario;
	struct topology topology;
	struct speed_ladder ladder;
	uint64_t now_ns;
	bool started;
	uint64_t cores_due_ns, speed_due_ns; /* or never */
	struct service services[POLICY_MAX_SERVICES];
	struct view views[2];      /* the kernel's, the clients' */
};

static void make_ladder(enum config_speed speed, bool states, struct speed_ladder *ladder)
{
	*ladder = (struct speed_ladder){ .kind = SPEED_NONE };
	if (speed == CONFIG_SPEED_BANDWIDTH) {
		ladder->kind = SPEED_BANDWIDTH;
		for (uint32_t permille = 100; permille <= 1000; permille += 100)
			ladder->value[ladder->nr_steps++] = permille;
		ladder->nominal = ladder->nr_steps - 1;
	} else if (speed != CONFIG_SPEED_NONE && states) {
		*ladder = (struct speed_ladder){ SPEED_FREQ, 3, 2, { 1500000, 2000000, 2450000 } };
	} else if (speed != CONFIG_SPEED_NONE) {
		ladder->kind = SPEED_FREQ;
		for (uint32_t khz = LOW_KHZ; khz <= NOMINAL_KHZ; khz += STEP_KHZ)
			ladder->value[ladder->nr_steps++] = khz;
		ladder->nominal = ladder->nr_steps - 1;
		ladder->value[ladder->nr_steps++] = BOOST_KHZ;
	}
}

static void make_topology(uint32_t nr_cores, uint32_t cores_per_l3, struct topology *topology)
{
	topology->nr_cores = nr_cores;
	for (uint32_t i = 0; i < nr_cores; i++) {
		struct topology_core *core = &topology->cores[i];

		cpulist_add(&core->cpus, i);
		cpulist_add(&topology->online, i);
		core->first_cpu = (uint16_t)i;
		core->l3 = (uint16_t)(i / cores_per_l3);
	}
}

/* As the actuator would choose it: short against the target, or a quota shows nothing until the cliff. */
static uint64_t quota_period_ns(uint64_t target_ns)
{
	uint64_t half = target_ns / 2;

	return half < 5000000 ? 5000000 : half > 20000000 ? 20000000 : half;
}

static int open_stations(struct plant *p, uint64_t seed)
{
	struct rng seeds;
	int err = 0;

	rng_seed(&seeds, seed ? seed : p->scenario.seed);
	for (uint32_t i = 0; i < p->scenario.config.nr_services && !err; i++) {
		struct station_params *params = &p->scenario.services[i].model.station;

		params->seed = rng_next(&seeds);
		params->period_ns = quota_period_ns(params->target_ns);
		err = station_open(&p->services[i].station, params);
	}
	for (int i = 0; i < 2; i++)
		rng_seed(&p->views[i].faults, rng_next(&seeds));
	return err;
}

int plant_open(struct plant **ret, const char *scenario, uint64_t seed, char *error, size_t error_size)
{
	struct plant *p = calloc(1, sizeof(*p));
	int err;

	if (!p) {
		snprintf(error, error_size, "%s: not enough memory", scenario);
		return -ENOMEM;
	}
	err = scenario_load(scenario, &p->scenario, error, error_size);
	if (err)
		goto out;
	make_ladder(p->scenario.config.speed, p->scenario.ladder == SCENARIO_STATES, &p->ladder);
	make_topology(p->scenario.nr_cores, p->scenario.cores_per_l3, &p->topology);
	p->cores_due_ns = p->speed_due_ns = never;
	err = open_stations(p, seed);
	if (err)
		snprintf(error, error_size, "%s: not enough memory", scenario);
out:
	if (err)
		plant_close(p);
	else
		*ret = p;
	return err;
}

void plant_close(struct plant *p)
{
	for (uint32_t i = 0; p && i < POLICY_MAX_SERVICES; i++)
		station_close(p->services[i].station);
	free(p);
}

const struct config *plant_config(const struct plant *p)
{
	return &p->scenario.config;
}

const struct topology *plant_topology(const struct plant *p)
{
	return &p->topology;
}

const struct speed_ladder *plant_ladder(const struct plant *p)
{
	return &p->ladder;
}

uint64_t plant_duration_ns(const struct plant *p)
{
	return p->scenario.duration_ns;
}

double plant_max_load(const struct plant *p, uint32_t service)
{
	return p->scenario.services[service].model.station.max_load;
}

bool plant_has_disk(const struct plant *p, uint32_t service)
{
	return p->scenario.services[service].model.station.nr_disks > 0;
}

double plant_load_at(const struct plant *p, uint32_t service, uint64_t t_ns)
{
	return (double)profile_load_ppm(&p->scenario.services[service].profile, t_ns) / PROFILE_FULL_LOAD_PPM;
}

uint32_t plant_load_permille(const struct plant *p, uint32_t service)
{
	return profile_load_ppm(&p->scenario.services[service].profile, p->now_ns) / (PROFILE_FULL_LOAD_PPM / 1000);
}

static double speed_slowdown(const struct plant *p, uint32_t i, uint32_t speed)
{
	double m = p->scenario.services[i].model.memory_part;

	if (p->ladder.kind != SPEED_FREQ)
		return 1;
	return (1 - m) * p->ladder.value[p->ladder.nr_steps - 1] / p->ladder.value[speed] + m;
}

/* By what the neighbours' loads do to the memory. */
static double disturbance(const struct plant *p, uint32_t i, const double *loads)
{
	double others_gbs = 0;

	for (uint32_t j = 0; j < p->scenario.config.nr_services; j++)
		if (j != i)
			others_gbs += p->scenario.services[j].model.bandwidth_gbs * loads[j];
	others_gbs /= memory_bandwidth_gbs;
	return 1 + p->scenario.services[i].model.sigma * (others_gbs < 1 ? others_gbs : 1);
}

int plant_open_alone(const struct plant *p, uint32_t i, const double *loads, uint32_t nr_cores, uint32_t speed,
		     struct station **ret)
{
	int err = station_open(ret, &p->scenario.services[i].model.station);

	if (err)
		return err;
	station_set_load(*ret, loads[i]);
	station_set_slowdown(*ret, speed_slowdown(p, i, speed) * disturbance(p, i, loads));
	station_set_servers(*ret, nr_cores);
	if (p->ladder.kind == SPEED_BANDWIDTH)
		station_set_quota(*ret, p->ladder.value[speed]);
	return 0;
}

/* The load in the middle of the slice stands for all of it. */
static void begin_slice(struct plant *p)
{
	uint64_t middle_ns = p->now_ns - p->now_ns % slice_ns + slice_ns / 2;
	uint32_t nr = p->scenario.config.nr_services;
	double loads[POLICY_MAX_SERVICES];

	for (uint32_t i = 0; i < nr; i++)
		loads[i] = plant_load_at(p, i, middle_ns);
	for (uint32_t i = 0; i < nr; i++) {
		struct service *s = &p->services[i];

		station_set_load(s->station, loads[i]);
		station_set_slowdown(s->station, speed_slowdown(p, i, s->speed_now) * disturbance(p, i, loads));
	}
}

static void take_effect(struct plant *p)
{
	uint32_t nr = p->scenario.config.nr_services;

	if (p->speed_due_ns <= p->now_ns) {
		p->speed_due_ns = never;
		for (uint32_t i = 0; i < nr; i++) {
			struct service *s = &p->services[i];

			s->speed_now = s->speed;
			if (p->ladder.kind == SPEED_BANDWIDTH)
				station_set_quota(s->station, p->ladder.value[s->speed]);
		}
	}
	if (p->cores_due_ns <= p->now_ns) {
		p->cores_due_ns = never;
		for (uint32_t i = 0; i < nr; i++)
			station_set_servers(p->services[i].station, p->services[i].nr_cores);
	}
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void plant_advance(struct plant *p, uint64_t now_ns)
{
	while (p->now_ns < now_ns) {
		uint64_t next_ns = earlier(now_ns, p->now_ns - p->now_ns % slice_ns + slice_ns);

		take_effect(p);
		begin_slice(p);
		next_ns = earlier(next_ns, earlier(p->cores_due_ns, p->speed_due_ns));
		for (uint32_t i = 0; i < p->scenario.config.nr_services; i++)
			station_advance(p->services[i].station, next_ns);
		p->now_ns = next_ns;
	}
}

static uint64_t misread(const struct plant *p, struct view *v, uint64_t value)
{
	double error = p->scenario.noise_pct / 100 * (2 * rng_uniform(&v->faults) - 1);

	return (uint64_t)((double)value * (1 + error));
}

/* What is seen is wrong; what is late is still late. */
static void spoil(const struct plant *p, struct view *v, struct sample *s)
{
	s->steer_ns = misread(p, v, s->steer_ns);
	s->p99_ns = misread(p, v, s->p99_ns);
	s->cpu_ns = misread(p, v, s->cpu_ns);
}

/* The caller has advanced the plant to the end of the window. */
static void read_samples(struct plant *p, struct view *v, void (*read)(struct station *, uint64_t, struct sample *),
			 struct sample *samples, uint32_t nr_services)
{
	bool lost = rng_uniform(&v->faults) * 100 < p->scenario.lost_pct;

	for (uint32_t i = 0; i < nr_services; i++) {
		read(p->services[i].station, p->now_ns - v->read_ns, &samples[i]);
		if (p->scenario.noise_pct > 0)
			spoil(p, v, &samples[i]);
		if (lost)
			samples[i].signal = POLICY_LOST;
	}
	v->read_ns = p->now_ns;
}

static int read_kernel(void *ctx, uint64_t now_ns, struct sample *samples, uint32_t nr_services)
{
	struct plant *p = ctx;

	(void)now_ns;
	read_samples(p, &p->views[0], station_read, samples, nr_services);
	return 0;
}

static int read_client(void *ctx, uint64_t now_ns, struct sample *samples, uint32_t nr_services)
{
	struct plant *p = ctx;

	(void)now_ns;
	read_samples(p, &p->views[1], station_read_client, samples, nr_services);
	return 0;
}

struct sensor plant_sensor(struct plant *p)
{
	return (struct sensor){ .ctx = p, .read = read_kernel };
}

struct sensor plant_client_sensor(struct plant *p)
{
	return (struct sensor){ .ctx = p, .read = read_client };
}

static uint64_t later(const struct plant *p, uint64_t usual_ns)
{
	return p->scenario.delay_ns ? p->scenario.delay_ns : usual_ns;
}

static int apply(void *ctx, const struct allocation *want, struct outcome *ret)
{
	struct plant *p = ctx;
	uint32_t nr_moved = 0, nr_sped = 0;

	for (uint32_t i = 0; i < p->scenario.config.nr_services; i++) {
		struct service *s = &p->services[i];
		uint32_t nr_cores = allocation_count(want, (int)i);

		nr_moved += s->nr_cores != nr_cores;
		nr_sped += s->speed != want->speed[i];
		s->nr_cores = nr_cores;
		s->speed = want->speed[i];
	}
	/* The allocation to start from is there at once: nothing runs yet. */
	if (nr_moved && p->cores_due_ns == never)
		p->cores_due_ns = p->now_ns + (p->started ? later(p, core_delay_ns) : 0);
	if (nr_sped && p->speed_due_ns == never)
		p->speed_due_ns = p->now_ns + (p->started ? later(p, speed_delay_ns) : 0);
	p->started = true;
	*ret = (struct outcome){ .nr_writes = nr_moved + nr_sped };
	return 0;
}

struct actuator plant_actuator(struct plant *p)
{
	return (struct actuator){ .ctx = p, .apply = apply };
}
