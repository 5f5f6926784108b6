// SPDX-License-Identifier: GPL-2.0
/* test_plant.c - the simulated machine: loads, speed, disturbance, delays, and a controller in charge of it. */
#include "unit/scenario_file.h"

#include <math.h>
#include <stdlib.h>

#include "experiments/plant/plant.h"
#include "tick.h"

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)
#define CONSTANT "service_time = 10ms\nmax_load = 200\ntarget = p99 < 50ms\n"

static struct plant *opened(const char *text, uint64_t seed)
{
	struct scenario_file f = scenario_file(text);
	char error[512] = "";
	struct plant *p = NULL;

	if (plant_open(&p, f.path, seed, error, sizeof(error)))
		fail_msg("%s", error);
	close(f.fd);
	return p;
}

/* Puts an allocation of `cores` for each service at one speed into effect. */
static void give(struct plant *p, const uint32_t *cores, uint32_t speed)
{
	struct actuator actuator = plant_actuator(p);
	struct allocation a;
	struct outcome outcome;
	uint32_t core = 0;

	allocation_init(&a, plant_topology(p), plant_config(p)->nr_services, 0);
	for (uint32_t i = 0; i < plant_config(p)->nr_services; i++) {
		for (uint32_t n = 0; n < cores[i]; n++)
			a.owner[core++] = (int16_t)i;
		a.speed[i] = speed;
	}
	assert_int_equal(actuator.apply(actuator.ctx, &a, &outcome), 0);
	assert_int_equal(outcome.error, 0);
}
#define GIVE(p, speed, ...) give(p, (const uint32_t[]){ __VA_ARGS__ }, speed)

static struct sample advance(struct plant *p, uint64_t now_ns)
{
	struct sensor sensor = plant_sensor(p);
	struct sample samples[POLICY_MAX_SERVICES];

	plant_advance(p, now_ns);
	assert_int_equal(sensor.read(sensor.ctx, now_ns, samples, plant_config(p)->nr_services), 0);
	return samples[0];
}

static void assert_near(double value, double expected, double share)
{
	if (!(fabs(value - expected) <= share * expected))
		fail_msg("%g instead of %g", value, expected);
}

static void the_machine_is_what_the_scenario_says(void **state)
{
	struct plant *p = opened("[plant]\ncores = 6\nl3 = 4\nduration = 7s\n"
				 "[service a]\n" CONSTANT "profile = at 0s 7%; at 2s 50%\n[batch b]\n", 0);

	(void)state;
	assert_int_equal(plant_topology(p)->nr_cores, 6);
	assert_int_equal(plant_topology(p)->cores[3].l3, 0);
	assert_int_equal(plant_topology(p)->cores[4].l3, 1);
	assert_int_equal(plant_topology(p)->cores[5].first_cpu, 5);
	assert_int_equal(cpulist_count(&plant_topology(p)->cores[5].cpus), 1);
	assert_int_equal(plant_duration_ns(p), 7 * SECOND);
	assert_int_equal(plant_config(p)->nr_batches, 1);
	assert_int_equal(plant_load_permille(p, 0), 70);
	plant_advance(p, 2 * SECOND);
	assert_int_equal(plant_load_permille(p, 0), 500);
	plant_close(p);
	plant_close(NULL);
}

static void the_ladder_is_frequency_unless_the_scenario_asks_otherwise(void **state)
{
	static const char text[] = "[controller]\nspeed = %s\n[plant]\ncores = 2\nduration = 1s\n"
				   "[service a]\n" CONSTANT "profile = at 0s 7%%\n";
	static const char *const words[] = { "auto", "bandwidth", "none" };
	static const enum speed_kind kinds[] = { SPEED_FREQ, SPEED_BANDWIDTH, SPEED_NONE };
	static const uint32_t steps[] = { 12, 10, 0 }, nominal[] = { 10, 9, 0 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		char buf[512];
		struct plant *p;
		const struct speed_ladder *l;

		snprintf(buf, sizeof(buf), text, words[i]);
		p = opened(buf, 0);
		l = plant_ladder(p);
		assert_int_equal(l->kind, kinds[i]);
		assert_int_equal(l->nr_steps, steps[i]);
		assert_int_equal(l->nominal, nominal[i]);
		for (uint32_t s = 1; s < l->nr_steps; s++)
			assert_true(l->value[s] > l->value[s - 1]);
		if (i == 0) {
			assert_int_equal(l->value[0], 1200000);
			assert_int_equal(l->value[10], 2200000);
			assert_int_equal(l->value[11], 2800000); /* boost is one step above nominal */
		}
		plant_close(p);
	}
}

