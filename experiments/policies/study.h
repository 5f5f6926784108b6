/* SPDX-License-Identifier: GPL-2.0 */
/*
 * study.h - what the programs that compare policies share: their command line, results that are kept, and work that is
 * spread over processes.  Glue.
 *
 * A program describes its work as items 0 .. n - 1 and a function that does one, keeping each result in the memos.
 * study_work does them in several processes; after it the program asks for the same results again, finds them kept,
 * and prints them in order.  A program that was stopped goes on where it was.
 */
#ifndef PARTIES_STUDY_H
#define PARTIES_STUDY_H

#include "experiments/oracle/memo.h"
#include "experiments/oracle/tally.h"
#include "trial.h"
#include "experiments/oracle/valid.h"

enum { STUDY_MAX_POLICIES = 32, STUDY_MAX_FLAGS = 3 };

/* Values are the defaults before study_parse, and the command line's after it. */
struct study {
	const char *program, *purpose; /* one sentence without its full stop */
	const char *size_name, *size_help; /* of an option that says how large the study is */
	uint64_t size, size_max;
	struct study_flag {
		const char *name, *help;
		bool given;
	} flags[STUDY_MAX_FLAGS]; /* up to the first without a name */
	bool own_services;             /* the program has its own; otherwise it goes through numbers of services */
	uint32_t nr_sizes, sizes[TRIAL_MAX_SERVICES];
	const char *details;           /* whole lines for --help: what is computed, the columns */

	uint64_t seed;
	uint32_t nr_jobs, nr_policies;
	const char *policies[STUDY_MAX_POLICIES];
	struct memo *plays;            /* V, kept as long as the plant is the same */
	struct memo *results;          /* of policies, kept as long as the program is the same */
};

/* Ends the program after --help, or after a message on what is wrong. */
void study_open(struct study *s, int argc, char **argv);
void study_close(struct study *s);

/* Does all items; progress goes to stderr.  Ends the program when one fails. */
void study_work(struct study *s, uint32_t nr_items, void (*item)(void *ctx, uint32_t i), void *ctx);

/* So many distinct ones. */
void study_draw_services(struct rng *dice, uint32_t nr, struct mix *mix);
/* V of the services of a mix.  Ends the program on failure. */
struct valid *study_valid(struct study *s, const struct mix *mix);

/* Of a result about this mix: to be refined by memo_hash. */
uint64_t study_key(const struct mix *mix, const char *policy, uint64_t seed);
void study_keep(struct study *s, uint64_t key, const char *text);
/* Whether the allocation in force is valid; the loads of V are those of the mix. */
bool study_is_valid(struct valid *valid, const struct tick *tick);
/* As trial_holds, kept. */
bool study_holds(struct study *s, const struct mix *mix, const char *policy, uint64_t seed);
/* Whether the policy finds an allocation in V within 60 s, whatever it does then; kept. */
bool study_finds(struct study *s, const struct mix *mix, const char *policy, uint64_t seed, struct valid *valid);

#endif
