// SPDX-License-Identifier: GPL-2.0
/*
 * mixes.c - how fast policies find an allocation that lasts, and how long they stay in such: figure 10's question, on
 * seeded mixes at constant load.  Glue over trials and V; it steers nothing itself.
 *
 * A mix is so many of the published services with loads on a grid of 10 %, such that 14 cores hold it with one to spare
 * and the even split at nominal speed does not.
 */
#include <stdio.h>
#include <stdlib.h>

#include "experiments/plant/catalogue.h"
#include "study.h"

enum { MAX_TRIES = 1000000, GRID = 10, MAX_MIXES = 1000, NR_VALUES = 5 };
static const uint64_t run_ns = 60000000000, late_ns = 30000000000, lasting_ns = 10000000000;

/* Of one policy on one mix; what never came counts as the whole run. */
struct score {
	double first_ok_s, valid_s, recover_s, in_v, moves_per_min;
};

static const char details[] =
	"A mix: distinct services, loads on a grid of 10 %, valid on 14 cores with at least one to spare, and not\n"
	"valid with the even split at nominal speed.  From the start of 60 s at constant load:\n"
	"  services      how many run together\n"
	"  policy        or published-parties: what the paper's figure 10 shows\n"
	"  mixes         how many\n"
	"  first_ok_s    mean time until every window has met its target once (the paper's convergence)\n"
	"  ok_worst_s    the worst of them\n"
	"  valid_s       mean time until the allocation is valid and stays so for 10 s; never: 60\n"
	"  valid_ci_s    half of the 95 % interval of that mean\n"
	"  valid_worst_s the worst of them\n"
	"  never         number of mixes in which that never came\n"
	"  recover_s     mean end of the last violated judged window; recover_worst_s: the worst\n"
	"  in_v          share of the time from 30 to 60 s in which the allocation was valid\n"
	"  in_v_ci       half of its 95 % interval\n"
	"  moves_per_min changes of the allocation in that time\n"
	"  never_mixes   which mixes those were: number and loads\n";

static struct study study = {
	.program = "mixes",
	.purpose = "Times until policies reach a lasting valid allocation, on seeded mixes (figure 10)",
	.size_name = "mixes", .size_help = "mixes per number of services", .size = 50, .size_max = MAX_MIXES,
	.details = details, .seed = 1,
};

/* --- mixes ------------------------------------------------------------------------------------------------------ */

/* Cores a service needs under a load on the grid at the highest speed and undisturbed: with neighbours, no fewer. */
static uint32_t needs_alone(uint32_t service, uint32_t load)
{
	static uint32_t known[TRIAL_MAX_SERVICES][GRID + 1];
	struct mix mix = { .nr = 1, .services = { service }, .loads = { (double)load / GRID } };
	struct valid *valid;

	if (!known[service][load]) {
		valid = study_valid(&study, &mix);
		valid_set_loads(valid, mix.loads);
		known[service][load] = valid_fewest(valid, 0, valid_ladder(valid)->nr_steps - 1);
		valid_close(valid);
	}
	return known[service][load];
}

/* Whether it is worth a look: all that is known without playing it. */
static bool draw_loads(struct rng *dice, struct mix *mix)
{
	uint32_t needed = 0;

	for (uint32_t i = 0; i < mix->nr; i++) {
		uint32_t load = (uint32_t)(1 + rng_below(dice, GRID));

		mix->loads[i] = (double)load / GRID;
		needed += needs_alone(mix->services[i], load);
	}
	return needed < TRIAL_CORES;
}

static bool is_wanted(struct valid *valid, const struct mix *mix)
{
	const struct speed_ladder *ladder = valid_ladder(valid);
	bool split_holds = true;

	valid_set_loads(valid, mix->loads);
	if (valid_fewest_all(valid, ladder->nr_steps - 1) >= TRIAL_CORES)
		return false;
	for (uint32_t i = 0; i < mix->nr && split_holds; i++) {
		uint32_t even = TRIAL_CORES / mix->nr + (i < TRIAL_CORES % mix->nr);

		split_holds = valid_fewest(valid, i, ladder->nominal) <= even;
	}
	return !split_holds;
}

