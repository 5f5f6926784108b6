// SPDX-License-Identifier: GPL-2.0
/* test_valid.c - which allocations are valid: the verdict's arithmetic, and cases that can be worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "experiments/oracle/valid.h"
#include "rng.h"

enum { NR_PIECES = 60, PIECE = 1000 };

/* Requests that are late independently of each other; returns the verdict, and after how many pieces it fell. */
static enum valid_verdict judge(struct rng *rng, double late_share, uint32_t *ret_nr)
{
	struct valid_count c = { 0 };
	enum valid_verdict verdict = VALID_OPEN;

	while (verdict == VALID_OPEN) {
		uint64_t nr_late = 0;

		for (int i = 0; i < PIECE; i++)
			nr_late += rng_uniform(rng) < late_share;
		valid_count_add(&c, PIECE, nr_late, 0.01);
		verdict = valid_judge(&c, NR_PIECES);
	}
	*ret_nr = c.nr_pieces;
	return verdict;
}

static void an_early_verdict_is_the_one_the_whole_play_would_give(void **state)
{
	static const double shares[] = { 0.002, 0.005, 0.008, 0.0095, 0.01, 0.0105, 0.012, 0.015, 0.03 };
	struct rng rng;
	uint32_t nr;

	(void)state;
	for (uint64_t seed = 0; seed < 40; seed++)
		for (size_t s = 0; s < sizeof(shares) / sizeof(shares[0]); s++) {
			double sum = 0;
			enum valid_verdict early;

			rng_seed(&rng, seed);
			early = judge(&rng, shares[s], &nr);
			rng_seed(&rng, seed);
			for (int i = 0; i < NR_PIECES * PIECE; i++)
				sum += rng_uniform(&rng) < shares[s];
			assert_int_equal(early, sum <= 0.01 * NR_PIECES * PIECE ? VALID_YES : VALID_NO);
		}
}

static void a_play_ends_early_when_its_verdict_is_certain_and_only_then(void **state)
{
	struct rng rng;
	uint32_t nr;

	(void)state;
	rng_seed(&rng, 1);
	assert_int_equal(judge(&rng, 0, &nr), VALID_YES);
	assert_int_equal(nr, 10);
	assert_int_equal(judge(&rng, 0.002, &nr), VALID_YES);
	assert_in_range(nr, 10, 20);
	assert_int_equal(judge(&rng, 1, &nr), VALID_NO);
	assert_int_equal(nr, 1);
	judge(&rng, 0.01, &nr);
	assert_in_range(nr, 40, NR_PIECES);
}

/* --- plays ------------------------------------------------------------------------------------------------------ */

struct bench {
	char scenario[64], memo_path[64];
	struct memo *memo;
	struct valid *valid;
};

static void put_file(char path[64], const char *text)
{
	int fd;

	strcpy(path, "/tmp/test-valid-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

/* Constant service times: 2 ms of work and 0.5 ms that speed does not change, at 2.8 GHz and undisturbed. */
static const char scenario[] = "[plant]\ncores = 8\nduration = 1s\n"
			       "[service a]\ntarget = p99 < 100ms\nservice_time = 2500us\ncv = 0\nmemory_part = 0.2\n"
			       "queue = shared\nmax_load = 1000\nsigma = 1\nprofile = at 0s 100%\n"
			       "[service b]\ntarget = p99 < 100ms\nservice_time = 1ms\nmax_load = 100\nbandwidth = 50\n"
			       "profile = at 0s 100%\n";

static int set_up(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	char error[512];

	put_file(b->scenario, scenario);
	put_file(b->memo_path, "");
	assert_int_equal(memo_open(&b->memo, b->memo_path), 0);
	assert_int_equal(valid_open(&b->valid, b->scenario, b->memo, error, sizeof(error)), 0);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	valid_close(b->valid);
	memo_close(b->memo);
	unlink(b->scenario);
	unlink(b->memo_path);
	free(b);
	return 0;
}

/* With latencies far below the target, a share is valid when its cores are not busy all the time. */
static void as_many_cores_are_needed_as_are_busy_and_a_little(void **state)
{
	struct bench *b = *state;
	uint32_t boost = valid_ladder(b->valid)->nr_steps - 1, slowest = 0;
	double half[] = { 0.5, 0 }, full[] = { 1, 0 };

	valid_set_loads(b->valid, half); /* 500/s x 2.5 ms = 1.25 cores; at 1.2 GHz 0.5 + 2 x 2.333 ms: 2.58 cores */
	assert_int_equal(valid_fewest(b->valid, 0, boost), 2);
	assert_int_equal(valid_fewest(b->valid, 0, slowest), 3);
	valid_set_loads(b->valid, full); /* 2.5, 5.17 */
	assert_int_equal(valid_fewest(b->valid, 0, boost), 3);
	assert_int_equal(valid_fewest(b->valid, 0, slowest), 6);
}

static void a_neighbours_load_costs_cores(void **state)
{
	struct bench *b = *state;
	uint32_t boost = valid_ladder(b->valid)->nr_steps - 1;
	double loads[] = { 1, 1 };

	valid_set_loads(b->valid, loads); /* all of 50 GB/s and sigma 1: service a takes twice as long, 5.0 cores */
	assert_int_equal(valid_fewest(b->valid, 0, boost), 6);
	assert_int_equal(valid_fewest_all(b->valid, boost), 7);
	loads[0] = 0;
	valid_set_loads(b->valid, loads);
	assert_int_equal(valid_fewest(b->valid, 0, boost), 1);
}

static void where_all_cores_are_not_enough_the_answer_is_one_more(void **state)
{
	struct bench *b = *state;
	double loads[] = { 4, 0 };

	valid_set_loads(b->valid, loads); /* 10 cores */
	assert_int_equal(valid_fewest(b->valid, 0, valid_ladder(b->valid)->nr_steps - 1), 9);
	assert_int_equal(valid_fewest_all(b->valid, valid_ladder(b->valid)->nr_steps - 1), 9);
}

static void what_was_played_is_believed_and_not_played_again(void **state)
{
	struct bench *b = *state;
	uint32_t boost = valid_ladder(b->valid)->nr_steps - 1;
	double loads[] = { 0.5, 0 };
	char line[64], forged[128] = "";
	FILE *file;

	valid_set_loads(b->valid, loads);
	assert_int_equal(valid_fewest(b->valid, 0, boost), 2);
	file = fopen(b->memo_path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		strcpy(forged, line);
	fclose(file);
	assert_string_equal(forged + 17, "yes\n"); /* the last play; now say it was not so */
	strcpy(forged + 17, "no\n");
	file = fopen(b->memo_path, "ae");
	fputs(forged, file);
	fclose(file);
	memo_close(b->memo);
	valid_close(b->valid);
	assert_int_equal(memo_open(&b->memo, b->memo_path), 0);
	assert_int_equal(valid_open(&b->valid, b->scenario, b->memo, line, sizeof(line)), 0);
	valid_set_loads(b->valid, loads);
	assert_int_equal(valid_fewest(b->valid, 0, boost), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_early_verdict_is_the_one_the_whole_play_would_give),
		cmocka_unit_test(a_play_ends_early_when_its_verdict_is_certain_and_only_then),
		cmocka_unit_test_setup_teardown(as_many_cores_are_needed_as_are_busy_and_a_little, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_neighbours_load_costs_cores, set_up, tear_down),
		cmocka_unit_test_setup_teardown(where_all_cores_are_not_enough_the_answer_is_one_more, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_was_played_is_believed_and_not_played_again, set_up, tear_down),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
