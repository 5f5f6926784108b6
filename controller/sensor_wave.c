// SPDX-License-Identifier: GPL-2.0
/*
 * sensor_wave.c - pure: a triangle of latency.  It is no model of a service; experiments/plant is.
 */
#include "sensor_wave.h"

/* Up in the first half of the wave, down in the second. */
static uint32_t permille_at(uint64_t window)
{
	const uint32_t half = WAVE_WINDOWS / 2;
	uint32_t at = (uint32_t)(window % WAVE_WINDOWS), up = at < half ? at : WAVE_WINDOWS - at;

	return WAVE_LOW_PERMILLE + (WAVE_HIGH_PERMILLE - WAVE_LOW_PERMILLE) * up / half;
}

static int read_wave(void *ctx, uint64_t now_ns, struct sample *samples, uint32_t nr_services)
{
	struct sensor_wave *w = ctx;

	(void)now_ns;
	for (uint32_t i = 0; i < nr_services; i++) {
		uint32_t permille = permille_at(w->nr_reads + (uint64_t)i * WAVE_WINDOWS / nr_services);
		uint64_t ns = w->config->services[i].target_ns / 1000 * permille;

		samples[i] = (struct sample){
			.window_ns = w->config->interval_ns, .nr_arrived = WAVE_REQUESTS, .nr_completed = WAVE_REQUESTS,
			.mean_ns = ns / 4, .p50_ns = ns / 4, .p95_ns = ns / 2, .p99_ns = ns, .steer_ns = ns,
			.total_p50_ns = ns / 4, .total_p99_ns = ns,
			.nr_late = permille > 1000 ? WAVE_REQUESTS / 20 : 0,
		};
	}
	w->nr_reads++;
	return 0;
}

struct sensor sensor_wave_port(struct sensor_wave *w)
{
	return (struct sensor){ .ctx = w, .read = read_wave };
}
