// SPDX-License-Identifier: GPL-2.0
/* test_adaptive.c - the adaptive policy rule by rule, on services that follow one formula, and on any view at all. */
#include "unit/paper_bench.h"

#define ADAPTIVE &policy_adaptive

/* One service: requests per second, CPU time of one at full speed, and its percentile without queueing in those. */
struct load {
	double rate, cost_ns, tail;
};

/* A window under load: a slower clock costs more, and the percentile grows as the cores fill up. */
static void see(struct bench *b, uint32_t i, struct load load)
{
	struct policy_service *s = &b->view.services[i];
	double top = b->view.nr_speeds, slow = top > 1 ? 1 + 0.1 * (top - 1 - s->have.speed) : 1;
	double cost_ns = load.cost_ns * slow, full = (s->have.cores ? s->have.cores : 1) * (double)WINDOW_NS;
	double cpu_ns = load.rate * cost_ns * WINDOW_NS / 1e9, spare = 1 - cpu_ns / full;

	s->signal = load.rate > 0 ? POLICY_FRESH : POLICY_IDLE;
	s->nr_arrived = (uint64_t)(load.rate * WINDOW_NS / 1e9);
	s->nr_completed = spare < 0 ? (uint64_t)(full / cost_ns) : s->nr_arrived;
	s->nr_in_flight = (uint64_t)(load.rate * cost_ns / 1e9) + s->nr_arrived - s->nr_completed;
	s->latency_ns = spare < 0 ? 3 * TARGET_NS : 0;
	if (spare < 0.02)
		spare = 0.02;
	s->latency_ns += (uint64_t)(cost_ns * (load.tail + 1 / (spare * s->have.cores)));
	s->late_permille = 10;
	s->nr_late = s->latency_ns > s->target_ns ? s->nr_completed / 20 : 0;
	s->cpu_ns = (uint64_t)(cpu_ns < full ? cpu_ns : full);
}

static void decide(struct bench *b)
{
	b->now_ns += WINDOW_NS;
	b->policy->step(b->state, b->now_ns, &b->view, &b->rng, &b->d);
	bench_check(b);
	bench_apply(b);
}

static void run(struct bench *b, uint32_t nr_windows, const struct load *loads)
{
	while (nr_windows--) {
		for (uint32_t i = 0; i < b->view.nr_services; i++)
			see(b, i, loads[i]);
		decide(b);
	}
}
#define RUN(b, nr, ...) run(b, nr, (const struct load[]){ __VA_ARGS__ })

static const struct load quiet = { 400, 1e6, 2 }, busy = { 4000, 1e6, 2 };

static struct bench two_services(bool be)
{
	return bench_new(ADAPTIVE, (struct bench_machine){ 2, 16, 0, 6, be, -1 });
}

static void what_is_not_needed_is_given_back_without_starving_anybody(void **state)
{
	struct bench b = two_services(true);

	(void)state;
	RUN(&b, 20, quiet, quiet);
	assert_in_range(b.view.services[0].have.cores, 1, 3);
	assert_true(b.view.be_cores >= 10);
	for (int i = 0; i < 2; i++)
		assert_true(b.view.services[i].latency_ns <= TARGET_NS);
	bench_end(&b);
}

static void a_load_that_grows_tenfold_gets_its_cores_in_the_next_window(void **state)
{
	struct bench b = two_services(true);

	(void)state;
	RUN(&b, 20, quiet, quiet);
	RUN(&b, 1, busy, quiet);
	assert_true(b.view.services[0].have.cores >= 5);
	assert_string_equal(policy_reason_name(b.d.reason), "upsize");
	assert_int_equal(b.d.subject, 0);
	assert_int_equal(b.d.victim, POLICY_BE);
	bench_end(&b);
}

static void several_services_get_more_in_one_step(void **state)
{
	struct bench b = two_services(true);
	uint32_t before[2];

	(void)state;
	RUN(&b, 20, quiet, quiet);
	for (int i = 0; i < 2; i++)
		before[i] = b.view.services[i].have.cores;
	RUN(&b, 1, busy, busy);
	for (int i = 0; i < 2; i++)
		assert_true(b.view.services[i].have.cores > before[i]);
	bench_end(&b);
}

