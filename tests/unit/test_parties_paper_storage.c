/* SPDX-License-Identifier: GPL-2.0 */
/*
 * test_parties_paper_storage.c - parties-paper's second wheel: best effort's memory and disk, moved for services whose view
 * is scripted.  The simulated machine has disks, but best effort on it uses none.
 *
 * shares: yes
 */
#include "paper_bench.h"

#define PAPER (&policy_parties_paper)
#define GB (UINT64_C(1) << 30)
enum { UNITS = 10, DRAW_CORE = 0, DRAW_SPEED = 1, DRAW_MEMORY = 2, DRAW_DISK = 3 };

/* One service, cores and speeds, best effort with both limits; the first draw is among `nr_open`. */
static struct bench storage_bench(bool on_disk, uint64_t free_bytes, uint32_t nr_open, int drawn)
{
	struct bench b = bench_prepare(PAPER, (struct bench_machine){ 1, 8, 0, 12, true, 0 });

	bench_option(&b, "storage", 1);
	b.view.services[0].on_disk = on_disk;
	b.view.services[0].max.cores = 4;
	b.view.nr_memory = b.view.nr_disk = UNITS;
	b.view.memory_slack_bytes = free_bytes;
	rng_seed(&b.rng, bench_seed(nr_open, drawn));
	bench_start(&b);
	assert_int_equal(b.view.be_memory, UNITS);
	assert_int_equal(b.view.be_disk, UNITS);
	return b;
}

/* MAIN and WATCH: an upsize that does not help. */
static enum policy_resource upsize_in_vain(struct bench *b)
{
	enum policy_resource resource;

	assert_window(b, POLICY_REASON_UPSIZE, -100);
	resource = b->d.resource;
	assert_window(b, POLICY_REASON_WATCH, -200);
	return resource;
}

static void without_the_option_nobody_touches_the_limits(void **state)
{
	struct bench b = storage_bench(true, GB / 2, 2, DRAW_CORE);

	(void)state;
	bench_option(&b, "storage", 0);
	b.view.services[0].min.cores = b.view.services[0].have.cores;
	for (int i = 0; i < 40; i++) {
		WINDOW(&b, i % 4 < 2 ? -100 : 900);
		assert_int_equal(b.view.be_memory, UNITS);
		assert_int_equal(b.view.be_disk, UNITS);
	}
	bench_end(&b);
}

static void a_fruitless_turn_of_compute_leads_to_storage_while_memory_is_scarce(void **state)
{
	struct bench b = storage_bench(true, GB - 1, 4, DRAW_CORE);

	(void)state;
	b.view.services[0].max.cores = 8;
	assert_int_equal(upsize_in_vain(&b), POLICY_CORE);
	assert_int_equal(upsize_in_vain(&b), POLICY_SPEED);
	assert_window(&b, POLICY_REASON_UPSIZE, -100);
	assert_int_equal(b.d.resource, POLICY_MEMORY);
	assert_int_equal(b.d.victim, POLICY_BE);
	assert_int_equal(b.view.be_memory, UNITS - 1);
	assert_int_equal(b.view.be_disk, UNITS);
	assert_window(&b, POLICY_REASON_WATCH, -50);
	assert_window(&b, POLICY_REASON_UPSIZE, -40); /* it helped: the same again */
	assert_int_equal(b.view.be_memory, UNITS - 2);
	bench_end(&b);
}

static void it_does_not_while_there_is_memory_enough(void **state)
{
	struct bench b = storage_bench(true, GB, 4, DRAW_CORE);

	(void)state;
	b.view.services[0].max.cores = 8;
	for (int i = 0; i < 5; i++)
		assert_true(upsize_in_vain(&b) < POLICY_NR_COMPUTE);
	assert_window(&b, POLICY_REASON_EXHAUSTED, -100);
	assert_int_equal(b.view.be_memory, UNITS);
	assert_int_equal(b.view.be_disk, UNITS);
	bench_end(&b);
}

static void a_step_that_helps_starts_the_turn_anew(void **state)
{
	struct bench b = storage_bench(true, GB / 2, 4, DRAW_CORE);

	(void)state;
	b.view.services[0].max.cores = 8;
	assert_int_equal(upsize_in_vain(&b), POLICY_CORE);
	assert_window(&b, POLICY_REASON_UPSIZE, -100); /* speed */
	assert_window(&b, POLICY_REASON_WATCH, -50);
	assert_int_equal(upsize_in_vain(&b), POLICY_CORE); /* the speed is at its top */
	assert_window(&b, POLICY_REASON_UPSIZE, -100);
	assert_true(b.d.resource < POLICY_NR_COMPUTE);
	bench_end(&b);
}

