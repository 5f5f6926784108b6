// SPDX-License-Identifier: GPL-2.0
/*
 * test_grpc_life.c - calls of gRPC that take their time, and libraries that come, go, or are not there.
 * waits: yes
 */
#include "bpf/grpc_server.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>

/* ---- in flight --------------------------------------------------------------------------------------------------- */

static void serve_slowly(int fd)
{
	char buf[MESSAGE];

	while (read_all(fd, buf, MESSAGE)) {
		begin(streams);
		half_close(streams);
		write_fn(&transport, streams);
		sleep_us(950000);
		write_fn(&transport, streams);
		write_fn(&transport, streams);
		write_all(fd, buf, MESSAGE);
		end(streams, &status_ok);
	}
}

static void a_slow_call_is_seen_while_it_runs_and_counts_in_the_end(void **state)
{
	char buf[MESSAGE] = "";
	struct observed o;
	int fd;

	(void)state;
	NEEDS_BPF();
	observe_start(&o, serve_slowly);
	fd = connect_to(o.port);
	assert_true(write_all(fd, buf, MESSAGE));
	sleep_us(550000);
	observe_read(&o);
	assert_int_equal(o.info.nr_arrived, 1);
	assert_int_equal(o.info.nr_completed, 0);
	assert_int_equal(o.info.nr_in_flight, 1);
	assert_int_equal(o.info.nr_waiting, 0);
	assert_int_equal(o.info.nr_over_target, 1);
	assert_true(o.info.oldest_ns > 500000000);
	assert_true(read_all(fd, buf, MESSAGE));
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 1);
	assert_int_equal(o.info.nr_in_flight, 0);
	assert_int_equal(o.info.coverage.nr_long_lived, 0);
	assert_true(percentile_us(&o, EBEE_OWED, 1000) > 940000);
	close(fd);
	observe_stop(&o);
}

static void serve_messages(int fd)
{
	char buf[MESSAGE];
	int i;

	while (read_all(fd, buf, MESSAGE)) {
		begin(streams);
		half_close(streams);
		for (i = 0; i < 150; i++) {
			write_fn(&transport, streams);
			write_all(fd, buf, 1);
			sleep_us(10000);
		}
		write_all(fd, buf, MESSAGE);
		end(streams, &status_ok);
	}
}

static void a_stream_of_messages_is_one_long_lived_call_and_no_latency(void **state)
{
	char buf[MESSAGE + 150] = "";
	struct observed o;
	int fd;

	(void)state;
	NEEDS_BPF();
	observe_start(&o, serve_messages);
	fd = connect_to(o.port);
	assert_true(write_all(fd, buf, MESSAGE));
	sleep_us(700000);
	observe_read(&o); /* old enough to be counted */
	sleep_us(200000);
	observe_read(&o); /* and recognised */
	assert_int_equal(o.info.nr_in_flight, 0);
	assert_true(read_all(fd, buf, MESSAGE + 150));
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 0);
	assert_int_equal(o.info.coverage.nr_long_lived, 1);
	assert_int_equal(o.info.coverage.nr_aborted, 0);
	close(fd);
	observe_stop(&o);
}

/* The first call makes the library look at writes; the second begins its answer and leaves it open. */
static void serve_and_leave_open(int fd)
{
	char buf[MESSAGE];

	read_all(fd, buf, MESSAGE);
	begin(streams);
	sleep_us(600000);
	write_all(fd, buf, MESSAGE);
	end(streams, &status_ok);
	read_all(fd, buf, MESSAGE);
	begin(streams);
	half_close(streams);
	write_fn(&transport, streams);
	sleep_us(1200000);
	write_all(fd, buf, MESSAGE);
	end(streams, &status_ok);
	read_all(fd, buf, MESSAGE);
}

static void an_answer_that_is_begun_and_stays_open_is_a_stream(void **state)
{
	char buf[MESSAGE] = "";
	struct observed o;
	int fd;

	(void)state;
	NEEDS_BPF();
	observe_start(&o, serve_and_leave_open);
	fd = connect_to(o.port);
	assert_true(write_all(fd, buf, MESSAGE));
	sleep_us(150000);
	observe_read(&o);
	assert_true(read_all(fd, buf, MESSAGE));
	assert_true(exchange_once(fd));
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 1);
	assert_int_equal(o.info.coverage.nr_long_lived, 1);
	assert_true(percentile_us(&o, EBEE_OWED, 1000) < 1100000);
	close(fd);
	observe_stop(&o);
}

