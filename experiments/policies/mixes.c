// SPDX-License-Identifier: GPL-2.0
/*
 * mixes.c - how fast policies find an allocation that lasts, and how long they stay in such: figure 10's question, on
 * seeded mixes at constant load.  Glue over the plant and the tick; it steers nothing itself.
 *
 *	mixes NR_SERVICES NR_MIXES POLICY...      a row per policy
 *
 * A mix is NR_SERVICES of the published services with loads on a grid of 10 %, such that 14 cores hold it with one to
 * spare and the even split at nominal speed does not.  An allocation is valid when, held for ever, at most 1 % of each service's
 * requests are late: played for 20 s or 20,000 requests, whichever is longer.  From the start,
 *	first ok    every window met its target once (what papers call convergence)
 *	valid       the allocation became valid and stayed so for 10 s; 60 when it never did
 *	in V        share of the time from 30 to 60 s in which it was valid
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "experiments/plant/plant.h"
#include "experiments/plant/station.h"
#include "tick.h"

enum { NR_CORES = 14, NR_KNOWN = 5, MAX_TRIES = 100000, INTERVAL_MS = 500, RUN_MS = 60000, LATE_MS = 30000,
       LASTING_MS = 10000, PLAY_REQUESTS = 20000, PLAY_SECONDS = 20, NR_STEPS = 32 };

/* The published services that compute; memcached ten times slower with a tenth of the load. */
static const struct known {
	const char *name, *text;
	double max_load, cores; /* at full load, busy */
} known[NR_KNOWN] = {
	{ "memcached", "target = p99 < 6ms\nservice_time = 100us\ndistribution = exponential\nqueue = per-thread\n"
		       "memory_part = 0.1\nsigma = 5\nbandwidth = 0.6\n", 128000, 12.8 },
	{ "xapian", "target = p99 < 5ms\nservice_time = 954us\ncv = 0.3\nqueue = per-thread\nmemory_part = 0.2\n"
		    "sigma = 0.5\nbandwidth = 0.01\n", 8000, 7.6 },
	{ "nginx", "target = p99 < 10ms\nservice_time = 525us\ncv = 1\nqueue = per-thread\nmemory_part = 0.5\n"
		   "sigma = 0.8\nbandwidth = 0.6\n", 18667, 9.8 },
	{ "moses", "target = p99 < 15ms\nservice_time = 2.8ms\ncv = 0.3\nqueue = per-thread\nmemory_part = 0.3\n"
		   "sigma = 1.2\nbandwidth = 26\n", 2800, 7.8 },
	{ "sphinx", "target = p99 < 2.5s\nservice_time = 923ms\ncv = 0.15\nqueue = shared\nmemory_part = 0.2\n"
		    "sigma = 0.9\nbandwidth = 3.1\n", 14, 12.9 },
};

struct mix {
	struct plant *plant;
	uint32_t nr;
	double loads[POLICY_MAX_SERVICES];
	signed char valid[NR_KNOWN][NR_CORES + 1][NR_STEPS]; /* 0: not played yet; 1 valid, -1 not */
};

struct score {
	double first_ok_s, valid_s, in_v, moves;
};

static void die(const char *why)
{
	fprintf(stderr, "mixes: %s\n", why);
	exit(1);
}

static bool play(const struct mix *m, uint32_t service, uint32_t cores, uint32_t speed, double rate)
{
	uint64_t span_ns = (uint64_t)(PLAY_REQUESTS / rate * 1e9), least_ns = PLAY_SECONDS * UINT64_C(1000000000);
	struct station *station;
	struct sample sample;

	if (plant_open_alone(m->plant, service, m->loads, cores, speed, &station))
		die("not enough memory");
	if (span_ns < least_ns)
		span_ns = least_ns;
	station_advance(station, span_ns);
	station_read(station, STATION_KERNEL, span_ns, &sample);
	station_close(station);
	return (sample.nr_late + sample.nr_over_target + sample.nr_listen_drops) * 100 <=
	       sample.nr_completed + sample.nr_over_target + sample.nr_listen_drops;
}

