/* SPDX-License-Identifier: GPL-2.0 */
/*
 * test_schemata.c - resctrl's grammar, and ways side by side.
 *
 * shares: yes
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rng.h"
#include "schemata.h"

static void assert_line(const char *text, const char *name, const char *want)
{
	struct schemata s;
	char line[256];

	assert_int_equal(schemata_find(text, name, &s), 0);
	assert_string_equal(s.name, name);
	assert_int_equal(schemata_format(&s, line, sizeof(line)), strlen(want));
	assert_string_equal(line, want);
}

static void lines_of_all_resources_are_found_by_name(void **state)
{
	const char *intel = "  L3CODE:0=7ff;1=0ff\n  L3DATA:0=7ff;1=7ff\n    MB:0=  50;1= 100\n";
	const char *amd = "    L3:0=ffff;1=ffff;8=ffff\n    MB:0=2048;1=2048;8=  64\n  SMBA:0=2048;1=2048;8=2048\n";
	struct schemata s;

	(void)state;
	assert_line(intel, "L3CODE", "L3CODE:0=7ff;1=ff");
	assert_line(intel, "L3DATA", "L3DATA:0=7ff;1=7ff");
	assert_line(intel, "MB", "MB:0=50;1=100");
	assert_line(amd, "L3", "L3:0=ffff;1=ffff;8=ffff");
	assert_line(amd, "MB", "MB:0=2048;1=2048;8=64");
	assert_line(amd, "SMBA", "SMBA:0=2048;1=2048;8=2048");
	assert_line("MB:0=4294967295", "MB", "MB:0=4294967295");
	assert_line("L3CODE:0=f L3DATA:0=3", "L3DATA", "L3DATA:0=3");
	assert_int_equal(schemata_find(intel, "L3", &s), -ENOENT);
	assert_int_equal(schemata_find("", "L3", &s), -ENOENT);
}

static void lines_without_sense_are_refused_and_change_nothing(void **state)
{
	static const char *const bad[] = { "L3:", "L3:0", "L3:0=", "L3:0=g", "L3:0=1;", "L3:=1", "L3:0=1;0=2",
					   "L3:0=1ffffffff", "L3:4294967296=1", "L3:uninitialized", "L3:0=1,1=1", "L3:0=-1" };
	struct schemata s = { .nr = 77 };
	char many[4096] = "L3:";

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(schemata_find(bad[i], "L3", &s), -EINVAL);
	for (int i = 0; i <= SCHEMATA_MAX_DOMAINS; i++)
		snprintf(many + strlen(many), sizeof(many) - strlen(many), "%s%d=1", i ? ";" : "", i);
	assert_int_equal(schemata_find(many, "L3", &s), -EINVAL);
	assert_int_equal(s.nr, 77);
}

static void a_line_that_does_not_fit_is_not_cut(void **state)
{
	struct schemata s;
	char line[10];

	(void)state;
	assert_int_equal(schemata_find("L3:0=ff;1=f", "L3", &s), 0);
	assert_int_equal(schemata_format(&s, line, sizeof(line)), -ENOSPC);
	schemata_set(&s, 0x10);
	s.nr = 1;
	assert_int_equal(schemata_format(&s, line, sizeof(line)), 7);
	assert_string_equal(line, "L3:0=10");
}

static void masks_and_use_of_bits_are_read(void **state)
{
	uint32_t mask = 77, first;

	(void)state;
	assert_int_equal(schemata_parse_mask("c0000", &mask), 0);
	assert_int_equal(mask, 0xc0000);
	assert_int_equal(schemata_parse_mask("", &mask), -EINVAL);
	assert_int_equal(schemata_parse_mask("0xff", &mask), -EINVAL);
	/* The leftmost letter is the highest bit. */
	assert_int_equal(schemata_parse_usage("0=HHXXSSSSSS00;1=HEXXSSSSSSPP", &mask), 0);
	assert_int_equal(mask, 0x403);
	assert_int_equal(schemata_parse_usage("0=", &mask), -EINVAL);
	assert_int_equal(schemata_parse_usage("0=SSS;", &mask), -EINVAL);
	assert_int_equal(schemata_parse_usage("SSS", &mask), -EINVAL);
	assert_int_equal(schemata_parse_usage("0=SSQ", &mask), -EINVAL);
	assert_int_equal(schemata_parse_usage("0=SSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSS", &mask), -EINVAL);
	assert_int_equal(mask, 0x403);

	assert_int_equal(schemata_run(0x7ff & ~0x600u, &first), 9);
	assert_int_equal(first, 0);
	assert_int_equal(schemata_run(0x0f70, &first), 4);
	assert_int_equal(first, 8);
	assert_int_equal(schemata_run(0, &first), 0);
	assert_int_equal(schemata_run(UINT32_MAX, &first), 32);
	assert_int_equal(schemata_mask(4, 3), 0x70);
	assert_int_equal(schemata_mask(0, 32), UINT32_MAX);
}

