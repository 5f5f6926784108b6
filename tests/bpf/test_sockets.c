// SPDX-License-Identifier: GPL-2.0
/*
 * test_sockets.c - libebee on sockets that are not plain TCP with plain reads.  Skips without the rights.
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

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

static struct ebee_window *window;
static struct ebee_window_info info;

static void serve_5ms(int fd)
{
	char buf[MESSAGE];

	while (read_all(fd, buf, MESSAGE)) {
		sleep_us(5000);
		write_all(fd, buf, MESSAGE);
	}
}

/* Every test has the handle's one service to itself. */
static void observe(pid_t pid)
{
	assert_int_equal(ebee_add_pid(ebee, 0, pid), 0);
	assert_int_equal(ebee_seed(ebee), 0);
	assert_int_equal(ebee_window_open(&window, ebee, 0), 0);
}

static void read_window(void)
{
	sleep_us(20000);
	ebee_set_settle(ebee, 0);
	assert_int_equal(ebee_sweep(ebee), 0);
	ebee_set_settle(ebee, 500000000);
	assert_int_equal(ebee_window_advance(window, &info), 0);
}

static void forget(pid_t pid)
{
	server_stop(pid);
	ebee_window_close(window);
	window = NULL;
	assert_int_equal(ebee_remove(ebee, 0), 0);
}

static void assert_about_5ms(void)
{
	uint64_t p50;

	assert_int_equal(ebee_window_percentile(window, EBEE_OWED, 500, &p50), 0);
	assert_in_range(p50 / 1000, 4960, client_us(500) + client_us(500) / 50);
}

static void exchange_many(int fd, int nr)
{
	nr_seen = 0;
	for (int i = 0; i < nr; i++)
		assert_true(exchange_once(fd));
}

static void unix_connections_of_a_known_listener_are_measured_from_arrival(void **state)
{
	int listener, fd;
	pid_t pid;

	(void)state;
	NEEDS_BPF();
	listener = unix_socket("ebee-test-known", true);
	pid = server_start(listener, serve_5ms);
	observe(pid);
	fd = unix_socket("ebee-test-known", false);
	exchange_many(fd, 20);
	read_window();
	assert_int_equal(info.nr_completed, 20);
	assert_int_equal(info.coverage.nr_no_arrival, 0);
	assert_about_5ms();
	close(fd);
	close(listener);
	forget(pid);
}

static void unix_connections_open_before_are_measured(void **state)
{
	int listener, fd;
	pid_t pid;

	(void)state;
	NEEDS_BPF();
	listener = unix_socket("ebee-test-open", true);
	pid = server_start(listener, serve_5ms);
	fd = unix_socket("ebee-test-open", false);
	exchange_many(fd, 2);
	observe(pid);
	exchange_many(fd, 20);
	read_window();
	assert_int_equal(info.nr_completed, 20);
	assert_about_5ms();
	close(fd);
	close(listener);
	forget(pid);
}

static void a_unix_listener_made_later_is_known_from_its_first_read_on(void **state)
{
	int pipes[2], fd, listener;
	pid_t pid;
	char go;

	(void)state;
	NEEDS_BPF();
	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(pipes[0], &go, 1) != 1)
			_exit(1);
		listener = unix_socket("ebee-test-later", true);
		for (;;)
			serve_5ms(accept(listener, NULL, NULL));
	}
	observe(pid);
	assert_int_equal(write(pipes[1], "g", 1), 1);
	sleep_us(100000);
	fd = unix_socket("ebee-test-later", false);
	exchange_many(fd, 20);
	read_window();
	assert_int_equal(info.nr_completed, 20);
	assert_int_equal(info.coverage.nr_no_arrival, 1);
	assert_about_5ms();
	close(fd);
	forget(pid);
	close(pipes[0]);
	close(pipes[1]);
}

static void a_unix_client_that_leaves_ends_its_exchange(void **state)
{
	int listener;
	pid_t pid;

	(void)state;
	NEEDS_BPF();
	listener = unix_socket("ebee-test-leave", true);
	pid = server_start(listener, serve_5ms);
	observe(pid);
	for (int i = 0; i < 10; i++) {
		int fd = unix_socket("ebee-test-leave", false);

		exchange_many(fd, 1);
		close(fd);
	}
	sleep_us(50000);
	/* No sweep: the end that the server read must have ended them. */
	assert_int_equal(ebee_window_advance(window, &info), 0);
	assert_int_equal(info.nr_completed, 10);
	assert_int_equal(info.coverage.nr_aborted, 0);
	close(listener);
	forget(pid);
}

