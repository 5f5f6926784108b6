// SPDX-License-Identifier: GPL-2.0
/*
 * predict.c - how well the simulated queue describes a real service: its parameters are fitted to latencies measured at some
 * loads and then predict those at the others.  Glue over experiments/plant/station.h; it measures nothing itself.
 *
 *	predict TABLE SERVICE LIFECYCLE LOAD,...     TABLE: accuracy.tsv of experiments/accuracy; loads to fit by, percent
 *
 * One CPU serves, so that the model has one server.  Fitted are the mean service time, its coefficient of variation, a
 * constant part that keeps no CPU busy (wake-ups, the way through the kernel), and which queue discipline fits best; to
 * p50, p95 and p99 of the owed latency by least squares of their logarithms, all with one seed.  Prints a line per load:
 *
 *	service queue load_pct rate used seen_p50 seen_p95 seen_p99 model_p50 model_p95 model_p99      (us)
 *
 * and the parameters on stderr.  Exits 1 when the table has no such rows.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/plant/station.h"

enum { MAX_ROWS = 32, NR_PERCENTILES = 3, NR_PARAMETERS = 3, FIT_REQUESTS = 100000, SHOW_REQUESTS = 1000000,
       MAX_COLUMNS = 64, LINE_SIZE = 4096 };
static const double first_step = 0.5, last_step = 0.01, us = 1e3;

struct row {
	double load_pct, rate, seen_us[NR_PERCENTILES];
	bool used;
};

struct table {
	uint32_t nr;
	struct row rows[MAX_ROWS];
};

/* Logarithms: all are above 0, and a step means the same everywhere. */
struct model {
	enum station_queue queue;
	double log_of[NR_PARAMETERS]; /* of the service time in ns, its variation, the constant part in ns */
};

static void die(const char *why, const char *what)
{
	fprintf(stderr, "predict: %s%s\n", why, what);
	exit(1);
}

static void play(const struct model *m, double rate, double nr_requests, double *ret_us)
{
	const struct station_params params = {
		.service_ns = (uint64_t)exp(m->log_of[0]), .cv = exp(m->log_of[1]), .shape = DRAW_LOGNORMAL,
		.queue = m->queue, .max_load = rate, .target_ns = 1000000000, .percentile_permille = 990,
		.period_ns = 10000000, .seed = 1,
	};
	double constant_us = exp(m->log_of[2]) / us;
	struct station *station;
	struct sample sample;

	if (station_open(&station, &params))
		die("not enough memory", "");
	station_set_servers(station, 1);
	station_set_load(station, 1);
	station_advance(station, (uint64_t)(nr_requests / rate * 1e9));
	station_read(station, 1, &sample);
	station_close(station);
	ret_us[0] = (double)sample.p50_ns / us + constant_us;
	ret_us[1] = (double)sample.p95_ns / us + constant_us;
	ret_us[2] = (double)sample.p99_ns / us + constant_us;
}

static double error_of(const struct model *m, const struct table *t)
{
	double sum = 0, said_us[NR_PERCENTILES];

	for (uint32_t i = 0; i < t->nr; i++) {
		if (!t->rows[i].used)
			continue;
		play(m, t->rows[i].rate, FIT_REQUESTS, said_us);
		for (int p = 0; p < NR_PERCENTILES; p++)
			sum += pow(log(said_us[p] / t->rows[i].seen_us[p]), 2);
	}
	return sum;
}

/* Pattern search: goes on along any parameter that helps, halves the step when none does. */
static double search(struct model *m, const struct table *t)
{
	double best = error_of(m, t), step = first_step;

	while (step > last_step) {
		bool better = false;

		for (int i = 0; i < 2 * NR_PARAMETERS; i++) {
			struct model next = *m;
			double error;

			next.log_of[i / 2] += i % 2 ? -step : step;
			error = error_of(&next, t);
			if (error < best) {
				best = error;
				*m = next;
				better = true;
			}
		}
		if (!better)
			step /= 2;
	}
	return best;
}

/* The service cannot take longer than the busiest load leaves it, nor longer than its fastest half was seen to take. */
static struct model first_guess(const struct table *t, enum station_queue queue)
{
	double least_us = INFINITY, most_rate = 0, service_ns;

