// SPDX-License-Identifier: GPL-2.0
/* test_station_theory.c - the simulated service against queueing theory; plant-check does it with more requests. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hist.h"
#include "station_bench.h"

static void m_m_1_has_the_sojourn_times_of_theory(void **state)
{
	static const double rhos[] = { 0.3, 0.5, 0.7 };
	struct station_params p = mm(100000, 0);

	(void)state;
	p.target_ns = MS;
	for (int i = 0; i < 3; i++) {
		struct sample s = run(&p, 1, rhos[i], 2e6);
		double mean = 100000 / (1 - rhos[i]);

		assert_near((double)s.mean_ns, mean, 0.02, "mean");
		assert_near((double)s.p50_ns, mean * log(2), 0.02, "p50");
		assert_near((double)s.p95_ns, mean * log(20), 0.02, "p95");
		assert_near((double)s.p99_ns, mean * log(100), 0.02, "p99");
		assert_near((double)s.cpu_ns, rhos[i] * (double)s.window_ns, 0.01, "CPU time");
		if (i == 2)
			assert_near((double)s.nr_late / (double)s.nr_completed, exp(-3), 0.05, "late share");
	}
}

static void m_m_k_has_the_waiting_times_of_theory(void **state)
{
	static const struct { uint32_t k; double rho; } cases[] = { { 2, 0.7 }, { 8, 0.8 }, { 16, 0.8 }, { 64, 0.9 } };
	struct station_params p = mm(1000000, 0);

	(void)state;
	for (int i = 0; i < 4; i++) {
		uint32_t k = cases[i].k;
		double rho = cases[i].rho, drain = k * (1 - rho) / 1e6;
		struct sample s = run(&p, k, rho, 2e6);

		assert_near((double)s.mean_ns, 1e6 + erlang_c(k, rho) / drain, 0.02, "mean");
		/* P(wait > t) = C exp(-drain t) */
		if (k < 64) /* with so many, too few requests wait long */
			assert_near((double)s.residency_p99_ns, log(erlang_c(k, rho) / 0.01) / drain, 0.04, "p99 wait");
	}
}

static void m_d_1_waits_half_as_long_as_m_m_1(void **state)
{
	static const double rhos[] = { 0.5, 0.7 };
	struct station_params p = mm(100000, 0);

	(void)state;
	p.shape = DRAW_LOGNORMAL;
	p.cv = 0;
	for (int i = 0; i < 2; i++) {
		struct sample s = run(&p, 1, rhos[i], 1e6);

		assert_near((double)s.mean_ns, 100000 * (1 + rhos[i] / 2 / (1 - rhos[i])), 0.02, "mean");
		assert_near((double)s.service_p99_ns, 100000, 0.01, "constant service");
	}
}

static void m_g_1_follows_pollaczek_and_khinchine(void **state)
{
	struct station_params p = mm(100000, 0);
	struct sample s;

	(void)state;
	p.shape = DRAW_LOGNORMAL;
	p.cv = 1.5;
	s = run(&p, 1, 0.6, 3e6);
	assert_near((double)s.mean_ns, 100000 * (1 + 0.6 * (1 + 1.5 * 1.5) / 2 / 0.4), 0.02, "mean");
	assert_near((double)s.cpu_ns / (double)s.nr_completed, 100000, 0.01, "mean service");
}

static void a_queue_per_thread_is_as_many_single_servers(void **state)
{
	struct station_params p = mm(100000, 0);
	struct sample s;

	(void)state;
	p.queue = STATION_PER_THREAD;
	s = run(&p, 8, 0.7, 3e6);
	assert_near((double)s.mean_ns, 100000 / 0.3, 0.02, "mean");
	assert_near((double)s.p99_ns, 100000 / 0.3 * log(100), 0.02, "p99");
}

static void sharing_has_the_mean_of_theory_whatever_the_distribution(void **state)
{
	static const struct { uint32_t k; double cv; } cases[] = { { 1, -1 }, { 1, 0 }, { 1, 1.5 }, { 8, 1.5 } };

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct station_params p = mm(100000, 0);
		uint32_t k = cases[i].k;
		struct sample s;

		p.queue = STATION_PROCESSOR_SHARING;
		p.shape = cases[i].cv < 0 ? DRAW_EXPONENTIAL : DRAW_LOGNORMAL;
		p.cv = fabs(cases[i].cv);
		s = run(&p, k, 0.7, 1e6);
		assert_near((double)s.mean_ns, 1e5 * (1 + erlang_c(k, 0.7) / (k * 0.3)), 0.02, "mean");
		assert_near((double)s.cpu_ns, 0.7 * k * (double)s.window_ns, 0.01, "CPU time");
		assert_int_equal(s.residency_p99_ns, hist_mid(0)); /* nobody queues */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(m_m_1_has_the_sojourn_times_of_theory),
		cmocka_unit_test(m_m_k_has_the_waiting_times_of_theory),
		cmocka_unit_test(m_d_1_waits_half_as_long_as_m_m_1),
		cmocka_unit_test(m_g_1_follows_pollaczek_and_khinchine),
		cmocka_unit_test(a_queue_per_thread_is_as_many_single_servers),
		cmocka_unit_test(sharing_has_the_mean_of_theory_whatever_the_distribution),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
