// SPDX-License-Identifier: GPL-2.0
/*
 * test_requests.c - what one request is and how long it took, against servers that do one thing each, in the running
 * kernel.  Skips without the rights.
 * waits: yes
 */
#include "bpf/by_port.h"

static void keep_alive_requests_are_counted_one_by_one(void **state)
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
	assert_int_equal(o.info.coverage.nr_unmatched, 0);
	assert_between_us(percentile_us(&o, EBEE_OWED, 500), 2000, client_us(500));
	assert_between_us(percentile_us(&o, EBEE_SERVICE, 500), 2000, client_us(500));
	close(fd);
	observe_stop(&o);
}

static void think_time_between_requests_is_not_latency(void **state)
{
	struct observed o;
	int fd, i;

	(void)state;
	NEEDS_BPF();
	observe_start(&o, serve_2ms);
	fd = connect_to(o.port);
	for (i = 0; i < 5; i++) {
		assert_true(exchange_once(fd));
		sleep_us(60000);
	}
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 5);
	assert_between_us(percentile_us(&o, EBEE_TOTAL, 500), 2000, client_us(500));
	close(fd);
	observe_stop(&o);
}

static void serve_and_close(int fd)
{
	char buf[MESSAGE];

	if (read_all(fd, buf, MESSAGE)) {
		sleep_us(2000);
		write_all(fd, buf, MESSAGE);
	}
}

static void one_connection_per_request_is_counted_at_the_close(void **state)
{
	struct ebee_window_info info;
	struct observed o;
	int i;

	(void)state;
	NEEDS_BPF();
	observe_start(&o, serve_and_close);
	for (i = 0; i < 50; i++) {
		int fd = connect_to(o.port);
		char end;

		assert_true(exchange_once(fd));
		assert_int_equal(read(fd, &end, 1), 0);
		close(fd);
	}
	/* No sweep: the close alone must have ended them. */
	assert_int_equal(ebee_window_advance(o.window, &info), 0);
	assert_int_equal(info.nr_completed, 50);
	assert_int_equal(info.coverage.nr_aborted, 0);
	observe_stop(&o);
}

static void serve_closing_late(int fd)
{
	serve_and_close(fd);
	sleep_us(400000);
}

static void a_late_close_does_not_lengthen_the_request(void **state)
{
	struct observed o;
	char end;
	int fd;

	(void)state;
	NEEDS_BPF();
	observe_start(&o, serve_closing_late);
	fd = connect_to(o.port);
	assert_true(exchange_once(fd));
	assert_int_equal(read(fd, &end, 1), 0);
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 1);
	assert_between_us(percentile_us(&o, EBEE_TOTAL, 1000), 2000, client_us(1000));
	close(fd);
	observe_stop(&o);
}

static void serve_in_two_pieces(int fd)
{
	char buf[MESSAGE];

	while (read_all(fd, buf, 4) && read_all(fd, buf + 4, MESSAGE - 4)) {
		sleep_us(30000);
		write_all(fd, buf, 6);
		sleep_us(30000);
		write_all(fd, buf + 6, MESSAGE - 6);
	}
}

static void pieces_read_and_written_apart_are_one_request(void **state)
{
	struct observed o;
	int fd, i;

	(void)state;
	NEEDS_BPF();
	observe_start(&o, serve_in_two_pieces);
	fd = connect_to(o.port);
	for (i = 0; i < 5; i++)
		assert_true(exchange_once(fd));
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 5);
	assert_between_us(percentile_us(&o, EBEE_OWED, 500), 60000, client_us(500));
	close(fd);
	observe_stop(&o);
}

