// SPDX-License-Identifier: GPL-2.0
/*
 * test_random_plants.c - what must hold on any machine, whatever fails: the tick and every policy on machines, services,
 * loads and faults drawn from a number, in virtual time.
 * timeout-all: 900
 * shares: yes
 *
 *	test_random_plants                          a few; thousands with TEST_ALL=1 in the environment
 *	test_random_plants calm|wild NUMBER POLICY  one run again, with all that happens
 */
#include "fixtures/faulty_plant.h"
#include "fixtures/valid_shares.h"

#include <stdlib.h>

#include "record.h"
#include "tick.h"

enum property { LEGAL, BLIND, ENDS, SETTLES, REPEATS, NR_PROPERTIES };
enum { MAX_POLICIES = 16, LASTING_TICKS = 20, WITHIN_S = 60, MAX_SHOWN = 5 };
/*
 * A share that moves in more than one window of four under a constant load is restless: whoever is patient for two windows
 * before he takes and looks at one more cannot.
 */
enum { RESTLESS = 17, MOST_RESTLESS_PERCENT = 10, LEAST_VALID_PERCENT = 85 };

struct run {
	const struct random_plant *random;
	const struct policy_ops *policy;
	struct faulty_plant machine;
	struct tick tick;
	struct valid_shares *valid; /* NULL: not wanted */
	bool talks;
	uint64_t hash; /* of all decisions */
	uint32_t nr_late_moves; /* of shares, in the second half */
	bool began_valid;
	int valid_since;
	double valid_s;      /* -1: never for long enough */
	uint32_t nr_valid;   /* ticks in the second half */
};

static uint32_t nr_broken[NR_PROPERTIES], nr_runs;

/* Calm runs on machines that have a core to spare; the hard ones begin with an even split that is not enough. */
static struct tally {
	uint32_t nr, nr_valid, nr_hard, nr_hard_valid, nr_restless;
	double in_valid;
} tallies[MAX_POLICIES];

static void broken(const struct run *r, enum property property, const char *what)
{
	if (nr_broken[property]++ >= MAX_SHOWN && !r->talks)
		return;
	print_message("# %s run %" PRIu64 ", %s, tick %u: %s; again: test_random_plants %s %" PRIu64 " %s\n",
		      r->random->calm ? "calm" : "wild", r->random->number, r->policy->name, r->machine.tick, what,
		      r->random->calm ? "calm" : "wild", r->random->number, r->policy->name);
	if (nr_broken[property] == 1)
		random_plant_print(r->random, stderr);
}

/* --- properties of one step ------------------------------------------------------------------------------------- */

static void check_legal(const struct run *r)
{
	const struct tick *t = &r->tick;
	const char *why = NULL;
	uint32_t sum = 0;

	if (policy_decision_check(&t->report.view, &t->report.decision, &why))
		broken(r, LEGAL, why);
	else if (strstr(t->report.outcome.where, "refused"))
		broken(r, LEGAL, t->report.outcome.where);
	for (int owner = ALLOCATION_BE; owner < (int)r->random->nr_services; owner++)
		sum += allocation_count(&t->allocation, owner);
	if (sum != r->random->nr_cores)
		broken(r, LEGAL, "cores were lost or made");
	for (uint32_t i = 0; i < r->random->nr_services && t->started; i++)
		if (allocation_count(&t->allocation, (int)i) < t->report.view.services[i].min.cores)
			broken(r, LEGAL, "a floor does not hold");
}

/*
 * adaptive takes nothing from a service without a signal, not even for another; the study's policies may take from it as
 * from any victim, but never shrink it for its own sake (PARTIES decision 13).
 */
