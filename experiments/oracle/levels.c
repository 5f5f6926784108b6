// SPDX-License-Identifier: GPL-2.0
/*
 * levels.c - glue: plays a service alone under one load with more and more cores, and keeps what came out.  What is
 * valid is valid.c's to say; it knows nothing of how services share a machine.
 */
#include "levels.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "experiments/plant/scenario.h"
#include "experiments/plant/station.h"
#include "totals.h"
#include "valid.h"

static const uint64_t WINDOW_NS = 500000000; /* whatever the interval of a policy is */
static const double SECOND_NS = 1e9, PLAY_S = 60, PLAY_REQUESTS = 50000, WARM_UP_S = 2, WARM_UP_REQUESTS = 1000;
static const double CALM_SHARE = 0.0025;
enum { LEAST_TICKS = 20 };

struct levels {
	const struct plant *plant;
	struct memo *memo;
	struct valid *valid;
	uint64_t key; /* of the plant's parameters */
	uint32_t nr_services, nr_cores, nr_speeds, nr_played;
	uint32_t nr, room;
	struct level **known;
};

/* --- playing ---------------------------------------------------------------------------------------------------- */

/* Late requests per tick, of one play. */
struct lateness {
	uint32_t nr;
	double sum, squares;
};

static void add_tick(struct lateness *l, uint64_t nr_late)
{
	l->nr++;
	l->sum += (double)nr_late;
	l->squares += (double)nr_late * (double)nr_late;
}

/* No luck could bring the shares down again. */
static bool is_hopeless(const struct judge *judge, double allowed, double expected, double span_ns)
{
	return (double)judge->nr_late_requests > allowed * (expected * 1.05 + 100) ||
	       (double)judge->violated_ns > CALM_SHARE * span_ns;
}

/* A tick five standard deviations worse than the mean would not be violated either. */
static bool is_certain(const struct judge *judge, const struct lateness *l, uint32_t percentile_permille)
{
	double mean = l->sum / l->nr, deviation = sqrt(fmax(l->squares / l->nr - mean * mean, 0));

	return l->nr >= LEAST_TICKS && (double)judge->nr_requests >= PLAY_REQUESTS && !judge->violated_ns &&
	       !judge_is_violated(judge->nr_requests / l->nr, (uint64_t)ceil(mean + 5 * deviation),
				  1000 - percentile_permille);
}

/* Whether a share is calm, with its power; -ENOMEM. */
static int play(const struct levels *l, const struct level *level, uint32_t cores, uint32_t speed, bool *ret_calm,
		double *ret_w)
{
	const struct config_service *service = &plant_config(l->plant)->services[level->service];
	uint64_t now_ns = 0, warm_ns, end_ns;
	double loads[POLICY_MAX_SERVICES], rate, allowed = 1 - service->percentile_permille / 1000.0;
	struct policy_view view = { .window_ns = WINDOW_NS, .nr_services = 1, .nr_cores = cores };
	struct config alone = { .nr_services = 1, .services = { *service } };
	struct totals totals = { 0 };
	struct judge *judge = &totals.judges[0];
	struct lateness lateness = { 0 };
	struct station *station;
	struct sample sample;
	double span_ns;

	for (uint32_t i = 0; i < l->nr_services; i++)
		loads[i] = level->load_pct[i] / 100.0;
	rate = loads[level->service] * plant_max_load(l->plant, level->service);
	warm_ns = (uint64_t)(fmax(WARM_UP_S, rate > 0 ? WARM_UP_REQUESTS / rate : 0) * SECOND_NS);
	span_ns = fmax(PLAY_S, rate > 0 ? PLAY_REQUESTS / rate : 0) * SECOND_NS;
	end_ns = warm_ns + (uint64_t)span_ns;
	if (plant_open_alone(l->plant, level->service, loads, cores, speed, &station))
		return -ENOMEM;
	view.services[0].target_ns = service->target_ns;
	view.services[0].have = (struct policy_share){ cores, 0, speed };
	while (now_ns < end_ns && !is_hopeless(judge, allowed, rate * span_ns / SECOND_NS, span_ns) &&
	       !is_certain(judge, &lateness, service->percentile_permille)) {
		uint64_t nr_late = judge->nr_late_requests;

		now_ns += WINDOW_NS;
		station_advance(station, now_ns);
		station_read(station, WINDOW_NS, &sample);
		view.services[0].cpu_ns = sample.cpu_ns;
		if (now_ns <= warm_ns) {
			judge->nr_over_target = sample.nr_over_target;
			continue;
		}
		totals_add(&totals, &alone, plant_ladder(l->plant), &view, &sample, true);
		add_tick(&lateness, judge->nr_late_requests - nr_late);
	}
	station_close(station);
	judge_close_window(judge, service->percentile_permille);
	*ret_calm = (double)judge->nr_late_requests <= allowed * (double)judge->nr_requests &&
		    (double)judge->violated_ns <= CALM_SHARE * (double)judge->judged_ns;
	*ret_w = totals.energy_j / totals.span_s;
	return 0;
}

/* A slower speed never needs fewer cores: `least` is what the faster one needs. */
static int explore(const struct levels *l, const struct level *level, uint32_t speed, uint32_t least, struct need *ret)
{
	struct need need = { 0 };
	bool calm = false;
	int err = 0;

	if (least > l->nr_cores) {
		*ret = need;
		return 0;
	}
	need.valid_cores = valid_fewest(l->valid, level->service, speed);
	if (need.valid_cores > l->nr_cores)
		need.valid_cores = 0;
	for (uint32_t cores = need.valid_cores; cores && cores <= l->nr_cores && !calm && !err; cores++) {
		err = play(l, level, cores, speed, &calm, &need.power_w);
		need.calm_cores = calm ? cores : 0;
	}
	if (!err)
		*ret = need;
	return err;
}

