// SPDX-License-Identifier: GPL-2.0
/* test_score.c - times after a change of load and ratios to an oracle, from ticks whose outcome is scripted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "experiments/oracle/score.h"
#include "unit/fake_run.h"

#define ANSWER ((struct oracle_answer){ .feasible = true, .power_w = 10, .be_rate = 4 })

struct bench {
	struct fake_run run;
	struct score score;
	uint64_t now_ns;
};

static void start(struct bench *b)
{
	*b = (struct bench){ 0 };
	fake_start(&b->run, &fake_policy);
	assert_int_equal(tick_init(&b->run.tick, 1), 0);
	score_init(&b->score);
}

static void end(struct bench *b)
{
	score_finish(&b->score, &b->run.tick);
	tick_fini(&b->run.tick);
}

/* A tick of half a second, after which the allocation is valid or not. */
static void tick(struct bench *b, bool valid, struct oracle_answer was)
{
	tick_step(&b->run.tick, b->now_ns, b->now_ns ? 500 * MS : 0);
	score_tick(&b->score, &b->run.tick, &was, true, valid);
	b->now_ns += 500 * MS;
}

static void ticks(struct bench *b, int nr, bool valid)
{
	for (int i = 0; i < nr; i++)
		tick(b, valid, ANSWER);
}

static void valid_is_the_first_instant_of_ten_seconds_that_are(void **state)
{
	struct bench b;

	(void)state;
	start(&b);
	ticks(&b, 4, false);
	ticks(&b, 10, true); /* from 2 s, five seconds: not yet */
	ticks(&b, 1, false);
	ticks(&b, 30, true); /* from 7.5 s */
	ticks(&b, 5, false);
	end(&b);
	assert_float_equal(b.score.result.valid_s, 7.5, 1e-9);
	assert_float_equal(b.score.result.in_v_pct, 80, 1e-9);
}

static void never_counts_as_a_minute_and_is_shown_as_never(void **state)
{
	struct bench b;

	(void)state;
	start(&b);
	ticks(&b, 19, true);
	ticks(&b, 1, false);
	end(&b);
	assert_float_equal(b.score.result.changes[0].valid_s, RECORD_NEVER, 1e-9);
	assert_float_equal(b.score.result.valid_s, 60, 1e-9);
}

static void a_change_is_timed_from_its_own_instant_and_ends_its_forerunner(void **state)
{
	struct bench b;

	(void)state;
	start(&b);
	ticks(&b, 8, true); /* shorter than 10 s, but until the change */
	score_change(&b.score, 3.7);
	ticks(&b, 2, false);
	ticks(&b, 21, true); /* from 5 s */
	end(&b);
	assert_int_equal(b.score.result.nr_changes, 2);
	assert_float_equal(b.score.result.changes[0].valid_s, 0, 1e-9);
	assert_float_equal(b.score.result.changes[1].valid_s, 1.3, 1e-9);
	assert_float_equal(b.score.result.valid_s, 1.3, 1e-9);
}

static void recovery_ends_with_the_last_violated_window_and_first_ok_needs_every_target(void **state)
{
	struct bench b;

	(void)state;
	start(&b);
	tick(&b, true, ANSWER);
	b.run.samples[0].nr_late = 100;
	b.run.samples[0].steer_ns = 30 * MS;
	ticks(&b, 3, true); /* violated until 1.5 s */
	b.run.samples[0].nr_late = 0;
	b.run.samples[0].steer_ns = 4 * MS;
	ticks(&b, 3, true);
	score_change(&b.score, 3.4); /* ahead of the tick at 3.5 s, whose window holds it */
	ticks(&b, 3, true);
	end(&b);
	assert_float_equal(b.score.result.changes[0].recover_s, 1.5, 1e-9);
	assert_float_equal(b.score.result.changes[0].first_ok_s, 2, 1e-9);
	assert_float_equal(b.score.result.changes[1].recover_s, 0, 1e-9);
	assert_float_equal(b.score.result.changes[1].first_ok_s, 0.6, 1e-9);
}

static void best_effort_work_is_compared_where_something_holds(void **state)
{
	struct bench b;

	(void)state;
	start(&b);
	ticks(&b, 3, true); /* two windows of a core each; none before the first tick */
	tick(&b, true, (struct oracle_answer){ 0 });
	end(&b);
	assert_float_equal(b.score.result.be_work_ratio, 0.25, 1e-9);
	assert_true(b.score.result.energy_ratio < 0); /* not comparable beside best-effort work */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(valid_is_the_first_instant_of_ten_seconds_that_are),
		cmocka_unit_test(never_counts_as_a_minute_and_is_shown_as_never),
		cmocka_unit_test(a_change_is_timed_from_its_own_instant_and_ends_its_forerunner),
		cmocka_unit_test(recovery_ends_with_the_last_violated_window_and_first_ok_needs_every_target),
		cmocka_unit_test(best_effort_work_is_compared_where_something_holds),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
