// SPDX-License-Identifier: GPL-2.0
/*
 * emu.c - effective machine utilisation: how much load of how many services a policy holds on one machine, beside the
 * best fixed allocation: figure 7's question.  Glue over trials and V; it steers nothing itself.
 *
 * A direction says in what proportion the services are loaded.  Along it the total load (each service's in percent of
 * its own maximum, added up) is raised by whole percents to the last point that holds, with no service above its
 * maximum.
 */
#include <stdio.h>

#include "experiments/plant/catalogue.h"
#include "study.h"

enum { MAX_DIRECTIONS = 40, DIRECTIONS_SEED = 8000, LIST = 0, EACH = 1, FOUND = 2 };

static const char details[] =
	"A direction is a set of services and the proportion of their loads.  Along it, EMU is the highest total load\n"
	"that holds: at most 1 % of every service's requests late in the 60 s after 30 s of warm-up, no service above\n"
	"100 %.  With --found a point holds as soon as a policy has found a valid allocation within 60 s, whatever it\n"
	"does then.  Points below the highest that holds need not all hold.\n"
	"The oracle is the best fixed allocation of 14 cores; a policy's search begins at its EMU.\n"
	"  services    how many run together\n"
	"  policy      or oracle; or published-parties, published-heracles: means of the paper's figure 7, over loads\n"
	"              of their own, so that only order and trend compare\n"
	"  directions  how many\n"
	"  emu         mean over directions, percent;  emu_ci: half of its 95 % interval\n"
	"  ratio       mean of EMU / the oracle's EMU;  ratio_ci: half of its 95 % interval\n"
	"  ratio_sd    standard deviation of that over directions\n"
	"  ratio_least the worst direction's\n"
	"With --each: services, policy, direction, loads of the last point in percent, emu, ratio.\n"
	"With --list: services, direction, and the services with the weights of their loads.\n";

static struct study study = {
	.program = "emu", .purpose = "Total load that policies hold, beside the best fixed allocation (figure 7)",
	.size_name = "directions", .size_help = "directions per number of services", .size = MAX_DIRECTIONS,
	.size_max = MAX_DIRECTIONS, .details = details, .seed = 1,
	.flags = { [LIST] = { "list", "print the directions and exit" },
		   [EACH] = { "each", "a row per direction instead of their mean" },
		   [FOUND] = { "found", "a point holds when a valid allocation was found in time" } },
};

/* --- directions ------------------------------------------------------------------------------------------------- */

struct direction {
	struct mix mix;   /* its loads are the last point's */
	double weights[TRIAL_MAX_SERVICES], sum; /* 0.1 to 1 by hundredths */
	uint32_t max;     /* highest total load, percent */
	uint32_t oracle;
	uint64_t seed;    /* of the plant and the policy */
	const char *policy;
	struct valid *valid;
};

static struct direction draw(uint32_t nr, uint32_t number)
{
	struct direction d = { .max = 0 };
	double most = 0;
	struct rng dice;

	rng_seed(&dice, DIRECTIONS_SEED + nr * MAX_DIRECTIONS + number);
	study_draw_services(&dice, nr, &d.mix);
	for (uint32_t i = 0; i < nr; i++) {
		d.weights[i] = (double)(10 + rng_below(&dice, 91)) / 100;
		d.sum += d.weights[i];
		most = d.weights[i] > most ? d.weights[i] : most;
	}
	d.max = (uint32_t)(100 * d.sum / most + 1e-9);
	d.seed = study.seed + rng_next(&dice) % UINT32_MAX;
	return d;
}

static void go_to(struct direction *d, uint32_t percent)
{
	for (uint32_t i = 0; i < d->mix.nr; i++)
		d->mix.loads[i] = percent / 100.0 * d->weights[i] / d->sum;
}

static uint32_t top_speed(const struct valid *valid)
{
	return valid_ladder(valid)->nr_steps - 1;
}

static bool oracle_holds(void *ctx, uint32_t percent)
{
	struct direction *d = ctx;

	go_to(d, percent);
	valid_set_loads(d->valid, d->mix.loads);
	return valid_fewest_all(d->valid, top_speed(d->valid)) <= valid_nr_cores(d->valid);
}

static bool policy_holds(void *ctx, uint32_t percent)
{
	struct direction *d = ctx;

	go_to(d, percent);
	return study.flags[FOUND].given ? study_finds(&study, &d->mix, d->policy, d->seed, d->valid) :
					  study_holds(&study, &d->mix, d->policy, d->seed);
}

