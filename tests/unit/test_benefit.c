// SPDX-License-Identifier: GPL-2.0
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "benefit.h"

/* A service that uses at most `pool` cores, with `nr` windows of `cores`. */
static void play(struct benefit *b, uint32_t cores, uint32_t pool, bool late, int nr)
{
	for (int i = 0; i < nr; i++)
		benefit_judge(b, cores, cores, (cores < pool ? cores : pool) * 980, late);
}

static void cores_beyond_a_pool_that_was_sized_at_the_start_do_nothing(void **state)
{
	struct benefit b = { 0 };

	(void)state;
	play(&b, 2, 2, true, 3);
	play(&b, 3, 2, true, BENEFIT_WINDOWS - 1);
	assert_false(b.is_none);
	play(&b, 4, 2, true, 1);
	assert_true(b.is_none);
	assert_int_equal(b.full_cores, 2);
	/* Started again with more threads. */
	play(&b, 4, 8, true, 1);
	assert_false(b.is_none);
}

static void cores_that_are_used_do_something(void **state)
{
	struct benefit b = { 0 };

	(void)state;
	for (uint32_t cores = 1; cores < 16; cores++) {
		play(&b, cores, 16, true, 20);
		assert_false(b.is_none);
	}
}

/* Half a core more is more, though nothing is full. */
static void a_little_more_is_more(void **state)
{
	struct benefit b = { 0 };

	(void)state;
	play(&b, 2, 2, true, 3);
	for (int i = 0; i < 50; i++)
		benefit_judge(&b, 4, 4, 2500, true);
	assert_false(b.is_none);
}

static void who_is_not_late_is_not_judged(void **state)
{
	struct benefit b = { 0 };

	(void)state;
	play(&b, 2, 2, true, 3);
	play(&b, 6, 2, false, 50);
	assert_false(b.is_none);
	play(&b, 6, 0, true, 50); /* waits for somebody else: it fills no core */
	assert_true(b.is_none);
	b = (struct benefit){ 0 };
	play(&b, 6, 1, true, 50); /* never filled what it had */
	assert_false(b.is_none);
}

static void a_core_is_full_at_its_mark(void **state)
{
	struct benefit b = { 0 };

	(void)state;
	benefit_judge(&b, 2, 4, 2 * BENEFIT_FULL_PERMILLE - 1, true);
	assert_int_equal(b.full_cores, 0);
	benefit_judge(&b, 2, 4, 2 * BENEFIT_FULL_PERMILLE, true);
	assert_int_equal(b.full_cores, 2);
}

/* Of a core of two CPUs a full service may use one and a bit. */
static void second_threads_are_no_cores(void **state)
{
	struct benefit b = { 0 };

	(void)state;
	benefit_judge(&b, 2, 4, 2100, true);
	assert_int_equal(b.full_cores, 2);
	for (int i = 0; i < 20; i++)
		benefit_judge(&b, 4, 8, 2200, true);
	assert_true(b.is_none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cores_beyond_a_pool_that_was_sized_at_the_start_do_nothing),
		cmocka_unit_test(cores_that_are_used_do_something),
		cmocka_unit_test(a_little_more_is_more),
		cmocka_unit_test(who_is_not_late_is_not_judged),
		cmocka_unit_test(a_core_is_full_at_its_mark),
		cmocka_unit_test(second_threads_are_no_cores),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
