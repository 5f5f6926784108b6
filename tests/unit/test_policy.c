// SPDX-License-Identifier: GPL-2.0
/* test_policy.c - the list of policies, slack, the decision check, and the static baseline. */
#include "unit/paper_bench.h"

static const struct bench_machine small = { 3, 16, 11, 12, .be = true, .draws = -1 };

static void policies_are_found_by_name_and_listed(void **state)
{
	unsigned int nr = 0;

	(void)state;
	for (; policy_name(nr); nr++)
		assert_string_equal(policy_find(policy_name(nr))->name, policy_name(nr));
	assert_int_equal(nr, 5);
	assert_ptr_equal(policy_find("parties-paper"), &policy_parties_paper);
	assert_ptr_equal(policy_find("static"), &policy_static);
	assert_null(policy_find("parties"));
	assert_null(policy_find(""));
}

static void every_enumerator_has_its_own_word(void **state)
{
	(void)state;
	for (int i = 0; i < POLICY_NR_REASONS; i++)
		for (int j = 0; j < i; j++)
			assert_string_not_equal(policy_reason_name(i), policy_reason_name(j));
	for (int i = 0; i < POLICY_NR_REFUSALS; i++)
		for (int j = 0; j < i; j++)
			assert_string_not_equal(policy_refusal_name(i), policy_refusal_name(j));
	assert_string_equal(policy_resource_name(POLICY_SPEED), "speed");
	assert_string_equal(policy_resource_name(POLICY_NR_RESOURCES), "none");
	assert_string_equal(policy_direction_name(POLICY_DOWN), "down");
	assert_string_equal(policy_signal_name(POLICY_LOST), "lost");
}

static void slack_is_a_share_of_the_target_and_negative_when_violated(void **state)
{
	(void)state;
	assert_int_equal(policy_slack_permille(1000, 0), 1000);
	assert_int_equal(policy_slack_permille(1000, 750), 250);
	assert_int_equal(policy_slack_permille(1000, 1000), 0);
	assert_int_equal(policy_slack_permille(1000, 1500), -500);
	assert_int_equal(policy_slack_permille(3, 2), 333);
	assert_int_equal(policy_slack_permille(25000000, 25000001), -1); /* the smallest violation is one */
	assert_int_equal(policy_slack_permille(1, UINT64_MAX), INT32_MIN);
	assert_int_equal(policy_slack_permille(UINT64_C(86400000000000), 0), 1000);
}

static void assert_refused(struct bench *b, const char *part)
{
	const char *why = "";

	assert_int_equal(policy_decision_check(&b->view, &b->d, &why), -EINVAL);
	if (!strstr(why, part))
		fail_msg("'%s' does not say '%s'", why, part);
	assert_int_equal(policy_decision_check(&b->view, &b->d, NULL), -EINVAL);
	b->policy->step(b->state, 0, &b->view, &b->rng, &b->d);
	bench_check(b);
}

static void the_check_refuses_what_is_not_a_legal_allocation(void **state)
{
	struct bench b = bench_new(&policy_static, small);

	(void)state;
	b.d.shares[0].cores--;
	assert_refused(&b, "cores do not add up");
	b.d.idle_ways++;
	assert_refused(&b, "ways do not add up");
	b.d.idle_cores = b.d.shares[1].cores;
	b.d.shares[1].cores = 0;
	assert_refused(&b, "cores are outside");
	b.view.services[2].max.cores = 4;
	assert_refused(&b, "cores are outside");
	b.view.services[2].max.cores = 16;
	b.d.shares[0].ways += 2;
	b.d.shares[1].ways = 0;
	assert_refused(&b, "ways are outside");
	b.d.shares[0].speed = 12;
	assert_refused(&b, "not on the ladder");
	b.view.services[0].max.speed = 3;
	assert_refused(&b, "speed is outside");
	b.view.has_be = false;
	b.d.be_cores = 1;
	b.d.shares[0].cores--;
	assert_refused(&b, "best-effort");
	bench_end(&b);
}

static void a_sum_that_wraps_around_is_not_conserved(void **state)
{
	struct bench b = bench_new(&policy_static, small);

	(void)state;
	b.d.be_cores = 1u << 31;
	b.d.idle_cores = 1u << 31;
	assert_refused(&b, "cores do not add up");
	bench_end(&b);
}

static void static_splits_evenly_at_nominal_speed_and_never_moves(void **state)
{
	struct bench b = bench_new(&policy_static, small);
	const struct policy_decision start = b.d;

	(void)state;
	assert_int_equal(b.d.reason, POLICY_REASON_START);
	assert_cores(&b, 0, 6);
	assert_cores(&b, 1, 5);
	assert_cores(&b, 2, 5);
	assert_speed(&b, 2, 10);
	for (int i = 0; i < 100; i++) {
		assert_window(&b, POLICY_REASON_HOLD, -5000, 900, 900);
		assert_memory_equal(b.d.shares, start.shares, sizeof(start.shares));
	}
	bench_end(&b);
}

static void the_even_split_bends_to_limits_and_leaves_the_rest_idle(void **state)
{
	struct bench b = bench_prepare(&policy_static, small);

	(void)state;
	b.view.services[0].max.cores = 2;
	b.view.services[1].min.cores = 8;
	b.view.services[2].max.cores = 3;
	b.view.services[0].max.speed = 4;
	bench_start(&b);
	assert_cores(&b, 0, 2);
	assert_cores(&b, 1, 11);
	assert_cores(&b, 2, 3);
	assert_speed(&b, 0, 4);
	b.view.services[1].max.cores = 9;
	bench_start(&b);
	assert_cores(&b, 1, 9);
	assert_int_equal(b.d.idle_cores, 2);
	bench_end(&b);
}

static void a_core_that_went_away_is_missed_where_it_hurts_least(void **state)
{
	struct bench b = bench_new(&policy_static, small);

	(void)state;
	b.view.services[0].have.cores = 4; /* one to BE, one to the idle pool */
	b.view.be_cores = 1;
	b.view.idle_cores = 1;
	b.view.nr_cores = 15;
	assert_window(&b, POLICY_REASON_HOLD, 300, 300, 300);
	assert_int_equal(b.d.idle_cores, 0);
	assert_int_equal(b.d.be_cores, 1);
	b.view.nr_cores = 13;
	assert_window(&b, POLICY_REASON_HOLD, 300, 300, 300);
	assert_int_equal(b.d.be_cores, 0);
	assert_cores(&b, 1, 4); /* the richest, first in order */
	assert_cores(&b, 2, 5);
	bench_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(policies_are_found_by_name_and_listed),
		cmocka_unit_test(every_enumerator_has_its_own_word),
		cmocka_unit_test(slack_is_a_share_of_the_target_and_negative_when_violated),
		cmocka_unit_test(the_check_refuses_what_is_not_a_legal_allocation),
		cmocka_unit_test(a_sum_that_wraps_around_is_not_conserved),
		cmocka_unit_test(static_splits_evenly_at_nominal_speed_and_never_moves),
		cmocka_unit_test(the_even_split_bends_to_limits_and_leaves_the_rest_idle),
		cmocka_unit_test(a_core_that_went_away_is_missed_where_it_hurts_least),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
