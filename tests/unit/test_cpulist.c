/* SPDX-License-Identifier: GPL-2.0 */
/* test_cpulist.c - sets of CPUs and the kernel's list format. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "cpulist.h"
#include "rng.h"

static void assert_reformats(const char *text, const char *expected)
{
	struct cpulist set;
	char buf[4096];

	assert_int_equal(cpulist_parse(text, &set), 0);
	assert_int_equal(cpulist_format(&set, buf, sizeof(buf)), strlen(expected));
	assert_string_equal(buf, expected);
}

static void kernel_lists_round_trip(void **state)
{
	(void)state;
	assert_reformats("", "");
	assert_reformats("\n", "");
	assert_reformats("0\n", "0");
	assert_reformats("0-1\n", "0-1");
	assert_reformats("0-3,8,10-11\n", "0-3,8,10-11");
	assert_reformats("1023", "1023");
	assert_reformats("0-1023", "0-1023");
	assert_reformats("63-64", "63-64");
	assert_reformats("3,1,2", "1-3");
	assert_reformats("5-5,5", "5");
}

static void bad_lists_are_refused_and_leave_the_output_alone(void **state)
{
	static const char *const bad[] = { ",", "1,", ",1", "1,,2", "-1", "1-", "3-1", "a", "1 2", " 1", "1\n2",
					   "1-2-3", "0x1", "1\n\n", "1,\n" };
	static const char *const out_of_range[] = { "1024", "0-1024", "99999999999999999999" };
	struct cpulist set, before;

	(void)state;
	memset(&set, 0xa5, sizeof(set));
	before = set;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(cpulist_parse(bad[i], &set), -EINVAL);
	for (size_t i = 0; i < sizeof(out_of_range) / sizeof(out_of_range[0]); i++)
		assert_int_equal(cpulist_parse(out_of_range[i], &set), -ERANGE);
	assert_true(cpulist_equal(&set, &before));
}

static void a_buffer_that_is_too_small_is_refused(void **state)
{
	struct cpulist set;
	char buf[8];

	(void)state;
	assert_int_equal(cpulist_parse("10-11,13", &set), 0);
	for (size_t size = 0; size <= strlen("10-11,13") && size <= sizeof(buf); size++)
		assert_int_equal(cpulist_format(&set, buf, size), -ENOSPC);
}

static void cpus_outside_the_range_are_never_members(void **state)
{
	struct cpulist set;

	(void)state;
	cpulist_clear(&set);
	cpulist_add(&set, CPULIST_MAX_CPUS);
	assert_true(cpulist_empty(&set));
	assert_false(cpulist_has(&set, CPULIST_MAX_CPUS));
	assert_int_equal(cpulist_next(&set, CPULIST_MAX_CPUS), -1);
}

/* Against a plain array of booleans. */
static void set_operations_agree_with_a_simple_model(void **state)
{
	static bool a[CPULIST_MAX_CPUS], b[CPULIST_MAX_CPUS];
	struct rng rng;

	(void)state;
	rng_seed(&rng, 1);
	for (int round = 0; round < 200; round++) {
		struct cpulist x, y, both, either, only, again;
		char text[8192];
		unsigned int nr = 0;
		bool subset = true;

		cpulist_clear(&x);
		cpulist_clear(&y);
		for (unsigned int i = 0; i < CPULIST_MAX_CPUS; i++) {
			a[i] = rng_below(&rng, 10) < 3;
			b[i] = rng_below(&rng, 10) < (round % 2 ? 3 : 10) || (a[i] && round % 3 == 0);
			if (a[i])
				cpulist_add(&x, i);
			if (b[i])
				cpulist_add(&y, i);
			nr += a[i];
			subset = subset && (!a[i] || b[i]);
		}
		both = either = only = x;
		cpulist_and(&both, &y);
		cpulist_or(&either, &y);
		cpulist_andnot(&only, &y);
		assert_int_equal(cpulist_count(&x), nr);
		assert_int_equal(cpulist_subset(&x, &y), subset);
		assert_int_equal(cpulist_equal(&x, &y), !memcmp(a, b, sizeof(a)));
		for (unsigned int i = 0; i < CPULIST_MAX_CPUS; i++) {
			assert_int_equal(cpulist_has(&both, i), a[i] && b[i]);
			assert_int_equal(cpulist_has(&either, i), a[i] || b[i]);
			assert_int_equal(cpulist_has(&only, i), a[i] && !b[i]);
		}
		assert_true(cpulist_format(&x, text, sizeof(text)) >= 0);
		assert_int_equal(cpulist_parse(text, &again), 0);
		assert_true(cpulist_equal(&x, &again));
		for (unsigned int i = 0; i < CPULIST_MAX_CPUS; i++)
			cpulist_remove(&x, i);
		assert_true(cpulist_empty(&x));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_lists_round_trip),
		cmocka_unit_test(bad_lists_are_refused_and_leave_the_output_alone),
		cmocka_unit_test(a_buffer_that_is_too_small_is_refused),
		cmocka_unit_test(cpus_outside_the_range_are_never_members),
		cmocka_unit_test(set_operations_agree_with_a_simple_model),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("cpulist", tests, NULL, NULL);
}
