// SPDX-License-Identifier: GPL-2.0
/*
 * test_symbols.c - symbols found by the start of their names, in this very program and in libraries it has loaded.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols.h"

void some_function_of_this_test(void);
void (*volatile kept)(void) = some_function_of_this_test; /* no compiler can leave it out */

void some_function_of_this_test(void)
{
	__asm__ volatile("" : : : "memory");
}

/* Where the loader says a function's bytes come from: mapping's start and offset. */
static uint64_t loaded_from(const void *function, char path[4096])
{
	unsigned long start, end, offset;
	uint64_t found = 0;
	char line[5000];
	FILE *maps = fopen("/proc/self/maps", "re");

	assert_non_null(maps);
	while (!found && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %4095s", &start, &end, &offset, path) == 4 &&
		    (unsigned long)function >= start && (unsigned long)function < end)
			found = (unsigned long)function - start + offset;
	fclose(maps);
	return found;
}

static void a_program_that_may_load_anywhere_is_understood(void **state)
{
	const char *const prefix = "some_function_of_this_";
	char path[4096];
	uint64_t offset, expected = loaded_from((const void *)some_function_of_this_test, path);

	(void)state;
	assert_int_equal(symbols_find("/proc/self/exe", &prefix, 1, &offset), 1);
	assert_int_equal(offset, expected);
}

static void a_library_is_searched_though_it_was_stripped(void **state)
{
	const char *const prefixes[] = { "_no_such_function_at_all", "elf_begi", "elf_getphdrnum" };
	uint64_t offsets[3] = { 1, 2, 3 };
	char path[4096];
	uint64_t expected = loaded_from(dlsym(RTLD_DEFAULT, "elf_begin"), path);

	(void)state;
	if (!expected)
		skip(); /* linked into the program */
	assert_int_equal(symbols_find(path, prefixes, 3, offsets), 2);
	assert_int_equal(offsets[0], 0);
	assert_int_equal(offsets[1], expected);
	assert_true(offsets[2] && offsets[2] != offsets[1]);
}

static void a_function_that_is_only_used_is_not_found(void **state)
{
	const char *const prefix = "elf_begin";
	uint64_t offset;

	(void)state;
	assert_int_equal(symbols_find("/proc/self/exe", &prefix, 1, &offset), 0);
	assert_int_equal(offset, 0);
}

static void variables_and_parts_of_functions_do_not_count(void **state)
{
	const char *const prefixes[] = { "kept", "_ITM_" };
	uint64_t offsets[2];

	(void)state;
	assert_int_equal(symbols_find("/proc/self/exe", prefixes, 2, offsets), 0);
}

static void what_is_no_program_is_refused_and_leaves_the_result_alone(void **state)
{
	const char *const prefix = "main";
	int fd = memfd_create("test_symbols", MFD_CLOEXEC);
	uint64_t offset = 42;
	char path[32];

	(void)state;
	assert_true(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(symbols_find(path, &prefix, 1, &offset), -ENOEXEC);
	assert_int_equal(write(fd, "\177ELF rather not", 15), 15);
	assert_int_equal(symbols_find(path, &prefix, 1, &offset), -ENOEXEC);
	close(fd);
	assert_int_equal(symbols_find(path, &prefix, 1, &offset), -ENOENT);
	assert_int_equal(offset, 42);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_that_may_load_anywhere_is_understood),
		cmocka_unit_test(a_library_is_searched_though_it_was_stripped),
		cmocka_unit_test(a_function_that_is_only_used_is_not_found),
		cmocka_unit_test(variables_and_parts_of_functions_do_not_count),
		cmocka_unit_test(what_is_no_program_is_refused_and_leaves_the_result_alone),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
