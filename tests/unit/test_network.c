/* SPDX-License-Identifier: GPL-2.0 */
/*
 * test_network.c - rates, links, and PARTIES' threshold rule for what best effort may send.
 *
 * shares: yes
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>

#include "network.h"

#define GBIT UINT64_C(1000000000)
static char text[64], reason[NETWORK_TEXT_SIZE];

static void rates_are_printed_as_they_are_read(void **state)
{
	static const char *const rates[] = { "1Mbit", "1500kbit", "10Gbit", "1000Gbit", "2500Mbit" };
	uint64_t bps;

	(void)state;
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		assert_int_equal(network_parse_rate(rates[i], &bps), 0);
		network_format_rate(bps, text, sizeof(text));
		assert_string_equal(text, rates[i]);
	}
	network_format_rate(0, text, sizeof(text));
	assert_string_equal(text, "");
}

static void a_link_is_an_interface_and_perhaps_its_speed(void **state)
{
	static const char *const bad[] = { "averyverylongname", "a/b", "..", "eth0:1", "eth0 fast", "eth0 10G", "eth0 10Gbit x" };
	struct network_link link;

	(void)state;
	assert_int_equal(network_parse_link("eth0", &link, reason), 0);
	assert_string_equal(link.name, "eth0");
	assert_int_equal(link.bps, 0);
	assert_int_equal(network_parse_link("enp1s0f0 \t 25Gbit", &link, reason), 0);
	network_format_link(&link, text, sizeof(text));
	assert_string_equal(text, "enp1s0f0 25Gbit");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(network_parse_link(bad[i], &link, reason), -EINVAL);
	assert_string_equal(link.name, "enp1s0f0");
	assert_int_equal(network_parse_link("", &link, reason), 0);
	network_format_link(&link, text, sizeof(text));
	assert_string_equal(text, "");
}

static void less_than_half_a_gigabit_to_spare_takes_as_much(void **state)
{
	(void)state;
	assert_int_equal(network_next_limit(10 * GBIT, 10 * GBIT, 4 * GBIT), 3500000000);
	assert_int_equal(network_next_limit(10 * GBIT, 9500000001, 4 * GBIT), 3500000000);
	assert_int_equal(network_next_limit(10 * GBIT, 9500000000, 4 * GBIT), 4 * GBIT);
	assert_int_equal(network_next_limit(10 * GBIT, 11 * GBIT, 4 * GBIT), 3500000000); /* counters of a burst */
}

static void more_than_a_gigabit_to_spare_gives_half_of_one(void **state)
{
	(void)state;
	assert_int_equal(network_next_limit(10 * GBIT, 9 * GBIT, 4 * GBIT), 4 * GBIT);
	assert_int_equal(network_next_limit(10 * GBIT, 9 * GBIT - 1, 4 * GBIT), 4500000000);
	assert_int_equal(network_next_limit(100 * GBIT, 0, 4 * GBIT), 4500000000);
}

static void the_limit_stays_between_one_step_and_the_link(void **state)
{
	uint64_t limit = network_step_bps(10 * GBIT);

	(void)state;
	assert_int_equal(limit, 500000000);
	for (int i = 0; i < 3; i++)
		limit = network_next_limit(10 * GBIT, 10 * GBIT, limit);
	assert_int_equal(limit, 500000000);
	for (int i = 0; i < 100; i++)
		limit = network_next_limit(10 * GBIT, 0, limit);
	assert_int_equal(limit, 10 * GBIT);
}

static void on_a_slower_link_steps_and_thresholds_are_its_shares(void **state)
{
	(void)state;
	assert_int_equal(network_step_bps(GBIT), 50000000);
	assert_int_equal(network_next_limit(GBIT, 960000000, 400000000), 350000000);
	assert_int_equal(network_next_limit(GBIT, 900000000, 400000000), 400000000);
	assert_int_equal(network_next_limit(GBIT, 899999999, 400000000), 450000000);
}

/* A service whose load comes and goes, and best effort that sends whatever it may. */
static void best_effort_fills_what_a_service_leaves(void **state)
{
	uint64_t limit = network_step_bps(10 * GBIT), service = 2 * GBIT;

	(void)state;
	for (int i = 0; i < 30; i++)
		limit = network_next_limit(10 * GBIT, service + limit, limit);
	assert_in_range(service + limit, 9 * GBIT, 9500000000);
	service = 6 * GBIT;
	for (int i = 0; i < 12; i++)
		limit = network_next_limit(10 * GBIT, service + limit < 10 * GBIT ? service + limit : 10 * GBIT, limit);
	assert_in_range(service + limit, 9 * GBIT, 9500000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_are_printed_as_they_are_read),
		cmocka_unit_test(a_link_is_an_interface_and_perhaps_its_speed),
		cmocka_unit_test(less_than_half_a_gigabit_to_spare_takes_as_much),
		cmocka_unit_test(more_than_a_gigabit_to_spare_gives_half_of_one),
		cmocka_unit_test(the_limit_stays_between_one_step_and_the_link),
		cmocka_unit_test(on_a_slower_link_steps_and_thresholds_are_its_shares),
		cmocka_unit_test(best_effort_fills_what_a_service_leaves),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("network", tests, NULL, NULL);
}