static void check_blind(const struct run *r)
{
	const struct policy_decision *d = &r->tick.report.decision;
	bool strict = r->policy == &policy_adaptive;

	for (uint32_t i = 0; i < r->random->nr_services; i++) {
		const struct policy_service *s = &r->tick.report.view.services[i];
		bool less = d->shares[i].cores < s->have.cores || d->shares[i].speed < s->have.speed;

		if ((s->signal != POLICY_LOST && s->signal != POLICY_STALLED) || !less)
			continue;
		if (strict || (d->subject == (int32_t)i && d->direction == POLICY_DOWN))
			broken(r, BLIND, s->signal == POLICY_LOST ? "a service whose signal is lost was given less" :
								   "a stalled service was given less");
	}
}

/* Something that is not the policy changes the machine between two windows. */
static void disturb(struct policy_view *v, struct rng *dice)
{
	struct policy_service *s = &v->services[rng_below(dice, v->nr_services)];
	uint32_t floors = 0;

	for (uint32_t i = 0; i < v->nr_services; i++)
		floors += v->services[i].min.cores;
	switch (rng_below(dice, 5)) {
	case 0: /* cores go offline, whoever had them */
		v->nr_cores = random_between(dice, floors, v->nr_cores);
		s->have.cores = random_between(dice, 0, s->have.cores);
		break;
	case 1:
		v->nr_cores += 2;
		break;
	case 2:
		v->has_be = !v->has_be;
		break;
	case 3: /* a limit moves */
		s->max.cores = random_between(dice, s->min.cores, v->nr_cores);
		s->max.speed = v->nr_speeds > 1 ? random_between(dice, 0, v->nr_speeds - 1) : 0;
		break;
	default: /* somebody else's allocation */
		s->have.cores = random_between(dice, 0, v->nr_cores);
		s->have.speed = v->nr_speeds > 1 ? random_between(dice, 0, v->nr_speeds - 1) : 0;
		v->be_cores = random_between(dice, 0, 3);
	}
}

/* What the policy would do next on a machine that has changed; the run itself does not see it. */
static void check_changed(const struct run *r)
{
	struct policy_view view = r->tick.report.view;
	struct rng dice, rng = r->tick.rng;
	struct policy_decision d;
	const char *why = NULL;
	void *state = malloc(r->policy->state_size + 1);

	assert_non_null(state);
	memcpy(state, r->tick.policy_state, r->policy->state_size);
	rng_seed(&dice, r->random->number ^ (uint64_t)r->machine.tick << 32);
	disturb(&view, &dice);
	r->policy->step(state, r->tick.report.now_ns + r->random->interval_ns, &view, &rng, &d);
	if (policy_decision_check(&view, &d, &why))
		broken(r, LEGAL, why);
	free(state);
}

static uint64_t hash_decision(uint64_t hash, const struct policy_decision *d, uint32_t nr_services)
{
	for (uint32_t i = 0; i < nr_services; i++)
		hash = (hash ^ d->shares[i].cores ^ (uint64_t)d->shares[i].speed << 32) * UINT64_C(0x100000001b3);
	return (hash ^ d->reason ^ (uint64_t)(uint32_t)d->subject << 32) * UINT64_C(0x100000001b3);
}

static uint32_t count_moves(const struct tick_report *report)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < report->view.nr_services; i++) {
		const struct policy_share *have = &report->view.services[i].have, *want = &report->decision.shares[i];

		nr += have->cores != want->cores || have->speed != want->speed;
	}
	return nr;
}

/* --- a run ------------------------------------------------------------------------------------------------------ */

static void tell(const struct run *r)
{
	char *action = record_action_text(&r->tick);

	fprintf(stderr, "%3u %s\n", r->machine.tick, action);
	for (uint32_t i = 0; i < r->random->nr_services; i++) {
		const struct policy_service *s = &r->tick.report.view.services[i];

		fprintf(stderr, "    s%u %-7s %2u@%-2u -> %2u@%-2u slack %d arrived %" PRIu64 " done %" PRIu64
			" flying %" PRIu64 " cpu %.2f%s\n", i, policy_signal_name(s->signal), s->have.cores, s->have.speed,
			allocation_count(&r->tick.allocation, (int)i), r->tick.allocation.speed[i],
			r->tick.report.slack_permille[i], s->nr_arrived, s->nr_completed, s->nr_in_flight,
			(double)s->cpu_ns / (double)r->tick.report.view.window_ns,
			r->valid ? valid_share(r->valid, i, allocation_count(&r->tick.allocation, (int)i),
					       r->tick.allocation.speed[i]) ? " valid" : " not valid" : "");
	}
	free(action);
}