/* The same for every policy; V of it, with its loads set, is the caller's to close. */
static struct valid *draw_mix(uint32_t nr, uint32_t number, struct mix *mix, uint64_t *ret_seed)
{
	struct rng dice;

	rng_seed(&dice, (study.seed * TRIAL_MAX_SERVICES + nr) * MAX_MIXES + number);
	*ret_seed = rng_next(&dice);
	for (int try = 0; try < MAX_TRIES; try++) {
		struct valid *valid;

		study_draw_services(&dice, nr, mix);
		if (!draw_loads(&dice, mix))
			continue;
		valid = study_valid(&study, mix);
		if (is_wanted(valid, mix))
			return valid;
		valid_close(valid);
	}
	fprintf(stderr, "mixes: no mix of %u services was found\n", nr);
	exit(1);
}

/* --- runs ------------------------------------------------------------------------------------------------------- */

struct run {
	struct valid *valid;
	struct score score;
	uint64_t valid_since_ns; /* UINT64_MAX: it is not */
	uint64_t violated_ns[TRIAL_MAX_SERVICES];
};

static bool all_met(const struct tick *tick)
{
	for (uint32_t i = 0; i < tick->config->nr_services; i++)
		if (!tick->report.view.services[i].nr_completed || tick->report.slack_permille[i] < 0)
			return false;
	return true;
}

static bool run_tick(void *ctx, const struct tick *tick, uint64_t now_ns)
{
	struct run *r = ctx;
	uint64_t interval_ns = tick->config->interval_ns;
	double now_s = (double)now_ns / 1e9, late_s = (double)(run_ns - late_ns) / 1e9;
	bool valid = study_is_valid(r->valid, tick);

	if (now_ns && r->score.first_ok_s < 0 && all_met(tick))
		r->score.first_ok_s = now_s;
	if (!valid)
		r->valid_since_ns = UINT64_MAX;
	else if (r->valid_since_ns == UINT64_MAX)
		r->valid_since_ns = now_ns;
	if (valid && r->score.valid_s < 0 && now_ns - r->valid_since_ns >= lasting_ns)
		r->score.valid_s = (double)r->valid_since_ns / 1e9;
	for (uint32_t i = 0; i < tick->config->nr_services; i++) {
		if (tick->totals.judges[i].violated_ns > r->violated_ns[i])
			r->score.recover_s = now_s;
		r->violated_ns[i] = tick->totals.judges[i].violated_ns;
	}
	if (now_ns >= late_ns && now_ns < run_ns) { /* what this tick decided is in force until the next */
		r->score.in_v += valid ? (double)interval_ns / 1e9 / late_s : 0;
		r->score.moves_per_min += tick->report.decision.direction != POLICY_HOLD ? 60 / late_s : 0;
	}
	return true;
}

static struct score play(struct valid *valid, const struct mix *mix, const char *policy, uint64_t seed)
{
	struct run run = { .valid = valid, .score = { -1, -1, 0, 0, 0 }, .valid_since_ns = UINT64_MAX };

	trial_play(mix, policy, seed, run_ns, run_tick, &run);
	if (run.score.first_ok_s < 0)
		run.score.first_ok_s = (double)run_ns / 1e9;
	if (run.score.valid_s < 0)
		run.score.valid_s = (double)run_ns / 1e9;
	return run.score;
}

static struct score score_of(struct valid *valid, const struct mix *mix, const char *policy, uint64_t seed)
{
	uint64_t key = study_key(mix, policy, seed);
	const char *known = memo_get(study.results, key);
	char text[MEMO_TEXT_SIZE];
	struct score s;

