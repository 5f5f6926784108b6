// SPDX-License-Identifier: GPL-2.0
/* test_oracle.c - shares that hold, the best of them, and what is kept of them, on loads whose answer is known. */
#include "unit/scenario_file.h"

#include <math.h>
#include <stdlib.h>

#include "experiments/oracle/oracle.h"

#define SECOND UINT64_C(1000000000)

/* Two requests a second, of 1 ms each, hold on one core. */
#define CALM "[plant]\ncores = 4\n%s[controller]\nspeed = none\n[service a]\ntarget = p99 < 100ms\nservice_time = 1ms\n" \
	     "max_load = 20\ncv = %s\nprofile = at 0s 10%%; at 10s 60%%; hold 10s\n[batch b]\n"

struct bench {
	char dir[32];
	struct plant *plant;
	struct oracle *oracle;
};

static void start(struct bench *b, const char *text)
{
	struct scenario_file f = scenario_file(text);
	char error[512] = "";

	if (!*b->dir) {
		strcpy(b->dir, "/tmp/oracle-XXXXXX");
		assert_non_null(mkdtemp(b->dir));
	}
	if (plant_open(&b->plant, f.path, 0, error, sizeof(error)) ||
	    oracle_open(&b->oracle, b->plant, f.path, b->dir, error, sizeof(error)))
		fail_msg("%s", error);
	close(f.fd);
}

static void stop(struct bench *b)
{
	oracle_close(b->oracle);
	plant_close(b->plant);
}

static void remove_files(const struct bench *b)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", b->dir);
	assert_int_equal(system(command), 0);
}

/* Lines of what was found. */
static int nr_kept(const struct bench *b)
{
	char command[64];
	FILE *out;
	int nr = -1;

	snprintf(command, sizeof(command), "cat %s/* | wc -l", b->dir);
	out = popen(command, "r");
	assert_non_null(out);
	assert_int_equal(fscanf(out, "%d", &nr), 1);
	pclose(out);
	return nr;
}

static struct oracle_answer ask(struct bench *b, const char *seed, const char *cv)
{
	struct oracle_answer ret;
	char text[512];

	snprintf(text, sizeof(text), CALM, seed, cv);
	start(b, text);
	assert_int_equal(oracle_ask(b->oracle, 0, &ret), 0);
	stop(b);
	return ret;
}

static void a_calm_service_leaves_three_of_four_cores(void **state)
{
	struct bench b = { 0 };
	struct oracle_answer answer = ask(&b, "", "0.5");

	(void)state;
	assert_true(answer.feasible);
	assert_true(fabs(answer.be_rate - 1 / (0.05 + 0.95 / 3)) < 1e-9);
	/* A core of its own, idle most of the time, and three parked ones. */
	assert_true(answer.power_w > 0.4 + 3 * 0.1 && answer.power_w < 0.72);
	remove_files(&b);
}

static void what_was_played_is_kept_for_the_same_parameters_and_only_those(void **state)
{
	struct bench b = { 0 };
	struct oracle_answer first = ask(&b, "", "0.5"), again;
	int nr = nr_kept(&b);

	(void)state;
	assert_true(nr > 0);
	again = ask(&b, "seed = 7\n", "0.5");
	assert_int_equal(nr_kept(&b), nr);
	assert_true(fabs(again.power_w - first.power_w) < 1e-6);
	ask(&b, "", "1");
	assert_true(nr_kept(&b) > nr);
	remove_files(&b);
}

static void jumps_are_found_and_ramps_are_none(void **state)
{
	struct bench b = { 0 };
	char text[512];

	(void)state;
	snprintf(text, sizeof(text), CALM, "", "0.5");
	start(&b, text);
	assert_true(oracle_jump_s(b.oracle, 9 * SECOND, 9 * SECOND + SECOND / 2) < 0);
	assert_true(fabs(oracle_jump_s(b.oracle, 9 * SECOND, 11 * SECOND) - 10) < 0.002);
	stop(&b);
	remove_files(&b);
}

/* At 90 % of what four cores give, one may not be taken; at 120 % nothing holds. */
static void a_share_is_valid_with_the_fewest_cores_and_more_and_too_much_load_with_none(void **state)
{
	struct policy_share shares[1] = { { .cores = 4 } };
	struct oracle_answer answer;
	struct bench b = { 0 };

	(void)state;
	start(&b, "[plant]\ncores = 4\n[controller]\nspeed = none\n[service a]\ntarget = p99 < 100ms\nservice_time = 1ms\n"
		  "max_load = 4000\nprofile = at 0s 90%; at 10s 120%; hold 10s\n");
	assert_int_equal(oracle_ask(b.oracle, 0, &answer), 0);
	assert_true(answer.feasible && oracle_is_valid(b.oracle, &answer, shares));
	shares[0].cores = 3;
	assert_false(oracle_is_valid(b.oracle, &answer, shares));
	assert_int_equal(oracle_ask(b.oracle, 15 * SECOND, &answer), 0);
	assert_false(answer.feasible);
	assert_true(answer.power_w == 0);
	stop(&b);
	remove_files(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_calm_service_leaves_three_of_four_cores),
		cmocka_unit_test(what_was_played_is_kept_for_the_same_parameters_and_only_those),
		cmocka_unit_test(jumps_are_found_and_ramps_are_none),
		cmocka_unit_test(a_share_is_valid_with_the_fewest_cores_and_more_and_too_much_load_with_none),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
