// SPDX-License-Identifier: GPL-2.0
/*
 * fig8.c - memcached, xapian and nginx on one machine, cell by cell: for each pair of loads of xapian and nginx the
 * highest load of memcached that holds: figure 8's question.  Glue over trials and V; it steers nothing itself.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "experiments/plant/catalogue.h"
#include "study.h"

enum { GRID = 10, NR_SERVICES = 3, MEANS = 0, FOUND = 1 };
static const char *const services[NR_SERVICES] = { "memcached", "xapian", "nginx" };

static const char details[] =
	"A cell: loads of xapian and nginx in percent of their maxima, and the highest load of memcached that holds\n"
	"beside them, all on the grid.  It holds when at most 1 % of every service's requests are late in the 60 s\n"
	"after 30 s of warm-up; with --found, as soon as a policy has found a valid allocation within 60 s, whatever\n"
	"it does then.\n"
	"The oracle is the best fixed allocation of 14 cores; a policy's search begins at its load.\n"
	"  policy     or oracle\n"
	"  xapian, nginx, memcached   percent; memcached is 0 where only the two hold, -1 where not even they\n"
	"With --means a row per policy, over the cells in which the oracle holds the two:\n"
	"  policy     or oracle; or published-parties, published-oracle: averages of the paper's figure 8\n"
	"  cells      how many\n"
	"  memcached  mean load of memcached; a cell that does not hold counts 0\n"
	"  emu        mean total load; where the two do not hold it is 0\n"
	"  ratio      emu / the oracle's;  ratio_ci: half of the 95 % interval of the ratio's mean over cells\n";

static struct study study = {
	.program = "fig8", .purpose = "Load of memcached that policies hold beside xapian and nginx (figure 8)",
	.size_name = "grid", .size_help = "steps from 0 to 100 % load", .size = GRID, .size_max = 2 * GRID,
	.own_services = true, .details = details, .seed = 1,
	.flags = { [MEANS] = { "means", "a row per policy instead of its cells" },
		   [FOUND] = { "found", "a load holds when a valid allocation was found in time" } },
};

struct cell {
	struct mix mixes[2]; /* of the two and of all three */
	struct valid *valid[2];
	const char *policy;
};

static double load_of(uint64_t step)
{
	return (double)step / (double)study.size;
}

/* Loads of xapian and nginx from the first step to full. */
static struct cell cell_of(uint32_t i)
{
	struct cell c = { .mixes = { { .nr = NR_SERVICES - 1 }, { .nr = NR_SERVICES } } };
	double loads[] = { 0, load_of(1 + i / study.size), load_of(1 + i % study.size) };

	for (uint32_t m = 0; m < 2; m++)
		for (uint32_t s = 0; s < c.mixes[m].nr; s++) {
			uint32_t service = s + NR_SERVICES - c.mixes[m].nr;

			c.mixes[m].services[s] = trial_find(services[service]);
			c.mixes[m].loads[s] = loads[service];
		}
	return c;
}

/* Which mix and V; memcached's load is set when it is there. */
static uint32_t go_to(struct cell *c, uint32_t step)
{
	if (step)
		c->mixes[1].loads[0] = load_of(step);
	return step > 0;
}

static bool oracle_holds(void *ctx, uint32_t step)
{
	struct cell *c = ctx;
	uint32_t m = go_to(c, step);
	struct valid *valid = c->valid[m];

	valid_set_loads(valid, c->mixes[m].loads);
	return valid_fewest_all(valid, valid_ladder(valid)->nr_steps - 1) <= valid_nr_cores(valid);
}

static bool policy_holds(void *ctx, uint32_t step)
{
	struct cell *c = ctx;
	uint32_t m = go_to(c, step);

	return study.flags[FOUND].given ? study_finds(&study, &c->mixes[m], c->policy, study.seed, c->valid[m]) :
					  study_holds(&study, &c->mixes[m], c->policy, study.seed);
}

static void close_cell(struct cell *c)
{
	valid_close(c->valid[0]);
	valid_close(c->valid[1]);
}

/* The cell is the caller's to close. */
static int ask_oracle(struct cell *c)
{
	for (uint32_t m = 0; m < 2; m++)
		c->valid[m] = study_valid(&study, &c->mixes[m]);
	if (!oracle_holds(c, 0))
		return -1;
	return (int)tally_highest(oracle_holds, c, (uint32_t)study.size / 2, (uint32_t)study.size);
}

/* Where the oracle does not hold the two, nobody does. */
static int ask_policy(struct cell *c, const char *policy, int oracle)
{
	uint32_t steps;

	if (oracle < 0)
		return -1;
	c->policy = policy;
	steps = tally_highest(policy_holds, c, (uint32_t)oracle, (uint32_t)study.size);
	return steps || policy_holds(c, 0) ? (int)steps : -1;
}

static void one_cell(void *ctx, uint32_t i)
{
	struct cell c = cell_of(i);
	int oracle = ask_oracle(&c);

	(void)ctx;
	for (uint32_t p = 0; p < study.nr_policies; p++)
		ask_policy(&c, study.policies[p], oracle);
	close_cell(&c);
}

/* `policy` NULL: the oracle. */
static void print_policy(const char *policy)
{
	struct tally memcached = { 0 }, emu = { 0 }, best = { 0 }, ratio = { 0 };
	const char *name = policy ? policy : "oracle";

	for (uint32_t i = 0; i < study.size * study.size; i++) {
		struct cell c = cell_of(i);
		int oracle = ask_oracle(&c), steps = policy ? ask_policy(&c, policy, oracle) : oracle;
		const double *loads = c.mixes[0].loads;
		double two = loads[0] + loads[1], total = steps < 0 ? 0 : two + load_of((uint64_t)steps);

		close_cell(&c);
		if (!study.flags[MEANS].given)
			printf("%s\t%.0f\t%.0f\t%.0f\n", name, loads[0] * 100, loads[1] * 100,
			       steps < 0 ? -1 : load_of((uint64_t)steps) * 100);
		if (oracle < 0)
			continue;
		tally_add(&memcached, load_of(steps < 0 ? 0 : (uint64_t)steps));
		tally_add(&emu, total);
		tally_add(&best, two + load_of((uint64_t)oracle));
		tally_add(&ratio, total / (two + load_of((uint64_t)oracle)));
	}
	if (study.flags[MEANS].given)
		printf("%s\t%u\t%.1f\t%.1f\t%.3f\t%.3f\n", name, emu.nr, tally_mean(&memcached) * 100,
		       tally_mean(&emu) * 100, emu.nr ? tally_mean(&emu) / tally_mean(&best) : 0, tally_ci(&ratio));
}

int main(int argc, char **argv)
{
	study_open(&study, argc, argv);
	study_work(&study, (uint32_t)(study.size * study.size), one_cell, NULL);
	printf(study.flags[MEANS].given ? "policy\tcells\tmemcached\temu\tratio\tratio_ci\n" :
	       "policy\txapian\tnginx\tmemcached\n");
	print_policy(NULL);
	for (uint32_t p = 0; p < study.nr_policies; p++)
		print_policy(study.policies[p]);
	if (study.flags[MEANS].given)
		printf("published-oracle\t-\t91.6\t-\t-\t-\npublished-parties\t-\t88.4\t-\t0.965\t-\n");
	study_close(&study);
	return fflush(stdout) ? 1 : 0;
}