static void a_step_of_storage_in_vain_leads_to_a_random_compute_resource(void **state)
{
	int drawn[POLICY_NR_RESOURCES] = { 0 };

	(void)state;
	for (int seed = 0; seed < 1000; seed++) {
		struct bench b = storage_bench(true, 4 * GB, 4, DRAW_DISK);
		struct rng first = b.rng;

		assert_window(&b, POLICY_REASON_UPSIZE, -100);
		assert_int_equal(b.d.resource, POLICY_DISK);
		assert_int_equal(b.view.be_disk, UNITS - 1);
		assert_memory_not_equal(&first, &b.rng, sizeof(first));
		rng_seed(&b.rng, (uint64_t)seed);
		assert_window(&b, POLICY_REASON_WATCH, -200);
		b.view.services[0].max.cores = 8;
		assert_window(&b, POLICY_REASON_UPSIZE, -200);
		drawn[b.d.resource]++;
		bench_end(&b);
	}
	assert_in_range(drawn[POLICY_CORE], 450, 550);
	assert_in_range(drawn[POLICY_SPEED], 450, 550);
}

static void memory_and_disk_stand_in_for_each_other(void **state)
{
	struct bench b = storage_bench(true, GB / 2, 4, DRAW_MEMORY);
	int slack = -900;

	(void)state;
	for (int i = 0; i < 2 * (UNITS - 1); i++) {
		assert_window(&b, POLICY_REASON_UPSIZE, slack);
		assert_int_equal(b.d.resource, i < UNITS - 1 ? POLICY_MEMORY : POLICY_DISK);
		assert_window(&b, POLICY_REASON_WATCH, slack += 10);
	}
	assert_int_equal(b.view.be_memory, 1);
	assert_int_equal(b.view.be_disk, 1);
	assert_window(&b, POLICY_REASON_UPSIZE, slack); /* best effort keeps one unit of each */
	assert_true(b.d.resource < POLICY_NR_COMPUTE);
	bench_end(&b);
}

static void a_downsize_gives_best_effort_a_unit_and_takes_it_back_when_that_hurts(void **state)
{
	struct bench b = storage_bench(true, 4 * GB, 4, DRAW_DISK);

	(void)state;
	b.view.be_disk = 4;
	b.view.be_memory = 4;
	assert_window(&b, POLICY_REASON_DOWNSIZE, 900);
	assert_int_equal(b.d.resource, POLICY_DISK);
	assert_int_equal(b.view.be_disk, 5);
	assert_window(&b, POLICY_REASON_WATCH, 800);
	assert_window(&b, POLICY_REASON_DOWNSIZE, 800);
	assert_int_equal(b.view.be_disk, 6);
	assert_window(&b, POLICY_REASON_REVERT, 10);
	assert_int_equal(b.view.be_disk, 5);
	assert_int_equal(b.d.victim, POLICY_BE);
	assert_int_equal(b.view.be_memory, 4);
	bench_end(&b);
}

static void a_service_in_memory_has_none_taken_while_it_is_scarce(void **state)
{
	struct bench b = storage_bench(false, GB - 1, 2, DRAW_CORE);

	(void)state;
	b.view.services[0].min = b.view.services[0].have;
	b.view.be_memory = b.view.be_disk = 4;
	b.view.services[0].min.speed = b.view.services[0].have.speed;
	assert_window(&b, POLICY_REASON_HOLD, 900); /* it has nothing to give */
	b.view.memory_slack_bytes = GB;
	assert_window(&b, POLICY_REASON_DOWNSIZE, 900);
	assert_int_equal(b.d.resource, POLICY_MEMORY);
	assert_int_equal(b.view.be_memory, 5);
	assert_window(&b, POLICY_REASON_WATCH, 900);
	b.view.memory_slack_bytes = GB - 1;
	assert_window(&b, POLICY_REASON_HOLD, 900);
	assert_int_equal(b.view.be_memory, 5);
	assert_int_equal(b.view.be_disk, 4); /* of no use to it, and so nothing it gives */
	bench_end(&b);
}

static void memory_remembered_when_it_gets_scarce_is_refused_by_name(void **state)
{
	struct bench b = storage_bench(false, 4 * GB, 3, DRAW_MEMORY);

	(void)state;
	b.view.be_memory = 4;
	assert_window(&b, POLICY_REASON_DOWNSIZE, 900);
	assert_int_equal(b.d.resource, POLICY_MEMORY);
	assert_window(&b, POLICY_REASON_WATCH, 900);
	b.view.memory_slack_bytes = GB / 2;
	assert_window(&b, POLICY_REASON_DOWNSIZE, 900);
	assert_true(b.d.resource < POLICY_NR_COMPUTE);
	assert_int_equal(b.d.rejected[0].resource, POLICY_MEMORY);
	assert_string_equal(policy_refusal_name(b.d.rejected[0].why), "scarce");
	bench_end(&b);
}

