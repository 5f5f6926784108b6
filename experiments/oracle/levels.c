// SPDX-License-Identifier: GPL-2.0
/*
 * levels.c - glue: plays a service alone under one load with more and more cores, and keeps what came out in memory and in
 * a file.  It knows nothing of how services share a machine.
 */
#include "levels.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "experiments/plant/scenario.h"
#include "experiments/plant/station.h"
#include "totals.h"

static const double SECOND_NS = 1e9, PLAY_S = 60, PLAY_REQUESTS = 50000, WARM_UP_S = 2, WARM_UP_REQUESTS = 1000;
static const double CALM_SHARE = 0.0025;
enum { LINE_SIZE = 8192 };

struct levels {
	const struct plant *plant;
	uint32_t nr_services, nr_cores, nr_speeds;
	int fd;
	uint32_t nr, room, nr_played;
	struct level **known;
};

/* --- playing ---------------------------------------------------------------------------------------------------- */

struct verdict {
	bool valid, calm;
	double power_w;
};

static double longer(double a, double b)
{
	return a > b ? a : b;
}

/* No luck of the remaining requests could bring the late share down again. */
static bool is_hopeless(const struct judge *judge, double allowed, double expected)
{
	return (double)judge->nr_late_requests > allowed * (expected * 1.05 + 100);
}

static int play(const struct levels *l, const struct level *level, uint32_t cores, uint32_t speed, struct verdict *ret)
{
	const struct config_service *service = &plant_config(l->plant)->services[level->service];
	uint64_t interval_ns = plant_config(l->plant)->interval_ns, now_ns = 0, warm_ns, end_ns;
	double loads[POLICY_MAX_SERVICES], rate, allowed = 1 - service->percentile_permille / 1000.0;
	struct policy_view view = { .window_ns = interval_ns, .nr_services = 1, .nr_cores = cores };
	struct config alone = { .nr_services = 1, .services = { *service } };
	struct totals totals = { 0 };
	struct judge *judge = &totals.judges[0];
	struct station *station;
	struct sample sample;

	for (uint32_t i = 0; i < l->nr_services; i++)
		loads[i] = level->load_pct[i] / 100.0;
	rate = loads[level->service] * plant_max_load(l->plant, level->service);
	warm_ns = (uint64_t)(longer(WARM_UP_S, rate > 0 ? WARM_UP_REQUESTS / rate : 0) * SECOND_NS);
	end_ns = warm_ns + (uint64_t)(longer(PLAY_S, rate > 0 ? PLAY_REQUESTS / rate : 0) * SECOND_NS);
	if (plant_open_alone(l->plant, level->service, loads, cores, speed, &station))
		return -ENOMEM;
	view.services[0].target_ns = service->target_ns;
	view.services[0].have = (struct policy_share){ cores, 0, speed };
	while (now_ns < end_ns && !is_hopeless(judge, allowed, rate * (double)(end_ns - warm_ns) / SECOND_NS)) {
		now_ns += interval_ns;
		station_advance(station, now_ns);
		station_read(station, interval_ns, &sample);
		view.services[0].cpu_ns = sample.cpu_ns;
		if (now_ns <= warm_ns)
			judge->nr_over_target = sample.nr_over_target;
		else
			totals_add(&totals, &alone, plant_ladder(l->plant), &view, &sample, true);
	}
	station_close(station);
	judge_close_window(judge, service->percentile_permille);
	ret->valid = now_ns >= end_ns && (double)judge->nr_late_requests <= allowed * (double)judge->nr_requests;
	ret->calm = ret->valid && (double)judge->violated_ns <= CALM_SHARE * (double)judge->judged_ns;
	ret->power_w = totals.energy_j / totals.span_s;
	return 0;
}