static bool service_valid(struct mix *m, const double *rates, uint32_t service, uint32_t cores, uint32_t speed)
{
	signed char *valid;

	if (!cores || cores > NR_CORES)
		return false;
	valid = &m->valid[service][cores][speed];
	if (!*valid)
		*valid = play(m, service, cores, speed, rates[service]) ? 1 : -1;
	return *valid > 0;
}

static bool all_valid(struct mix *m, const double *rates, const struct policy_decision *d)
{
	for (uint32_t i = 0; i < m->nr; i++)
		if (!service_valid(m, rates, i, d->shares[i].cores, d->shares[i].speed))
			return false;
	return true;
}

/* Held at boost with a core to spare, but not by the even split at nominal speed. */
static bool is_wanted(struct mix *m, const double *rates)
{
	const struct speed_ladder *ladder = plant_ladder(m->plant);
	uint32_t sum = 0;
	bool split_holds = true;

	for (uint32_t i = 0; i < m->nr; i++) {
		uint32_t cores = 1, even = NR_CORES / m->nr + (i < NR_CORES % m->nr);

		while (cores <= NR_CORES && !service_valid(m, rates, i, cores, ladder->nr_steps - 1))
			cores++;
		sum += cores;
		split_holds = split_holds && service_valid(m, rates, i, even, ladder->nominal);
	}
	return sum < NR_CORES && !split_holds;
}

static void open_mix(struct mix *m, const uint32_t *chosen)
{
	int fd = memfd_create("mix", MFD_CLOEXEC);
	char path[32], error[512];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	file = fd < 0 ? NULL : fopen(path, "we");
	if (!file)
		die("no file for the mix");
	fprintf(file, "[plant]\ncores = %d\nduration = 60s\n[controller]\ninterval = %dms\n", NR_CORES, INTERVAL_MS);
	for (uint32_t i = 0; i < m->nr; i++)
		fprintf(file, "[service %s]\n%smax_load = %.0f\nprofile = at 0s %.0f%%\n", known[chosen[i]].name,
			known[chosen[i]].text, known[chosen[i]].max_load, m->loads[i] * 100);
	fclose(file);
	if (plant_open(&m->plant, path, 0, error, sizeof(error)))
		die(error);
	close(fd);
}

/* Draws until a mix is wanted; the plant is open then. */
static void draw_mix(struct mix *m, uint32_t nr, struct rng *dice, uint32_t *chosen, double *rates)
{
	for (int try = 0; try < MAX_TRIES; try++) {
		double busy = 0;

		*m = (struct mix){ .nr = nr };
		for (uint32_t i = 0; i < nr; i++) {
			bool again = false;

			chosen[i] = (uint32_t)rng_below(dice, NR_KNOWN);
			for (uint32_t j = 0; j < i; j++)
				again |= chosen[j] == chosen[i];
			if (again) {
				i--;
				continue;
			}
			m->loads[i] = (double)(1 + rng_below(dice, 10)) / 10;
			rates[i] = m->loads[i] * known[chosen[i]].max_load;
			busy += m->loads[i] * known[chosen[i]].cores;
		}
		if (busy > NR_CORES) /* no need to play it */
			continue;
		open_mix(m, chosen);
		if (is_wanted(m, rates))
			return;
		plant_close(m->plant);
	}
	die("no such mix was found");
}

static bool all_met(const struct tick_report *r)
{
	for (uint32_t i = 0; i < r->view.nr_services; i++)
		if (!r->view.services[i].nr_completed || r->slack_permille[i] < 0)
			return false;
	return true;
}

static struct score run(struct mix *m, const double *rates, const uint32_t *chosen, const struct policy_ops *policy)
{
	struct mix fresh = { .nr = m->nr };
	struct score score = { .first_ok_s = -1, .valid_s = -1 };
	struct tick tick = { .policy = policy, .steer = true };
	int valid_since_ms = -1;