static void follow_valid(struct run *r)
{
	int now = (int)r->machine.tick;
	bool valid = valid_allocation(r->valid, &r->tick.allocation);

	r->began_valid |= valid && now == 0;
	r->nr_valid += valid && now >= (int)r->random->nr_ticks / 2;
	r->valid_since = !valid ? -1 : r->valid_since < 0 ? now : r->valid_since;
	if (valid && r->valid_s < 0 && now - r->valid_since >= LASTING_TICKS)
		r->valid_s = (double)r->valid_since * (double)r->random->interval_ns / 1e9;
}

/* False: the tick gave up, as it must when the sensor or the actuator fails for long. */
static bool step(struct run *r, uint64_t *now_ns)
{
	uint64_t window_ns = faulty_window_ns(&r->machine);
	bool given_up;

	*now_ns += window_ns;
	plant_advance(r->machine.plant, *now_ns);
	given_up = tick_step(&r->tick, *now_ns, window_ns) != 0;
	if (r->talks)
		tell(r);
	if (given_up != (r->tick.nr_lost >= TICK_MAX_FAILURES || r->tick.nr_failed >= TICK_MAX_FAILURES))
		broken(r, ENDS, "the tick ends though it need not, or the other way round");
	check_legal(r);
	if (r->tick.started && r->machine.tick) {
		check_blind(r);
		check_changed(r);
	}
	r->hash = hash_decision(r->hash, &r->tick.report.decision, r->random->nr_services);
	if (r->machine.tick >= r->random->nr_ticks / 2)
		r->nr_late_moves += count_moves(&r->tick.report);
	return !given_up;
}

static struct run play(const struct random_plant *random, const struct policy_ops *policy, struct valid_shares *valid,
		       bool talks)
{
	struct run r = { .random = random, .policy = policy, .valid = valid, .talks = talks, .valid_since = -1,
			 .valid_s = -1 };
	uint64_t now_ns = 0;
	bool goes_on = true;

	faulty_plant_open(&r.machine, random);
	r.tick = (struct tick){
		.config = plant_config(r.machine.plant), .topology = plant_topology(r.machine.plant),
		.ladder = plant_ladder(r.machine.plant), .sensor = { &r.machine, faulty_read },
		.actuator = { &r.machine, faulty_apply }, .policy = policy, .steer = true,
	};
	assert_int_equal(tick_init(&r.tick, random->has_be), 0);
	for (; goes_on && r.machine.tick < random->nr_ticks; r.machine.tick++) {
		goes_on = step(&r, &now_ns);
		if (valid)
			follow_valid(&r);
	}
	tick_fini(&r.tick);
	plant_close(r.machine.plant);
	nr_runs++;
	return r;
}

/* --- many runs -------------------------------------------------------------------------------------------------- */

/*
 * Under a constant load the study's policies make one action a window, of a service and perhaps a victim; for what adaptive
 * does see RESTLESS.
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

/* Whether the machine can hold its services with a core to spare. */
static bool open_valid(struct valid_shares *v, const struct random_plant *random, struct plant **ret)
{
	struct scenario_file file = scenario_file(random->text);
	char error[512] = "";

	if (plant_open(ret, file.path, 0, error, sizeof(error)))
		fail_msg("%s\n%s", error, random->text);
	close(file.fd);
	*v = (struct valid_shares){ .random = random, .plant = *ret };
	return valid_with_a_core_to_spare(v);
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
		fprintf(stderr, "calm %" PRIu64 " %s: %s, %u moves of %u services in the second half\n", r->random->number,
			r->policy->name, r->valid_s < 0 ? "not valid" : "valid", r->nr_late_moves,
			r->random->nr_services);
}