static void arrivals_follow_the_profile(void **state)
{
	struct plant *p = opened("[plant]\ncores = 4\nduration = 60s\n[service a]\ntarget = p99 < 50ms\n"
				 "service_time = 10us\nmax_load = 100000\nprofile = at 0s 10%; ramp 10s 50%; at 15s 0%\n", 0);

	(void)state;
	GIVE(p, 0, 4);
	assert_near((double)advance(p, 5 * SECOND).nr_arrived, 5 * 20000, 0.01); /* mean of 10 and 30 % */
	assert_near((double)advance(p, 10 * SECOND).nr_arrived, 5 * 40000, 0.01);
	assert_near((double)advance(p, 15 * SECOND).nr_arrived, 5 * 50000, 0.01);
	assert_int_equal(advance(p, 20 * SECOND).nr_arrived, 0);
	assert_int_equal(advance(p, 21 * SECOND).signal, POLICY_IDLE);
	plant_close(p);
}

static void service_times_scale_with_the_part_that_is_not_memory(void **state)
{
	struct plant *p = opened("[plant]\ncores = 4\nduration = 60s\n[service a]\n" CONSTANT
				 "memory_part = 0.25\nprofile = at 0s 10%\n", 0);

	(void)state;
	GIVE(p, 0, 4);
	assert_near((double)advance(p, 20 * SECOND).service_p99_ns, 10e6 * (0.75 * 2.8 / 1.2 + 0.25), 0.01);
	GIVE(p, 11, 4);
	plant_advance(p, 21 * SECOND);
	advance(p, 21 * SECOND);
	assert_near((double)advance(p, 40 * SECOND).service_p99_ns, 10e6, 0.01);
	plant_close(p);
}

static void neighbours_slow_a_service_down_by_their_memory_traffic(void **state)
{
	static const char text[] = "[plant]\ncores = 8\nduration = 60s\n[service a]\n" CONSTANT
				   "sigma = 2\nbandwidth = 500\nprofile = at 0s 10%\n"
				   "[service b]\n" CONSTANT "bandwidth = 20\nprofile = at 0s 0%; at 20s 50%\n"
				   "[service c]\n" CONSTANT "bandwidth = 30\nprofile = at 0s 0%; at 40s 1000%\n";
	struct plant *p = opened(text, 0);

	(void)state;
	GIVE(p, 11, 4, 2, 2);
	assert_near((double)advance(p, 20 * SECOND).service_p99_ns, 10e6, 0.01); /* its own traffic does not count */
	plant_advance(p, 21 * SECOND);
	advance(p, 21 * SECOND);
	assert_near((double)advance(p, 40 * SECOND).service_p99_ns, 10e6 * (1 + 2 * 20 * 0.5 / 50), 0.01);
	plant_advance(p, 41 * SECOND);
	advance(p, 41 * SECOND);
	assert_near((double)advance(p, 60 * SECOND).service_p99_ns, 10e6 * 3, 0.01); /* 50 GB/s is all there is */
	plant_close(p);
}

static void an_allocation_takes_effect_after_its_delay(void **state)
{
	struct plant *p = opened("[plant]\ncores = 8\nduration = 60s\n[service a]\ntarget = p99 < 50ms\n"
				 "service_time = 1ms\nmax_load = 20000\nprofile = at 0s 100%\n", 0);

	(void)state;
	GIVE(p, 11, 8); /* the first is there at once */
	assert_near((double)advance(p, 101 * MS).cpu_ns, 8 * 101 * MS, 0.01);
	GIVE(p, 11, 4);
	assert_int_equal(advance(p, 106 * MS).cpu_ns, 8 * 5 * MS);
	assert_int_equal(advance(p, 116 * MS).cpu_ns, 4 * 10 * MS);
	GIVE(p, 0, 4);
	assert_near((double)advance(p, 117 * MS).service_p99_ns, 1e6, 0.02);
	advance(p, 120 * MS);
	assert_near((double)advance(p, 130 * MS).service_p99_ns, 1e6 * 2.8 / 1.2, 0.02);
	plant_close(p);
}

