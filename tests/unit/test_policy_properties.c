// SPDX-License-Identifier: GPL-2.0
/* test_policy_properties.c - what holds of every policy, with any options, on any machine, whatever windows show. */
#include "unit/policy_dice.h"

/* Every decision of bench_window is checked: units conserved, floors and ceilings held. */
static void every_decision_is_legal_on_a_quiet_machine_and_a_changing_one(void **state)
{
	int slacks[POLICY_MAX_SERVICES];
	struct rng dice;
	const char *name;

	(void)state;
	for (unsigned int p = 0; (name = policy_name(p)); p++) {
		rng_seed(&dice, 7 + p);
		for (int run = 0; run < 300; run++) {
			struct bench b = random_bench(policy_find(name), &dice);

			for (int window = 0; window < 40; window++) {
				b.view.last_failed = false;
				if (run % 3 && !rng_below(&dice, 3))
					disturb(&b, &dice);
				random_slacks(&dice, slacks);
				bench_window(&b, slacks);
			}
			bench_end(&b);
		}
	}
}

static void equal_inputs_give_equal_bytes(void **state)
{
	int slacks[POLICY_MAX_SERVICES];
	struct rng dice;
	const char *name;

	(void)state;
	rng_seed(&dice, 3);
	for (int run = 0; run < 50; run++) {
		for (unsigned int p = 0; (name = policy_name(p)); p++) {
			struct bench a = random_bench(policy_find(name), &dice), b = a;

			b.state = malloc(b.policy->state_size + 1);
			assert_non_null(b.state);
			memcpy(b.state, a.state, b.policy->state_size);
			for (int window = 0; window < 50; window++) {
				memset(&b.d, window, sizeof(b.d)); /* nothing of the old decision may show through */
				random_slacks(&dice, slacks);
				bench_window(&a, slacks);
				bench_window(&b, slacks);
				assert_memory_equal(&a.d, &b.d, sizeof(a.d));
			}
			bench_end(&a);
			bench_end(&b);
		}
	}
}

/* Enough windows for every timer of every policy to run out, whatever its options. */
static void what_a_policy_does_not_look_at_cannot_change_it(void **state)
{
	int slacks[POLICY_MAX_SERVICES];
	struct rng dice;
	const char *name;

	(void)state;
	rng_seed(&dice, 5);
	for (unsigned int p = 0; (name = policy_name(p)); p++) {
		const struct policy_ops *policy = policy_find(name);
		struct bench a = random_bench(policy, &dice), b = a;

		b.state = malloc(policy->state_size + 1);
		assert_non_null(b.state);
		memcpy(b.state, a.state, policy->state_size);
		for (uint32_t i = policy->nr_options; i < POLICY_MAX_OPTIONS; i++)
			b.view.options[i] = 77; /* of no policy */
		memset(&b.view.services[b.view.nr_services], 0x5a,
		       (POLICY_MAX_SERVICES - b.view.nr_services) * sizeof(b.view.services[0]));
		for (int window = 0; window < 400; window++) {
			random_slacks(&dice, slacks);
			bench_window(&a, slacks);
			bench_window(&b, slacks);
			assert_memory_equal(&a.d, &b.d, sizeof(a.d));
		}
		bench_end(&a);
		bench_end(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_decision_is_legal_on_a_quiet_machine_and_a_changing_one),
		cmocka_unit_test(equal_inputs_give_equal_bytes),
		cmocka_unit_test(what_a_policy_does_not_look_at_cannot_change_it),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