static void serve_one(int fd)
{
	char buf[MESSAGE];

	if (read_all(fd, buf, MESSAGE)) {
		sleep_us(5000);
		write_all(fd, buf, MESSAGE);
	}
}

static void a_unix_server_that_closes_first_loses_nothing(void **state)
{
	int listener, i;
	pid_t pid;

	(void)state;
	NEEDS_BPF();
	listener = unix_socket("ebee-test-close", true);
	pid = server_start(listener, serve_one);
	observe(pid);
	nr_seen = 0;
	for (i = 0; i < 30; i++) {
		int fd = unix_socket("ebee-test-close", false);
		char end;

		assert_true(exchange_once(fd));
		assert_int_equal(read(fd, &end, 1), 0);
		close(fd);
	}
	read_window();
	assert_int_equal(info.nr_completed, 30);
	assert_int_equal(info.nr_in_flight, 0);
	assert_about_5ms();
	close(listener);
	forget(pid);
}

static void serve_nothing(int fd)
{
	char buf[MESSAGE];

	read_all(fd, buf, MESSAGE);
}

static void a_unix_server_that_closes_without_an_answer_aborts(void **state)
{
	char request[MESSAGE] = "request", end;
	int listener, fd;
	pid_t pid;

	(void)state;
	NEEDS_BPF();
	listener = unix_socket("ebee-test-abort", true);
	pid = server_start(listener, serve_nothing);
	observe(pid);
	fd = unix_socket("ebee-test-abort", false);
	assert_true(write_all(fd, request, MESSAGE));
	assert_int_equal(read(fd, &end, 1), 0);
	read_window();
	assert_int_equal(info.nr_completed, 0);
	assert_int_equal(info.nr_in_flight, 0);
	assert_int_equal(info.coverage.nr_aborted, 1);
	close(fd);
	close(listener);
	forget(pid);
}

static void a_unix_clients_own_side_is_not_a_service(void **state)
{
	int listener, fd;
	pid_t pid;

	(void)state;
	NEEDS_BPF();
	listener = unix_socket("ebee-test-client", true);
	pid = server_start(listener, serve_5ms);
	observe(getpid()); /* its children are the server, too: count once, on the accepted side */
	fd = unix_socket("ebee-test-client", false);
	exchange_many(fd, 5);
	read_window();
	assert_int_equal(info.nr_completed, 5);
	close(fd);
	close(listener);
	forget(pid);
}

static void serve_by_splice(int fd)
{
	char buf[MESSAGE];
	int pipes[2];

	if (pipe(pipes))
		return;
	while (splice(fd, NULL, pipes[1], NULL, MESSAGE, 0) == MESSAGE) {
		sleep_us(5000);
		if (!read_all(pipes[0], buf, MESSAGE) || !write_all(fd, buf, MESSAGE))
			return;
	}
}

static void a_request_read_by_splice_is_found_by_its_answer(void **state)
{
	uint16_t port;
	int listener, fd;
	pid_t pid;

	(void)state;
	NEEDS_BPF();
	listener = listen_any(&port);
	pid = server_start(listener, serve_by_splice);
	observe(pid);
	fd = connect_to(port);
	exchange_many(fd, 20);
	read_window();
	assert_int_equal(info.nr_completed, 20);
	assert_int_equal(info.coverage.nr_unseen_read, 20);
	assert_int_equal(info.coverage.nr_unmatched, 0);
	assert_about_5ms();
	close(fd);
	close(listener);
	forget(pid);
}