	for (uint32_t i = 0; i < t->nr; i++) {
		least_us = fmin(least_us, t->rows[i].seen_us[0]);
		most_rate = fmax(most_rate, t->rows[i].rate);
	}
	service_ns = fmin(0.9e9 / most_rate, least_us * us);
	return (struct model){ queue, { log(service_ns), log(0.5), log(fmax(least_us * us / 10, 1000)) } };
}

static int column(char **names, int nr, const char *name)
{
	for (int i = 0; i < nr; i++)
		if (!strcmp(names[i], name))
			return i;
	die("the table has no column ", name);
	return 0;
}

static int split(char *line, char **fields)
{
	int nr = 0;

	line[strcspn(line, "\n")] = '\0';
	for (char *field; nr < MAX_COLUMNS && (field = strsep(&line, "\t"));)
		fields[nr++] = field;
	return nr;
}

static bool is_listed(double load_pct, const char *loads)
{
	char *end;

	for (; *loads; loads = *end ? end + 1 : end) {
		if (strtod(loads, &end) == load_pct)
			return true;
		if (end == loads || (*end && *end != ','))
			die("no list of loads: ", loads);
	}
	return false;
}

static void read_table(const char *path, const char *service, const char *lifecycle, const char *loads, struct table *t)
{
	static const char *const wanted[] = { "service", "method", "load_pct", "client_rate_achieved", "p50_us", "p95_us",
					      "p99_us" };
	enum { NR_WANTED = sizeof(wanted) / sizeof(wanted[0]) };
	char header[LINE_SIZE], line[LINE_SIZE], *fields[MAX_COLUMNS];
	int at[NR_WANTED], nr;
	FILE *file = fopen(path, "re");

	if (!file || !fgets(header, sizeof(header), file))
		die("cannot read ", path);
	nr = split(header, fields);
	for (int i = 0; i < NR_WANTED; i++)
		at[i] = column(fields, nr, wanted[i]);
	while (t->nr < MAX_ROWS && fgets(line, sizeof(line), file)) {
		struct row *row = &t->rows[t->nr];

		if (split(line, fields) < nr || strcmp(fields[at[0]], service) || strcmp(fields[at[1]], lifecycle))
			continue;
		row->load_pct = atof(fields[at[2]]);
		row->rate = atof(fields[at[3]]);
		for (int p = 0; p < NR_PERCENTILES; p++)
			row->seen_us[p] = atof(fields[at[4 + p]]);
		row->used = is_listed(row->load_pct, loads);
		t->nr++;
	}
	fclose(file);
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "shared", "processor-sharing" };
	static const enum station_queue queues[] = { STATION_SHARED, STATION_PROCESSOR_SHARING };
	struct model best = { 0 };
	struct table t = { 0 };
	double least = INFINITY;
	int chosen = 0, nr_used = 0;

	if (argc != 5) {
		fprintf(stderr, "usage: predict TABLE SERVICE LIFECYCLE LOAD,...\n");
		return 2;
	}
	read_table(argv[1], argv[2], argv[3], argv[4], &t);
	for (uint32_t i = 0; i < t.nr; i++)
		nr_used += t.rows[i].used;
	if (!nr_used || (uint32_t)nr_used == t.nr)
		die("nothing to fit by, or nothing to predict: ", argv[2]);
	for (int q = 0; q < 2; q++) {
		struct model m = first_guess(&t, queues[q]);
		double error = search(&m, &t);

		fprintf(stderr, "predict: %s, %s: service %.1f us, cv %.2f, constant part %.1f us; typical error %.0f %%\n", argv[2],
			names[q], exp(m.log_of[0]) / us, exp(m.log_of[1]), exp(m.log_of[2]) / us,
			100 * sqrt(error / (nr_used * NR_PERCENTILES)));
		if (error < least) {
			least = error;
			best = m;
			chosen = q;
		}
	}
	for (uint32_t i = 0; i < t.nr; i++) {
		const struct row *row = &t.rows[i];
		double said_us[NR_PERCENTILES];

		play(&best, row->rate, SHOW_REQUESTS, said_us);
		printf("%s\t%s\t%.0f\t%.0f\t%s\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\n", argv[2], names[chosen], row->load_pct,
		       row->rate, row->used ? "yes" : "no", row->seen_us[0], row->seen_us[1], row->seen_us[2], said_us[0],
		       said_us[1], said_us[2]);
	}
	return 0;
}
