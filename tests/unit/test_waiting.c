// SPDX-License-Identifier: GPL-2.0
/*
 * test_waiting.c - the queue of due requests keeps their order while it grows.
 */
#include "experiments/parties-load/waiting.c"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void what_comes_first_goes_first(void **state)
{
	struct waiting w = { 0 };
	uint64_t i;

	(void)state;
	for (i = 0; i < 3; i++)
		assert_int_equal(waiting_push(&w, 10 + i), 0);
	for (i = 0; i < 3; i++) {
		assert_int_equal(waiting_first(&w), 10 + i);
		assert_int_equal(waiting_pop(&w), 10 + i);
	}
	assert_int_equal(w.nr, 0);
	assert_true(waiting_first(&w) == UINT64_MAX);
	waiting_free(&w);
}

static void order_is_kept_when_the_ring_grows_in_any_position(void **state)
{
	struct waiting w = { 0 };
	uint64_t in = 0, out = 0;
	int round;

	(void)state;
	/* Two in, one out: the head is somewhere else at every growth. */
	for (round = 0; round < 20000; round++) {
		assert_int_equal(waiting_push(&w, in++), 0);
		assert_int_equal(waiting_push(&w, in++), 0);
		assert_int_equal(waiting_pop(&w), out++);
	}
	assert_int_equal(w.nr, 20000);
	while (w.nr)
		assert_int_equal(waiting_pop(&w), out++);
	assert_int_equal(out, in);
	waiting_free(&w);
}

static void a_freed_queue_is_empty_and_can_be_used_again(void **state)
{
	struct waiting w = { 0 };

	(void)state;
	assert_int_equal(waiting_push(&w, 1), 0);
	waiting_free(&w);
	assert_int_equal(w.nr, 0);
	assert_int_equal(waiting_push(&w, 2), 0);
	assert_int_equal(waiting_pop(&w), 2);
	waiting_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_comes_first_goes_first),
		cmocka_unit_test(order_is_kept_when_the_ring_grows_in_any_position),
		cmocka_unit_test(a_freed_queue_is_empty_and_can_be_used_again),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
