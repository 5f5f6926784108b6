/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sensor_wave.h - made-up windows for a tree that stands in for the machine, on which nothing can be measured.  Pure.
 *
 * Every service's latency goes up and down around its target once a minute of half-second windows, each service a little
 * later than the one before, so that a policy has something to do.  Nothing that is given to a service changes it.
 */
#ifndef PARTIES_SENSOR_WAVE_H
#define PARTIES_SENSOR_WAVE_H

#include "config.h"
#include "ports.h"

enum { WAVE_WINDOWS = 120, WAVE_LOW_PERMILLE = 400, WAVE_HIGH_PERMILLE = 1300, WAVE_REQUESTS = 1000 };

struct sensor_wave {
	const struct config *config;
	uint64_t nr_reads;
};

/* The sensor of *w, which lives as long as it is used. */
struct sensor sensor_wave_port(struct sensor_wave *w);

#endif
