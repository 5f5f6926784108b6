// SPDX-License-Identifier: GPL-2.0
/*
 * test_random_plants.c - what must hold on any machine, whatever fails: the tick and every policy on machines,
 * services, loads and faults drawn from a number, in virtual time.
 * timeout-all: 900
 * shares: yes
 *
 *	test_random_plants [NR_WILD NR_CALM]        a few; thousands with TEST_ALL=1 in the environment
 *	test_random_plants calm|wild NUMBER POLICY  one run again, with all that happens
 */
#include "fixtures/random_run.h"

enum { MAX_POLICIES = 16, WITHIN_S = 60 };
/*
 * A share that moves in more than one window of four under a constant load is restless: whoever is patient for two
 * windows before he takes and looks at one more cannot.
 */
enum { RESTLESS = 17, MOST_RESTLESS_PERCENT = 10, LEAST_VALID_PERCENT = 92 };

static uint64_t nr_wild = 28, nr_calm = 14;

/* Calm runs on machines that have a core to spare; the hard ones begin with an even split that is not enough. */
static struct tally {
	uint32_t nr, nr_valid, nr_hard, nr_hard_valid, nr_restless;
	double in_valid;
} tallies[MAX_POLICIES];

/*
 * Under a constant load the study's policies make one action a window, of a service and perhaps a victim; for what
 * adaptive does see RESTLESS.
 */
static bool is_bounded(const struct run *r)
{
	return r->policy == &policy_adaptive || r->nr_late_moves <= r->random->nr_ticks / 2 * 2;
}

static void play_wild(uint64_t number)
{
	static struct random_plant random;

	random_plant_draw(&random, false, number);
	for (unsigned int i = 0; policy_name(i); i++) {
		const struct policy_ops *policy = policy_find(policy_name(i));
		struct run r = play(&random, policy, NULL, false);

		if (number % 8 == 0 && play(&random, policy, NULL, false).hash != r.hash)
			broken(&r, REPEATS, "the same run was decided otherwise");
	}
}

static struct valid *open_valid(const struct random_plant *random, struct memo *memo)
{
	struct scenario_file file = scenario_file(random->text);
	struct valid *valid;
	char error[512] = "";

	if (valid_open(&valid, file.path, memo, error, sizeof(error)))
		fail_msg("%s\n%s", error, random->text);
	close(file.fd);
	valid_set_loads(valid, random->loads);
	return valid;
}

/* Whether the services fit at full speed within their limits, with a core to spare. */
static bool is_possible(const struct random_plant *random, struct valid *v)
{
	uint32_t nr_speeds = valid_ladder(v)->nr_steps, sum = 0;

	for (uint32_t i = 0; i < random->nr_services && sum < random->nr_cores; i++) {
		uint32_t fewest = valid_fewest(v, i, nr_speeds ? nr_speeds - 1 : 0), most = random->most_cores[i];

		sum += most && fewest > most ? random->nr_cores : fewest;
	}
	return sum < random->nr_cores;
}

static void count(struct tally *t, const struct run *r)
{
	bool restless = r->nr_late_moves > RESTLESS * r->random->nr_services;

	t->nr++;
	t->nr_valid += r->valid_s >= 0;
	t->nr_hard += !r->began_valid;
	t->nr_hard_valid += !r->began_valid && r->valid_s >= 0;
	t->nr_restless += restless;
	t->in_valid += (double)r->nr_valid * 2 / r->random->nr_ticks;
	if (r->policy == &policy_adaptive && (r->valid_s < 0 || restless))
		fprintf(stderr, "calm %" PRIu64 " %s: %s, %u moves of %u services in the second half\n",
			r->random->number, r->policy->name, r->valid_s < 0 ? "not valid" : "valid", r->nr_late_moves,
			r->random->nr_services);
}

static void play_calm(uint64_t number, struct memo *memo)
{
	static struct random_plant random;
	struct valid *valid;

	random_plant_draw(&random, true, number);
	valid = open_valid(&random, memo);
	for (unsigned int i = 0; policy_name(i) && is_possible(&random, valid); i++) {
		struct run r = play(&random, policy_find(policy_name(i)), valid, false);

		count(&tallies[i], &r);
		if (!is_bounded(&r))
			broken(&r, SETTLES, "more moves than windows allow");
	}
	valid_close(valid);
}

/* Without a name: nothing is kept. */
static struct memo *open_memo(void)
{
	struct scenario_file file = scenario_file("");
	struct memo *memo;

	assert_int_equal(memo_open(&memo, file.path), 0);
	close(file.fd);
	return memo;
}

