// SPDX-License-Identifier: GPL-2.0
/* test_station.c - what the simulated service does with requests, and when cores, speed and quota change. */
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

static void a_request_that_shares_with_nobody_takes_its_service_time(void **state)
{
	struct station_params p = mm(5 * MS, 100);
	struct station *s;
	struct sample sample;

	(void)state;
	p.shape = DRAW_LOGNORMAL;
	p.queue = STATION_PROCESSOR_SHARING;
	s = opened(&p, 20, 1);
	station_advance(s, 10 * SECOND);
	station_read(s, 10 * SECOND, &sample);
	assert_near((double)sample.p99_ns, 5e6, 0.01, "p99");
	station_close(s);
}

static void a_batch_arrives_at_once_and_leaves_one_by_one(void **state)
{
	struct station_params p = mm(10 * MS, 1000);
	struct station *s;
	struct sample sample;

	(void)state;
	p.shape = DRAW_LOGNORMAL;
	p.batch = 10;
	p.target_ns = 5 * MS;
	s = opened(&p, 100, 1);
	station_advance(s, 20 * SECOND);
	station_read(s, 20 * SECOND, &sample);
	assert_near((double)sample.nr_arrived, 20000, 0.05, "arrivals");
	assert_int_equal(sample.nr_arrived % 10, 0);
	assert_int_equal(sample.nr_arrived, sample.nr_completed + sample.nr_in_flight);
	assert_near((double)sample.mean_ns, 5.5e6, 0.02, "mean");
	assert_near((double)sample.p99_ns, 10e6, 0.02, "p99");
	assert_near((double)sample.nr_late, 0.5 * (double)sample.nr_completed, 0.01, "late");
	assert_near((double)sample.cpu_ns, 10e6 * (double)sample.nr_arrived / 10, 0.01, "CPU time");
	station_close(s);
}

static void disks_queue_behind_the_cores_and_know_no_speed(void **state)
{
	struct station_params p = mm(MS, 0);
	double wait = erlang_c(4, 0.75) / (4 * 0.25);

	(void)state;
	p.nr_disks = 4;
	p.disk_ns = 30 * MS;
	for (uint32_t slowdown = 1; slowdown <= 3; slowdown += 2) {
		struct station *s;
		struct sample sample;

		p.max_load = 100; /* 75 % of what four disks can do */
		s = opened(&p, 4, 1);
		station_set_slowdown(s, slowdown);
		station_advance(s, 3000 * SECOND);
		station_read(s, 3000 * SECOND, &sample);
		assert_near((double)sample.mean_ns, slowdown * 1e6 + 30e6 * (1 + wait), 0.02, "mean");
		assert_near((double)sample.cpu_ns, slowdown * 0.1 * 3000e9, 0.02, "CPU time");
		assert_int_equal(sample.nr_arrived, sample.nr_completed + sample.nr_in_flight);
		station_close(s);
	}
}

static void clients_see_the_network_and_the_kernel_does_not(void **state)
{
	static const double loads[] = { 0.5, 0.8 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct station_params p = mm(100000, 20000);
		struct sample kernel, client, again;
		struct station *s;
		double rho = loads[i] * 2; /* of the servers, of which there are one */

		p.network_delay_ns = 200000;
		p.network_ns = 50000; /* as busy as the load says */
		s = opened(&p, 4, loads[i]);
		station_advance(s, 100 * SECOND);
		station_read(s, 100 * SECOND, &kernel);
		station_read_client(s, 100 * SECOND, &client);
		assert_near((double)kernel.mean_ns, 1e5 * (1 + erlang_c(4, rho / 4) / (4 - rho)), 0.02, "kernel");
		assert_near((double)(client.mean_ns - kernel.mean_ns), 2e5 + 5e4 / (1 - loads[i]), 0.03, "network");
		assert_true(client.p99_ns > kernel.p99_ns + 200000 && client.p50_ns > kernel.p50_ns + 200000);
		assert_true(client.nr_late >= kernel.nr_late);
		assert_int_equal(client.nr_completed, kernel.nr_completed);
		assert_int_equal(client.cpu_ns, kernel.cpu_ns);
		assert_int_equal(client.nr_arrived, client.nr_completed + client.nr_in_flight);
		assert_int_equal(kernel.nr_arrived, kernel.nr_completed + kernel.nr_in_flight);
		assert_true(client.nr_in_flight >= kernel.nr_in_flight);
		/* One reader's window is not the other's. */
		station_advance(s, 101 * SECOND);
		station_read(s, SECOND, &again);
		station_advance(s, 102 * SECOND);
		station_read(s, SECOND, &kernel);
		station_read_client(s, 2 * SECOND, &client);
		assert_int_equal(client.nr_completed, again.nr_completed + kernel.nr_completed);
		assert_int_equal(client.cpu_ns, again.cpu_ns + kernel.cpu_ns);
		station_close(s);
	}
}

