// SPDX-License-Identifier: GPL-2.0
/*
 * test_grpc.c - calls of gRPC, told apart, and what they have waited for.  tests/live/grpc.sh has the library itself.
 * waits: yes
 */
#include "bpf/grpc_server.h"

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static void calls_are_counted_one_by_one_though_addresses_return(void **state)
{
	struct observed o;
	int fd, i;

	(void)state;
	NEEDS_BPF();
	observe_start(&o, serve_2ms);
	fd = connect_to(o.port);
	for (i = 0; i < 100; i++)
		assert_true(exchange_once(fd));
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 100);
	assert_int_equal(o.info.nr_arrived, 100);
	assert_int_equal(o.info.nr_in_flight, 0);
	assert_int_equal(o.info.coverage.nr_missed, 0);
	assert_int_equal(o.info.coverage.nr_unprobed, 0);
	assert_between_us(percentile_us(&o, EBEE_OWED, 500), 2000, client_us(500));
	assert_between_us(percentile_us(&o, EBEE_TOTAL, 500), 2000, client_us(500));
	close(fd);
	observe_stop(&o);
}

static void calls_that_share_read_and_write_are_told_apart(void **state)
{
	struct observed o;
	int fd, i;

	(void)state;
	NEEDS_BPF();
	observe_start(&o, serve_ten_at_once);
	fd = connect_to(o.port);
	for (i = 0; i < 10; i++)
		assert_true(exchange_once(fd));
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 100);
	close(fd);
	observe_stop(&o);
}

/* A newer library: an object is returned by value, through a first argument that the source does not show. */
static void serve_shifted(int fd)
{
	char buf[MESSAGE], object[16];

	while (read_all(fd, buf, MESSAGE)) {
		begin(streams);
		close_fn(object, &transport, streams, 1, 0, &status_ok);
		sleep_us(2000);
		write_all(fd, buf, MESSAGE);
		close_fn(object, &transport, streams, 1, 1, &status_ok);
	}
}

static void arguments_may_be_one_register_further(void **state)
{
	struct observed o;
	int fd, i;

	(void)state;
	NEEDS_BPF();
	observe_start(&o, serve_shifted);
	fd = connect_to(o.port);
	for (i = 0; i < 20; i++)
		assert_true(exchange_once(fd));
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 20);
	assert_int_equal(o.info.coverage.nr_aborted, 0);
	assert_between_us(percentile_us(&o, EBEE_OWED, 500), 2000, client_us(500));
	close(fd);
	observe_stop(&o);
}

static void serve_while_calling_others(int fd)
{
	char buf[MESSAGE];

	while (read_all(fd, buf, MESSAGE)) {
		begin(streams);
		make_fn(&streams[1], &transport, NULL, NULL);
		sleep_us(1000);
		end(&streams[1], &status_ok);
		write_all(fd, buf, MESSAGE);
		end(streams, &status_ok);
	}
}

static void calls_that_the_server_makes_are_not_its_requests(void **state)
{
	struct observed o;
	int fd, i;

	(void)state;
	NEEDS_BPF();
	observe_start(&o, serve_while_calling_others);
	fd = connect_to(o.port);
	for (i = 0; i < 20; i++)
		assert_true(exchange_once(fd));
	observe_read(&o);
	assert_int_equal(o.info.nr_arrived, 20);
	assert_int_equal(o.info.nr_completed, 20);
	close(fd);
	observe_stop(&o);
}

static uint64_t status_cancelled = 5;

static void serve_and_cancel(int fd)
{
	char buf[MESSAGE];

	while (read_all(fd, buf, MESSAGE)) {
		begin(streams);
		end(streams, &status_cancelled);
		write_all(fd, buf, MESSAGE);
	}
}

static void a_cancelled_call_is_no_sample(void **state)
{
	struct observed o;
	int fd, i;

	(void)state;
	NEEDS_BPF();
	observe_start(&o, serve_and_cancel);
	fd = connect_to(o.port);
	for (i = 0; i < 7; i++)
		assert_true(exchange_once(fd));
	observe_read(&o);
	assert_int_equal(o.info.nr_arrived, 7);
	assert_int_equal(o.info.nr_completed, 0);
	assert_int_equal(o.info.coverage.nr_aborted, 7);
	close(fd);
	observe_stop(&o);
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

static void serve_late(int fd)
{
	char buf[MESSAGE];

	sleep_us(60000);
	serve_2ms(fd);
	read_all(fd, buf, 1);
}

static void the_time_a_request_waits_unread_counts(void **state)
{
	struct observed o;
	int fd;

	(void)state;
	NEEDS_BPF();
	observe_start(&o, serve_late);
	fd = connect_to(o.port);
	assert_true(exchange_once(fd));
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 1);
	assert_true(percentile_us(&o, EBEE_RESIDENCY, 1000) > 30000);
	assert_true(percentile_us(&o, EBEE_OWED, 1000) > 30000);
	assert_between_us(percentile_us(&o, EBEE_OWED, 1000), 32000, client_us(1000));
	assert_between_us(percentile_us(&o, EBEE_SERVICE, 1000), 2000, client_us(1000));
	close(fd);
	observe_stop(&o);
}

enum { NR_TOGETHER = 5, APART_US = 20000 };

