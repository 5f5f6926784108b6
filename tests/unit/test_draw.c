// SPDX-License-Identifier: GPL-2.0
/* test_draw.c - service times have the mean, the spread and the tails they are asked for. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "experiments/plant/draw.h"

enum { NR_DRAWS = 3000000 };

static struct draw draw;

static void assert_near(double value, double expected, double share, const char *what)
{
	if (!(fabs(value - expected) <= share * expected))
		fail_msg("%s: %g instead of %g", what, value, expected);
}

static void a_lognormal_has_its_mean_and_spread(void **state)
{
	static const double cvs[] = { 0.15, 0.3, 1, 1.5 };
	struct rng rng;

	(void)state;
	rng_seed(&rng, 11);
	for (int c = 0; c < 4; c++) {
		double sum = 0, squares = 0, mean;

		draw_init(&draw, DRAW_LOGNORMAL, 1000, cvs[c]);
		for (int i = 0; i < NR_DRAWS; i++) {
			double x = draw_next(&draw, &rng);

			sum += x;
			squares += x * x;
		}
		mean = sum / NR_DRAWS;
		assert_near(mean, 1000, 0.005, "mean");
		assert_near(sqrt(squares / NR_DRAWS - mean * mean) / mean, cvs[c], 0.02, "cv");
	}
}

static void without_spread_every_time_is_the_mean(void **state)
{
	struct rng rng;

	(void)state;
	rng_seed(&rng, 1);
	draw_init(&draw, DRAW_LOGNORMAL, 1000, 0);
	for (int i = 0; i < 1000; i++)
		assert_near(draw_next(&draw, &rng), 1000, 1e-9, "constant");
}

/* Beyond t of a distribution with mean 1. */
static void tails_are_not_cut(void **state)
{
	static const double limits[] = { 0.01, 0.5, 1, 3, 6, 9 };
	uint32_t nr_beyond[2][6] = { { 0 } };
	struct rng rng;

	(void)state;
	rng_seed(&rng, 5);
	for (int shape = DRAW_LOGNORMAL; shape <= DRAW_EXPONENTIAL; shape++) {
		draw_init(&draw, shape, 1, 1);
		for (int i = 0; i < NR_DRAWS; i++) {
			double x = draw_next(&draw, &rng);

			for (int l = 0; l < 6; l++)
				nr_beyond[shape][l] += x > limits[l];
		}
	}
	for (int l = 0; l < 6; l++) {
		double sigma = sqrt(log(2)), z = (log(limits[l]) + sigma * sigma / 2) / sigma;
		double tails[2] = { erfc(z / sqrt(2)) / 2, exp(-limits[l]) };

		for (int shape = 0; shape < 2; shape++) {
			double expected = tails[shape] * NR_DRAWS;

			if (fabs(nr_beyond[shape][l] - expected) > 4 * sqrt(expected))
				fail_msg("shape %d: %u beyond %g instead of %g", shape, nr_beyond[shape][l], limits[l],
					 expected);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lognormal_has_its_mean_and_spread),
		cmocka_unit_test(without_spread_every_time_is_the_mean),
		cmocka_unit_test(tails_are_not_cut),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