static void play_calm(uint64_t number)
{
	static struct random_plant random;
	static struct valid_shares valid;
	struct plant *plant;

	random_plant_draw(&random, true, number);
	if (open_valid(&valid, &random, &plant))
		for (unsigned int i = 0; policy_name(i); i++) {
			struct run r = play(&random, policy_find(policy_name(i)), &valid, false);

			count(&tallies[i], &r);
			if (!is_bounded(&r))
				broken(&r, SETTLES, "more moves than windows allow");
		}
	plant_close(plant);
}

static int play_all(void **state)
{
	bool all = getenv("TEST_ALL") && *getenv("TEST_ALL");
	uint64_t nr_wild = all ? 4000 : 40, nr_calm = all ? 1000 : 24;

	(void)state;
	for (uint64_t i = 1; i <= nr_wild; i++) {
		play_wild(i);
		if (i % 100 == 0)
			fprintf(stderr, "%" PRIu64 " of %" PRIu64 " wild\n", i, nr_wild);
	}
	for (uint64_t i = 1; i <= nr_calm; i++) {
		play_calm(i);
		if (i % 100 == 0)
			fprintf(stderr, "%" PRIu64 " of %" PRIu64 " calm\n", i, nr_calm);
	}
	print_message("# %u runs\n", nr_runs);
	for (unsigned int i = 0; policy_name(i); i++) {
		const struct tally *t = &tallies[i];

		print_message("# %s: valid within %d s in %u of %u runs, of hard ones %u of %u; for %.0f %% of the second half; "
			      "restless in %u\n", policy_name(i), WITHIN_S, t->nr_valid, t->nr, t->nr_hard_valid, t->nr_hard,
			      100 * t->in_valid / t->nr, t->nr_restless);
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
	assert_int_equal(nr_broken[SETTLES], 0);
	assert_in_range(t->nr_restless * 100, 0, t->nr * MOST_RESTLESS_PERCENT);
}

static void adaptive_finds_an_allocation_that_lasts(void **state)
{
	const struct tally *t = tally_of(&policy_adaptive);

	(void)state;
	assert_in_range(t->nr_hard, 3, UINT32_MAX);
	assert_in_range(t->nr_valid * 100, t->nr * LEAST_VALID_PERCENT, UINT32_MAX);
}

static int again(char **argv)
{
	static struct random_plant random;
	static struct valid_shares valid;
	const struct policy_ops *policy = policy_find(argv[3]);
	bool calm = !strcmp(argv[1], "calm"), judged;
	uint32_t nr = 0;
	struct plant *plant;
	struct run r;

	if (!policy || (!calm && strcmp(argv[1], "wild"))) {
		fprintf(stderr, "usage: test_random_plants calm|wild NUMBER POLICY\n");
		return 2;
	}
	random_plant_draw(&random, calm, strtoull(argv[2], NULL, 10));
	random_plant_print(&random, stderr);
	judged = open_valid(&valid, &random, &plant) && calm;
	r = play(&random, policy, calm ? &valid : NULL, true);
	plant_close(plant);
	if (calm)
		print_message("# %s with a core to spare; valid after %.1f s, -1 is never\n",
			      judged ? "possible" : "impossible", r.valid_s);
	for (int i = 0; i < NR_PROPERTIES; i++)
		nr += nr_broken[i];
	return nr > 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units_are_conserved_and_limits_hold_whatever_fails),
		cmocka_unit_test(nobody_is_shrunk_on_a_lost_signal_or_a_stall),
		cmocka_unit_test(the_tick_gives_up_only_when_sensor_or_actuator_fail_for_long),
		cmocka_unit_test(equal_seeds_give_equal_decisions),
		cmocka_unit_test(a_constant_load_leaves_adaptive_at_rest),
		cmocka_unit_test(adaptive_finds_an_allocation_that_lasts),
	};

	if (argc == 4)
		return again(argv);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, play_all, NULL);
}
