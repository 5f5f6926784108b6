// SPDX-License-Identifier: GPL-2.0
/* test_station.c - the simulated service against queueing theory, and what happens when cores and speed change. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "experiments/plant/station.h"

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

static struct station_params mm(uint64_t service_ns, double max_load)
{
	return (struct station_params){ .service_ns = service_ns, .shape = DRAW_EXPONENTIAL, .max_load = max_load,
					.target_ns = 10 * MS, .percentile_permille = 990, .period_ns = 10 * MS,
					.seed = 20190413 };
}

static struct station *opened(const struct station_params *params, uint32_t nr_servers, double share)
{
	struct station *s;

	assert_int_equal(station_open(&s, params), 0);
	station_set_servers(s, nr_servers);
	station_set_load(s, share);
	return s;
}

/* A run long enough that the estimate of a mean is good to a small part of 2 %, after a warm-up that is thrown away. */
static struct sample run(const struct station_params *params, uint32_t nr_servers, double rho, double nr_requests)
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

static void assert_near(double value, double expected, double share, const char *what)
{
	if (!(fabs(value - expected) <= share * expected))
		fail_msg("%s: %g where theory says %g", what, value, expected);
}

/* Erlang C: the probability that all k servers are busy. */
static double erlang_c(uint32_t k, double rho)
{
	double term = 1, sum = 1, a = k * rho;

	for (uint32_t i = 1; i < k; i++) {
		term *= a / i;
		sum += term;
	}
	term *= a / k / (1 - rho);
	return term / (sum + term);
}