/* What cannot be kept is played again. */
static int need_at(const struct levels *l, struct level *level, uint32_t speed, uint32_t least, bool *ret_played)
{
	uint32_t which[] = { level->service, speed };
	struct need *need = &level->needs[speed];
	uint64_t key = memo_hash(l->key, which, sizeof(which));
	const char *known;
	char text[MEMO_TEXT_SIZE];
	int err;

	key = memo_hash(key, level->load_pct, l->nr_services * sizeof(level->load_pct[0]));
	known = memo_get(l->memo, key);
	if (known && sscanf(known, "%" SCNu32 " %" SCNu32 " %lf", &need->valid_cores, &need->calm_cores,
			    &need->power_w) == 3)
		return 0;
	err = explore(l, level, speed, least, need);
	if (err)
		return err;
	*ret_played = true;
	snprintf(text, sizeof(text), "%" PRIu32 " %" PRIu32 " %.17g", need->valid_cores, need->calm_cores, need->power_w);
	err = memo_put(l->memo, key, text);
	if (err)
		fprintf(stderr, "a result is not kept: %s\n", strerror(-err));
	return 0;
}

static int fill(struct levels *l, struct level *level)
{
	double loads[POLICY_MAX_SERVICES];
	uint32_t least = 1;
	bool played = false;
	int err = 0;

	for (uint32_t i = 0; i < l->nr_services; i++)
		loads[i] = level->load_pct[i] / 100.0;
	valid_set_loads(l->valid, loads);
	for (uint32_t speed = l->nr_speeds; speed-- > 0 && !err;) {
		err = need_at(l, level, speed, least, &played);
		least = level->needs[speed].valid_cores ? level->needs[speed].valid_cores : l->nr_cores + 1;
	}
	l->nr_played += played;
	return err;
}

/* --- remembering ------------------------------------------------------------------------------------------------ */

static int add(struct levels *l, struct level *level)
{
	if (l->nr == l->room) {
		uint32_t room = l->room ? 2 * l->room : 64;
		struct level **more = realloc(l->known, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		l->known = more;
		l->room = room;
	}
	l->known[l->nr++] = level;
	return 0;
}

const struct level *levels_get(struct levels *l, uint32_t service, const uint16_t *load_pct)
{
	struct level *level;

	for (uint32_t i = 0; i < l->nr; i++)
		if (l->known[i]->service == service &&
		    !memcmp(l->known[i]->load_pct, load_pct, l->nr_services * sizeof(*load_pct)))
			return l->known[i];
	level = calloc(1, sizeof(*level));
	if (!level)
		return NULL;
	level->service = service;
	memcpy(level->load_pct, load_pct, l->nr_services * sizeof(*load_pct));
	if (fill(l, level) || add(l, level)) {
		free(level);
		return NULL;
	}
	return level;
}

uint32_t levels_nr_played(const struct levels *l)
{
	return l->nr_played;
}

/* --- opening ---------------------------------------------------------------------------------------------------- */

/* Everything that decides what a service needs; scenario_load leaves no byte of the struct undefined. */
static uint64_t key_of(const struct levels *l, const struct scenario *scenario)
{
	const struct config *config = plant_config(l->plant);
	uint64_t key = memo_hash(MEMO_HASH_START, plant_ladder(l->plant), sizeof(struct speed_ladder));

	key = memo_hash(key, &l->nr_cores, sizeof(l->nr_cores));
	for (uint32_t i = 0; i < l->nr_services; i++) {
		key = memo_hash(key, &scenario->services[i].model, sizeof(scenario->services[i].model));
		key = memo_hash(key, &config->services[i].cores_min, sizeof(config->services[i].cores_min));
	}
	return key;
}

static int open_memo(struct levels *l, const char *dir, char *error, size_t error_size)
{
	char path[4096];
	int err = mkdir(dir, 0777) && errno != EEXIST ? -errno : 0;

	snprintf(path, sizeof(path), "%s/oracle-" ORACLE_SOURCES ".memo", dir);
	if (!err)
		err = memo_open(&l->memo, path);
	if (err)
		snprintf(error, error_size, "%s: %s", path, strerror(-err));
	return err;
}

int levels_open(struct levels **ret, const struct plant *plant, const char *path, const char *dir, char *error,
		size_t error_size)
{
	struct levels *l = calloc(1, sizeof(*l));
	struct scenario *scenario = calloc(1, sizeof(*scenario));
	int err = l && scenario ? scenario_load(path, scenario, error, error_size) : -ENOMEM;

	if (err == -ENOMEM)
		snprintf(error, error_size, "%s: %s", path, strerror(-err));
	if (!err) {
		l->plant = plant;
		l->nr_services = scenario->config.nr_services;
		l->nr_cores = scenario->nr_cores - scenario->config.reserved_cpus;
		l->nr_speeds = plant_ladder(plant)->nr_steps ? plant_ladder(plant)->nr_steps : 1;
		l->key = key_of(l, scenario);
		err = open_memo(l, dir, error, error_size);
	}
	if (!err)
		err = valid_open(&l->valid, path, l->memo, error, error_size);
	free(scenario);
	if (err)
		levels_close(l);
	else
		*ret = l;
	return err;
}

void levels_close(struct levels *l)
{
	if (!l)
		return;
	valid_close(l->valid);
	memo_close(l->memo);
	while (l->nr)
		free(l->known[--l->nr]);
	free(l->known);
	free(l);
}