static void a_slow_uploader_is_in_total_but_not_in_owed(void **state)
{
	char buf[MESSAGE] = "slow";
	uint64_t start, rest, end;
	struct observed o;
	int fd;

	(void)state;
	NEEDS_BPF();
	observe_start(&o, serve_2ms);
	fd = connect_to(o.port);
	start = clock_us();
	assert_true(write_all(fd, buf, 4));
	sleep_us(300000);
	rest = clock_us();
	assert_true(write_all(fd, buf + 4, MESSAGE - 4));
	assert_true(read_all(fd, buf, MESSAGE));
	end = clock_us();
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 1);
	assert_between_us(percentile_us(&o, EBEE_TOTAL, 1000), 302000, end - start);
	assert_between_us(percentile_us(&o, EBEE_OWED, 1000), 2000, end - rest);
	close(fd);
	observe_stop(&o);
}

static void serve_after_a_pause(int fd)
{
	char buf[MESSAGE];

	sleep_us(200000);
	while (read_all(fd, buf, MESSAGE))
		write_all(fd, buf, MESSAGE);
}

static void waiting_to_be_read_is_residency(void **state)
{
	struct observed o;
	int fd;

	(void)state;
	NEEDS_BPF();
	observe_start(&o, serve_after_a_pause);
	fd = connect_to(o.port);
	assert_true(exchange_once(fd));
	observe_read(&o);
	assert_between_us(percentile_us(&o, EBEE_RESIDENCY, 1000), 190000, client_us(1000));
	assert_between_us(percentile_us(&o, EBEE_OWED, 1000), 190000, client_us(1000));
	close(fd);
	observe_stop(&o);
}

enum { LARGE = 16 << 20 }; /* more than the buffers of both ends hold */

static void serve_large_blocking(int fd)
{
	char buf[MESSAGE], *answer = calloc(1, LARGE);

	while (read_all(fd, buf, MESSAGE)) {
		sleep_us(20000);
		write_all(fd, answer, LARGE);
	}
	free(answer);
}

static void serve_large_in_pieces(int fd)
{
	char buf[MESSAGE], piece[65536] = "";

	while (read_all(fd, buf, MESSAGE)) {
		sleep_us(20000);
		for (int i = 0; i < LARGE / (int)sizeof(piece); i++)
			write_all(fd, piece, sizeof(piece));
	}
}

/* Reads LARGE bytes in about a second. */
static void read_slowly(int fd)
{
	static char buf[LARGE / 40];

	for (int i = 0; i < 40; i++) {
		sleep_us(25000);
		assert_true(read_all(fd, buf, sizeof(buf)));
	}
	assert_true(read_all(fd, buf, LARGE - 40 * sizeof(buf)));
}

static void slow_reader(serve_fn *serve)
{
	char buf[MESSAGE] = "large";
	struct observed o;
	uint64_t owed;
	int fd;

	observe_start(&o, serve);
	fd = connect_to(o.port);
	assert_true(write_all(fd, buf, MESSAGE));
	read_slowly(fd);
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 1);
	owed = percentile_us(&o, EBEE_OWED, 1000);
	assert_in_range(percentile_us(&o, EBEE_TOTAL, 1000), 100000, 100000000);
	assert_true(owed >= 19000);
	/* What is left is the copying, and on a busy machine the waiting for a CPU. */
	if (owed * 2 >= percentile_us(&o, EBEE_TOTAL, 1000))
		fail_msg("owed %llu us of %llu us", (unsigned long long)owed,
			 (unsigned long long)percentile_us(&o, EBEE_TOTAL, 1000));
	assert_int_equal(o.info.coverage.nr_blocked, 1);
	close(fd);
	observe_stop(&o);
}

static void a_slow_reader_of_one_large_send_is_not_owed(void **state)
{
	(void)state;
	NEEDS_BPF();
	if (!strstr(ebee_features(ebee), "send_entry"))
		skip();
	slow_reader(serve_large_blocking);
}

static void a_slow_reader_of_many_sends_is_not_owed(void **state)
{
	(void)state;
	NEEDS_BPF();
	slow_reader(serve_large_in_pieces);
}