static void nothing_moves_once_it_fits(void **state)
{
	struct bench b = two_services(false);

	(void)state;
	RUN(&b, 60, busy, quiet);
	for (int window = 0; window < 60; window++) {
		RUN(&b, 1, busy, quiet);
		assert_int_equal(b.d.direction, POLICY_HOLD);
	}
	bench_end(&b);
}

static void a_smaller_share_must_look_enough_for_a_second(void **state)
{
	struct bench b = two_services(true);

	(void)state;
	RUN(&b, 2, quiet, quiet);
	assert_cores(&b, 0, 8);
	RUN(&b, 1, quiet, quiet);
	assert_true(b.view.services[0].have.cores < 8);
	bench_end(&b);
}

static void without_best_effort_work_a_slower_clock_is_preferred_to_fewer_cores(void **state)
{
	struct bench with = two_services(true), without = two_services(false);

	(void)state;
	RUN(&with, 40, busy, quiet);
	RUN(&without, 40, busy, quiet);
	assert_true(without.view.services[0].have.speed < with.view.services[0].have.speed);
	assert_true(without.view.services[0].have.cores > with.view.services[0].have.cores);
	bench_end(&with);
	bench_end(&without);
}

static void a_quota_is_never_lowered(void **state)
{
	struct bench b = bench_prepare(ADAPTIVE, (struct bench_machine){ 2, 16, 0, 6, false, -1 });

	(void)state;
	b.view.speed_is_quota = true;
	b.view.nominal_speed = 5;
	bench_start(&b);
	RUN(&b, 40, busy, quiet);
	assert_true(b.view.idle_cores > 0);
	assert_speed(&b, 0, 5);
	assert_speed(&b, 1, 5);
	bench_end(&b);
}

static void where_cores_run_out_speed_makes_up_for_them(void **state)
{
	const struct load heavy = { 8000, 1e6, 2 };
	struct bench b = two_services(false);
	uint32_t before;

	(void)state;
	RUN(&b, 20, busy, quiet);
	before = b.view.services[0].have.speed;
	RUN(&b, 20, heavy, busy);
	assert_int_equal(b.view.idle_cores, 0);
	assert_true(b.view.services[0].have.speed > before);
	assert_false(b.d.reason == POLICY_REASON_EXHAUSTED);
	bench_end(&b);
}

static void a_mix_that_cannot_fit_is_reported_within_five_seconds_and_the_last_goes_short_without_a_swing(void **state)
{
	const struct load flood = { 12000, 1e6, 2 };
	struct bench b = two_services(true);
	uint32_t events = 0, moves = 0;

	(void)state;
	RUN(&b, 20, quiet, quiet);
	for (int window = 0; window < 120; window++) {
		RUN(&b, 1, flood, flood);
		events += b.d.infeasible;
		assert_true(events == 1 || (events == 0 && window < 9));
		moves += window >= 20 && b.d.direction != POLICY_HOLD;
	}
	assert_int_equal(moves, 0);
	assert_string_equal(policy_reason_name(b.d.reason), "exhausted");
	assert_true(b.view.services[0].latency_ns <= TARGET_NS);
	assert_true(b.view.services[0].have.cores > b.view.services[1].have.cores);
	assert_int_equal(b.view.be_cores, 0);
	bench_end(&b);
}

static double share_of(const struct bench *b, uint32_t i)
{
	return b->view.services[i].have.cores + 0.1 * b->view.services[i].have.speed;
}

static void a_share_that_was_not_enough_though_predicted_to_be_is_not_tried_again_soon(void **state)
{
	struct bench b = two_services(true);
	double before;

	(void)state;
	RUN(&b, 20, quiet, quiet);
	before = share_of(&b, 0);
	see(&b, 0, quiet);
	see(&b, 1, quiet);
	b.view.services[0].latency_ns = 2 * TARGET_NS + 1;
	b.view.services[0].nr_late = b.view.services[0].nr_completed / 5;
	decide(&b);
	assert_true(share_of(&b, 0) > before);
	RUN(&b, 10, quiet, quiet);
	assert_true(share_of(&b, 0) > before);
	bench_end(&b);
}

