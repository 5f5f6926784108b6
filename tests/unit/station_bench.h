/* SPDX-License-Identifier: GPL-2.0 */
/*
 * station_bench.h - a simulated service to be looked at: for test_station*.c.  Include after cmocka.h.
 */
#ifndef PARTIES_TESTS_STATION_BENCH_H
#define PARTIES_TESTS_STATION_BENCH_H

#include <math.h>

#include "experiments/plant/station.h"

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

static inline struct station_params mm(uint64_t service_ns, double max_load)
{
	return (struct station_params){ .service_ns = service_ns, .shape = DRAW_EXPONENTIAL, .max_load = max_load,
					.target_ns = 10 * MS, .percentile_permille = 990, .period_ns = 10 * MS,
					.seed = 20190413 };
}

static inline struct station *opened(const struct station_params *params, uint32_t nr_servers, double share)
{
	struct station *s;

	assert_int_equal(station_open(&s, params), 0);
	station_set_servers(s, nr_servers);
	station_set_load(s, share);
	return s;
}

/* A run long enough that the estimate of a mean is good to a small part of 2 %, after a warm-up that is thrown away. */
static inline struct sample run(const struct station_params *params, uint32_t nr_servers, double rho, double nr_requests)
{
	double rate = rho * nr_servers / ((double)params->service_ns / 1e9);
	struct station_params p = *params;
	struct station *s;
	struct sample sample;
	uint64_t span_ns = (uint64_t)(nr_requests / rate * 1e9);

	p.max_load = rate;
	s = opened(&p, nr_servers, 1);
	station_advance(s, span_ns / 20);
	station_read(s, 0, &sample);
	station_advance(s, span_ns / 20 + span_ns);
	station_read(s, span_ns, &sample);
	station_close(s);
	return sample;
}

static inline void assert_near(double value, double expected, double share, const char *what)
{
	if (!(fabs(value - expected) <= share * expected))
		fail_msg("%s: %g where theory says %g", what, value, expected);
}

/* Erlang C: the probability that all k servers are busy. */
static inline double erlang_c(uint32_t k, double rho)
{
	double term = 1, sum = 1, a = k * rho;

	for (uint32_t i = 1; i < k; i++) {
		term *= a / i;
		sum += term;
	}
	term *= a / k / (1 - rho);
	return term / (sum + term);
}

#endif