static void without_a_network_clients_see_what_the_kernel_sees(void **state)
{
	struct station_params p = mm(MS, 3000);
	struct station *s = opened(&p, 4, 1);
	struct sample kernel, client;

	(void)state;
	for (uint64_t t = 1; t <= 10; t++) {
		station_advance(s, t * SECOND);
		station_read(s, SECOND, &kernel);
		station_read_client(s, SECOND, &client);
		assert_memory_equal(&kernel, &client, sizeof(kernel));
	}
	station_close(s);
}

static void what_arrives_does_not_depend_on_who_serves_it(void **state)
{
	struct station_params p = mm(MS, 3000);
	struct station *a = opened(&p, 4, 1), *b = opened(&p, 9, 1);
	struct sample x, y;

	(void)state;
	for (uint64_t t = 1; t <= 20; t++) {
		station_set_slowdown(b, 1 + (double)t / 10);
		station_set_servers(b, 4 + (uint32_t)t);
		station_advance(a, t * SECOND);
		station_advance(b, t * SECOND);
		station_read(a, SECOND, &x);
		station_read(b, SECOND, &y);
		assert_int_equal(x.nr_arrived, y.nr_arrived);
	}
	station_close(a);
	station_close(b);
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
	for (int queue = STATION_SHARED; queue <= STATION_PROCESSOR_SHARING; queue++) {
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
	for (int round = 0; round < 9; round++) {
		struct station_params p = mm(MS, 12000);
		struct station *s;

		p.queue = round % 3;
		p.batch = round / 3;
		p.nr_disks = round == 4 ? 30 : 0;
		p.disk_ns = MS;
		s = opened(&p, 4, 1);
		nr_arrived = nr_completed = nr_dropped = 0;
		for (uint64_t t = 1; t <= 2000; t++) {
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
		assert_true(nr_completed > 20000);
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

static void in_overload_all_that_came_before_the_target_is_late(void **state)
{
	(void)state;
	for (int round = 0; round < 6; round++) {
		struct station_params p = mm(MS, 10000);
		struct sample before, after;
		struct station *s;

		p.queue = round % 3;
		p.nr_disks = round > 2 ? 1 : 0;
		p.disk_ns = 1000 * SECOND;
		s = opened(&p, p.nr_disks ? 50 : 4, 1);
		station_advance(s, SECOND - p.target_ns - 1);
		station_read(s, SECOND, &before);
		station_set_servers(s, 0);
		station_advance(s, SECOND);
		station_read(s, SECOND, &after);
		assert_int_equal(after.nr_over_target, before.nr_in_flight);
		assert_int_equal(after.nr_in_flight, before.nr_in_flight + after.nr_arrived);
		assert_true(before.nr_in_flight > 5000 && after.nr_arrived > 50);
		assert_int_equal(after.oldest_ns, before.oldest_ns + p.target_ns + 1);
		station_close(s);
	}
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
	(void)state;
	for (int round = 0; round < 12; round++) {
		struct station_params p = mm(MS, 3000);
		struct station *a, *b;
		struct sample x, y;

		p.queue = round % 3;
		p.nr_disks = round == 3 ? 4 : 0;
		p.disk_ns = MS;
		p.network_delay_ns = p.network_ns = round == 4 ? MS / 5 : 0;
		p.batch = round == 5 ? 4 : 0;
		a = opened(&p, 4, 1);
		b = opened(&p, 4, 1);
		station_set_quota(a, round < 6 ? 1000 : 800);
		station_set_quota(b, round < 6 ? 1000 : 800);
		if (round >= 9) /* too few: the queue overflows */
			station_set_servers(a, 1), station_set_servers(b, 1);
		for (uint64_t t = 1; t <= 15000; t++)
			station_advance(a, t * MS);
		station_advance(b, 15 * SECOND);
		station_read_client(a, 15 * SECOND, &x);
		station_read_client(b, 15 * SECOND, &y);
		assert_memory_equal(&x, &y, sizeof(x));
		station_close(a);
		station_close(b);
	}
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
		cmocka_unit_test(a_request_that_shares_with_nobody_takes_its_service_time),
		cmocka_unit_test(a_batch_arrives_at_once_and_leaves_one_by_one),
		cmocka_unit_test(disks_queue_behind_the_cores_and_know_no_speed),
		cmocka_unit_test(clients_see_the_network_and_the_kernel_does_not),
		cmocka_unit_test(without_a_network_clients_see_what_the_kernel_sees),
		cmocka_unit_test(what_arrives_does_not_depend_on_who_serves_it),
		cmocka_unit_test(the_window_ends_where_it_says_and_latency_is_booked_at_completion),
		cmocka_unit_test(a_change_of_speed_rescales_what_is_left),
		cmocka_unit_test(a_request_whose_core_is_taken_goes_on_later_with_what_is_left),
		cmocka_unit_test(nothing_is_lost_while_cores_speed_and_quota_change),
		cmocka_unit_test(a_full_queue_turns_requests_away),
		cmocka_unit_test(in_overload_all_that_came_before_the_target_is_late),
		cmocka_unit_test(a_quota_gives_exactly_its_share_of_the_servers),
		cmocka_unit_test(a_quota_is_not_a_slow_cpu),
		cmocka_unit_test(equal_seeds_give_equal_samples_however_time_is_cut),
		cmocka_unit_test(a_service_without_requests_is_idle),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