static void serve_nothing(int fd)
{
	(void)fd;
	sleep_us(10000000);
}

static void a_server_that_hangs_before_it_reads_is_not_idle(void **state)
{
	char buf[MESSAGE] = "";
	struct observed o;
	int fd, i;

	(void)state;
	NEEDS_BPF();
	observe_start(&o, serve_nothing);
	fd = connect_to(o.port);
	assert_true(write_all(fd, buf, MESSAGE));
	observe_read(&o);
	assert_int_equal(o.info.nr_in_flight, 0); /* too short for a request */
	for (i = 0; i < 3; i++)
		assert_true(write_all(fd, buf, MESSAGE));
	observe_read(&o);
	assert_int_equal(o.info.nr_in_flight, 1);
	assert_int_equal(o.info.nr_waiting, 1);
	assert_int_equal(o.info.nr_over_target, 1);
	close(fd);
	observe_stop(&o);
}

static void serve_and_die(int fd)
{
	char buf[MESSAGE];

	read_all(fd, buf, MESSAGE);
	begin(streams);
	begin(&streams[1]);
	read_all(fd, buf, MESSAGE);
}

static void calls_of_a_process_that_dies_are_aborted(void **state)
{
	char buf[MESSAGE] = "";
	struct observed o;
	int fd;

	(void)state;
	NEEDS_BPF();
	observe_start(&o, serve_and_die);
	fd = connect_to(o.port);
	assert_true(write_all(fd, buf, MESSAGE));
	observe_read(&o);
	assert_int_equal(o.info.nr_in_flight, 2);
	assert_true(write_all(fd, buf, MESSAGE));
	assert_int_equal(read(fd, buf, 1), 0);
	observe_read(&o);
	assert_int_equal(o.info.nr_in_flight, 0);
	assert_int_equal(o.info.coverage.nr_aborted, 2);
	close(fd);
	observe_stop(&o);
}

/* ---- libraries --------------------------------------------------------------------------------------------------- */

static void serve_without_the_library(int fd)
{
	char buf[MESSAGE];

	while (read_all(fd, buf, MESSAGE))
		write_all(fd, buf, MESSAGE);
}

static void probes_that_are_never_hit_are_reported(void **state)
{
	struct observed o;
	int fd, i;

	(void)state;
	NEEDS_BPF();
	observe_start(&o, serve_without_the_library);
	fd = connect_to(o.port);
	for (i = 0; i < 5; i++)
		assert_true(exchange_once(fd));
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 0);
	assert_int_equal(o.info.coverage.nr_unprobed, 5);
	assert_int_equal(o.info.coverage.nr_unmatched, 0);
	close(fd);
	observe_stop(&o);
}

static void a_service_of_another_lifecycle_is_counted_by_its_sockets_alone(void **state)
{
	struct observed o, other;
	int fd, i;

	(void)state;
	NEEDS_BPF();
	observe_start(&o, serve_2ms);
	observe_start(&other, serve_ten_at_once);
	assert_int_equal(ebee_set_lifecycle(ebee, other.service, EBEE_EXCHANGE), 0);
	fd = connect_to(other.port);
	for (i = 0; i < 10; i++)
		assert_true(exchange_once(fd));
	close(fd);
	observe_read(&other);
	assert_int_equal(other.info.nr_completed, 10);
	observe_read(&o);
	assert_int_equal(o.info.nr_arrived, 0);
	observe_stop(&other);
	observe_stop(&o);
}

