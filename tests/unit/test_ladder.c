// SPDX-License-Identifier: GPL-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "ladder.h"

#define ALL "default performance balance_performance balance_power power "

static void listed_speeds_are_sorted_and_each_is_there_once(void **state)
{
	struct ladder_limits limits = { .nr_listed = 5, .listed_khz = { 3000000, 1500000, 2200000, 3000000, 1500000 } };
	struct speed_ladder l;

	(void)state;
	ladder_fill(&l, &limits);
	assert_int_equal(l.nr_steps, 3);
	assert_int_equal(l.value[0], 1500000);
	assert_int_equal(l.value[1], 2200000);
	assert_int_equal(l.value[2], 3000000);
	assert_int_equal(l.nominal, 2);
}

static void a_grid_too_long_for_the_ladder_ends_where_it_is_full(void **state)
{
	struct ladder_limits limits = { .min_khz = 100000, .max_khz = 20000000 };
	struct speed_ladder l;

	(void)state;
	ladder_fill(&l, &limits);
	assert_int_equal(l.nr_steps, SPEED_MAX_STEPS);
	assert_int_equal(l.value[SPEED_MAX_STEPS - 1], 100000 * SPEED_MAX_STEPS);
	assert_true(l.nominal < l.nr_steps);
}

/* A performance core from 0.8 to 3.2 GHz and a turbo of 5; an efficiency core to 2.4 and 3.9; one with three steps. */
static void a_domain_with_other_steps_gets_the_nearest_of_its_own(void **state)
{
	struct ladder_limits fast = { .min_khz = 800000, .max_khz = 5000000, .base_khz = 3200000 };
	struct ladder_limits slow = { .min_khz = 800000, .max_khz = 3900000, .base_khz = 2400000 };
	struct ladder_limits few = { .nr_listed = 3, .listed_khz = { 3000000, 2200000, 1500000 } };
	struct speed_ladder p, e, three;

	(void)state;
	ladder_fill(&p, &fast);
	ladder_fill(&e, &slow);
	ladder_fill(&three, &few);
	for (uint32_t i = 0; i < p.nr_steps; i++)
		assert_int_equal(ladder_nearest_khz(&p, &p, p.value[i]), p.value[i]);
	assert_int_equal(ladder_nearest_khz(&p, &e, 0), 800000);
	assert_int_equal(ladder_nearest_khz(&p, &e, 2000000), 2000000);
	assert_int_equal(ladder_nearest_khz(&p, &e, 2500000), 2400000);
	assert_int_equal(ladder_nearest_khz(&p, &e, 3200000), 2400000); /* nominal is nominal */
	assert_int_equal(ladder_nearest_khz(&p, &e, 5000000), 3900000);
	assert_int_equal(ladder_nearest_khz(&p, &e, UINT32_MAX), 3900000);
	assert_int_equal(ladder_nearest_khz(&p, &three, 800000), 1500000);
	assert_int_equal(ladder_nearest_khz(&p, &three, 1600000), 2200000);
	assert_int_equal(ladder_nearest_khz(&p, &three, 3100000), 3000000);
}

static void the_next_way_is_the_next_that_is_there(void **state)
{
	struct ladder_ways all = { true, true, true, true }, epp = { .has_epp = true }, none = { 0 };

	(void)state;
	assert_int_equal(ladder_find_way(&all, LADDER_USERSPACE), LADDER_USERSPACE);
	assert_int_equal(ladder_find_way(&all, LADDER_CAP), LADDER_CAP);
	assert_int_equal(ladder_find_way(&all, LADDER_BOOST), LADDER_BOOST);
	assert_int_equal(ladder_find_way(&all, LADDER_NOTHING), LADDER_NOTHING);
	assert_int_equal(ladder_find_way(&epp, LADDER_USERSPACE), LADDER_EPP);
	assert_int_equal(ladder_find_way(&epp, LADDER_BOOST), LADDER_NOTHING);
	assert_int_equal(ladder_find_way(&none, LADDER_USERSPACE), LADDER_NOTHING);
	assert_string_equal(ladder_way_name(LADDER_EPP), "epp");
}