static void who_is_not_in_the_way_stays_where_he_is(void **state)
{
	uint32_t firsts[3] = { 0 };

	(void)state;
	schemata_lay_out(firsts, (uint32_t[]){ 4, 4, 3 }, 3, 12);
	assert_memory_equal(firsts, ((uint32_t[]){ 0, 4, 8 }), sizeof(firsts));
	/* The second gives one and gets it back; nobody else moves. */
	schemata_lay_out(firsts, (uint32_t[]){ 4, 3, 3 }, 3, 12);
	assert_memory_equal(firsts, ((uint32_t[]){ 0, 4, 8 }), sizeof(firsts));
	schemata_lay_out(firsts, (uint32_t[]){ 4, 4, 3 }, 3, 12);
	assert_memory_equal(firsts, ((uint32_t[]){ 0, 4, 8 }), sizeof(firsts));
	/* The first grows: the second is in the way, then the third. */
	schemata_lay_out(firsts, (uint32_t[]){ 5, 4, 3 }, 3, 12);
	assert_memory_equal(firsts, ((uint32_t[]){ 0, 5, 9 }), sizeof(firsts));
	/* The last grows and there is room only below. */
	schemata_lay_out(firsts, (uint32_t[]){ 5, 3, 4 }, 3, 12);
	assert_memory_equal(firsts, ((uint32_t[]){ 0, 5, 8 }), sizeof(firsts));
}

static void parts_never_overlap_or_leave_the_cache_whatever_is_wanted(void **state)
{
	uint32_t firsts[8] = { 0 }, wanted[8];
	struct rng rng;

	(void)state;
	rng_seed(&rng, 1);
	for (int round = 0; round < 20000; round++) {
		uint32_t nr = 1 + (uint32_t)rng_below(&rng, 8), ways = 8 + (uint32_t)rng_below(&rng, 25), left = ways, end = 0;

		for (uint32_t i = 0; i < nr; i++) {
			wanted[i] = 1 + (uint32_t)rng_below(&rng, left - (nr - i) + 1);
			left -= wanted[i];
		}
		if (round % 100 == 0)
			firsts[rng_below(&rng, 8)] = (uint32_t)rng_below(&rng, 40);
		schemata_lay_out(firsts, wanted, nr, ways);
		for (uint32_t i = 0; i < nr; i++) {
			assert_true(firsts[i] >= end);
			end = firsts[i] + wanted[i];
		}
		assert_true(end <= ways);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_all_resources_are_found_by_name),
		cmocka_unit_test(lines_without_sense_are_refused_and_change_nothing),
		cmocka_unit_test(a_line_that_does_not_fit_is_not_cut),
		cmocka_unit_test(masks_and_use_of_bits_are_read),
		cmocka_unit_test(who_is_not_in_the_way_stays_where_he_is),
		cmocka_unit_test(parts_never_overlap_or_leave_the_cache_whatever_is_wanted),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("schemata", tests, NULL, NULL);
}