/* From the fastest speed down: a slower one never needs fewer cores. */
static int explore(const struct levels *l, struct level *level)
{
	uint32_t floor = plant_config(l->plant)->services[level->service].cores_min, valid = floor > 1 ? floor : 1;

	for (uint32_t speed = l->nr_speeds; speed-- > 0;) {
		struct need *need = &level->needs[speed];
		struct verdict v = { 0 };
		uint32_t cores;
		int err = 0;

		for (cores = valid; cores <= l->nr_cores && !v.calm && !err; cores++) {
			err = play(l, level, cores, speed, &v);
			if (v.valid && !need->valid_cores)
				need->valid_cores = cores;
			if (v.calm)
				*need = (struct need){ need->valid_cores, cores, v.power_w };
		}
		if (err)
			return err;
		valid = need->valid_cores ? need->valid_cores : l->nr_cores + 1;
	}
	return 0;
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

/* Appended in one write, so that processes do not tear each other's lines.  What cannot be kept is played again. */
static void keep(const struct levels *l, const struct level *level)
{
	char line[LINE_SIZE];
	int length = snprintf(line, sizeof(line), "%" PRIu32, level->service);

	for (uint32_t i = 0; i < l->nr_services; i++)
		length += snprintf(line + length, sizeof(line) - (size_t)length, " %u", level->load_pct[i]);
	for (uint32_t i = 0; i < l->nr_speeds; i++)
		length += snprintf(line + length, sizeof(line) - (size_t)length, " %" PRIu32 " %" PRIu32 " %.6f",
				   level->needs[i].valid_cores, level->needs[i].calm_cores, level->needs[i].power_w);
	length += snprintf(line + length, sizeof(line) - (size_t)length, " .\n");
	if (write(l->fd, line, (size_t)length) != length)
		fprintf(stderr, "event=levels-not-kept reason=\"%s\"\n", strerror(errno));
}

static bool next_number(char **at, double *ret)
{
	char *end;

	*ret = strtod(*at, &end);
	if (end == *at)
		return false;
	*at = end;
	return true;
}

/* False for a line that was cut. */
static bool parse(const struct levels *l, char *line, struct level *level)
{
	double number[3];

	if (!next_number(&line, &number[0]) || number[0] >= l->nr_services)
		return false;
	level->service = (uint32_t)number[0];
	for (uint32_t i = 0; i < l->nr_services; i++) {
		if (!next_number(&line, &number[0]))
			return false;
		level->load_pct[i] = (uint16_t)number[0];
	}
	for (uint32_t i = 0; i < l->nr_speeds; i++) {
		for (int n = 0; n < 3; n++)
			if (!next_number(&line, &number[n]))
				return false;
		level->needs[i] = (struct need){ (uint32_t)number[0], (uint32_t)number[1], number[2] };
	}
	return !strcmp(line, " .\n");
}

static int recall(struct levels *l)
{
	FILE *file = fdopen(dup(l->fd), "r");
	char line[LINE_SIZE] = "\n";
	int err = file ? 0 : -errno;

	while (!err && fgets(line, sizeof(line), file)) {
		struct level *level = calloc(1, sizeof(*level));

		if (level && !parse(l, line, level))
			free(level);
		else
			err = level ? add(l, level) : -ENOMEM;
	}
	if (file)
		fclose(file);
	if (!err && !strchr(line, '\n') && write(l->fd, "\n", 1) != 1) /* the next line shall not continue a cut one */
		err = -errno;
	return err;
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
	if (explore(l, level) || add(l, level)) {
		free(level);
		return NULL;
	}
	l->nr_played++;
	keep(l, level);
	return level;
}

uint32_t levels_nr_played(const struct levels *l)
{
	return l->nr_played;
}

/* --- opening ---------------------------------------------------------------------------------------------------- */

static uint64_t hash(uint64_t sum, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		sum = (sum ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
	return sum;
}

/* Everything that decides what a service needs; scenario_load leaves no byte of the struct undefined. */
static uint64_t hash_parameters(const struct levels *l, const struct scenario *scenario)
{
	const struct config *config = plant_config(l->plant);
	uint64_t sum = hash(UINT64_C(0xcbf29ce484222325), plant_ladder(l->plant), sizeof(struct speed_ladder));

	sum = hash(sum, &config->interval_ns, sizeof(config->interval_ns));
	sum = hash(sum, &l->nr_cores, sizeof(l->nr_cores));
	for (uint32_t i = 0; i < l->nr_services; i++) {
		sum = hash(sum, &scenario->services[i].model, sizeof(scenario->services[i].model));
		sum = hash(sum, &config->services[i].cores_min, sizeof(config->services[i].cores_min));
	}
	return sum;
}

static int open_file(struct levels *l, const struct scenario *scenario, const char *dir, char *error, size_t error_size)
{
	char path[4096];
	int err;

	if (mkdir(dir, 0777) && errno != EEXIST) {
		err = -errno;
		snprintf(error, error_size, "%s: %s", dir, strerror(-err));
		return err;
	}
	snprintf(path, sizeof(path), "%s/%016" PRIx64 ".levels", dir, hash_parameters(l, scenario));
	l->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	err = l->fd < 0 ? -errno : recall(l);
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

	if (!l || !scenario)
		snprintf(error, error_size, "%s: %s", path, strerror(-err));
	if (!err) {
		*l = (struct levels){
			.plant = plant, .nr_services = scenario->config.nr_services, .fd = -1,
			.nr_cores = scenario->nr_cores - scenario->config.reserved_cpus,
			.nr_speeds = plant_ladder(plant)->nr_steps ? plant_ladder(plant)->nr_steps : 1,
		};
		err = open_file(l, scenario, dir, error, error_size);
	}
	free(scenario);
	if (err && l && !l->plant)
		free(l); /* nothing was opened */
	else if (err)
		levels_close(l);
	else
		*ret = l;
	return err;
}

void levels_close(struct levels *l)
{
	if (!l)
		return;
	if (l->fd >= 0)
		close(l->fd);
	while (l->nr)
		free(l->known[--l->nr]);
	free(l->known);
	free(l);
}
