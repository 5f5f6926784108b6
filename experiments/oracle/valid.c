// SPDX-License-Identifier: GPL-2.0
/*
 * valid.c - glue: plays one service with one share until it is known whether that is enough.
 */
#include "valid.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/plant/station.h"
#include "judge.h"

enum { NR_PIECES = 120, LEAST_PIECES = 10, LEAST_REQUESTS = 50000, SETTLE_TARGETS = 20, SPEEDS = SPEED_MAX_STEPS };
static const uint64_t least_ns = 60000000000, settle_least_ns = 500000000, settle_most_ns = 30000000000;
static const double certain = 5; /* standard deviations */
static const double hopeless = 1.5; /* times the load so far will not come */

struct valid {
	struct plant *plant;
	struct memo *memo;
	uint64_t key; /* of the scenario's text */
	double loads[POLICY_MAX_SERVICES];
	uint16_t fewest[POLICY_MAX_SERVICES][SPEEDS]; /* under these loads; 0: not known yet */
};

/* --- the verdict ------------------------------------------------------------------------------------------------ */

void valid_count_add(struct valid_count *c, uint64_t nr_requests, uint64_t nr_late, double allowed_share)
{
	double allowed = allowed_share * (double)nr_requests, excess = (double)nr_late - allowed;

	c->nr_pieces++;
	c->allowed += allowed;
	c->sum += excess;
	c->sum_squares += excess * excess;
}

/* The pieces to come are taken to be as those that were: their mean is not known better than these tell. */
enum valid_verdict valid_judge(const struct valid_count *c, uint32_t nr_total)
{
	double nr = c->nr_pieces, left = nr_total - nr, mean, variance, end, error;

	if (c->nr_pieces == nr_total)
		return c->sum <= 0 ? VALID_YES : VALID_NO;
	if (c->sum > hopeless * left * c->allowed / nr) /* although nothing were late from now on */
		return VALID_NO;
	if (c->nr_pieces < LEAST_PIECES)
		return VALID_OPEN;
	mean = c->sum / nr;
	variance = fmax(c->sum_squares / nr - mean * mean, 0) * nr / (nr - 1);
	end = c->sum + left * mean;
	error = sqrt(variance * (left + left * left / nr));
	if (fabs(end) <= certain * error)
		return VALID_OPEN;
	return end <= 0 ? VALID_YES : VALID_NO;
}

/* --- plays ------------------------------------------------------------------------------------------------------ */

/* Completions and losses of the piece that ends at now_ns are added to the judge and to *dropped. */
static void advance(struct station *station, uint64_t now_ns, uint64_t span_ns, const struct config_service *service,
		    struct judge *judge, uint64_t *dropped)
{
	struct sample sample;

	station_advance(station, now_ns);
	station_read(station, span_ns, &sample);
	judge_add(judge, &sample, service->target_ns, service->percentile_permille, span_ns);
	*dropped += sample.nr_listen_drops;
}

static struct station *open_alone(const struct valid *v, uint32_t i, uint32_t cores, uint32_t speed)
{
	struct station *station;

	if (plant_open_alone(v->plant, i, v->loads, cores, speed, &station)) {
		fprintf(stderr, "not enough memory\n");
		exit(1);
	}
	return station;
}

static uint64_t settle_ns(const struct config_service *service)
{
	uint64_t ns = SETTLE_TARGETS * service->target_ns;

	return ns < settle_least_ns ? settle_least_ns : ns > settle_most_ns ? settle_most_ns : ns;
}

static bool play(const struct valid *v, uint32_t i, uint32_t cores, uint32_t speed)
{
	const struct config_service *service = &plant_config(v->plant)->services[i];
	double rate = plant_max_load(v->plant, i) * v->loads[i], allowed = 1 - service->percentile_permille / 1000.0;
	uint64_t span_ns = (uint64_t)fmax(LEAST_REQUESTS / rate * 1e9, (double)least_ns) / NR_PIECES;
	uint64_t now_ns = settle_ns(service), dropped = 0;
	struct station *station = open_alone(v, i, cores, speed);
	enum valid_verdict verdict = VALID_OPEN;
	struct valid_count count = { 0 };
	struct judge judge = { 0 };

	advance(station, now_ns, now_ns, service, &judge, &dropped);
	while (verdict == VALID_OPEN) {
		uint64_t nr = judge.nr_requests + dropped, nr_late = judge.nr_late_requests + dropped;

		now_ns += span_ns;
		advance(station, now_ns, span_ns, service, &judge, &dropped);
		nr = judge.nr_requests + dropped - nr;
		nr_late = judge.nr_late_requests + dropped - nr_late;
		valid_count_add(&count, nr, nr_late, allowed);
		verdict = valid_judge(&count, NR_PIECES);
	}
	station_close(station);
	return verdict == VALID_YES;
}

