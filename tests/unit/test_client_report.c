// SPDX-License-Identifier: GPL-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client_report.h"

#define US 1000ull
#define MS 1000000ull

static struct client_reports reports;
static struct sample sample;
static const char *reason;

static int set_up(void **state)
{
	(void)state;
	memset(&reports, 0, sizeof(reports));
	reason = NULL;
	return 0;
}

static int add_at(const char *text, double now_s)
{
	return client_reports_add(&reports, text, strlen(text), now_s, 1, &reason);
}

static void takes(const char *text)
{
	assert_int_equal(add_at(text, 1000), 0);
}

static void refuses(const char *text, const char *why)
{
	assert_int_equal(add_at(text, 1000), -EINVAL);
	assert_non_null(strstr(reason, why));
}

static const struct sample *end(void)
{
	client_reports_end(&reports, 990, 25 * MS, &sample);
	return &sample;
}

static bool near(uint64_t value, uint64_t truth)
{
	return value * 1000 >= truth * 992 && value * 1000 <= truth * 1008;
}

static void latencies_are_of_the_window_they_are_reported_in(void **state)
{
	(void)state;
	takes("{\"latencies_us\":[100,200.5,300]}");
	assert_int_equal(end()->nr_completed, 3);
	assert_int_equal(sample.nr_arrived, 3);
	assert_true(near(sample.p50_ns, 200500));
	assert_true(near(sample.p99_ns, 300 * US) && near(sample.steer_ns, 300 * US));
	assert_int_equal(sample.total_p99_ns, 0);
	assert_int_equal(sample.signal, POLICY_FRESH);
	takes("{\"latencies_us\":[7000]}");
	assert_int_equal(end()->nr_completed, 1);
	assert_true(near(sample.p50_ns, 7 * MS));
}

static void percentiles_are_those_of_all_reports_together(void **state)
{
	char text[64];

	(void)state;
	/* 1 .. 1000 ms, a report each, in an order of no meaning: no percentile of reports gives these. */
	for (unsigned int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "{\"latencies_us\":[%u000]}", i * 7 % 1000 + 1);
		takes(text);
	}
	assert_int_equal(end()->nr_completed, 1000);
	assert_true(near(sample.p50_ns, 500 * MS) && near(sample.p95_ns, 950 * MS) && near(sample.steer_ns, 990 * MS));
	assert_true(near(sample.mean_ns, 500500 * US));
	assert_in_range(sample.nr_late, 974, 976);
}

static void pairs_stand_for_as_many_requests(void **state)
{
	(void)state;
	takes("{\"latencies_us\":[[100,98],50000,[30000,1]]}");
	assert_int_equal(end()->nr_completed, 100);
	assert_int_equal(sample.nr_late, 2);
	assert_true(near(sample.p95_ns, 100 * US) && near(sample.p99_ns, 30 * MS));
}

static void no_report_is_a_lost_signal_and_an_empty_one_an_idle_client(void **state)
{
	(void)state;
	assert_int_equal(end()->signal, POLICY_LOST);
	takes("{\"latencies_us\":[1000]}");
	assert_int_equal(end()->signal, POLICY_FRESH);
	assert_int_equal(end()->signal, POLICY_LOST);
	assert_int_equal(sample.nr_completed + sample.p99_ns + sample.nr_arrived, 0);
	takes("{\"latencies_us\":[]}");
	assert_int_equal(end()->signal, POLICY_FRESH);
	assert_int_equal(sample.nr_completed + sample.nr_arrived + sample.nr_in_flight, 0);
}

static void clients_add_up_and_each_counts_as_it_said_last(void **state)
{
	(void)state;
	takes("{\"client\":\"a\",\"sent\":5,\"in_flight\":4,\"oldest_us\":900000,\"latencies_us\":[1000]}");
	takes("{\"client\":\"b\",\"sent\":3,\"in_flight\":2,\"oldest_us\":40000,\"latencies_us\":[2000]}");
	takes("{\"client\":\"a\",\"sent\":0,\"in_flight\":1,\"oldest_us\":30000,\"latencies_us\":[[1000,3]]}");
	assert_int_equal(end()->nr_arrived, 8);
	assert_int_equal(sample.nr_completed, 5);
	assert_int_equal(sample.nr_in_flight, 3);
	assert_int_equal(sample.oldest_ns, 40 * MS);
	assert_int_equal(sample.nr_over_target, 2);
	/* One of them dies: the other is heard. */
	takes("{\"client\":\"b\",\"in_flight\":0,\"latencies_us\":[2000]}");
	assert_int_equal(end()->nr_in_flight, 0);
	assert_int_equal(sample.signal, POLICY_FRESH);
}