static void serve_after_a_greeting(int fd)
{
	char buf[MESSAGE];

	/* A handshake as HTTP/2 and TLS have it: both sides speak before the request is answered. */
	if (write_all(fd, "greeting.......", MESSAGE) && read_all(fd, buf, MESSAGE) && write_all(fd, buf, MESSAGE) &&
	    read_all(fd, buf, MESSAGE)) {
		sleep_us(300000); /* long beside a busy machine's delays */
		write_all(fd, buf, MESSAGE);
	}
}

static void per_connection_a_handshake_is_part_of_the_request(void **state)
{
	char buf[MESSAGE], end;
	uint64_t start, elapsed;
	struct observed o;
	int i;

	(void)state;
	NEEDS_BPF();
	observe_start(&o, serve_after_a_greeting);
	assert_int_equal(ebee_set_lifecycle(ebee, o.service, EBEE_CONNECTION), 0);
	for (i = 0; i < 3; i++) {
		int fd = connect_to(o.port);

		start = clock_us();
		assert_true(exchange_once(fd));
		assert_true(write_all(fd, "request........", MESSAGE));
		sleep_us(20000);
		observe_read(&o);
		assert_int_equal(o.info.nr_in_flight, 1);
		assert_true(read_all(fd, buf, MESSAGE) && read_all(fd, buf, MESSAGE));
		elapsed = clock_us() - start;
		assert_int_equal(read(fd, &end, 1), 0);
		close(fd);
		observe_read(&o);
		assert_int_equal(o.info.nr_completed, 1);
		assert_int_equal(o.info.nr_in_flight, 0);
		assert_between_us(percentile_us(&o, EBEE_OWED, 1000), 300000, elapsed);
		assert_between_us(percentile_us(&o, EBEE_TOTAL, 1000), 300000, elapsed);
		assert_int_equal(o.info.coverage.nr_unmatched, 0);
	}
	observe_stop(&o);
}

static void bytes_sent_unasked_are_declared(void **state)
{
	struct observed o;
	char buf[MESSAGE];
	int fd;

	(void)state;
	NEEDS_BPF();
	observe_start(&o, serve_2ms);
	fd = connect_to(o.port);
	assert_true(exchange_once(fd));
	observe_read(&o); /* settles: what comes now has no request */
	close(fd);
	observe_stop(&o);

	o.listener = listen_any(&o.port);
	assert_int_equal(ebee_add_port(ebee, next_service, o.port), 0);
	assert_int_equal(ebee_seed(ebee), 0);
	assert_int_equal(ebee_window_open(&o.window, ebee, next_service++), 0);
	fd = connect_to(o.port);
	o.pid = accept(o.listener, NULL, NULL); /* this process is the server */
	assert_true(write_all(o.pid, "banner.........", MESSAGE));
	assert_true(read_all(fd, buf, MESSAGE));
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 0);
	assert_int_equal(o.info.coverage.nr_unmatched, 1);
	close(o.pid);
	close(fd);
	close(o.listener);
	ebee_window_close(o.window);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keep_alive_requests_are_counted_one_by_one),
		cmocka_unit_test(think_time_between_requests_is_not_latency),
		cmocka_unit_test(one_connection_per_request_is_counted_at_the_close),
		cmocka_unit_test(a_late_close_does_not_lengthen_the_request),
		cmocka_unit_test(pieces_read_and_written_apart_are_one_request),
		cmocka_unit_test(a_slow_uploader_is_in_total_but_not_in_owed),
		cmocka_unit_test(waiting_to_be_read_is_residency),
		cmocka_unit_test(a_slow_reader_of_one_large_send_is_not_owed),
		cmocka_unit_test(a_slow_reader_of_many_sends_is_not_owed),
		cmocka_unit_test(per_connection_a_handshake_is_part_of_the_request),
		cmocka_unit_test(bytes_sent_unasked_are_declared),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, open_handle, close_handle);
}
