// SPDX-License-Identifier: GPL-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sensor_client.h"

#define MS 1000000ull

static struct config config;
static struct sensor_client *clients;
static struct sample samples[2];
static char folder[] = "/tmp/test_sensor_client.XXXXXX", path[64], other[64];

static int set_up(void **state)
{
	(void)state;
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/reports", folder);
	snprintf(other, sizeof(other), "%s/other", folder);
	config = (struct config){ .nr_services = 2, .interval_ns = 500 * MS };
	for (int i = 0; i < 2; i++) {
		struct config_service *s = &config.services[i];

		snprintf(s->name, sizeof(s->name), "%s", i ? "memcached" : "search");
		snprintf(s->client, sizeof(s->client), "%s", i ? other : path);
		s->percentile_permille = 990;
		s->target_ns = 25 * MS;
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sensor_client_close(clients);
	clients = NULL;
	unlink(path);
	unlink(other);
	return rmdir(folder);
}

static void append(const char *to, const char *text)
{
	FILE *out = fopen(to, "ae");

	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

/* nr requests of so many milliseconds. */
static void report(const char *to, unsigned int nr, unsigned int ms)
{
	char text[96];

	snprintf(text, sizeof(text), "{\"latencies_us\":[[%u000,%u]]}\n", ms, nr);
	append(to, text);
}

static void start(void)
{
	assert_int_equal(sensor_client_open(&clients, &config), 0);
}

static const struct sample *look(void)
{
	struct sensor sensor = sensor_client_port(clients);

	assert_int_equal(sensor.read(sensor.ctx, 0, samples, 2), 0);
	return &samples[0];
}

/* The news of the last read, put together. */
static const char *news(void)
{
	static char all[2048];
	const char *line;

	all[0] = '\0';
	while ((line = sensor_client_news(clients)))
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s\n", line);
	return all;
}

static void each_service_has_its_own_reports(void **state)
{
	(void)state;
	report(path, 1, 1);
	report(other, 1, 1);
	start();
	report(path, 3, 10);
	report(other, 5, 2);
	report(path, 2, 10);
	assert_int_equal(look()->nr_completed, 5);
	assert_int_equal(samples[1].nr_completed, 5);
	assert_in_range(samples[0].steer_ns, 9900000, 10100000);
	assert_in_range(samples[1].steer_ns, 1980000, 2020000);
	assert_string_equal(news(), "");
}

static void what_was_there_before_is_history(void **state)
{
	(void)state;
	report(path, 1000, 900);
	append(path, "{\"latencies_us\":[7000");
	start();
	assert_int_equal(look()->nr_completed, 0);
	append(path, "]}\n");
	report(path, 1, 1);
	assert_int_equal(look()->nr_completed, 2);
}

static void a_line_counts_when_it_is_whole(void **state)
{
	(void)state;
	start();
	append(path, "{\"latencies_us\":[1000]}\n{\"latencies_us\":[10");
	assert_int_equal(look()->nr_completed, 1);
	append(path, "00]}");
	assert_int_equal(look()->signal, POLICY_LOST);
	append(path, "\n");
	assert_int_equal(look()->nr_completed, 1);
	assert_int_equal(samples[0].signal, POLICY_FRESH);
}

static void no_report_is_lost_and_said_once_until_it_is_back(void **state)
{
	(void)state;
	report(other, 1, 1);
	start();
	assert_int_equal(look()->signal, POLICY_LOST);
	assert_string_equal(news(), "");
	report(other, 1, 1);
	assert_int_equal(look()->signal, POLICY_LOST);
	assert_non_null(strstr(news(), "event=reports-missing service=search"));
	report(other, 1, 1);
	look();
	assert_string_equal(news(), "");
	report(other, 1, 1);
	report(path, 4, 2);
	assert_int_equal(look()->nr_completed, 4);
	assert_non_null(strstr(news(), "event=reports-come service=search"));
	/* The client dies: what it said last is not said again. */
	assert_int_equal(look()->signal, POLICY_LOST);
	assert_int_equal(samples[0].nr_completed + samples[0].steer_ns, 0);
	assert_non_null(strstr(news(), "event=reports-missing service=search"));
}

static void a_missing_file_is_named_with_its_reason(void **state)
{
	(void)state;
	start();
	look();
	look();
	assert_non_null(strstr(news(), "/reports\" reason=\"No such file or directory\""));
	assert_int_equal(mkfifo(path, 0600), 0);
	report(other, 1, 1);
	look();
	assert_non_null(strstr(news(), "event=reports-come service=memcached"));
	assert_int_equal(samples[0].signal, POLICY_LOST);
}

static void a_client_that_begins_again_is_followed(void **state)
{
	FILE *out;

	(void)state;
	report(path, 10, 1);
	start();
	report(path, 1, 1);
	assert_int_equal(look()->nr_completed, 1);
	/* Emptied and begun again. */
	out = fopen(path, "we");
	fputs("{\"latencies_us\":[5000,5000]}\n", out);
	fclose(out);
	assert_int_equal(look()->nr_completed, 2);
	assert_non_null(strstr(news(), "event=reports-restarted service=search"));
	/* Another file of the same name. */
	unlink(path);
	report(path, 3, 1);
	report(path, 3, 1);
	assert_int_equal(look()->nr_completed, 6);
	assert_non_null(strstr(news(), "event=reports-restarted service=search"));
	unlink(path);
	assert_int_equal(look()->signal, POLICY_LOST);
	report(path, 7, 1);
	assert_int_equal(look()->nr_completed, 7);
}

static void garbage_is_counted_and_the_first_is_named_with_its_line(void **state)
{
	char text[160];

	(void)state;
	report(path, 1, 1);
	report(path, 1, 1);
	start();
	report(path, 2, 1);
	append(path, "oops\n{\"latencies_us\":[-1]}\n{\"t\":12,\"latencies_us\":[1]}\n");
	report(path, 2, 1);
	assert_int_equal(look()->nr_completed, 4);
	snprintf(text, sizeof(text), "event=report-ignored service=search place=\"%s:4\" reason=\"not JSON\"\n", path);
	assert_string_equal(news(), text);
	append(path, "oops\n");
	look();
	assert_null(strstr(news(), "ignored"));
	assert_string_equal(sensor_client_summary(clients, 0), "event=reports service=search taken=2 ignored=3 late=1");
}

static void a_line_without_end_is_skipped_and_the_next_one_counts(void **state)
{
	static char long_text[(1 << 20) + 100];

	(void)state;
	start();
	memset(long_text, ' ', sizeof(long_text) - 1);
	append(path, long_text);
	report(path, 9, 1);
	report(path, 2, 1);
	assert_int_equal(look()->nr_completed, 2);
	assert_non_null(strstr(news(), "reports:1\" reason=\"longer than a mebibyte\""));
}

static void a_hundred_thousand_latencies_a_second_are_counted_every_one(void **state)
{
	FILE *out;

	(void)state;
	start();
	out = fopen(path, "ae");
	for (int line = 0; line < 50; line++) {
		fputs("{\"latencies_us\":[1", out);
		for (int i = 1; i < 1000; i++)
			fprintf(out, ",%d.5", i);
		fputs("]}\n", out);
	}
	fclose(out);
	assert_int_equal(look()->nr_completed, 50000);
	assert_in_range(samples[0].steer_ns, 980000, 1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_service_has_its_own_reports, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_was_there_before_is_history, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_line_counts_when_it_is_whole, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_report_is_lost_and_said_once_until_it_is_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_missing_file_is_named_with_its_reason, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_client_that_begins_again_is_followed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(garbage_is_counted_and_the_first_is_named_with_its_line, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_line_without_end_is_skipped_and_the_next_one_counts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_hundred_thousand_latencies_a_second_are_counted_every_one, set_up, tear_down),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