/* Comes late, and takes all that waits with one read. */
static void serve_all_that_waits(int fd)
{
	char buf[NR_TOGETHER * MESSAGE];

	sleep_us((NR_TOGETHER + 1) * APART_US);
	if (read(fd, buf, sizeof(buf)) != sizeof(buf))
		return;
	for (int i = 0; i < NR_TOGETHER; i++)
		begin(&streams[i]);
	sleep_us(2000);
	for (int i = 0; i < NR_TOGETHER; i++)
		end(&streams[i], &status_ok);
	write_all(fd, buf, sizeof(buf));
	read_all(fd, buf, 1);
}

static void calls_that_one_read_brings_have_waited_each_for_its_time(void **state)
{
	char buf[NR_TOGETHER * MESSAGE] = "";
	uint64_t sent_us[NR_TOGETHER], over;
	struct observed o;
	int fd;

	(void)state;
	NEEDS_BPF();
	observe_start(&o, serve_all_that_waits);
	fd = connect_to(o.port);
	for (int i = 0; i < NR_TOGETHER; i++) {
		sent_us[i] = clock_us();
		assert_true(write_all(fd, buf, MESSAGE));
		sleep_us(APART_US);
	}
	assert_true(read_all(fd, buf, sizeof(buf)));
	over = clock_us();
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, NR_TOGETHER);
	/* The longest wait is the first one's, the shortest the last one's, and the others' are between them. */
	assert_between_us(percentile_us(&o, EBEE_OWED, 1000), 6 * APART_US, over - sent_us[0]);
	assert_true(percentile_us(&o, EBEE_OWED, 200) <= (over - sent_us[NR_TOGETHER - 1]) * 1016 / 1000);
	assert_in_range(percentile_us(&o, EBEE_OWED, 600), 3 * APART_US, (over - sent_us[2]) * 1016 / 1000 + APART_US);
	assert_int_equal(percentile_us(&o, EBEE_TOTAL, 600), percentile_us(&o, EBEE_OWED, 600));
	close(fd);
	observe_stop(&o);
}

/* The thread reads, loses its CPU for longer than a stamp is good for by its age, and goes on. */
static void serve_after_a_pause(int fd)
{
	char buf[MESSAGE];

	while (read_all(fd, buf, MESSAGE)) {
		uint64_t until = clock_us() + 5000;

		while (clock_us() < until)
			;
		begin(streams);
		write_all(fd, buf, MESSAGE);
		end(streams, &status_ok);
	}
}

static void a_thread_that_did_not_sleep_since_is_where_it_was(void **state)
{
	struct observed o;
	int fd;

	(void)state;
	NEEDS_BPF();
	observe_start(&o, serve_after_a_pause);
	fd = connect_to(o.port);
	for (int i = 0; i < 5; i++)
		assert_true(exchange_once(fd));
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 5);
	assert_int_equal(o.info.coverage.nr_no_arrival, 0);
	assert_between_us(percentile_us(&o, EBEE_OWED, 500), 5000, client_us(500));
	close(fd);
	observe_stop(&o);
}

/* The thread reads, does something else for long, and is then asked to work on what another has read. */
static void serve_after_other_work(int fd)
{
	char buf[MESSAGE];

	while (read_all(fd, buf, MESSAGE)) {
		sleep_us(5000);
		begin(streams);
		sleep_us(2000);
		write_all(fd, buf, MESSAGE);
		end(streams, &status_ok);
	}
}

static void an_arrival_that_may_be_another_requests_is_not_taken(void **state)
{
	struct observed o;
	int fd;

	(void)state;
	NEEDS_BPF();
	observe_start(&o, serve_after_other_work);
	fd = connect_to(o.port);
	assert_true(exchange_once(fd));
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 1);
	assert_int_equal(o.info.coverage.nr_no_arrival, 1);
	assert_true(percentile_us(&o, EBEE_OWED, 1000) <= client_us(1000) - 4900);
	close(fd);
	observe_stop(&o);
}

static void serve_upload(int fd)
{
	char buf[MESSAGE];

	while (read_all(fd, buf, 8)) {
		begin(streams);
		if (!read_all(fd, buf + 8, 8))
			return;
		half_close(streams);
		sleep_us(2000);
		write_all(fd, buf, MESSAGE);
		end(streams, &status_ok);
	}
}

static void a_slow_uploader_owns_its_time(void **state)
{
	char buf[MESSAGE] = "";
	struct observed o;
	int fd;

	(void)state;
	NEEDS_BPF();
	observe_start(&o, serve_upload);
	fd = connect_to(o.port);
	assert_true(write_all(fd, buf, 8));
	sleep_us(100000);
	assert_true(write_all(fd, buf, 8) && read_all(fd, buf, MESSAGE));
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 1);
	assert_true(percentile_us(&o, EBEE_TOTAL, 1000) > 99000);
	assert_true(percentile_us(&o, EBEE_OWED, 1000) < 90000);
	close(fd);
	observe_stop(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_counted_one_by_one_though_addresses_return),
		cmocka_unit_test(calls_that_share_read_and_write_are_told_apart),
		cmocka_unit_test(arguments_may_be_one_register_further),
		cmocka_unit_test(calls_that_the_server_makes_are_not_its_requests),
		cmocka_unit_test(a_cancelled_call_is_no_sample),
		cmocka_unit_test(the_time_a_request_waits_unread_counts),
		cmocka_unit_test(calls_that_one_read_brings_have_waited_each_for_its_time),
		cmocka_unit_test(a_thread_that_did_not_sleep_since_is_where_it_was),
		cmocka_unit_test(an_arrival_that_may_be_another_requests_is_not_taken),
		cmocka_unit_test(a_slow_uploader_owns_its_time),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, open_library, close_handle);
}
