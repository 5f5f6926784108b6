// SPDX-License-Identifier: GPL-2.0
/*
 * speed.c - how many requests the simulated machine plays in a second of CPU time.  Glue.
 */
#include "check.h"

#include <stdio.h>
#include <time.h>

#include "experiments/plant/station.h"

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Requests per second of CPU time, the best of three; 70 % busy, exponential service, slices as the plant cuts them. */
static double measure(enum station_queue queue, uint32_t nr_servers)
{
	struct station_params params = { .service_ns = 100000, .shape = DRAW_EXPONENTIAL, .queue = queue,
					 .max_load = 0.7 * nr_servers / 100e-6, .target_ns = 1000000,
					 .percentile_permille = 990, .period_ns = 5000000, .seed = 1 };
	const double nr_wanted = 4e6;
	uint64_t slice_ns = 10000000, nr_slices = (uint64_t)(nr_wanted / params.max_load * 1e9) / slice_ns;
	double best = 0;

	for (int run = 0; run < 3; run++) {
		struct station *s;
		struct sample sample;
		double begun_s;

		if (station_open(&s, &params))
			return 0;
		station_set_servers(s, nr_servers);
		station_set_load(s, 1);
		begun_s = cpu_s();
		for (uint64_t i = 1; i <= nr_slices; i++)
			station_advance(s, i * slice_ns);
		station_read(s, nr_slices * slice_ns, &sample);
		begun_s = cpu_s() - begun_s;
		if ((double)sample.nr_completed / begun_s > best)
			best = (double)sample.nr_completed / begun_s;
		station_close(s);
	}
	return best;
}

void check_speed(void)
{
	static const uint32_t servers[] = { 1, 14, 16, 32, 64 };
	static const struct {
		const char *name;
		enum station_queue queue;
	} queues[] = { { "shared", STATION_SHARED }, { "per thread", STATION_PER_THREAD },
		       { "processor sharing", STATION_PROCESSOR_SHARING } };

	printf("%-18s %8s  %s\n", "queue", "servers", "million requests per second of CPU time");
	for (size_t q = 0; q < sizeof(queues) / sizeof(queues[0]); q++)
		for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++) {
			fprintf(stderr, "\rspeed: %s, %u servers ", queues[q].name, servers[i]);
			printf("%-18s %8u  %.1f\n", queues[q].name, servers[i],
			       measure(queues[q].queue, servers[i]) / 1e6);
		}
	fprintf(stderr, "\r%50s\r", "");
}
