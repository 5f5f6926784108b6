// SPDX-License-Identifier: GPL-2.0
/*
 * test_http2_life.c - libebee on HTTP/2 measured by stream: requests that do not end, or not soon, and connections that
 * cannot be measured, which must be said.
 * waits: yes
 */
#include "bpf/http2_server.h"

/* ---- what does not end ------------------------------------------------------------------------------------------- */

static void serve_never(int fd)
{
	h2_welcome(fd);
	while (h2_read_end(fd))
		;
}

static void requests_without_an_answer_are_in_flight_with_their_age(void **state)
{
	uint64_t begun;
	uint8_t buf[64];
	int fd;

	(void)state;
	start(serve_never);
	ebee_set_target(ebee, 0, 50000000);
	fd = h2_connect(port);
	begun = clock_us();
	for (uint32_t i = 0; i < 3; i++)
		assert_true(h2_send(fd, buf, h2_put_request(buf, 2 * i + 1, false)));
	sleep_us(130000);
	look();
	assert_int_equal(info.nr_arrived, 3);
	assert_int_equal(info.nr_completed, 0);
	assert_int_equal(info.nr_in_flight, 3);
	assert_int_equal(info.nr_over_target, 3);
	assert_between_us(info.oldest_ns / 1000, 130000, clock_us() - begun);
	/* One reset by its client, two gone with their connection. */
	assert_true(h2_send(fd, buf, h2_put(buf, F_RST_STREAM, 0, 3, "\0\0\0\10", 4)));
	look();
	assert_int_equal(info.nr_in_flight, 2);
	assert_int_equal(info.coverage.nr_aborted, 1);
	close(fd);
	look();
	assert_int_equal(info.nr_in_flight, 0);
	assert_int_equal(info.coverage.nr_aborted, 2);
	assert_int_equal(info.nr_completed, 0);
	end();
}

static void serve_nobody(int fd)
{
	h2_welcome(fd);
	pause();
}

static void bytes_that_nobody_reads_are_in_flight(void **state)
{
	uint8_t buf[64];
	int fd;

	(void)state;
	start(serve_nobody);
	fd = h2_connect(port);
	assert_true(h2_send(fd, buf, h2_put_request(buf, 1, false)));
	sleep_us(50000);
	look();
	assert_int_equal(info.nr_in_flight, 1);
	assert_int_equal(info.nr_waiting, 1);
	assert_true(info.oldest_ns > 40000000);
	close(fd);
	end();
}

/* Stream 1 is a stream of events that ends after a second; all others are answered at once. */
static void serve_events(int fd)
{
	uint64_t begun = clock_us();
	struct pollfd readable = { .fd = fd, .events = POLLIN };
	uint8_t buf[64];
	uint32_t stream;

	h2_welcome(fd);
	while (clock_us() < begun + 1000000) {
		if (poll(&readable, 1, 10) != 1)
			continue;
		stream = h2_read_end(fd);
		if (stream == 1)
			h2_send(fd, buf, h2_put(buf, F_HEADERS, END_HEADERS, 1, h2_status_200, 1));
		else if (stream)
			h2_send_answer(fd, stream);
		else
			return;
	}
	h2_send(fd, buf, h2_put(buf, F_DATA, END_STREAM, 1, "end", 3));
	pause();
}

static void what_lives_long_is_counted_apart(void **state)
{
	uint8_t buf[64];
	int fd;

	(void)state;
	start(serve_events);
	fd = h2_connect(port);
	assert_true(h2_send(fd, buf, h2_put_request(buf, 1, false)));
	ask_together(fd, 10, 3);
	look();
	assert_int_equal(info.nr_completed, 10);
	assert_int_equal(info.nr_in_flight, 1);
	sleep_us(LONG_MS * 1000 + 50000);
	look();
	assert_int_equal(info.nr_in_flight, 0); /* known for what it is */
	assert_int_equal(h2_read_end(fd), 1);
	look();
	assert_int_equal(info.nr_completed, 0);
	assert_int_equal(info.coverage.nr_long_lived, 1);
	close(fd);
	end();
}

/* ---- what cannot be measured is said ----------------------------------------------------------------------------- */

