// SPDX-License-Identifier: GPL-2.0
/*
 * test_number.c - numbers of the command line: whole text or nothing.
 */
#include "experiments/common/number.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void integers_are_digits_and_nothing_else(void **state)
{
	static const char *const bad[] = { "", " 1", "+1", "-1", "1 ", "0x10", "1.0", "ten", "1e3" };
	uint64_t value = 77;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(number_parse(bad[i], 0, 1000, &value), -EINVAL);
	assert_int_equal(value, 77);
	assert_int_equal(number_parse("1000", 0, 1000, &value), 0);
	assert_int_equal(value, 1000);
}

static void integers_outside_their_bounds_are_refused(void **state)
{
	uint64_t value = 77;

	(void)state;
	assert_int_equal(number_parse("1001", 0, 1000, &value), -ERANGE);
	assert_int_equal(number_parse("4", 5, 1000, &value), -ERANGE);
	assert_int_equal(number_parse("99999999999999999999", 0, UINT64_MAX, &value), -ERANGE);
	assert_int_equal(value, 77);
	assert_int_equal(number_parse("18446744073709551615", 0, UINT64_MAX, &value), 0);
}

static void durations_have_a_unit(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = { { "1ns", 1 }, { "250us", 250000 }, { "25ms", 25000000 }, { "1.5s", 1500000000 },
		     { "2m", 120000000000 }, { "24h", 86400000000000 } };
	static const char *const bad[] = { "", "5", "s", "5 s", "-5s", "5sec", "1.2.3s", "infs" };
	uint64_t ns;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(number_parse_duration(good[i].text, &ns), 0);
		assert_int_equal(ns, good[i].ns);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(number_parse_duration(bad[i], &ns), -EINVAL);
	assert_int_equal(number_parse_duration("0s", &ns), -ERANGE);
	assert_int_equal(number_parse_duration("25h", &ns), -ERANGE);
}

static void real_numbers_are_plain_decimals(void **state)
{
	double value = 7;

	(void)state;
	assert_int_equal(number_parse_real("0.5", 0, 10, &value), 0);
	assert_true(value == 0.5);
	assert_int_equal(number_parse_real("1e3", 0, 1e9, &value), -EINVAL);
	assert_int_equal(number_parse_real("nan", 0, 1e9, &value), -EINVAL);
	assert_int_equal(number_parse_real("0x1", 0, 1e9, &value), -EINVAL);
	assert_int_equal(number_parse_real("11", 0, 10, &value), -ERANGE);
	assert_true(value == 0.5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_are_digits_and_nothing_else),
		cmocka_unit_test(integers_outside_their_bounds_are_refused),
		cmocka_unit_test(durations_have_a_unit),
		cmocka_unit_test(real_numbers_are_plain_decimals),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