/* The answer's hook may be as late, and finds the next arrival there already. */
static void a_request_that_comes_before_the_answer_of_a_spliced_one_is_another(void **state)
{
	char buf[MESSAGE] = "request";
	uint16_t port;
	int listener, fd;
	pid_t pid;

	(void)state;
	NEEDS_BPF();
	listener = listen_any(&port);
	pid = server_start(listener, serve_by_splice);
	observe(pid);
	fd = connect_to(port);
	for (int i = 0; i < 5; i++) {
		assert_true(write_all(fd, buf, MESSAGE));
		sleep_us(2500); /* half of what it takes */
		assert_true(write_all(fd, buf, MESSAGE));
		assert_true(read_all(fd, buf, MESSAGE) && read_all(fd, buf, MESSAGE));
	}
	read_window();
	assert_int_equal(info.nr_completed, 10);
	assert_int_equal(info.coverage.nr_unseen_read, 10);
	assert_int_equal(info.coverage.nr_unmatched, 0);
	close(fd);
	close(listener);
	forget(pid);
}

static void datagrams_are_declared(void **state)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int server = socket(AF_INET, SOCK_DGRAM, 0), client = socket(AF_INET, SOCK_DGRAM, 0);
	char buf[MESSAGE] = "datagram";
	pid_t pid;

	(void)state;
	NEEDS_BPF();
	if (strstr(ebee_features(ebee), "read=fexit")) {
		print_message("# reads of UDP are seen by the tracepoints of 6.4 only\n");
		skip();
	}
	assert_int_equal(bind(server, (struct sockaddr *)&address, size), 0);
	assert_int_equal(getsockname(server, (struct sockaddr *)&address, &size), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			ssize_t n = recvfrom(server, buf, MESSAGE, 0, (struct sockaddr *)&address, &size);

			sendto(server, buf, (size_t)n, 0, (struct sockaddr *)&address, size);
		}
	}
	observe(pid);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(sendto(client, buf, MESSAGE, 0, (struct sockaddr *)&address, size), MESSAGE);
		assert_int_equal(recv(client, buf, MESSAGE, 0), MESSAGE);
	}
	read_window();
	assert_int_equal(info.nr_completed, 0);
	assert_int_equal(info.coverage.nr_datagram, 10);
	close(client);
	close(server);
	forget(pid);
}

static void multipath_tcp_is_measured_on_the_connection_not_its_subflows(void **state)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int listener, fd;
	pid_t pid;

	(void)state;
	NEEDS_BPF();
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_MPTCP);
	if (listener < 0) {
		print_message("# this kernel has no Multipath TCP\n");
		skip();
	}
	if (strstr(ebee_features(ebee), "read=fexit")) {
		print_message("# reads and writes of Multipath TCP need the tracepoints of 6.4\n");
		close(listener);
		skip();
	}
	assert_int_equal(bind(listener, (struct sockaddr *)&address, size) | listen(listener, 16), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	pid = server_start(listener, serve_5ms);
	observe(pid);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_MPTCP);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, size), 0);
	exchange_many(fd, 20);
	read_window();
	assert_int_equal(info.nr_completed, 20);
	assert_int_equal(info.nr_in_flight, 0);
	assert_about_5ms();
	close(fd);
	/* A client without it: the connection is a plain one, from the listener underneath. */
	fd = connect_to(ntohs(address.sin_port));
	exchange_many(fd, 20);
	read_window();
	assert_int_equal(info.nr_completed, 20);
	assert_about_5ms();
	close(fd);
	close(listener);
	forget(pid);
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
		cmocka_unit_test(unix_connections_of_a_known_listener_are_measured_from_arrival),
		cmocka_unit_test(unix_connections_open_before_are_measured),
		cmocka_unit_test(a_unix_listener_made_later_is_known_from_its_first_read_on),
		cmocka_unit_test(a_unix_client_that_leaves_ends_its_exchange),
		cmocka_unit_test(a_unix_server_that_closes_first_loses_nothing),
		cmocka_unit_test(a_unix_server_that_closes_without_an_answer_aborts),
		cmocka_unit_test(a_unix_clients_own_side_is_not_a_service),
		cmocka_unit_test(a_request_read_by_splice_is_found_by_its_answer),
		cmocka_unit_test(a_request_that_comes_before_the_answer_of_a_spliced_one_is_another),
		cmocka_unit_test(datagrams_are_declared),
		cmocka_unit_test(multipath_tcp_is_measured_on_the_connection_not_its_subflows),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, open_handle, close_handle);
}