static void connections_open_before_are_declared_and_measured_once_understood(void **state)
{
	int before, after;

	(void)state;
	NEEDS_STREAMS();
	nr_seen = 0;
	listener = listen_any(&port);
	pid = server_start(listener, serve_one_by_one);
	before = h2_connect(port);
	ask_together(before, 1, 1);
	assert_int_equal(ebee_add_port(ebee, 0, port), 0);
	assert_int_equal(ebee_seed(ebee), 0);
	assert_int_equal(ebee_window_open(&window, ebee, 0), 0);
	after = h2_connect(port);
	/* Four frames show where frames begin. */
	ask_together(before, 4, 3);
	look();
	assert_int_equal(info.nr_completed, 0);
	assert_int_equal(info.coverage.nr_multiplexed, 1);
	nr_seen = 0;
	ask_together(before, 6, 11);
	ask_together(after, 7, 1);
	look();
	assert_int_equal(info.nr_completed, 13);
	assert_nothing_lost();
	assert_between_us(percentile_us(EBEE_OWED, 1000), 7 * SERVE_US, client_us(1000));
	close(before);
	close(after);
	end();
}

static void serve_echo(int fd)
{
	char buf[MESSAGE];

	while (read_all(fd, buf, MESSAGE))
		write_all(fd, buf, MESSAGE);
}

static void another_protocol_is_opaque(void **state)
{
	int fds[3];

	(void)state;
	start(serve_echo);
	for (int i = 0; i < 3; i++) {
		fds[i] = connect_to(port);
		for (int k = 0; k < 4; k++)
			assert_true(exchange_once(fds[i]));
	}
	look();
	assert_int_equal(info.nr_completed, 0);
	assert_int_equal(info.nr_arrived, 0);
	assert_int_equal(info.coverage.nr_opaque, 3);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	end();
}

static void sockets_other_than_tcp_are_opaque(void **state)
{
	int fd;

	(void)state;
	NEEDS_STREAMS();
	listener = unix_socket("ebee-test-http2", true);
	pid = server_start(listener, serve_one_by_one);
	assert_int_equal(ebee_add_pid(ebee, 0, pid), 0);
	assert_int_equal(ebee_seed(ebee), 0);
	assert_int_equal(ebee_window_open(&window, ebee, 0), 0);
	fd = unix_socket("ebee-test-http2", false);
	assert_true(write_all(fd, h2_preface, sizeof(h2_preface) - 1));
	ask_together(fd, 5, 1);
	look();
	assert_int_equal(info.nr_arrived, 0);
	assert_int_equal(info.nr_completed, 0);
	assert_int_equal(info.coverage.nr_opaque, 1);
	close(fd);
	end();
}

/* Two good answers, then bytes that are no frame. */
static void serve_nonsense(int fd)
{
	h2_welcome(fd);
	for (int i = 0; i < 2; i++)
		h2_send_answer(fd, h2_read_end(fd));
	for (int i = 0; i < 2; i++)
		h2_read_end(fd);
	write_all(fd, "HTTP/1.1 500 Sorry", 18);
	pause();
}

static void losing_the_thread_is_declared_with_what_was_open(void **state)
{
	uint8_t buf[64], *at;
	int fd;

	(void)state;
	start(serve_nonsense);
	fd = h2_connect(port);
	ask_together(fd, 1, 1);
	ask_together(fd, 1, 3);
	at = h2_put_request(buf, 5, false);
	assert_true(h2_send(fd, buf, h2_put_request(at, 7, false)));
	sleep_us(20000);
	look();
	assert_int_equal(info.nr_completed, 2);
	assert_int_equal(info.nr_in_flight, 0);
	assert_int_equal(info.coverage.nr_opaque, 1);
	assert_int_equal(info.coverage.nr_lost, 2);
	close(fd);
	end();
}

static void connections_without_bytes_are_nothing(void **state)
{
	(void)state;
	start(serve_one_by_one);
	for (int i = 0; i < 10; i++)
		close(connect_to(port));
	look();
	assert_int_equal(info.nr_arrived, 0);
	assert_int_equal(info.nr_completed, 0);
	assert_nothing_lost();
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_without_an_answer_are_in_flight_with_their_age),
		cmocka_unit_test(bytes_that_nobody_reads_are_in_flight),
		cmocka_unit_test(what_lives_long_is_counted_apart),
		cmocka_unit_test(connections_open_before_are_declared_and_measured_once_understood),
		cmocka_unit_test(another_protocol_is_opaque),
		cmocka_unit_test(sockets_other_than_tcp_are_opaque),
		cmocka_unit_test(losing_the_thread_is_declared_with_what_was_open),
		cmocka_unit_test(connections_without_bytes_are_nothing),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, open_handle, close_handle);
}