static void a_program_without_the_library_is_named(void **state)
{
	char program[PATH_MAX]; /* a link in some systems */
	pid_t pid;
	int err;

	(void)state;
	assert_non_null(realpath("/bin/sleep", program));
	pid = fork();
	if (pid == 0) {
		execl("/bin/sleep", "sleep", "10", NULL);
		_exit(1);
	}
	sleep_us(100000);
	if (!ebee) {
		server_stop(pid);
		skip();
	}
	assert_int_equal(ebee_set_lifecycle(ebee, next_service, EBEE_GRPC), 0);
	assert_int_equal(ebee_add_pid(ebee, next_service, pid), 0);
	err = ebee_seed(ebee);
	server_stop(pid);
	assert_int_equal(err, -ENOTSUP);
	assert_non_null(strstr(ebee_error(ebee), program));
	assert_int_equal(ebee_remove(ebee, next_service++), 0);
}

/* This program serves as a library that is loaded late: it replaces a shell. */
static void serve_late_in(int listener)
{
	serve_2ms(accept(listener, NULL, NULL));
}

static void a_library_that_comes_later_is_found(void **state)
{
	struct observed o = { 0 };
	char self[PATH_MAX] = "", fd_text[16];
	int fd, i;

	(void)state;
	NEEDS_BPF();
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	o.service = next_service++;
	o.listener = listen_any(&o.port);
	snprintf(fd_text, sizeof(fd_text), "%d", o.listener);
	o.pid = fork();
	if (o.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fcntl(o.listener, F_SETFD, 0);
		execl("/bin/sh", "sh", "-c", "sleep 0.3; exec \"$0\" --serve \"$1\"", self, fd_text, NULL);
		_exit(1);
	}
	sleep_us(100000);
	assert_int_equal(ebee_set_lifecycle(ebee, o.service, EBEE_GRPC), 0);
	assert_int_equal(ebee_add_pid(ebee, o.service, o.pid), 0);
	assert_int_equal(ebee_seed(ebee), -ENOTSUP);
	assert_int_equal(ebee_window_open(&o.window, ebee, o.service), 0);
	sleep_us(600000);
	observe_read(&o);
	fd = connect_to(o.port);
	for (i = 0; i < 5; i++)
		assert_true(exchange_once(fd));
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 5);
	close(fd);
	observe_stop(&o);
}

/* Probes are links that this process holds. */
static unsigned int nr_probes(void)
{
	DIR *dir = opendir("/proc/self/fdinfo");
	struct dirent *entry;
	unsigned int nr = 0;

	while ((entry = readdir(dir))) {
		char path[300], line[128];
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/fdinfo/%s", entry->d_name);
		f = fopen(path, "re");
		while (f && fgets(line, sizeof(line), f))
			nr += !strcmp(line, "link_type:\tuprobe_multi\n") || !strcmp(line, "link_type:\tperf\n");
		if (f)
			fclose(f);
	}
	closedir(dir);
	return nr;
}

static void probes_leave_with_the_last_service_that_uses_the_file(void **state)
{
	struct observed o, second;

	(void)state;
	NEEDS_BPF();
	assert_int_equal(nr_probes(), 0);
	observe_start(&o, serve_2ms);
	if (!nr_probes())
		skip(); /* before 5.15 a probe is no link */
	assert_int_equal(nr_probes(), 2);
	observe_start(&second, serve_2ms);
	assert_int_equal(nr_probes(), 2);
	observe_stop(&o);
	assert_int_equal(nr_probes(), 2);
	observe_stop(&second);
	assert_int_equal(nr_probes(), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slow_call_is_seen_while_it_runs_and_counts_in_the_end),
		cmocka_unit_test(a_stream_of_messages_is_one_long_lived_call_and_no_latency),
		cmocka_unit_test(an_answer_that_is_begun_and_stays_open_is_a_stream),
		cmocka_unit_test(a_server_that_hangs_before_it_reads_is_not_idle),
		cmocka_unit_test(calls_of_a_process_that_dies_are_aborted),
		cmocka_unit_test(probes_that_are_never_hit_are_reported),
		cmocka_unit_test(a_service_of_another_lifecycle_is_counted_by_its_sockets_alone),
		cmocka_unit_test(a_program_without_the_library_is_named),
		cmocka_unit_test(a_library_that_comes_later_is_found),
		cmocka_unit_test(probes_leave_with_the_last_service_that_uses_the_file),
	};

	if (argc == 3 && !strcmp(argv[1], "--serve")) {
		serve_late_in(atoi(argv[2]));
		return 0;
	}
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, open_library, close_handle);
}