	memcpy(fresh.loads, m->loads, sizeof(fresh.loads));
	open_mix(&fresh, chosen);
	tick.config = plant_config(fresh.plant);
	tick.topology = plant_topology(fresh.plant);
	tick.ladder = plant_ladder(fresh.plant);
	tick.sensor = plant_sensor(fresh.plant);
	tick.actuator = plant_actuator(fresh.plant);
	if (tick_init(&tick, 0))
		die("not enough memory");
	for (int ms = 0; ms < RUN_MS; ms += INTERVAL_MS) {
		bool valid;

		plant_advance(fresh.plant, (uint64_t)ms * 1000000);
		if (tick_step(&tick, (uint64_t)ms * 1000000, ms ? INTERVAL_MS * UINT64_C(1000000) : 0))
			die("the tick failed");
		valid = all_valid(m, rates, &tick.report.decision);
		if (ms && score.first_ok_s < 0 && all_met(&tick.report))
			score.first_ok_s = ms / 1000.0;
		valid_since_ms = !valid ? -1 : valid_since_ms < 0 ? ms : valid_since_ms;
		if (valid && score.valid_s < 0 && ms - valid_since_ms >= LASTING_MS)
			score.valid_s = valid_since_ms / 1000.0;
		if (ms >= LATE_MS) {
			score.in_v += valid ? (double)INTERVAL_MS / (RUN_MS - LATE_MS) : 0;
			score.moves += tick.report.decision.direction != POLICY_HOLD ? 60000.0 / (RUN_MS - LATE_MS) : 0;
		}
	}
	if (score.first_ok_s < 0)
		score.first_ok_s = RUN_MS / 1000.0;
	if (score.valid_s < 0)
		score.valid_s = RUN_MS / 1000.0;
	tick_fini(&tick);
	plant_close(fresh.plant);
	return score;
}

int main(int argc, char **argv)
{
	struct score sums[16] = { 0 }, worst[16] = { 0 };
	uint32_t nr, nr_mixes, chosen[NR_KNOWN];
	double rates[NR_KNOWN];
	struct rng dice;
	struct mix m;

	nr = argc > 1 ? (uint32_t)atoi(argv[1]) : 0;
	nr_mixes = argc > 2 ? (uint32_t)atoi(argv[2]) : 0;
	if (argc < 4 || argc > 19 || nr < 1 || nr > NR_KNOWN || !nr_mixes) {
		fprintf(stderr, "usage: mixes NR_SERVICES (1 to %d) NR_MIXES POLICY...\n", NR_KNOWN);
		return 2;
	}
	for (int p = 3; p < argc; p++)
		if (!policy_find(argv[p])) {
			fprintf(stderr, "mixes: unknown policy %s\n", argv[p]);
			return 2;
		}
	rng_seed(&dice, nr);
	for (uint32_t i = 0; i < nr_mixes; i++) {
		fprintf(stderr, "\rmix %u of %u ", i + 1, nr_mixes);
		draw_mix(&m, nr, &dice, chosen, rates);
		for (int p = 3; p < argc; p++) {
			struct score s = run(&m, rates, chosen, policy_find(argv[p]));

			sums[p - 3].first_ok_s += s.first_ok_s / nr_mixes;
			sums[p - 3].valid_s += s.valid_s / nr_mixes;
			sums[p - 3].in_v += s.in_v / nr_mixes;
			sums[p - 3].moves += s.moves / nr_mixes;
			if (s.valid_s > worst[p - 3].valid_s)
				worst[p - 3].valid_s = s.valid_s;
		}
		plant_close(m.plant);
	}
	fprintf(stderr, "\r%30s\r", "");
	for (int p = 3; p < argc; p++)
		printf("%u services  %-14s  first ok %4.1f s  valid %4.1f s (worst %2.0f)  in V %.2f  %4.1f moves/min\n",
		       nr, argv[p], sums[p - 3].first_ok_s, sums[p - 3].valid_s, worst[p - 3].valid_s, sums[p - 3].in_v,
		       sums[p - 3].moves);
	return 0;
}