static void requests_late_too_often_count_though_most_windows_look_good(void **state)
{
	struct bench b = two_services(true);
	double before;

	(void)state;
	RUN(&b, 20, quiet, quiet);
	before = share_of(&b, 0);
	for (uint32_t i = 0; i < 20; i++) {
		see(&b, 0, quiet);
		see(&b, 1, quiet);
		for (uint32_t j = 0; j < 2; j++) {
			b.view.services[j].nr_late = i % 4 ? 0 : j ? 4 : 40;
		}
		decide(&b);
	}
	assert_true(share_of(&b, 0) > before);
	assert_true(share_of(&b, 1) <= before);
	bench_end(&b);
}

static void a_single_late_request_of_a_few_moves_nothing(void **state)
{
	struct bench b = two_services(true);

	(void)state;
	RUN(&b, 60, quiet, quiet);
	see(&b, 0, quiet);
	see(&b, 1, quiet);
	b.view.services[0].signal = POLICY_THIN;
	b.view.services[0].nr_completed = 20;
	b.view.services[0].cpu_ns /= 10;
	b.view.services[0].latency_ns = TARGET_NS + 1;
	b.view.services[0].nr_late = 1;
	decide(&b);
	assert_int_equal(b.d.direction, POLICY_HOLD);
	bench_end(&b);
}

static void a_lost_signal_takes_nothing_away(void **state)
{
	struct bench b = two_services(true);
	struct policy_share before = b.view.services[0].have;

	(void)state;
	for (int window = 0; window < 40; window++) {
		see(&b, 1, quiet);
		b.view.services[0].signal = POLICY_LOST;
		decide(&b);
		assert_memory_equal(&b.view.services[0].have, &before, sizeof(before));
	}
	assert_int_equal(b.d.rejected[0].why, POLICY_REFUSED_BLIND);
	assert_true(b.view.services[1].have.cores < 8); /* the other is steered all the same */
	bench_end(&b);
}

static void a_stalled_service_grows_but_only_by_what_nobody_wants(void **state)
{
	struct bench b = two_services(true);

	(void)state;
	RUN(&b, 20, busy, quiet);
	for (int window = 0; window < 40; window++) {
		see(&b, 0, busy);
		b.view.services[1].signal = POLICY_STALLED;
		b.view.services[1].nr_completed = b.view.services[1].cpu_ns = 0;
		b.view.services[1].nr_in_flight = 50;
		decide(&b);
	}
	assert_int_equal(b.view.be_cores, 0);
	assert_true(b.view.services[0].latency_ns <= TARGET_NS);
	bench_end(&b);
}

/* --- any view ----------------------------------------------------------------------------------------------------- */

static uint32_t between(struct rng *dice, uint32_t low, uint32_t high)
{
	return low + (uint32_t)rng_below(dice, high - low + 1);
}

static struct bench random_bench(struct rng *dice)
{
	uint32_t services = between(dice, 1, 9), speeds = between(dice, 0, 20);
	struct bench_machine m = { services, between(dice, services, 40), between(dice, 0, 1) * between(dice, services, 20),
				   speeds, between(dice, 0, 1), -1 };
	struct bench b = bench_prepare(ADAPTIVE, m);

	for (uint32_t i = 0; i < services; i++) {
		struct policy_service *s = &b.view.services[i];

		s->min.cores = between(dice, 0, m.cores / services);
		s->max.cores = between(dice, s->min.cores, m.cores);
		s->min.speed = speeds > 1 ? between(dice, 0, speeds - 1) : 0;
		s->max.speed = speeds > 1 ? between(dice, s->min.speed, speeds - 1) : 0;
	}
	b.view.nominal_speed = speeds > 1 ? between(dice, 0, speeds - 1) : 0;
	bench_start(&b);
	return b;
}