static int play_all(void **state)
{
	struct memo *memo = open_memo();

	(void)state;
	for (uint64_t i = 1; i <= nr_wild; i++) {
		play_wild(i);
		if (i % 100 == 0)
			fprintf(stderr, "%" PRIu64 " of %" PRIu64 " wild\n", i, nr_wild);
	}
	for (uint64_t i = 1; i <= nr_calm; i++) {
		play_calm(i, memo);
		if (i % 100 == 0)
			fprintf(stderr, "%" PRIu64 " of %" PRIu64 " calm\n", i, nr_calm);
	}
	memo_close(memo);
	print_message("# %u runs\n", nr_runs);
	for (unsigned int i = 0; policy_name(i) && tallies[i].nr; i++) {
		const struct tally *t = &tallies[i];

		print_message("# %s: valid within %d s in %u of %u runs, of hard ones %u of %u;", policy_name(i),
			      WITHIN_S, t->nr_valid, t->nr, t->nr_hard_valid, t->nr_hard);
		print_message(" for %.0f %% of the second half; restless in %u\n", 100 * t->in_valid / t->nr,
			      t->nr_restless);
	}
	return 0;
}

static void units_are_conserved_and_limits_hold_whatever_fails(void **state)
{
	(void)state;
	assert_int_equal(nr_broken[LEGAL], 0);
}

static void nobody_is_shrunk_on_a_lost_signal_or_a_stall(void **state)
{
	(void)state;
	assert_int_equal(nr_broken[BLIND], 0);
}

static void who_misses_the_target_is_given_what_is_free(void **state)
{
	(void)state;
	assert_int_equal(nr_broken[HELPS], 0);
}

static void the_tick_gives_up_only_when_sensor_or_actuator_fail_for_long(void **state)
{
	(void)state;
	assert_int_equal(nr_broken[ENDS], 0);
}

static void equal_seeds_give_equal_decisions(void **state)
{
	(void)state;
	assert_int_equal(nr_broken[REPEATS], 0);
}

static const struct tally *tally_of(const struct policy_ops *policy)
{
	uint32_t i = 0;

	while (policy_find(policy_name(i)) != policy)
		i++;
	return &tallies[i];
}

static void a_constant_load_leaves_adaptive_at_rest(void **state)
{
	const struct tally *t = tally_of(&policy_adaptive);

	(void)state;
	if (!nr_calm)
		skip();
	assert_int_equal(nr_broken[SETTLES], 0);
	assert_in_range(t->nr_restless * 100, 0, t->nr * MOST_RESTLESS_PERCENT);
}

static void adaptive_finds_an_allocation_that_lasts(void **state)
{
	const struct tally *t = tally_of(&policy_adaptive);

	(void)state;
	if (!nr_calm)
		skip();
	assert_in_range(t->nr_hard, 3, UINT32_MAX);
	assert_in_range(t->nr_valid * 100, t->nr * LEAST_VALID_PERCENT, UINT32_MAX);
}

static int again(char **argv)
{
	static struct random_plant random;
	const struct policy_ops *policy = policy_find(argv[3]);
	bool calm = !strcmp(argv[1], "calm");
	struct memo *memo;
	struct valid *valid;
	uint32_t nr = 0;
	struct run r;

	if (!policy || (!calm && strcmp(argv[1], "wild"))) {
		fprintf(stderr, "usage: test_random_plants calm|wild NUMBER POLICY\n");
		return 2;
	}
	random_plant_draw(&random, calm, strtoull(argv[2], NULL, 10));
	random_plant_print(&random, stderr);
	memo = open_memo();
	valid = open_valid(&random, memo);
	r = play(&random, policy, calm ? valid : NULL, true);
	if (calm)
		print_message("# %s with a core to spare; valid after %.1f s, -1 is never\n",
			      is_possible(&random, valid) ? "possible" : "impossible", r.valid_s);
	valid_close(valid);
	memo_close(memo);
	for (int i = 0; i < NR_PROPERTIES; i++)
		nr += nr_broken[i];
	return nr > 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units_are_conserved_and_limits_hold_whatever_fails),
		cmocka_unit_test(nobody_is_shrunk_on_a_lost_signal_or_a_stall),
		cmocka_unit_test(who_misses_the_target_is_given_what_is_free),
		cmocka_unit_test(the_tick_gives_up_only_when_sensor_or_actuator_fail_for_long),
		cmocka_unit_test(equal_seeds_give_equal_decisions),
		cmocka_unit_test(a_constant_load_leaves_adaptive_at_rest),
		cmocka_unit_test(adaptive_finds_an_allocation_that_lasts),
	};

	if (argc == 4)
		return again(argv);
	if (argc == 3) {
		nr_wild = strtoull(argv[1], NULL, 10);
		nr_calm = strtoull(argv[2], NULL, 10);
	} else if (getenv("TEST_ALL") && *getenv("TEST_ALL")) {
		nr_wild = 2000;
		nr_calm = 600;
	}
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, play_all, NULL);
}
