// SPDX-License-Identifier: GPL-2.0
/*
 * services.c - services alone on their machine: latency against target from 30 to 110 % of the maximum load; of those
 * of the catalogue also the fewest cores at 30 % per speed.  Glue over the plant.
 *
 * The published column is the PARTIES paper's figure 2, and the load at which a target is just met is by definition 100
 * %.
 */
#include "check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "experiments/plant/catalogue.h"
#include "experiments/plant/plant.h"
#include "experiments/plant/station.h"

enum { NR_CORES = 14, NR_LOADS = 5, NR_SPEEDS = 4 };
static const double loads[NR_LOADS] = { 0.3, 0.6, 0.9, 1.0, 1.1 };
static const uint32_t speeds_khz[NR_SPEEDS] = { 2800000, 2200000, 1600000, 1200000 };
static const double most_at_30 = 0.8; /* of the target: beyond there is no slack to steer by */

/* Fewest cores at 30 % as published, at the speeds above, in the catalogue's order; "" where it is not shown. */
static const struct {
	const char *cores[NR_SPEEDS];
} published[] = {
	{ { "5", "6", "8-9", "11" } }, /* memcached */
	{ { "4-5", "", "", "" } },     /* xapian */
	{ { "5", "", "", "9" } },      /* nginx */
	{ { "3-4", "", "", "" } },     /* moses */
	{ { "", "", "", "1" } },       /* mongodb */
	{ { "5", "", "", "" } },       /* sphinx */
};

/* A scenario of all the catalogue's services, each at rest unless it is played. */
static int open_catalogue(struct plant **ret)
{
	int fd = memfd_create("scenario", MFD_CLOEXEC), err;
	char path[32], error[512];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	file = fd < 0 ? NULL : fopen(path, "we");
	if (!file) {
		perror("plant-check: memfd");
		return -1;
	}
	fprintf(file, "[plant]\ncores = %d\nduration = 1s\n", NR_CORES);
	for (unsigned int i = 0; catalogue_at(i); i++)
		fprintf(file, "[service %s]\nlike = %s\nprofile = at 0s 0%%\n", catalogue_at(i)->name,
			catalogue_at(i)->name);
	fclose(file);
	err = plant_open(ret, path, 0, error, sizeof(error));
	close(fd);
	if (err)
		fprintf(stderr, "plant-check: %s\n", error);
	return err;
}

/* p99 against target of a service that is alone on the machine, or -1. */
static double play(const struct plant *p, uint32_t service, double load, uint32_t nr_cores, uint32_t speed,
		   uint64_t nr_requests)
{
	uint64_t span_ns = (uint64_t)((double)nr_requests / load / plant_max_load(p, service) * 1e9);
	double alone[POLICY_MAX_SERVICES] = { 0 };
	struct station *station;
	struct sample sample;

	alone[service] = load;
	if (plant_open_alone(p, service, alone, nr_cores, speed, &station))
		return -1;
	station_advance(station, span_ns / 20);
	station_read(station, span_ns / 20, &sample);
	station_advance(station, span_ns + span_ns / 20);
	station_read(station, span_ns, &sample);
	station_close(station);
	return (double)sample.p99_ns / (double)plant_config(p)->services[service].target_ns;
}

static uint32_t fewest_cores(const struct plant *p, uint32_t service, uint32_t khz, uint64_t nr_requests)
{
	uint32_t speed = 0, nr_cores = 1;
	double share;

	while (plant_ladder(p)->value[speed] != khz)
		speed++;
	while (nr_cores <= NR_CORES &&
	       !((share = play(p, service, 0.3, nr_cores, speed, nr_requests)) >= 0 && share <= 1))
		nr_cores++;
	return nr_cores;
}

static void print_cores(const struct plant *p, uint32_t service, uint64_t nr_requests)
{
	for (int s = 0; s < NR_SPEEDS; s++) {
		uint32_t nr = fewest_cores(p, service, speeds_khz[s], nr_requests);

		if (nr > NR_CORES)
			printf("%s>%u", s ? " " : "  ", NR_CORES);
		else
			printf("%s%3u", s ? " " : "  ", nr);
	}
	printf("  ");
	for (int s = 0; s < NR_SPEEDS; s++)
		printf(" %4s", *published[service].cores[s] ? published[service].cores[s] : ".");
}

/* Prints the latencies; 0, or 1 when there is no slack to steer by, which a disk excuses: it is no matter of cores. */
static int check_service(const struct plant *p, uint32_t service, uint64_t nr_requests)
{
	const char *name = plant_config(p)->services[service].name;
	uint32_t nr_speeds = plant_ladder(p)->nr_steps;
	double at_30 = 0;

	printf("%-10s", name);
	for (int l = 0; l < NR_LOADS; l++) {
		double share = play(p, service, loads[l], plant_topology(p)->nr_cores, nr_speeds ? nr_speeds - 1 : 0,
				    nr_requests);

		at_30 = l ? at_30 : share;
		printf(" %6.2f", share);
	}
	if (at_30 >= 0 && at_30 <= most_at_30)
		return 0;
	if (at_30 >= 0 && plant_has_disk(p, service))
		return 0;
	fprintf(stderr, "\rplant-check: %s: p99 at 30 %% load is %.2f of the target, more than %.1f: no slack\n",
		name, at_30, most_at_30);
	return 1;
}

int check_services(const char *scenario, uint64_t nr_requests)
{
	char error[512] = "";
	struct plant *p;
	int nr_bad = 0, err = scenario ? plant_open(&p, scenario, 0, error, sizeof(error)) : open_catalogue(&p);

	if (err && scenario)
		fprintf(stderr, "%s\n", error);
	if (err)
		return err;
	printf("p99 / target on %u cores%s\n%-10s", plant_topology(p)->nr_cores,
	       scenario ? "" : "                 fewest cores at 30 %: simulated   published", "service");
	for (int l = 0; l < NR_LOADS; l++)
		printf(" %4.0f %%", loads[l] * 100);
	printf("%s\n", scenario ? "" : "  2.8 2.2 1.6 1.2 GHz            ");
	for (uint32_t i = 0; i < plant_config(p)->nr_services; i++) {
		fprintf(stderr, "\r%50s\rservices: %s ", "", plant_config(p)->services[i].name);
		nr_bad += check_service(p, i, nr_requests);
		if (!scenario)
			print_cores(p, i, nr_requests / 4);
		printf("\n");
	}
	fprintf(stderr, "\r%50s\r", "");
	plant_close(p);
	return nr_bad;
}
