// SPDX-License-Identifier: GPL-2.0
/*
 * test_ebee.c - libebee against servers that do one thing each, in the running kernel.  Skips without the rights.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>

#include "bpf/handle.h"
#include "bpf/server.h"

/* One observed server: its window and how to end it. */
struct observed {
	int listener;
	uint16_t port;
	pid_t pid;
	struct ebee_window *window;
	struct ebee_window_info info;
};

static unsigned int next_service;

static void observe_start(struct observed *o, serve_fn *serve)
{
	nr_seen = 0;
	o->listener = listen_any(&o->port);
	o->pid = server_start(o->listener, serve);
	assert_true(next_service < EBEE_MAX_SERVICES);
	assert_int_equal(ebee_add_port(ebee, next_service, o->port), 0);
	assert_int_equal(ebee_seed(ebee), 0);
	assert_int_equal(ebee_window_open(&o->window, ebee, next_service++), 0);
}

/* Ends what is answered and reads the window.  The client has its answer before the server's send returns. */
static void observe_read(struct observed *o)
{
	sleep_us(20000);
	ebee_set_settle(ebee, 0);
	assert_int_equal(ebee_sweep(ebee), 0);
	ebee_set_settle(ebee, 500000000);
	assert_int_equal(ebee_window_advance(o->window, &o->info), 0);
}

static void observe_stop(struct observed *o)
{
	server_stop(o->pid);
	close(o->listener);
	ebee_window_close(o->window);
}

static uint64_t percentile_us(const struct observed *o, enum ebee_latency which, unsigned int permille)
{
	uint64_t ns;

	assert_int_equal(ebee_window_percentile(o->window, which, permille, &ns), 0);
	return ns / 1000;
}

/*
 * A server's sleep is never short, and late by the scheduler's whim; its client sees all of that and more.  So the truth
 * lies between what was asked of the server and what the client saw, on the noisiest machine.
 */
static void assert_between_us(uint64_t got, uint64_t asked, uint64_t client)
{
	if (got * 1000 < asked * 992 || got * 1000 > client * 1016)
		fail_msg("%llu us, asked for %llu us, the client saw %llu us", (unsigned long long)got,
			 (unsigned long long)asked, (unsigned long long)client);
}

static void serve_2ms(int fd)
{
	char buf[MESSAGE];

	while (read_all(fd, buf, MESSAGE)) {
		sleep_us(2000);
		write_all(fd, buf, MESSAGE);
	}
}

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

static void serve_never(int fd)
{
	char buf[MESSAGE];

	read_all(fd, buf, MESSAGE);
	pause();
}

static void requests_without_an_answer_are_in_flight_with_their_age(void **state)
{
	char buf[MESSAGE] = "never";
	struct observed o;
	uint64_t start;
	int fds[3], i;

	(void)state;
	NEEDS_BPF();
	observe_start(&o, serve_never);
	ebee_set_target(ebee, next_service - 1, 50000000);
	start = clock_us();
	for (i = 0; i < 3; i++) {
		fds[i] = connect_to(o.port);
		assert_true(write_all(fds[i], buf, MESSAGE));
	}
	sleep_us(150000);
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 0);
	assert_int_equal(o.info.nr_in_flight, 3);
	assert_int_equal(o.info.nr_over_target, 3);
	assert_between_us(o.info.oldest_ns / 1000, 150000, clock_us() - start);
	for (i = 0; i < 3; i++)
		close(fds[i]);
	/* The clients leave, the server is killed: three aborted, none invented. */
	server_stop(o.pid);
	sleep_us(50000);
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 0);
	assert_int_equal(o.info.coverage.nr_aborted, 3);
	assert_int_equal(o.info.nr_in_flight, 0);
	close(o.listener);
	ebee_window_close(o.window);
}

static void a_connection_without_bytes_is_no_request(void **state)
{
	struct observed o;
	int i;

	(void)state;
	NEEDS_BPF();
	observe_start(&o, serve_2ms);
	for (i = 0; i < 10; i++)
		close(connect_to(o.port));
	sleep_us(20000);
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 0);
	assert_int_equal(o.info.coverage.nr_aborted, 0);
	assert_int_equal(o.info.nr_in_flight, 0);
	observe_stop(&o);
}

static void connections_open_before_the_attach_are_measured(void **state)
{
	struct observed o;
	int fds[4], i, k;

	(void)state;
	NEEDS_BPF();
	o.listener = listen_any(&o.port);
	o.pid = server_start(o.listener, serve_2ms);
	for (i = 0; i < 4; i++) {
		fds[i] = connect_to(o.port);
		assert_true(exchange_once(fds[i]));
	}
	/* By process this time: its connections are held by its children. */
	assert_int_equal(ebee_add_pid(ebee, next_service, o.pid), 0);
	assert_int_equal(ebee_seed(ebee), 0);
	assert_int_equal(ebee_window_open(&o.window, ebee, next_service++), 0);
	for (k = 0; k < 10; k++)
		for (i = 0; i < 4; i++)
			assert_true(exchange_once(fds[i]));
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 40);
	assert_int_equal(o.info.nr_connections, 4);
	for (i = 0; i < 4; i++)
		close(fds[i]);
	observe_stop(&o);
}