static void m_m_1_has_the_sojourn_times_of_theory(void **state)
{
	static const double rhos[] = { 0.3, 0.7, 0.8 };
	struct station_params p = mm(100000, 0);

	(void)state;
	p.target_ns = 3 * MS / 2;
	for (int i = 0; i < 3; i++) {
		struct sample s = run(&p, 1, rhos[i], 8e6);
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
	static const struct { uint32_t k; double rho; } cases[] = { { 2, 0.8 }, { 8, 0.9 }, { 16, 0.9 }, { 64, 0.9 } };
	struct station_params p = mm(1000000, 0);

	(void)state;
	for (int i = 0; i < 4; i++) {
		uint32_t k = cases[i].k;
		double rho = cases[i].rho, drain = k * (1 - rho) / 1e6;
		struct sample s = run(&p, k, rho, 6e6);

		assert_near((double)s.mean_ns, 1e6 + erlang_c(k, rho) / drain, 0.02, "mean");
		/* P(wait > t) = C exp(-drain t) */
		assert_near((double)s.residency_p99_ns, log(erlang_c(k, rho) / 0.01) / drain, 0.04, "p99 of the wait");
	}
}

static void m_d_1_waits_half_as_long_as_m_m_1(void **state)
{
	static const double rhos[] = { 0.5, 0.8 };
	struct station_params p = mm(100000, 0);

	(void)state;
	p.shape = DRAW_LOGNORMAL;
	p.cv = 0;
	for (int i = 0; i < 2; i++) {
		struct sample s = run(&p, 1, rhos[i], 8e6);

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
	s = run(&p, 1, 0.6, 12e6);
	assert_near((double)s.mean_ns, 100000 * (1 + 0.6 * (1 + 1.5 * 1.5) / 2 / 0.4), 0.02, "mean");
	assert_near((double)s.cpu_ns / (double)s.nr_completed, 100000, 0.01, "mean service");
}

static void a_queue_per_thread_is_as_many_single_servers(void **state)
{
	struct station_params p = mm(100000, 0);
	struct sample s;

	(void)state;
	p.queue = STATION_PER_THREAD;
	s = run(&p, 8, 0.7, 8e6);
	assert_near((double)s.mean_ns, 100000 / 0.3, 0.02, "mean");
	assert_near((double)s.p99_ns, 100000 / 0.3 * log(100), 0.02, "p99");
}

static void the_window_ends_where_it_says_and_latency_is_booked_at_completion(void **state)
{
	struct station_params p = mm(20 * MS, 1000);
	struct station *s;
	struct sample a, b;

	(void)state;
	p.shape = DRAW_LOGNORMAL;
	s = opened(&p, 1, 1);
	station_advance(s, 15 * MS);
	station_read(s, 15 * MS, &a);
	assert_int_equal(a.nr_completed, 0);
	assert_int_equal(a.p99_ns, 0);
	assert_int_equal(a.signal, POLICY_STALLED);
	assert_int_equal(a.nr_in_flight, a.nr_arrived);
	assert_in_range(a.oldest_ns, 10 * MS, 15 * MS);
	assert_in_range(a.nr_over_target, 1, a.nr_in_flight - 1);
	assert_in_range(a.cpu_ns, 10 * MS, 15 * MS);
	station_advance(s, 215 * MS);
	station_read(s, 200 * MS, &b);
	assert_int_equal(b.nr_completed, 10);
	assert_int_equal(b.cpu_ns, 200 * MS);
	assert_int_equal(a.nr_arrived + b.nr_arrived, b.nr_completed + b.nr_in_flight);
	station_close(s);
}

/* One constant request that begins at once; returns when it is done. */
static struct station *one_request(struct station_params p, uint32_t nr_servers, uint64_t *begun_ns)
{
	struct station *s;
	struct sample sample = { 0 };

	p.shape = DRAW_LOGNORMAL;
	p.service_ns = 100 * MS;
	p.max_load = 10;
	s = opened(&p, nr_servers, 1);
	for (*begun_ns = 0; !sample.nr_arrived; *begun_ns += 1000) {
		station_advance(s, *begun_ns + 1000);
		station_read(s, 1000, &sample);
	}
	station_set_load(s, 0);
	return s;
}

static uint64_t done_after(struct station *s, uint64_t begun_ns, uint64_t now_ns)
{
	struct sample sample = { 0 };

	while (!sample.nr_completed && now_ns < begun_ns + 10 * SECOND) {
		now_ns += 10000;
		station_advance(s, now_ns);
		station_read(s, 10000, &sample);
	}
	return now_ns - begun_ns;
}

static void a_change_of_speed_rescales_what_is_left(void **state)
{
	uint64_t t;
	struct station *s = one_request(mm(0, 0), 1, &t);

	(void)state;
	station_advance(s, t + 60 * MS);
	station_set_slowdown(s, 2); /* 40 ms left take 80 */
	station_advance(s, t + 100 * MS);
	station_set_slowdown(s, 0.5); /* 20 ms left take 10 */
	assert_in_range(done_after(s, t, t + 100 * MS), 109.9 * MS, 110.1 * MS);
	station_close(s);
}

static void a_request_whose_core_is_taken_goes_on_later_with_what_is_left(void **state)
{
	for (int queue = STATION_SHARED; queue <= STATION_PER_THREAD; queue++) {
		struct station_params p = mm(0, 0);
		struct sample sample;
		struct station *s;
		uint64_t t;

		p.queue = queue;
		s = one_request(p, 2, &t);
		station_advance(s, t + 60 * MS);
		station_set_servers(s, 0);
		station_advance(s, t + 500 * MS);
		station_read(s, 500 * MS, &sample);
		assert_int_equal(sample.nr_in_flight, 1);
		assert_in_range(sample.cpu_ns, 59.9 * MS, 60.1 * MS);
		station_set_slowdown(s, 2); /* also while it waits */
		station_set_servers(s, 1);
		assert_in_range(done_after(s, t, t + 500 * MS), 579.9 * MS, 580.1 * MS);
		station_close(s);
	}
	(void)state;
}

static void nothing_is_lost_while_cores_speed_and_quota_change(void **state)
{
	uint64_t nr_arrived = 0, nr_completed = 0, nr_dropped = 0;
	struct sample sample = { 0 };
	struct rng dice;

	(void)state;
	rng_seed(&dice, 5);
	for (int queue = STATION_SHARED; queue <= STATION_PER_THREAD; queue++) {
		struct station_params p = mm(MS, 12000);
		struct station *s;

		p.queue = queue;
		s = opened(&p, 4, 1);
		nr_arrived = nr_completed = nr_dropped = 0;
		for (uint64_t t = 1; t <= 3000; t++) {
			station_advance(s, t * 3 * MS);
			station_read(s, 3 * MS, &sample);
			nr_arrived += sample.nr_arrived;
			nr_completed += sample.nr_completed;
			nr_dropped += sample.nr_listen_drops;
			assert_int_equal(nr_arrived, nr_completed + nr_dropped + sample.nr_in_flight);
			assert_true(sample.cpu_ns <= 20 * 3 * MS);
			station_set_servers(s, (uint32_t)rng_below(&dice, 20));
			station_set_slowdown(s, 0.5 + rng_uniform(&dice));
			station_set_quota(s, 100 * (1 + (uint32_t)rng_below(&dice, 10)));
			station_set_load(s, rng_uniform(&dice));
		}
		assert_true(nr_completed > 40000);
		station_close(s);
	}
}

static void a_full_queue_turns_requests_away(void **state)
{
	struct station_params p = mm(MS, 1000);
	struct station *s = opened(&p, 0, 1);
	struct sample sample;

	(void)state;
	station_advance(s, 15 * SECOND);
	station_read(s, 15 * SECOND, &sample);
	assert_int_equal(sample.nr_in_flight, 10000); /* ten seconds of full load */
	assert_int_equal(sample.nr_listen_drops, sample.nr_arrived - 10000);
	assert_true(sample.nr_listen_drops > 4000);
	station_close(s);
}

static void a_quota_gives_exactly_its_share_of_the_servers(void **state)
{
	struct station_params p = mm(MS, 20000);
	struct station *s = opened(&p, 4, 1); /* five times what 4 servers can do */
	struct sample sample;

	(void)state;
	station_set_quota(s, 400);
	station_advance(s, 5 * MS);
	station_read(s, 5 * MS, &sample);
	station_advance(s, 2005 * MS);
	station_read(s, 2000 * MS, &sample);
	assert_near((double)sample.cpu_ns, 0.4 * 4 * 2000 * MS, 0.001, "CPU time");
	assert_near((double)sample.throttled_ns, 0.6 * 2000 * MS, 0.02, "throttled");
	station_set_quota(s, 1000);
	station_advance(s, 4005 * MS);
	station_read(s, 2000 * MS, &sample);
	assert_int_equal(sample.cpu_ns, 4 * 2000 * MS);
	station_close(s);
}

static void a_quota_is_not_a_slow_cpu(void **state)
{
	struct station_params p = mm(5 * MS, 20);
	struct station *s;
	struct sample sample;

	(void)state;
	p.shape = DRAW_LOGNORMAL;
	p.period_ns = 100 * MS;
	s = opened(&p, 1, 1); /* 10 % busy: 60 % of a 100 ms period is never used up */
	station_set_quota(s, 600);
	station_advance(s, 100 * SECOND);
	station_read(s, 100 * SECOND, &sample);
	assert_near((double)sample.p50_ns, 5e6, 0.01, "p50"); /* a CPU of 60 % would show 8.3 ms */
	assert_int_equal(sample.throttled_ns, 0);
	station_close(s);
}

static void equal_seeds_give_equal_samples_however_time_is_cut(void **state)
{
	struct station_params p = mm(MS, 3000);
	struct station *a = opened(&p, 4, 1), *b = opened(&p, 4, 1);
	struct sample x, y;

	(void)state;
	for (uint64_t t = 1; t <= 5000; t++)
		station_advance(a, t * MS);
	station_advance(b, 5 * SECOND);
	station_read(a, 5 * SECOND, &x);
	station_read(b, 5 * SECOND, &y);
	assert_memory_equal(&x, &y, sizeof(x));
	station_close(a);
	station_close(b);
}

static void a_service_without_requests_is_idle(void **state)
{
	struct station_params p = mm(MS, 3000);
	struct station *s = opened(&p, 4, 0);
	struct sample sample;

	(void)state;
	station_advance(s, SECOND);
	station_read(s, SECOND, &sample);
	assert_int_equal(sample.signal, POLICY_IDLE);
	station_set_load(s, 0.02);
	station_advance(s, 2 * SECOND);
	station_read(s, SECOND, &sample);
	assert_int_equal(sample.signal, POLICY_THIN);
	station_set_load(s, 1);
	station_advance(s, 3 * SECOND);
	station_read(s, SECOND, &sample);
	assert_int_equal(sample.signal, POLICY_FRESH);
	station_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(m_m_1_has_the_sojourn_times_of_theory),
		cmocka_unit_test(m_m_k_has_the_waiting_times_of_theory),
		cmocka_unit_test(m_d_1_waits_half_as_long_as_m_m_1),
		cmocka_unit_test(m_g_1_follows_pollaczek_and_khinchine),
		cmocka_unit_test(a_queue_per_thread_is_as_many_single_servers),
		cmocka_unit_test(the_window_ends_where_it_says_and_latency_is_booked_at_completion),
		cmocka_unit_test(a_change_of_speed_rescales_what_is_left),
		cmocka_unit_test(a_request_whose_core_is_taken_goes_on_later_with_what_is_left),
		cmocka_unit_test(nothing_is_lost_while_cores_speed_and_quota_change),
		cmocka_unit_test(a_full_queue_turns_requests_away),
		cmocka_unit_test(a_quota_gives_exactly_its_share_of_the_servers),
		cmocka_unit_test(a_quota_is_not_a_slow_cpu),
		cmocka_unit_test(equal_seeds_give_equal_samples_however_time_is_cut),
		cmocka_unit_test(a_service_without_requests_is_idle),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
