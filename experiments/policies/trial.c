// SPDX-License-Identifier: GPL-2.0
/*
 * trial.c - glue: the tick over a plant made of published services.
 */
#include "trial.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "experiments/plant/catalogue.h"
#include "experiments/plant/plant.h"

static const uint64_t warm_up_ns = 30000000000, test_ns = 60000000000;
static const double test_s = 60, certain = 5; /* standard deviations */

uint32_t trial_nr_known(void)
{
	uint32_t nr = 0;

	while (catalogue_at(nr))
		nr++;
	return nr;
}

uint32_t trial_find(const char *name)
{
	uint32_t i = 0;

	while (strcmp(catalogue_at(i)->name, name))
		i++;
	return i;
}

static void die(const char *why)
{
	fprintf(stderr, "the simulated machine: %s\n", why);
	exit(1);
}

int trial_scenario(const struct mix *mix, bool loads, uint64_t interval_ns)
{
	int fd = memfd_create("mix", MFD_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	dprintf(fd, "[plant]\ncores = %d\nduration = 1s\n[controller]\ninterval = %llums\n", TRIAL_CORES,
		(unsigned long long)interval_ns / 1000000);
	for (uint32_t i = 0; i < mix->nr && !err; i++) {
		const char *name = catalogue_at(mix->services[i])->name;

		if (dprintf(fd, "[service %s]\nlike = %s\nprofile = at 0s %.4f%%\n", name, name,
			    loads ? mix->loads[i] * 100 : 100) < 0)
			err = -errno;
	}
	if (!err)
		return fd;
	close(fd);
	return err;
}

static struct plant *open_plant(const struct mix *mix, uint64_t interval_ns, uint64_t seed)
{
	int fd = trial_scenario(mix, true, interval_ns);
	char path[32], error[512];
	struct plant *plant;

	if (fd < 0)
		die(strerror(-fd));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (plant_open(&plant, path, seed, error, sizeof(error)))
		die(error);
	close(fd);
	return plant;
}

void trial_play(const struct mix *mix, const char *policy, uint64_t seed, uint64_t duration_ns,
		bool (*each)(void *ctx, const struct tick *tick, uint64_t now_ns), void *ctx)
{
	uint64_t interval_ns = policy_interval_ns(policy ? policy_find(policy) : NULL);
	struct plant *plant = open_plant(mix, interval_ns, seed);
	struct config config = *plant_config(plant);
	struct tick tick = {
		.config = &config, .topology = plant_topology(plant), .ladder = plant_ladder(plant),
		.sensor = plant_sensor(plant), .actuator = plant_actuator(plant),
		.policy = policy_find(policy), .steer = true,
	};

	config.seed = seed;
	if (tick_init(&tick, 0))
		die("not enough memory");
	for (uint64_t now_ns = 0; now_ns <= duration_ns; now_ns += interval_ns) {
		plant_advance(plant, now_ns);
		if (tick_step(&tick, now_ns, now_ns ? interval_ns : 0))
			die(tick.report.outcome.where);
		if (!each(ctx, &tick, now_ns))
			break;
	}
	tick_fini(&tick);
	plant_close(plant);
}

/* --- the test --------------------------------------------------------------------------------------------------- */

struct test {
	const struct mix *mix;
	uint64_t nr[TRIAL_MAX_SERVICES], nr_late[TRIAL_MAX_SERVICES]; /* before the test */
	uint64_t nr_dropped[TRIAL_MAX_SERVICES];                      /* in it: late too */
	bool failed;
};

/* Whether the late share is too large, or would be although all requests to come were in time. */
static bool is_lost(const struct test *t, const struct tick *tick, uint32_t i, bool over)
{
	const struct judge *judge = &tick->totals.judges[i];
	double nr = (double)(judge->nr_requests - t->nr[i] + t->nr_dropped[i]);
	double nr_late = (double)(judge->nr_late_requests - t->nr_late[i] + t->nr_dropped[i]);
	double allowed = 1 - tick->config->services[i].percentile_permille / 1000.0;
	const struct station_params *params = &catalogue_at(t->mix->services[i])->model.station;
	double batch = params->batch ? params->batch : 1, expected = params->max_load * t->mix->loads[i] * test_s;
	double at_most = expected + certain * sqrt(expected * batch) + certain * certain * batch;

	return nr_late > allowed * (over ? nr : at_most);
}

static bool test_tick(void *ctx, const struct tick *tick, uint64_t now_ns)
{
	struct test *t = ctx;

	for (uint32_t i = 0; i < t->mix->nr; i++) {
		if (now_ns <= warm_up_ns) {
			t->nr[i] = tick->totals.judges[i].nr_requests;
			t->nr_late[i] = tick->totals.judges[i].nr_late_requests;
		} else {
			t->nr_dropped[i] += tick->report.samples[i].nr_listen_drops;
			t->failed |= is_lost(t, tick, i, now_ns >= warm_up_ns + test_ns);
		}
	}
	return !t->failed;
}

bool trial_holds(const struct mix *mix, const char *policy, uint64_t seed)
{
	struct test test = { .mix = mix };

	trial_play(mix, policy, seed, warm_up_ns + test_ns, test_tick, &test);
	return !test.failed;
}