static void bandwidth_throttles_instead_of_slowing_down(void **state)
{
	struct plant *p = opened("[controller]\nspeed = bandwidth\n[plant]\ncores = 4\nduration = 60s\n"
				 "[service a]\n" CONSTANT "profile = at 0s 500%\n", 0);
	struct sample sample;

	(void)state;
	GIVE(p, 9, 4);
	sample = advance(p, SECOND);
	assert_near((double)sample.cpu_ns, 4 * SECOND, 0.02);
	assert_int_equal(sample.throttled_ns, 0);
	GIVE(p, 3, 4);
	advance(p, 2 * SECOND);
	sample = advance(p, 4 * SECOND);
	assert_near((double)sample.cpu_ns, 0.4 * 4 * 2 * SECOND, 0.01);
	assert_near((double)sample.throttled_ns, 0.6 * 2 * SECOND, 0.03);
	plant_close(p);
}

static const char closed_loop[] =
	"[plant]\ncores = 12\nduration = 60s\n[controller]\npolicy = parties-paper\n"
	"[service a]\ntarget = p99 < 25ms\nservice_time = 5ms\ncv = 0.5\nmax_load = 1400\nprofile = at 0s 100%\n"
	"[service b]\ntarget = p99 < 25ms\nservice_time = 5ms\ncv = 0.5\nmax_load = 1400\nprofile = at 0s 15%\n"
	"[batch c]\n";

/* Late requests of the first service in the last 20 of 60 s, permille; every step passes the tick's own checks. */
static uint64_t late_permille(const char *policy, uint64_t seed, uint64_t *ret_trace)
{
	struct plant *p = opened(closed_loop, seed);
	struct tick tick = { .config = plant_config(p), .topology = plant_topology(p), .ladder = plant_ladder(p),
			     .sensor = plant_sensor(p), .actuator = plant_actuator(p), .policy = policy_find(policy),
			     .steer = true };
	uint64_t nr = 0, nr_late = 0;

	*ret_trace = 0;
	assert_int_equal(tick_init(&tick, plant_config(p)->nr_batches), 0);
	for (uint64_t now_ns = 0; now_ns <= 60 * SECOND; now_ns += SECOND / 2) {
		plant_advance(p, now_ns);
		assert_int_equal(tick_step(&tick, now_ns, now_ns ? SECOND / 2 : 0), 0);
		assert_int_equal(tick.report.outcome.error, 0);
		*ret_trace = *ret_trace * 31 + tick.report.samples[0].p99_ns + tick.report.decision.shares[0].cores;
		if (now_ns > 40 * SECOND) {
			nr += tick.report.samples[0].nr_completed;
			nr_late += tick.report.samples[0].nr_late;
		}
	}
	tick_fini(&tick);
	plant_close(p);
	return nr_late * 1000 / nr;
}

static void a_controller_meets_a_target_that_the_even_split_misses(void **state)
{
	uint64_t trace;

	(void)state;
	assert_true(late_permille("static", 3, &trace) > 500);
	assert_true(late_permille("parties-paper", 3, &trace) < 50);
	assert_true(late_permille("adaptive", 3, &trace) < 10);
}

static void an_allocation_takes_effect_after_the_delay_asked_for(void **state)
{
	struct plant *p = opened("[plant]\ncores = 4\nduration = 9s\ndelay = 300ms\n[service a]\n" CONSTANT
				 "profile = at 0s 100%\n", 1);

	(void)state;
	GIVE(p, 10, 4);
	advance(p, SECOND);
	GIVE(p, 10, 0);
	assert_true(advance(p, SECOND + 290 * MS).cpu_ns > 0);
	advance(p, SECOND + 301 * MS);
	assert_int_equal(advance(p, 2 * SECOND).cpu_ns, 0);
	plant_close(p);
}

static void what_is_read_wrong_is_wrong_by_the_share_asked_for_and_as_late_as_ever(void **state)
{
	static const char noisy[] = "[plant]\ncores = 4\nduration = 9s\nnoise = 5\n[service a]\n" CONSTANT
				    "profile = at 0s 100%\n";
	static const char exact[] = "[plant]\ncores = 4\nduration = 9s\n[service a]\n" CONSTANT "profile = at 0s 100%\n";
	struct plant *a = opened(noisy, 1), *b = opened(exact, 1);
	bool differs = false;

	(void)state;
	GIVE(a, 10, 4);
	GIVE(b, 10, 4);
	for (uint64_t t_ns = SECOND; t_ns < 9 * SECOND; t_ns += SECOND) {
		struct sample wrong = advance(a, t_ns), right = advance(b, t_ns);

		assert_near((double)wrong.steer_ns, (double)right.steer_ns, 0.051);
		assert_near((double)wrong.cpu_ns, (double)right.cpu_ns, 0.051);
		assert_int_equal(wrong.nr_late, right.nr_late);
		differs |= wrong.steer_ns != right.steer_ns;
	}
	assert_true(differs);
	plant_close(a);
	plant_close(b);
}