static void a_hung_service_shows_its_requests_in_flight(void **state)
{
	(void)state;
	takes("{\"sent\":5,\"in_flight\":5,\"oldest_us\":80000,\"latencies_us\":[]}");
	assert_int_equal(end()->nr_completed, 0);
	assert_int_equal(sample.nr_in_flight, 5);
	assert_int_equal(sample.oldest_ns, 80 * MS);
	assert_int_equal(sample.nr_over_target, 1);
}

static void there_is_room_for_many_clients_and_an_end(void **state)
{
	char text[96];

	(void)state;
	for (int i = 0; i < CLIENT_REPORT_MAX_CLIENTS; i++) {
		snprintf(text, sizeof(text), "{\"client\":\"%d\",\"in_flight\":1,\"latencies_us\":[1]}", i);
		takes(text);
	}
	refuses("{\"client\":\"x\",\"in_flight\":1,\"latencies_us\":[1]}", "64 clients");
	assert_int_equal(end()->nr_in_flight, CLIENT_REPORT_MAX_CLIENTS);
	assert_int_equal(sample.nr_completed, CLIENT_REPORT_MAX_CLIENTS);
}

static void garbage_is_refused_whole(void **state)
{
	(void)state;
	refuses("", "not JSON");
	refuses("p99 is 12 ms", "not JSON");
	refuses("{\"latencies_us\":[1]} x", "not JSON");
	refuses("{\"latencies_us\":[1],\"latencies_us\":[2]}", "not JSON");
	refuses("[1,2]", "no object with latencies_us");
	refuses("{\"latencies_ms\":[1]}", "no object with latencies_us");
	refuses("{\"latencies_us\":7}", "latencies_us is no list");
	refuses("{\"latencies_us\":[1,2,-3]}", "latencies_us is no list");
	refuses("{\"latencies_us\":[1,\"2\"]}", "latencies_us is no list");
	refuses("{\"latencies_us\":[1,[2]]}", "latencies_us is no list");
	refuses("{\"latencies_us\":[1,[2,0]]}", "latencies_us is no list");
	refuses("{\"latencies_us\":[1,[2,1.5]]}", "latencies_us is no list");
	refuses("{\"latencies_us\":[1,[2,3,4]]}", "latencies_us is no list");
	refuses("{\"latencies_us\":[1e13]}", "latencies_us is no list");
	refuses("{\"latencies_us\":[[1,9000000],[2,9000000]]}", "latencies_us is no list");
	refuses("{\"latencies_us\":[1],\"sent\":-1}", "sent");
	refuses("{\"latencies_us\":[1],\"in_flight\":\"1\"}", "in_flight");
	refuses("{\"latencies_us\":[1],\"oldest_us\":-1}", "oldest_us");
	refuses("{\"latencies_us\":[1],\"client\":7}", "client");
	refuses("{\"latencies_us\":[1],\"client\":\"a name of more than thirty-one bytes\"}", "client");
	refuses("{\"latencies_us\":[1],\"t\":\"now\"}", "t is no number");
	assert_int_equal(end()->signal, POLICY_LOST);
	assert_int_equal(sample.nr_completed, 0);
}

static void keys_of_others_are_nobodys_business(void **state)
{
	(void)state;
	takes(" { \"run\" : {\"id\":7} , \"latencies_us\" : [ 5e2 ] } ");
	assert_true(near(end()->p50_ns, 500 * US));
}

static void a_report_far_from_now_is_ignored_whichever_clock_jumped(void **state)
{
	(void)state;
	assert_int_equal(add_at("{\"t\":1000.9,\"latencies_us\":[1]}", 1000), 0);
	assert_int_equal(add_at("{\"t\":999.1,\"latencies_us\":[1]}", 1000), 0);
	assert_int_equal(add_at("{\"t\":998.9,\"latencies_us\":[1]}", 1000), -ESTALE);
	assert_non_null(strstr(reason, "too old"));
	assert_int_equal(add_at("{\"t\":4600,\"latencies_us\":[1]}", 1000), -ESTALE);
	assert_non_null(strstr(reason, "future"));
	assert_int_equal(end()->nr_completed, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(latencies_are_of_the_window_they_are_reported_in, set_up),
		cmocka_unit_test_setup(percentiles_are_those_of_all_reports_together, set_up),
		cmocka_unit_test_setup(pairs_stand_for_as_many_requests, set_up),
		cmocka_unit_test_setup(no_report_is_a_lost_signal_and_an_empty_one_an_idle_client, set_up),
		cmocka_unit_test_setup(clients_add_up_and_each_counts_as_it_said_last, set_up),
		cmocka_unit_test_setup(a_hung_service_shows_its_requests_in_flight, set_up),
		cmocka_unit_test_setup(there_is_room_for_many_clients_and_an_end, set_up),
		cmocka_unit_test_setup(garbage_is_refused_whole, set_up),
		cmocka_unit_test_setup(keys_of_others_are_nobodys_business, set_up),
		cmocka_unit_test_setup(a_report_far_from_now_is_ignored_whichever_clock_jumped, set_up),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