/* With fewer cores than these the service would fall behind: as many as are busy, less the error of that. */
static uint32_t surely_needed(const struct valid *v, uint32_t i, uint32_t speed)
{
	const struct config_service *service = &plant_config(v->plant)->services[i];
	struct station *station = open_alone(v, i, valid_nr_cores(v), speed);
	uint64_t span_ns = settle_ns(service);
	struct sample sample;
	double busy;

	station_advance(station, span_ns);
	station_read(station, span_ns, &sample);
	station_close(station);
	busy = (double)sample.cpu_ns / (double)span_ns * (1 - 3 / sqrt((double)(sample.nr_arrived + 1)));
	return busy > service->cores_min ? (uint32_t)busy : service->cores_min;
}

/* The loads are numbers out of files and grids: equal ones are equal bytes.  `cores` 0: where to begin. */
static uint64_t key_of(const struct valid *v, uint32_t i, uint32_t cores, uint32_t speed)
{
	uint32_t share[] = { i, cores, speed };

	return memo_hash(memo_hash(v->key, share, sizeof(share)), v->loads,
			 sizeof(v->loads[0]) * plant_config(v->plant)->nr_services);
}

static void keep(const struct valid *v, uint64_t key, const char *text)
{
	int err = memo_put(v->memo, key, text);

	if (err)
		fprintf(stderr, "a result is not kept: %s\n", strerror(-err));
}

static bool holds(const struct valid *v, uint32_t i, uint32_t cores, uint32_t speed)
{
	uint64_t key = key_of(v, i, cores, speed);
	const char *known = memo_get(v->memo, key);
	bool verdict;

	if (known)
		return *known == 'y';
	verdict = play(v, i, cores, speed);
	keep(v, key, verdict ? "yes" : "no");
	return verdict;
}

static uint32_t begin_at(const struct valid *v, uint32_t i, uint32_t speed)
{
	uint64_t key = key_of(v, i, 0, speed);
	const char *known = memo_get(v->memo, key);
	char text[16];
	uint32_t cores;

	if (known)
		return (uint32_t)atoi(known);
	cores = surely_needed(v, i, speed);
	snprintf(text, sizeof(text), "%u", cores);
	keep(v, key, text);
	return cores;
}

/* --- the interface ---------------------------------------------------------------------------------------------- */

static int hash_file(const char *path, uint64_t *ret)
{
	FILE *file = fopen(path, "re");
	uint64_t hash = MEMO_HASH_START;
	char buffer[4096];
	size_t nr;

	if (!file)
		return -errno;
	while ((nr = fread(buffer, 1, sizeof(buffer), file)))
		hash = memo_hash(hash, buffer, nr);
	fclose(file);
	*ret = hash;
	return 0;
}

int valid_open(struct valid **ret, const char *scenario, struct memo *memo, char *error, size_t error_size)
{
	struct valid *v = calloc(1, sizeof(*v));
	int err = v ? hash_file(scenario, &v->key) : -ENOMEM;

	if (err) {
		snprintf(error, error_size, "%s: %s", scenario, strerror(-err));
		free(v);
		return err;
	}
	v->memo = memo;
	err = plant_open(&v->plant, scenario, 0, error, error_size);
	if (err)
		free(v);
	else
		*ret = v;
	return err;
}

void valid_close(struct valid *v)
{
	if (v)
		plant_close(v->plant);
	free(v);
}

const struct speed_ladder *valid_ladder(const struct valid *v)
{
	return plant_ladder(v->plant);
}

uint32_t valid_nr_cores(const struct valid *v)
{
	return plant_topology(v->plant)->nr_cores - plant_config(v->plant)->reserved_cpus;
}

void valid_set_loads(struct valid *v, const double *loads)
{
	memset(v->fewest, 0, sizeof(v->fewest));
	memcpy(v->loads, loads, sizeof(v->loads[0]) * plant_config(v->plant)->nr_services);
}

uint32_t valid_fewest(struct valid *v, uint32_t service, uint32_t speed)
{
	uint32_t cores = v->fewest[service][speed];

	if (cores)
		return cores;
	cores = plant_config(v->plant)->services[service].cores_min;
	if (v->loads[service] > 0) {
		cores = begin_at(v, service, speed);
		while (cores <= valid_nr_cores(v) && !holds(v, service, cores, speed))
			cores++;
	}
	v->fewest[service][speed] = (uint16_t)cores;
	return cores;
}

uint32_t valid_fewest_all(struct valid *v, uint32_t speed)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < plant_config(v->plant)->nr_services && sum <= valid_nr_cores(v); i++)
		sum += valid_fewest(v, i, speed);
	return sum;
}
