// SPDX-License-Identifier: GPL-2.0
/* test_rng.c - the generator and its distributions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "rng.h"

enum { DRAWS = 1000000 };

static void the_sequence_is_that_of_the_published_generator(void **state)
{
	/* Computed with the authors' reference from the state { 1, 2, 3, 4 }. */
	static const uint64_t expected[] = { 11520, 0, 1509978240, 1215971899390074240 };
	struct rng rng = { { 1, 2, 3, 4 } };

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_true(rng_next(&rng) == expected[i]);
}

static void equal_seeds_repeat_and_neighbouring_seeds_differ(void **state)
{
	struct rng a, b, c;
	int nr_equal = 0;

	(void)state;
	rng_seed(&a, 0);
	rng_seed(&b, 0);
	rng_seed(&c, 1);
	for (int i = 0; i < 1000; i++) {
		uint64_t x = rng_next(&a);

		assert_true(x == rng_next(&b));
		nr_equal += x == rng_next(&c);
	}
	assert_int_equal(nr_equal, 0);
}

static void below_is_uniform_and_never_reaches_its_bound(void **state)
{
	int counts[7] = { 0 };
	double chi2 = 0;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 42);
	for (int i = 0; i < 7 * 100000; i++) {
		uint64_t x = rng_below(&rng, 7);

		assert_true(x < 7);
		counts[x]++;
	}
	for (int i = 0; i < 7; i++)
		chi2 += (counts[i] - 100000.0) * (counts[i] - 100000.0) / 100000.0;
	assert_true(chi2 < 22.5); /* 6 degrees of freedom, p = 0.001 */
	assert_int_equal(rng_below(&rng, 1), 0);
	assert_true(rng_below(&rng, UINT64_MAX) < UINT64_MAX);
}

static void uniform_and_exponential_have_their_moments(void **state)
{
	double sum = 0, sum2 = 0, exp_sum = 0, exp_sum2 = 0;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 7);
	for (int i = 0; i < DRAWS; i++) {
		double u = rng_uniform(&rng), e = rng_exponential(&rng);

		assert_true(u >= 0 && u < 1 && e >= 0 && isfinite(e));
		sum += u;
		sum2 += u * u;
		exp_sum += e;
		exp_sum2 += e * e;
	}
	assert_true(fabs(sum / DRAWS - 0.5) < 0.002);
	assert_true(fabs(sum2 / DRAWS - 1.0 / 3) < 0.002);
	assert_true(fabs(exp_sum / DRAWS - 1) < 0.005);
	assert_true(fabs(exp_sum2 / DRAWS - 2) < 0.03);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_sequence_is_that_of_the_published_generator),
		cmocka_unit_test(equal_seeds_repeat_and_neighbouring_seeds_differ),
		cmocka_unit_test(below_is_uniform_and_never_reaches_its_bound),
		cmocka_unit_test(uniform_and_exponential_have_their_moments),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
