// SPDX-License-Identifier: GPL-2.0
/* test_memo.c - results in a file: shared between processes, whole or absent. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "experiments/oracle/memo.h"

static char path[64];

static int set_up(void **state)
{
	int fd;

	(void)state;
	strcpy(path, "/tmp/test-memo-XXXXXX");
	fd = mkstemp(path);
	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return unlink(path);
}

static struct memo *opened(void)
{
	struct memo *m;

	assert_int_equal(memo_open(&m, path), 0);
	return m;
}

static void write_raw(const char *text)
{
	FILE *file = fopen(path, "ae");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void what_one_has_put_others_get_at_once_and_later(void **state)
{
	struct memo *a = opened(), *b = opened(), *later;

	(void)state;
	assert_null(memo_get(b, 7));
	assert_int_equal(memo_put(a, 7, "yes 1.5"), 0);
	assert_string_equal(memo_get(a, 7), "yes 1.5");
	assert_string_equal(memo_get(b, 7), "yes 1.5");
	assert_null(memo_get(b, 8));
	later = opened();
	assert_string_equal(memo_get(later, 7), "yes 1.5");
	memo_close(a);
	memo_close(b);
	memo_close(later);
}

static void thousands_of_results_are_all_found(void **state)
{
	struct memo *m = opened(), *other;
	char text[32];

	(void)state;
	for (uint64_t i = 0; i < 5000; i++) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)i);
		assert_int_equal(memo_put(m, memo_hash(MEMO_HASH_START, &i, sizeof(i)), text), 0);
	}
	other = opened();
	for (uint64_t i = 0; i < 5000; i++) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)i);
		assert_string_equal(memo_get(m, memo_hash(MEMO_HASH_START, &i, sizeof(i))), text);
		assert_string_equal(memo_get(other, memo_hash(MEMO_HASH_START, &i, sizeof(i))), text);
	}
	memo_close(m);
	memo_close(other);
}

static void a_line_that_is_not_whole_counts_as_absent(void **state)
{
	struct memo *m;

	(void)state;
	write_raw("0000000000000001 good\n00000000000002 short key\n0000000000000003\n\nnonsense\n"
		  "0000000000000004 cut");
	m = opened();
	assert_string_equal(memo_get(m, 1), "good");
	assert_null(memo_get(m, 2));
	assert_null(memo_get(m, 3));
	assert_null(memo_get(m, 4));
	write_raw(" off\n0000000000000005 after\n");
	assert_string_equal(memo_get(m, 5), "after");
	assert_string_equal(memo_get(m, 4), "cut off");
	memo_close(m);
}

static void what_cannot_be_kept_is_an_error(void **state)
{
	struct memo *m;

	(void)state;
	assert_int_equal(memo_open(&m, "/nowhere/at/all"), -ENOENT);
	assert_int_equal(memo_open(&m, "/dev/full"), 0);
	assert_int_equal(memo_put(m, 1, "x"), -ENOSPC);
	assert_null(memo_get(m, 1));
	memo_close(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_one_has_put_others_get_at_once_and_later, set_up, tear_down),
		cmocka_unit_test_setup_teardown(thousands_of_results_are_all_found, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_line_that_is_not_whole_counts_as_absent, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_cannot_be_kept_is_an_error, set_up, tear_down),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