static void clients_and_kernel_are_read_at_the_same_instants(void **state)
{
	static const char text[] = "[plant]\ncores = 4\nduration = 9s\nnoise = 5\n[service a]\n" CONSTANT
				   "network = 2ms 1ms\nprofile = at 0s 100%\n";
	struct plant *a = opened(text, 1), *b = opened(text, 1);
	struct sensor clients = plant_client_sensor(a);
	struct sample seen;

	(void)state;
	GIVE(a, 10, 4);
	GIVE(b, 10, 4);
	for (uint64_t t_ns = SECOND; t_ns < 9 * SECOND; t_ns += SECOND) {
		struct sample with = advance(a, t_ns), without;

		assert_int_equal(clients.read(clients.ctx, t_ns, &seen, 1), 0);
		without = advance(b, t_ns); /* that clients are asked changes nothing for the kernel, noise included */
		assert_memory_equal(&with, &without, sizeof(with));
		assert_int_equal(seen.window_ns, SECOND);
		assert_int_equal(seen.nr_completed, with.nr_completed);
		assert_in_range(seen.mean_ns - with.mean_ns, 2.9 * MS, 3.7 * MS); /* 2 + 1 / (1 - 0.2) */
	}
	plant_close(a);
	plant_close(b);
}

static void windows_are_lost_as_often_as_asked_for(void **state)
{
	struct plant *p = opened("[plant]\ncores = 4\nduration = 9s\nlost = 20\n[service a]\n" CONSTANT
				 "profile = at 0s 10%\n", 1);
	int nr_lost = 0;

	(void)state;
	GIVE(p, 10, 4);
	for (uint64_t ms = 1; ms <= 1000; ms++)
		nr_lost += advance(p, ms * MS).signal == POLICY_LOST;
	assert_in_range(nr_lost, 150, 250);
	plant_close(p);
}

static void a_ladder_of_listed_states_ends_at_its_nominal_speed(void **state)
{
	struct plant *p = opened("[plant]\ncores = 4\nduration = 9s\nladder = states\n[service a]\n" CONSTANT
				 "profile = at 0s 10%\n", 1);
	const struct speed_ladder *ladder = plant_ladder(p);

	(void)state;
	assert_int_equal(ladder->nr_steps, 3);
	assert_int_equal(ladder->nominal, 2);
	assert_int_equal(ladder->value[2], 2450000);
	plant_close(p);
}

static void equal_seeds_repeat_a_run_to_the_last_nanosecond(void **state)
{
	uint64_t a, b, c;

	(void)state;
	late_permille("parties-paper", 5, &a);
	late_permille("parties-paper", 5, &b);
	late_permille("parties-paper", 6, &c);
	assert_true(a == b);
	assert_true(a != c);
}

static void a_scenario_that_cannot_be_used_is_refused_with_its_place(void **state)
{
	struct scenario_file f = scenario_file("[plant]\ncores = 4\nfoo = 1\n");
	struct plant *p = NULL;
	char error[512] = "";

	(void)state;
	assert_true(plant_open(&p, f.path, 0, error, sizeof(error)) < 0);
	close(f.fd);
	assert_null(p);
	assert_non_null(strstr(error, ":3: foo: "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_machine_is_what_the_scenario_says),
		cmocka_unit_test(the_ladder_is_frequency_unless_the_scenario_asks_otherwise),
		cmocka_unit_test(arrivals_follow_the_profile),
		cmocka_unit_test(service_times_scale_with_the_part_that_is_not_memory),
		cmocka_unit_test(neighbours_slow_a_service_down_by_their_memory_traffic),
		cmocka_unit_test(an_allocation_takes_effect_after_its_delay),
		cmocka_unit_test(bandwidth_throttles_instead_of_slowing_down),
		cmocka_unit_test(a_controller_meets_a_target_that_the_even_split_misses),
		cmocka_unit_test(an_allocation_takes_effect_after_the_delay_asked_for),
		cmocka_unit_test(what_is_read_wrong_is_wrong_by_the_share_asked_for_and_as_late_as_ever),
		cmocka_unit_test(clients_and_kernel_are_read_at_the_same_instants),
		cmocka_unit_test(windows_are_lost_as_often_as_asked_for),
		cmocka_unit_test(a_ladder_of_listed_states_ends_at_its_nominal_speed),
		cmocka_unit_test(equal_seeds_repeat_a_run_to_the_last_nanosecond),
		cmocka_unit_test(a_scenario_that_cannot_be_used_is_refused_with_its_place),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
