// SPDX-License-Identifier: GPL-2.0
/* test_nearest.c - which word is close enough to a mistyped one to be named. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "nearest.h"

/* The best of candidates that end with NULL. */
static const char *best(const char *word, const char *const *candidates)
{
	struct nearest n = { .word = word };

	while (*candidates)
		nearest_offer(&n, *candidates++);
	return n.best;
}
#define BEST(word, ...) best(word, (const char *const[]){ __VA_ARGS__, NULL })

static void slips_of_every_kind_are_found(void **state)
{
	(void)state;
	assert_string_equal(BEST("polcy", "port", "policy", "pid"), "policy");    /* left out */
	assert_string_equal(BEST("pollicy", "port", "policy", "pid"), "policy");  /* too many */
	assert_string_equal(BEST("pulicy", "port", "policy", "pid"), "policy");   /* another */
	assert_string_equal(BEST("oplciy", "port", "policy", "pid"), "policy");   /* two pairs swapped */
}

static void the_closest_counts_and_of_two_as_close_the_first(void **state)
{
	(void)state;
	assert_string_equal(BEST("targex", "targets", "target"), "target");
	assert_string_equal(BEST("corex", "cores", "corey"), "cores");
}

static void more_than_a_third_of_the_letters_wrong_is_another_word(void **state)
{
	(void)state;
	assert_string_equal(BEST("inxxxval", "interval"), "interval"); /* three of eight */
	assert_null(BEST("ixxxxval", "interval"));
	assert_string_equal(BEST("xxd", "pid"), "pid"); /* two of three */
	assert_null(BEST("xxx", "pid"));
	assert_null(BEST("a", "b"));
}

static void words_too_long_for_a_name_are_like_nothing(void **state)
{
	(void)state;
	assert_null(BEST("abcdefghijklmnopqrstuvwxyz0123456", "abcdefghijklmnopqrstuvwxyz01234"));
	assert_null(BEST("abcdefghijklmnopqrstuvwxyz01234", "abcdefghijklmnopqrstuvwxyz0123456"));
	assert_non_null(BEST("abcdefghijklmnopqrstuvwxyz01235", "abcdefghijklmnopqrstuvwxyz01234"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slips_of_every_kind_are_found),
		cmocka_unit_test(the_closest_counts_and_of_two_as_close_the_first),
		cmocka_unit_test(more_than_a_third_of_the_letters_wrong_is_another_word),
		cmocka_unit_test(words_too_long_for_a_name_are_like_nothing),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("nearest", tests, NULL, NULL);
}