static void a_listener_opened_by_a_later_child_is_followed(void **state)
{
	struct ebee_window_info info;
	struct ebee_window *window;
	int to_child[2], to_parent[2], fd, i;
	uint16_t port;
	pid_t pid;
	char go;

	(void)state;
	NEEDS_BPF();
	assert_int_equal(pipe(to_child) | pipe(to_parent), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(to_child[0], &go, 1) == 1 && fork() == 0) {
			int listener = listen_any(&port);

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (write(to_parent[1], &port, sizeof(port)) == sizeof(port))
				serve_2ms(accept(listener, NULL, NULL));
			_exit(0);
		}
		pause();
	}
	assert_int_equal(ebee_add_pid(ebee, next_service, pid), 0);
	assert_int_equal(ebee_seed(ebee), 0);
	assert_int_equal(ebee_window_open(&window, ebee, next_service++), 0);
	assert_int_equal(write(to_child[1], "g", 1), 1);
	assert_int_equal(read(to_parent[0], &port, sizeof(port)), sizeof(port));
	fd = connect_to(port);
	for (i = 0; i < 7; i++)
		assert_true(exchange_once(fd));
	sleep_us(20000);
	ebee_set_settle(ebee, 0);
	assert_int_equal(ebee_sweep(ebee), 0);
	ebee_set_settle(ebee, 500000000);
	assert_int_equal(ebee_window_advance(window, &info), 0);
	assert_int_equal(info.nr_completed, 7);
	close(fd);
	server_stop(pid);
	ebee_window_close(window);
	for (i = 0; i < 2; i++) {
		close(to_child[i]);
		close(to_parent[i]);
	}
}

static void what_a_server_asks_of_others_is_not_its_service(void **state)
{
	struct observed front, back;
	int fd, i;

	(void)state;
	NEEDS_BPF();
	/* The test process is the client of both; only the accepted sides may count. */
	observe_start(&front, serve_2ms);
	observe_start(&back, serve_2ms);
	fd = connect_to(front.port);
	for (i = 0; i < 3; i++)
		assert_true(exchange_once(fd));
	observe_read(&front);
	observe_read(&back);
	assert_int_equal(front.info.nr_completed, 3);
	assert_int_equal(back.info.nr_completed, 0);
	close(fd);
	observe_stop(&front);
	observe_stop(&back);
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
	for (int i = 0; i < 2; i++) {
		assert_true(write_all(fd, buf, MESSAGE));
		read_slowly(fd);
		observe_read(&o); /* the first shows that sends are large here */
		assert_int_equal(o.info.nr_completed, 1);
	}
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
	if (write_all(fd, "greeting.......", MESSAGE) && read_all(fd, buf, MESSAGE) && write_all(fd, buf, MESSAGE) && read_all(fd, buf, MESSAGE)) {
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
	assert_int_equal(ebee_set_lifecycle(ebee, next_service - 1, EBEE_CONNECTION), 0);
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

static void an_empty_window_says_no_data(void **state)
{
	struct ebee_window_info info;
	struct ebee_window *window;
	uint64_t ns = 1;

	(void)state;
	NEEDS_BPF();
	assert_int_equal(ebee_window_open(&window, ebee, 0), 0);
	assert_int_equal(ebee_window_advance(window, &info), 0);
	assert_int_equal(ebee_window_percentile(window, EBEE_OWED, 990, &ns), -ENODATA);
	assert_int_equal(ns, 1);
	assert_int_equal(ebee_window_percentile(window, EBEE_OWED, 0, &ns), -EINVAL);
	ebee_window_close(window);
}

static void bad_arguments_are_refused(void **state)
{
	(void)state;
	NEEDS_BPF();
	assert_int_equal(ebee_add_pid(ebee, EBEE_MAX_SERVICES, getpid()), -EINVAL);
	assert_int_equal(ebee_add_pid(ebee, 0, 0), -EINVAL);
	assert_int_equal(ebee_add_pid(ebee, 0, 0x3ffffff), -ESRCH);
	assert_int_equal(ebee_add_port(ebee, 0, 0), -EINVAL);
}

static int open_handle(void **state)
{
	(void)state;
	return open_handle_with(NULL);
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
		cmocka_unit_test(requests_without_an_answer_are_in_flight_with_their_age),
		cmocka_unit_test(a_connection_without_bytes_is_no_request),
		cmocka_unit_test(connections_open_before_the_attach_are_measured),
		cmocka_unit_test(a_listener_opened_by_a_later_child_is_followed),
		cmocka_unit_test(what_a_server_asks_of_others_is_not_its_service),
		cmocka_unit_test(a_slow_reader_of_one_large_send_is_not_owed),
		cmocka_unit_test(a_slow_reader_of_many_sends_is_not_owed),
		cmocka_unit_test(per_connection_a_handshake_is_part_of_the_request),
		cmocka_unit_test(bytes_sent_unasked_are_declared),
		cmocka_unit_test(an_empty_window_says_no_data),
		cmocka_unit_test(bad_arguments_are_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, open_handle, close_handle);
}