/* Nothing fits together, as when counters are read at different times. */
static void random_window(struct bench *b, struct rng *dice)
{
	for (uint32_t i = 0; i < b->view.nr_services; i++) {
		struct policy_service *s = &b->view.services[i];
		uint32_t most = 1u << between(dice, 0, 30);

		s->signal = rng_below(dice, 3) ? POLICY_FRESH : (enum policy_signal)rng_below(dice, POLICY_LOST + 1);
		s->nr_arrived = rng_below(dice, most);
		s->nr_completed = s->signal == POLICY_STALLED ? 0 : rng_below(dice, most);
		s->nr_in_flight = rng_below(dice, most);
		s->cpu_ns = rng_below(dice, 4) ? rng_below(dice, 40 * WINDOW_NS) : 0;
		s->latency_ns = rng_below(dice, 4) ? rng_below(dice, 2 * TARGET_NS) : rng_next(dice) >> between(dice, 0, 63);
		s->nr_listen_drops = rng_below(dice, 20) ? 0 : 3;
	}
	b->view.last_failed = !rng_below(dice, 10);
	b->view.window_ns = rng_below(dice, 20) ? WINDOW_NS : rng_below(dice, WINDOW_NS);
}

static void units_are_conserved_and_the_blind_keep_theirs_in_any_view(void **state)
{
	uint32_t nr_moves = 0, nr_blind = 0;
	struct rng dice;

	(void)state;
	rng_seed(&dice, 20190413);
	for (int trial = 0; trial < 400; trial++) {
		struct bench b = random_bench(&dice);

		for (int window = 0; window < 50; window++) {
			struct policy_view before;

			random_window(&b, &dice);
			before = b.view;
			decide(&b);
			for (uint32_t i = 0; i < before.nr_services; i++) {
				const struct policy_service *s = &before.services[i];

				if (s->signal != POLICY_LOST && s->signal != POLICY_STALLED)
					continue;
				nr_blind++;
				assert_true(b.d.shares[i].cores >= s->have.cores && b.d.shares[i].speed >= s->have.speed);
			}
			nr_moves += b.d.direction != POLICY_HOLD;
		}
		bench_end(&b);
	}
	assert_true(nr_moves > 4000 && nr_blind > 4000);
}

static void equal_inputs_give_equal_bytes(void **state)
{
	struct rng dice;

	(void)state;
	rng_seed(&dice, 3);
	for (int trial = 0; trial < 50; trial++) {
		struct bench a = random_bench(&dice), b = a;

		b.state = malloc(b.policy->state_size);
		assert_non_null(b.state);
		memcpy(b.state, a.state, b.policy->state_size);
		for (int window = 0; window < 50; window++) {
			memset(&b.d, window, sizeof(b.d));
			random_window(&a, &dice);
			b.view = a.view;
			decide(&a);
			decide(&b);
			assert_memory_equal(&a.d, &b.d, sizeof(a.d));
		}
		bench_end(&a);
		bench_end(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_needed_is_given_back_without_starving_anybody),
		cmocka_unit_test(a_load_that_grows_tenfold_gets_its_cores_in_the_next_window),
		cmocka_unit_test(several_services_get_more_in_one_step),
		cmocka_unit_test(nothing_moves_once_it_fits),
		cmocka_unit_test(a_smaller_share_must_look_enough_for_a_second),
		cmocka_unit_test(without_best_effort_work_a_slower_clock_is_preferred_to_fewer_cores),
		cmocka_unit_test(a_quota_is_never_lowered),
		cmocka_unit_test(where_cores_run_out_speed_makes_up_for_them),
		cmocka_unit_test(a_mix_that_cannot_fit_is_reported_within_five_seconds_and_the_last_goes_short_without_a_swing),
		cmocka_unit_test(a_share_that_was_not_enough_though_predicted_to_be_is_not_tried_again_soon),
		cmocka_unit_test(requests_late_too_often_count_though_most_windows_look_good),
		cmocka_unit_test(a_single_late_request_of_a_few_moves_nothing),
		cmocka_unit_test(a_lost_signal_takes_nothing_away),
		cmocka_unit_test(a_stalled_service_grows_but_only_by_what_nobody_wants),
		cmocka_unit_test(units_are_conserved_and_the_blind_keep_theirs_in_any_view),
		cmocka_unit_test(equal_inputs_give_equal_bytes),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
