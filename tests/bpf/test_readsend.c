// SPDX-License-Identifier: GPL-2.0
/*
 * test_readsend.c - requests as pairs of calls on a descriptor, against servers of known behaviour: what the pairing
 * says, and what it gets wrong.  Skips without the rights.
 * waits: yes
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>

#include "bpf/handle.h"
#include "bpf/server.h"

static struct ebee_window *window;
static struct ebee_window_info info;

/* The one server of a test. */
static int listener;
static uint16_t port;
static pid_t pid;

static void start(serve_fn *serve)
{
	NEEDS_BPF();
	nr_seen = 0;
	listener = listen_any(&port);
	pid = server_start(listener, serve);
	if (ebee_set_lifecycle(ebee, 0, EBEE_READ_SEND))
		fail_msg("%s", ebee_error(ebee));
	assert_int_equal(ebee_add_pid(ebee, 0, pid), 0);
	assert_int_equal(ebee_seed(ebee), 0);
	assert_int_equal(ebee_window_open(&window, ebee, 0), 0);
}

static void look(void)
{
	sleep_us(20000);
	assert_int_equal(ebee_sweep(ebee), 0);
	assert_int_equal(ebee_window_advance(window, &info), 0);
}

static void end(void)
{
	server_stop(pid);
	close(listener);
	ebee_window_close(window);
	assert_int_equal(ebee_remove(ebee, 0), 0);
}

static uint64_t percentile_us(enum ebee_latency which)
{
	uint64_t ns;

	assert_int_equal(ebee_window_percentile(window, which, 500, &ns), 0);
	return ns / 1000;
}

static void serve_5ms(int fd)
{
	char buf[MESSAGE];

	while (read_all(fd, buf, MESSAGE)) {
		sleep_us(5000);
		write_all(fd, buf, MESSAGE);
	}
}

static void requests_on_a_kept_connection_are_pairs(void **state)
{
	int fd;

	(void)state;
	start(serve_5ms);
	fd = connect_to(port);
	for (int i = 0; i < 30; i++)
		assert_true(exchange_once(fd));
	look();
	assert_int_equal(info.nr_arrived, 30);
	assert_int_equal(info.nr_completed, 30);
	assert_int_equal(info.nr_in_flight, 0);
	assert_int_equal(info.coverage.nr_unprobed, 0);
	assert_true(percentile_us(EBEE_OWED) >= 4960 && percentile_us(EBEE_OWED) * 1000 <= client_us(500) * 1016);
	assert_int_equal(percentile_us(EBEE_SERVICE), percentile_us(EBEE_TOTAL));
	close(fd);
	end();
}

/* Reads late, and answers in two parts. */
static void serve_late_in_two(int fd)
{
	char buf[MESSAGE];

	sleep_us(50000);
	while (read_all(fd, buf, MESSAGE)) {
		sleep_us(5000);
		write_all(fd, buf, MESSAGE / 2);
		sleep_us(20000);
		write_all(fd, buf, MESSAGE / 2);
	}
}

static void the_wait_before_and_all_sends_but_the_first_are_not_seen(void **state)
{
	int fd;

	(void)state;
	start(serve_late_in_two);
	fd = connect_to(port);
	assert_true(exchange_once(fd));
	look();
	assert_int_equal(info.nr_completed, 1);
	assert_in_range(percentile_us(EBEE_OWED), 4900, 20000);
	assert_true(percentile_us(EBEE_RESIDENCY) > 30000);
	assert_true(client_us(500) > 60000);
	close(fd);
	end();
}

static void serve_never(int fd)
{
	char buf[MESSAGE];

	while (read_all(fd, buf, MESSAGE))
		;
}

static void what_is_read_and_not_answered_is_in_flight_until_the_close(void **state)
{
	char buf[MESSAGE] = "";
	int fd;

	(void)state;
	start(serve_never);
	assert_int_equal(ebee_set_target(ebee, 0, 10000000), 0);
	fd = connect_to(port);
	assert_true(write_all(fd, buf, MESSAGE));
	sleep_us(50000);
	look();
	assert_int_equal(info.nr_arrived, 1);
	assert_int_equal(info.nr_in_flight, 1);
	assert_int_equal(info.nr_over_target, 1);
	assert_true(info.oldest_ns > 40000000);
	close(fd);
	sleep_us(50000);
	look();
	assert_int_equal(info.nr_in_flight, 0);
	assert_int_equal(info.nr_completed, 0);
	assert_int_equal(info.coverage.nr_aborted, 1);
	end();
}

/* Between a request and its answer it reads and writes elsewhere. */
static void serve_with_other_descriptors(int fd)
{
	int pair[2], zero = open("/dev/zero", O_RDWR);
	char buf[MESSAGE];

	if (zero < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		_exit(1);
	while (read_all(fd, buf, MESSAGE)) {
		write_all(pair[0], buf, MESSAGE);
		read_all(pair[1], buf, MESSAGE);
		if (read(zero, buf, 1) != 1 || write(zero, buf, 1) != 1)
			_exit(1);
		write_all(fd, buf, MESSAGE);
	}
}

static void calls_on_other_descriptors_are_no_requests(void **state)
{
	int fd;

	(void)state;
	start(serve_with_other_descriptors);
	fd = connect_to(port);
	for (int i = 0; i < 20; i++)
		assert_true(exchange_once(fd));
	look();
	assert_int_equal(info.nr_arrived, 20);
	assert_int_equal(info.nr_completed, 20);
	close(fd);
	end();
}

static int open_handle(void **state)
{
	const struct ebee_opts opts = { .sz = sizeof(opts), .nr_services = 1 };

	(void)state;
	return open_handle_with(&opts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_on_a_kept_connection_are_pairs),
		cmocka_unit_test(the_wait_before_and_all_sends_but_the_first_are_not_seen),
		cmocka_unit_test(what_is_read_and_not_answered_is_in_flight_until_the_close),
		cmocka_unit_test(calls_on_other_descriptors_are_no_requests),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, open_handle, close_handle);
}