static void words_of_a_list_are_whole_words(void **state)
{
	(void)state;
	assert_true(ladder_lists("performance powersave\n", "powersave"));
	assert_true(ladder_lists("performance powersave", "performance"));
	assert_false(ladder_lists("balance_performance ", "performance"));
	assert_false(ladder_lists("performances", "performance"));
	assert_false(ladder_lists("perf", "performance"));
	assert_false(ladder_lists("", "performance"));
}

static void preferences_are_chosen_by_speed(void **state)
{
	static const struct { uint32_t khz; const char *name; } want[] = {
		{ 1500000, "power" }, { 1900000, "power" }, { 2000000, "balance_power" }, { 2400000, "balance_power" },
		{ 2500000, "balance_performance" }, { 2900000, "balance_performance" }, { 3000000, "performance" },
		{ 9000000, "performance" }, { 1, "power" },
	};
	struct ladder_limits limits = { .min_khz = 1500000, .max_khz = 3000000 };
	struct speed_ladder l;

	(void)state;
	ladder_fill(&l, &limits);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		assert_string_equal(ladder_epp(&l, want[i].khz), want[i].name);
	assert_true(ladder_has_epp(ALL));
	assert_false(ladder_has_epp("default performance balance_performance power "));
	assert_false(ladder_has_epp(""));
}

static void a_ladder_of_one_step_prefers_performance(void **state)
{
	struct ladder_limits limits = { .min_khz = 2000000, .max_khz = 2000000 };
	struct speed_ladder l;

	(void)state;
	ladder_fill(&l, &limits);
	assert_int_equal(l.nr_steps, 1);
	assert_string_equal(ladder_epp(&l, 2000000), "performance");
}

static void governors_that_stand_in_the_way_are_replaced(void **state)
{
	static const char *const generic = "conservative ondemand userspace powersave performance schedutil ";
	static const char *const active = "performance powersave";
	static const struct {
		enum ladder_way way;
		const char *now, *offered;
		bool has_epp;
		const char *want;
	} all[] = {
		{ LADDER_CAP, "schedutil", generic, false, NULL },
		{ LADDER_CAP, "performance", active, true, NULL },
		{ LADDER_CAP, "powersave", generic, false, "performance" }, /* which would stay at the lowest speed */
		{ LADDER_CAP, "userspace", generic, false, "performance" }, /* which would stay where it is */
		{ LADDER_CAP, "powersave", active, true, NULL },            /* which follows the load */
		{ LADDER_CAP, "powersave", "powersave ", false, NULL },     /* and nothing else is offered */
		{ LADDER_EPP, "performance", active, true, "powersave" },   /* which refuses preferences */
		{ LADDER_EPP, "powersave", active, true, NULL },
		{ LADDER_EPP, "userspace", generic, true, "performance" },
		{ LADDER_BOOST, "schedutil", generic, false, NULL },
		{ LADDER_NOTHING, "userspace", generic, false, "performance" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const char *got = ladder_governor(all[i].way, all[i].now, all[i].offered, all[i].has_epp);

		print_message("# %s under %s: %s\n", all[i].now, ladder_way_name(all[i].way), got ? got : "as it is");
		assert_int_equal(!got, !all[i].want);
		if (got)
			assert_string_equal(got, all[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listed_speeds_are_sorted_and_each_is_there_once),
		cmocka_unit_test(a_grid_too_long_for_the_ladder_ends_where_it_is_full),
		cmocka_unit_test(a_domain_with_other_steps_gets_the_nearest_of_its_own),
		cmocka_unit_test(the_next_way_is_the_next_that_is_there),
		cmocka_unit_test(words_of_a_list_are_whole_words),
		cmocka_unit_test(preferences_are_chosen_by_speed),
		cmocka_unit_test(a_ladder_of_one_step_prefers_performance),
		cmocka_unit_test(governors_that_stand_in_the_way_are_replaced),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
