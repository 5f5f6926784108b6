// SPDX-License-Identifier: GPL-2.0
/*
 * test_schedule.c - arrival instants: how many, how spaced, and that they follow the profile.
 */
#include "experiments/parties-load/schedule.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const uint64_t second_ns = 1000000000;

static struct schedule constant(double rps, bool poisson)
{
	return (struct schedule){ .max_rps = rps, .poisson = poisson, .duration_ns = 100 * second_ns,
				  .nr_left = UINT64_MAX, .rng = { 1, 2, 3 } };
}

static uint64_t count(struct schedule *s)
{
	uint64_t at_ns, nr = 0;

	while (schedule_next(s, &at_ns))
		nr++;
	return nr;
}

static void fixed_spacing_is_even(void **state)
{
	struct schedule s = constant(250, false);
	uint64_t at_ns, last_ns = 0, i;

	(void)state;
	for (i = 1; i <= 20000; i++) {
		assert_true(schedule_next(&s, &at_ns));
		assert_in_range(at_ns, i * 4000000 - 100, i * 4000000 + 100);
		assert_true(at_ns > last_ns);
		last_ns = at_ns;
	}
}

static void poisson_gaps_have_the_right_mean_and_spread(void **state)
{
	struct schedule s = constant(1000, true);
	double sum = 0, squares = 0, mean_ns, cv;
	uint64_t at_ns, last_ns = 0;
	int i, nr = 50000;

	(void)state;
	for (i = 0; i < nr; i++) {
		assert_true(schedule_next(&s, &at_ns));
		sum += (double)(at_ns - last_ns);
		squares += (double)(at_ns - last_ns) * (double)(at_ns - last_ns);
		last_ns = at_ns;
	}
	mean_ns = sum / nr;
	cv = sqrt(squares / nr - mean_ns * mean_ns) / mean_ns;
	assert_true(fabs(mean_ns - 1e6) < 0.02e6);
	assert_true(fabs(cv - 1) < 0.02);
}

static void low_rates_are_kept_across_many_slices(void **state)
{
	struct schedule s = constant(0.5, false);
	uint64_t at_ns;

	(void)state;
	assert_true(schedule_next(&s, &at_ns));
	assert_in_range(at_ns, 2 * second_ns - 1000, 2 * second_ns + 1000);
}

static void exactly_the_wanted_number_is_sent(void **state)
{
	struct schedule s = constant(1000, true);

	(void)state;
	s.nr_left = 4321;
	assert_int_equal(count(&s), 4321);
}

static void nothing_is_sent_after_the_end(void **state)
{
	struct schedule s = constant(1000000, true);
	uint64_t at_ns, last_ns = 0;

	(void)state;
	s.duration_ns = 100300000; /* not a whole number of milliseconds */
	while (schedule_next(&s, &at_ns))
		last_ns = at_ns;
	assert_in_range(last_ns, 100200000, 100300000);
	assert_false(schedule_next(&s, &at_ns));
}

static void a_ramp_sends_its_integral(void **state)
{
	static struct profile profile;
	struct schedule s = constant(1000, false);
	const char *reason;
	int line;

	(void)state;
	assert_int_equal(profile_parse("at 0s 0%; ramp 10s 100%; hold 5s; ramp 10s 0%", &profile, &line, &reason), 0);
	s.profile = &profile;
	s.duration_ns = profile_duration_ns(&profile);
	assert_true(fabs(schedule_rate(&s, 5 * second_ns) - 500) < 1);
	assert_in_range(count(&s), 14990, 15010);
}

static void a_pause_in_the_profile_sends_nothing(void **state)
{
	static struct profile profile;
	struct schedule s = constant(1000, true);
	const char *reason;
	uint64_t at_ns;
	int line;

	(void)state;
	assert_int_equal(profile_parse("at 0s 100%; hold 1s; at 1s 0%; hold 2s; at 3s 100%; hold 1s", &profile, &line,
				       &reason), 0);
	s.profile = &profile;
	s.duration_ns = profile_duration_ns(&profile);
	while (schedule_next(&s, &at_ns))
		assert_true(at_ns <= second_ns || at_ns >= 3 * second_ns);
}

static void the_same_seed_gives_the_same_instants(void **state)
{
	struct schedule a = constant(1000, true), b = constant(1000, true), c = constant(1000, true);
	uint64_t x, y, z, nr_equal = 0;
	int i;

	(void)state;
	c.rng[1]++;
	for (i = 0; i < 1000; i++) {
		assert_true(schedule_next(&a, &x) && schedule_next(&b, &y) && schedule_next(&c, &z));
		assert_int_equal(x, y);
		nr_equal += x == z;
	}
	assert_true(nr_equal < 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fixed_spacing_is_even),
		cmocka_unit_test(poisson_gaps_have_the_right_mean_and_spread),
		cmocka_unit_test(low_rates_are_kept_across_many_slices),
		cmocka_unit_test(exactly_the_wanted_number_is_sent),
		cmocka_unit_test(nothing_is_sent_after_the_end),
		cmocka_unit_test(a_ramp_sends_its_integral),
		cmocka_unit_test(a_pause_in_the_profile_sends_nothing),
		cmocka_unit_test(the_same_seed_gives_the_same_instants),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