static void a_limit_that_is_not_configured_is_on_no_wheel(void **state)
{
	struct bench b = storage_bench(true, GB / 2, 4, DRAW_MEMORY);

	(void)state;
	bench_end(&b);
	b = bench_prepare(PAPER, (struct bench_machine){ 1, 8, 0, 12, true, 0 });
	bench_option(&b, "storage", 1);
	b.view.services[0].on_disk = true;
	b.view.nr_disk = UNITS;
	rng_seed(&b.rng, bench_seed(3, 2));
	bench_start(&b);
	for (int i = 0, slack = -900; i < UNITS - 1; i++) {
		assert_window(&b, POLICY_REASON_UPSIZE, slack);
		assert_int_equal(b.d.resource, POLICY_DISK);
		assert_window(&b, POLICY_REASON_WATCH, slack += 10);
	}
	assert_int_equal(b.view.be_memory, 0);
	assert_int_equal(b.view.be_disk, 1);
	bench_end(&b);
}

/*
 * A made-up disk that best effort reads at its limit, beside a service whose latency is a queue's behind it: compute changes
 * nothing, storage does.
 */
static void a_service_behind_a_busy_disk_is_helped_where_cores_do_not(void **state)
{
	struct bench with = storage_bench(true, GB / 2, 4, DRAW_CORE), without = storage_bench(true, GB / 2, 2, DRAW_CORE);
	int slack_with = 0, slack_without = 0;

	(void)state;
	with.view.services[0].max.cores = without.view.services[0].max.cores = 8;
	bench_option(&without, "storage", 0);
	for (int i = 0; i < 200; i++) {
		slack_with = 1000 - 5000 / (int)(13 - with.view.be_disk);
		slack_without = 1000 - 5000 / (int)(13 - without.view.be_disk);
		WINDOW(&with, slack_with);
		WINDOW(&without, slack_without);
	}
	assert_true(slack_without < 0);
	assert_true(slack_with >= 0);
	bench_end(&with);
	bench_end(&without);
}

/* Whatever happens, at most one unit moves in a step, and memory is not taken from those who need it while it is scarce. */
static void in_random_runs_every_step_is_legal_and_small(void **state)
{
	uint32_t nr_storage_steps = 0, nr_compute_steps = 0;
	struct rng chance;

	(void)state;
	rng_seed(&chance, 4);
	for (int run = 0; run < 60; run++) {
		struct bench b = bench_prepare(PAPER, (struct bench_machine){ 1 + (uint32_t)rng_below(&chance, 4), 12,
							(uint32_t)rng_below(&chance, 2) * 11, 12, true, -1 });

		bench_option(&b, "storage", 1);
		bench_option(&b, "overlap", (uint32_t)rng_below(&chance, 2));
		for (uint32_t i = 0; i < b.view.nr_services; i++)
			b.view.services[i].on_disk = rng_below(&chance, 2);
		b.view.nr_memory = rng_below(&chance, 4) ? UNITS : 0;
		b.view.nr_disk = rng_below(&chance, 4) ? UNITS : 0;
		bench_start(&b);
		for (int i = 0; i < 400; i++) {
			int slacks[4], before[2] = { (int)b.view.be_memory, (int)b.view.be_disk }, moved;

			b.view.memory_slack_bytes = rng_below(&chance, 2) ? GB / 2 : 2 * GB;
			for (uint32_t s = 0; s < b.view.nr_services; s++)
				slacks[s] = (int)rng_below(&chance, 1500) - 500;
			bench_window(&b, slacks);
			moved = abs((int)b.view.be_memory - before[0]) + abs((int)b.view.be_disk - before[1]);
			assert_in_range(moved, 0, 1);
			assert_int_equal(moved, b.d.direction && b.d.resource >= POLICY_NR_COMPUTE);
			nr_storage_steps += (uint32_t)moved;
			nr_compute_steps += b.d.direction && !moved;
			if ((int)b.view.be_memory > before[0] && b.d.reason == POLICY_REASON_DOWNSIZE)
				assert_true(b.view.services[b.d.subject].on_disk || b.view.memory_slack_bytes >= GB);
			if ((int)b.view.be_disk != before[1])
				assert_true(b.view.services[b.d.subject].on_disk);
		}
		bench_end(&b);
	}
	assert_true(nr_storage_steps > 1000 && nr_compute_steps > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_the_option_nobody_touches_the_limits),
		cmocka_unit_test(a_fruitless_turn_of_compute_leads_to_storage_while_memory_is_scarce),
		cmocka_unit_test(it_does_not_while_there_is_memory_enough),
		cmocka_unit_test(a_step_that_helps_starts_the_turn_anew),
		cmocka_unit_test(a_step_of_storage_in_vain_leads_to_a_random_compute_resource),
		cmocka_unit_test(memory_and_disk_stand_in_for_each_other),
		cmocka_unit_test(a_downsize_gives_best_effort_a_unit_and_takes_it_back_when_that_hurts),
		cmocka_unit_test(a_service_in_memory_has_none_taken_while_it_is_scarce),
		cmocka_unit_test(memory_remembered_when_it_gets_scarce_is_refused_by_name),
		cmocka_unit_test(a_limit_that_is_not_configured_is_on_no_wheel),
		cmocka_unit_test(in_random_runs_every_step_is_legal_and_small),
		cmocka_unit_test(a_service_behind_a_busy_disk_is_helped_where_cores_do_not),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("parties_paper_storage", tests, NULL, NULL);
}
