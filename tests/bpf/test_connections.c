// SPDX-License-Identifier: GPL-2.0
/*
 * test_connections.c - which connections are a service's, what is in flight on them, and what a window says when there
 * is nothing.  Skips without the rights.
 * waits: yes
 */
#include "bpf/by_port.h"

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
	ebee_set_target(ebee, o.service, 50000000);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_without_an_answer_are_in_flight_with_their_age),
		cmocka_unit_test(a_connection_without_bytes_is_no_request),
		cmocka_unit_test(connections_open_before_the_attach_are_measured),
		cmocka_unit_test(a_listener_opened_by_a_later_child_is_followed),
		cmocka_unit_test(what_a_server_asks_of_others_is_not_its_service),
		cmocka_unit_test(an_empty_window_says_no_data),
		cmocka_unit_test(bad_arguments_are_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, open_handle, close_handle);
}