/* Needs grow about as the load does. */
static uint32_t guess(struct direction *d)
{
	uint32_t percent = d->max / 3, nr_cores = valid_nr_cores(d->valid);

	if (!oracle_holds(d, percent))
		return percent;
	return percent * nr_cores / valid_fewest_all(d->valid, top_speed(d->valid));
}

/* V is the caller's to close. */
static void ask_oracle(struct direction *d)
{
	d->valid = study_valid(&study, &d->mix);
	d->oracle = tally_highest(oracle_holds, d, guess(d), d->max);
	go_to(d, d->oracle);
}

static uint32_t ask_policy(struct direction *d, const char *policy)
{
	uint32_t emu;

	d->policy = policy;
	emu = tally_highest(policy_holds, d, d->oracle, d->max);
	go_to(d, emu);
	return emu;
}

static void one_direction(void *ctx, uint32_t i)
{
	struct direction d = draw(study.sizes[i / study.size], (uint32_t)(i % study.size));

	(void)ctx;
	ask_oracle(&d);
	for (uint32_t p = 0; p < study.nr_policies; p++)
		ask_policy(&d, study.policies[p]);
	valid_close(d.valid);
}

/* --- tables ----------------------------------------------------------------------------------------------------- */

static const struct published {
	uint32_t nr;
	double parties, heracles;
} published[] = { { 2, 126, 113 }, { 3, 124, 103 }, { 4, 124, 90 }, { 5, 126, 84 }, { 6, 116, 56 } };

static void print_published(uint32_t nr)
{
	for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++)
		if (published[i].nr == nr)
			printf("%u\tpublished-parties\t-\t%.1f\t-\t-\t-\t-\t-\n"
			       "%u\tpublished-heracles\t-\t%.1f\t-\t-\t-\t-\t-\n",
			       nr, published[i].parties, nr, published[i].heracles);
}

static void print_direction(uint32_t number, const struct direction *d, const double *loads)
{
	printf("%u\t", number);
	for (uint32_t i = 0; i < d->mix.nr; i++)
		printf("%s%s=%.*f", i ? " " : "", catalogue_at(d->mix.services[i])->name, loads == d->weights ? 2 : 1,
		       loads == d->weights ? loads[i] : loads[i] * 100);
}

static void print_list(void)
{
	for (uint32_t i = 0; i < study.nr_sizes; i++)
		for (uint32_t number = 0; number < study.size; number++) {
			struct direction d = draw(study.sizes[i], number);

			printf("%u\t", study.sizes[i]);
			print_direction(number, &d, d.weights);
			printf("\n");
		}
}

/* `policy` NULL: the oracle. */
static void print_policy(uint32_t nr, const char *policy)
{
	struct tally emu = { 0 }, ratio = { 0 }, shortfall = { 0 };

	for (uint32_t number = 0; number < study.size; number++) {
		struct direction d = draw(nr, number);
		double reached;

		ask_oracle(&d);
		reached = policy ? ask_policy(&d, policy) : d.oracle;
		valid_close(d.valid);
		tally_add(&emu, reached);
		tally_add(&ratio, reached / d.oracle);
		tally_add(&shortfall, 1 - reached / d.oracle);
		if (study.flags[EACH].given) {
			printf("%u\t%s\t", nr, policy ? policy : "oracle");
			print_direction(number, &d, d.mix.loads);
			printf("\t%.0f\t%.3f\n", reached, reached / d.oracle);
		}
	}
	if (!study.flags[EACH].given)
		printf("%u\t%s\t%u\t%.1f\t%.1f\t%.3f\t%.3f\t%.3f\t%.3f\n", nr, policy ? policy : "oracle", emu.nr,
		       tally_mean(&emu), tally_ci(&emu), tally_mean(&ratio), tally_ci(&ratio), tally_deviation(&ratio),
		       1 - shortfall.most);
}

int main(int argc, char **argv)
{
	study_open(&study, argc, argv);
	if (study.flags[LIST].given) {
		print_list();
		return fflush(stdout) ? 1 : 0;
	}
	study_work(&study, (uint32_t)study.size * study.nr_sizes, one_direction, NULL);
	printf(study.flags[EACH].given ? "services\tpolicy\tdirection\tloads\temu\tratio\n" :
	       "services\tpolicy\tdirections\temu\temu_ci\tratio\tratio_ci\tratio_sd\tratio_least\n");
	for (uint32_t i = 0; i < study.nr_sizes; i++) {
		print_policy(study.sizes[i], NULL);
		for (uint32_t p = 0; p < study.nr_policies; p++)
			print_policy(study.sizes[i], study.policies[p]);
		if (!study.flags[EACH].given)
			print_published(study.sizes[i]);
	}
	study_close(&study);
	return fflush(stdout) ? 1 : 0;
}