	if (known && sscanf(known, "%lf %lf %lf %lf %lf", &s.first_ok_s, &s.valid_s, &s.recover_s, &s.in_v,
			    &s.moves_per_min) == NR_VALUES)
		return s;
	s = play(valid, mix, policy, seed);
	snprintf(text, sizeof(text), "%.1f %.1f %.1f %.4f %.1f", s.first_ok_s, s.valid_s, s.recover_s, s.in_v,
		 s.moves_per_min);
	study_keep(&study, key, text);
	return s;
}

static void one_mix(void *ctx, uint32_t i)
{
	struct mix mix;
	uint64_t seed;
	struct valid *valid = draw_mix(study.sizes[i / study.size], (uint32_t)(i % study.size), &mix, &seed);

	(void)ctx;
	for (uint32_t p = 0; p < study.nr_policies; p++)
		score_of(valid, &mix, study.policies[p], seed);
	valid_close(valid);
}

/* --- the table -------------------------------------------------------------------------------------------------- */

/* Read off the paper's figure 10, by number of services. */
static const struct published {
	uint32_t nr;
	double mean_s, worst_s;
} published[] = { { 2, 7, 41 }, { 3, 10, 45 }, { 4, 14, 51 }, { 5, 19, 57 }, { 6, 25, 60 } };

static void print_published(uint32_t nr)
{
	for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++)
		if (published[i].nr == nr)
			printf("%u\tpublished-parties\t-\t%.1f\t%.1f\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\n", nr,
			       published[i].mean_s, published[i].worst_s);
}

static void print_mix(const struct mix *mix, uint32_t number, bool first)
{
	printf("%s%u:", first ? "" : " ", number);
	for (uint32_t i = 0; i < mix->nr; i++)
		printf("%s%s=%.0f", i ? "," : "", catalogue_at(mix->services[i])->name, mix->loads[i] * 100);
}

static void print_policy(uint32_t nr, const char *policy)
{
	struct tally ok = { 0 }, lasting = { 0 }, recover = { 0 }, in_v = { 0 }, moves = { 0 };
	struct mix never[MAX_MIXES];
	uint32_t numbers[MAX_MIXES], nr_never = 0;

	for (uint32_t i = 0; i < study.size; i++) {
		struct mix mix;
		uint64_t seed;
		struct valid *valid = draw_mix(nr, i, &mix, &seed);
		struct score s = score_of(valid, &mix, policy, seed);

		valid_close(valid);
		tally_add(&ok, s.first_ok_s);
		tally_add(&lasting, s.valid_s);
		tally_add(&recover, s.recover_s);
		tally_add(&in_v, s.in_v);
		tally_add(&moves, s.moves_per_min);
		if (s.valid_s >= (double)run_ns / 1e9) {
			numbers[nr_never] = i;
			never[nr_never++] = mix;
		}
	}
	printf("%u\t%s\t%u\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%u\t%.1f\t%.1f\t%.3f\t%.3f\t%.1f\t", nr, policy, ok.nr,
	       tally_mean(&ok), ok.most, tally_mean(&lasting), tally_ci(&lasting), lasting.most, nr_never,
	       tally_mean(&recover), recover.most, tally_mean(&in_v), tally_ci(&in_v), tally_mean(&moves));
	for (uint32_t i = 0; i < nr_never; i++)
		print_mix(&never[i], numbers[i], i == 0);
	printf(nr_never ? "\n" : "-\n");
}

int main(int argc, char **argv)
{
	study_open(&study, argc, argv);
	study_work(&study, (uint32_t)study.size * study.nr_sizes, one_mix, NULL);
	printf("services\tpolicy\tmixes\tfirst_ok_s\tok_worst_s\tvalid_s\tvalid_ci_s\tvalid_worst_s\tnever\trecover_s\t"
	       "recover_worst_s\tin_v\tin_v_ci\tmoves_per_min\tnever_mixes\n");
	for (uint32_t i = 0; i < study.nr_sizes; i++) {
		for (uint32_t p = 0; p < study.nr_policies; p++)
			print_policy(study.sizes[i], study.policies[p]);
		print_published(study.sizes[i]);
	}
	study_close(&study);
	return fflush(stdout) ? 1 : 0;
}
