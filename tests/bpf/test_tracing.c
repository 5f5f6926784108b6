// SPDX-License-Identifier: GPL-2.0
/*
 * test_tracing.c - the per-request interface of libebee, by pid.  Skips without the rights.
 * waits: yes
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>

#include "bpf/handle.h"
#include "bpf/server.h"

enum { RATE_MS = 3000, SPAN_MS = 5000 }; /* long enough for a busy machine */

static void serve_20ms(int fd)
{
	char buf[MESSAGE];

	while (read_all(fd, buf, MESSAGE)) {
		sleep_us(20000);
		write_all(fd, buf, MESSAGE);
	}
}

static void serve_at_once(int fd)
{
	char buf[MESSAGE];

	while (read_all(fd, buf, MESSAGE))
		write_all(fd, buf, MESSAGE);
}

static void latencies_of_a_process_are_those_of_its_requests(void **state)
{
	uint64_t p50, mean, latest, dropped;
	uint16_t port;
	int listener, fd;
	double rps;
	pid_t pid;

	(void)state;
	NEEDS_BPF();
	listener = listen_any(&port);
	pid = server_start(listener, serve_20ms);
	assert_int_equal(ebee_start_tracing(ebee, pid), 0);
	assert_int_equal(ebee_start_tracing(ebee, pid), -EEXIST);
	assert_int_equal(ebee_get_latency_percentile(ebee, pid, 50, &p50), -ENODATA);
	fd = connect_to(port);
	for (int i = 0; i < 20; i++)
		assert_true(exchange_once(fd));
	/* The last one is over when the sweep has seen it settled (100 ms here), the others are at once. */
	assert_int_equal(ebee_get_latency_percentile(ebee, pid, 50, &p50), 0);
	assert_int_equal(ebee_get_average_latency(ebee, pid, &mean), 0);
	assert_int_equal(ebee_get_latest_latency(ebee, pid, &latest), 0);
	assert_in_range(p50, 20000000, 200000000);
	assert_in_range(mean, 20000000, 200000000);
	assert_in_range(latest, 20000000, 400000000);
	assert_int_equal(ebee_get_rps(ebee, pid, &rps), 0);
	assert_true(rps >= 2);
	assert_int_equal(ebee_get_dropped(ebee, pid, &dropped), 0);
	assert_int_equal(dropped, 0);

	/* The load stops: the rate is zero within its window, and the percentile has no data within its span. */
	sleep_us(RATE_MS * 1000 + 300000);
	assert_int_equal(ebee_get_rps(ebee, pid, &rps), 0);
	assert_true(rps <= 0);
	sleep_us((SPAN_MS - RATE_MS) * 1000);
	assert_int_equal(ebee_get_latency_percentile(ebee, pid, 50, &p50), -ENODATA);

	close(fd);
	assert_int_equal(ebee_stop_tracing(ebee, pid), 0);
	assert_int_equal(ebee_stop_tracing(ebee, pid), -ESRCH);
	server_stop(pid);
	close(listener);
}

static void a_stopped_process_is_measured_no_more_and_may_be_started_again(void **state)
{
	uint16_t port;
	int listener, fd;
	double rps;
	pid_t pid;

	(void)state;
	NEEDS_BPF();
	listener = listen_any(&port);
	pid = server_start(listener, serve_at_once);
	assert_int_equal(ebee_start_tracing(ebee, pid), 0);
	fd = connect_to(port);
	assert_true(exchange_once(fd) && exchange_once(fd));
	assert_int_equal(ebee_stop_tracing(ebee, pid), 0);
	assert_true(exchange_once(fd) && exchange_once(fd));
	assert_int_equal(ebee_get_rps(ebee, pid, &rps), -ESRCH);
	assert_int_equal(ebee_start_tracing(ebee, pid), 0);
	assert_int_equal(ebee_get_rps(ebee, pid, &rps), 0);
	assert_true(rps <= 0);
	/* The connection is older than this tracing. */
	for (int i = 0; i < 5; i++)
		assert_true(exchange_once(fd));
	sleep_us(400000);
	assert_int_equal(ebee_get_rps(ebee, pid, &rps), 0);
	assert_int_equal(rps * RATE_MS / 1000 + 0.5, 5);
	close(fd);
	assert_int_equal(ebee_stop_tracing(ebee, pid), 0);
	server_stop(pid);
	close(listener);
}

static void a_vanished_process_has_no_data(void **state)
{
	uint64_t ns;
	uint16_t port;
	int listener;
	pid_t pid;

	(void)state;
	NEEDS_BPF();
	listener = listen_any(&port);
	pid = server_start(listener, serve_at_once);
	assert_int_equal(ebee_start_tracing(ebee, pid), 0);
	server_stop(pid);
	close(listener);
	assert_int_equal(ebee_get_latest_latency(ebee, pid, &ns), -ENODATA);
	assert_int_equal(ebee_stop_tracing(ebee, pid), 0);
	assert_int_equal(ebee_start_tracing(ebee, pid), -ESRCH);
}

static unsigned int nr_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int nr = 0;

	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

static long resident_pages(void)
{
	long size, resident = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (fscanf(f, "%ld %ld", &size, &resident) != 2)
		resident = 0;
	fclose(f);
	return resident;
}

static void a_thousand_starts_and_stops_leave_nothing_behind(void **state)
{
	unsigned int descriptors;
	uint16_t port;
	int listener;
	long pages;
	pid_t pid;

	(void)state;
	NEEDS_BPF();
	listener = listen_any(&port);
	pid = server_start(listener, serve_at_once);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(ebee_start_tracing(ebee, pid), 0);
		assert_int_equal(ebee_stop_tracing(ebee, pid), 0);
	}
	descriptors = nr_descriptors();
	pages = resident_pages();
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(ebee_start_tracing(ebee, pid), 0);
		assert_int_equal(ebee_stop_tracing(ebee, pid), 0);
	}
	assert_int_equal(nr_descriptors(), descriptors);
	assert_true(resident_pages() < pages + 64);
	server_stop(pid);
	close(listener);
}

struct asker {
	pthread_t thread;
	pid_t pid;
	int failures;
};

static void *start_ask_stop(void *arg)
{
	struct asker *a = arg;

	for (int i = 0; i < 50; i++) {
		uint64_t ns;
		double rps;
		int err;

		a->failures += ebee_start_tracing(ebee, a->pid) != 0;
		a->failures += ebee_get_rps(ebee, a->pid, &rps) != 0;
		err = ebee_get_latency_percentile(ebee, a->pid, 99, &ns);
		a->failures += err && err != -ENODATA;
		a->failures += ebee_stop_tracing(ebee, a->pid) != 0;
	}
	return NULL;
}

static void threads_may_start_ask_and_stop_at_any_time(void **state)
{
	struct asker askers[4] = { 0 };
	uint16_t port;
	int listener, fd;

	(void)state;
	NEEDS_BPF();
	listener = listen_any(&port);
	for (int i = 0; i < 4; i++)
		askers[i].pid = server_start(listener, serve_at_once);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&askers[i].thread, NULL, start_ask_stop, &askers[i]), 0);
	fd = connect_to(port);
	for (int i = 0; i < 2000; i++)
		assert_true(exchange_once(fd));
	for (int i = 0; i < 4; i++) {
		pthread_join(askers[i].thread, NULL);
		assert_int_equal(askers[i].failures, 0);
		server_stop(askers[i].pid);
	}
	close(fd);
	close(listener);
}

static void a_handle_without_a_ring_traces_nothing(void **state)
{
	struct ebee *plain;
	double rps;

	(void)state;
	NEEDS_BPF();
	assert_int_equal(ebee_open(&plain, NULL, NULL, 0), 0);
	assert_int_equal(ebee_start_tracing(plain, getpid()), -EINVAL);
	assert_int_equal(ebee_get_rps(plain, getpid(), &rps), -EINVAL);
	ebee_close(plain);
}

static void a_ring_of_an_odd_size_is_refused(void **state)
{
	const struct ebee_opts opts = { .sz = sizeof(opts), .ring_size = 12345 };
	struct ebee *odd;

	(void)state;
	assert_int_equal(ebee_open(&odd, &opts, error, sizeof(error)), -EINVAL);
	assert_non_null(strstr(error, "ring_size"));
}

static int open_handle(void **state)
{
	const struct ebee_opts opts = {
		.sz = sizeof(opts),
		.nr_services = 8,
		.settle_ns = 100000000,
		.ring_size = EBEE_RING_SIZE,
		.trace_span_ns = SPAN_MS * 1000000ULL,
		.rate_span_ns = RATE_MS * 1000000ULL,
	};

	(void)state;
	return open_handle_with(&opts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(latencies_of_a_process_are_those_of_its_requests),
		cmocka_unit_test(a_stopped_process_is_measured_no_more_and_may_be_started_again),
		cmocka_unit_test(a_vanished_process_has_no_data),
		cmocka_unit_test(a_thousand_starts_and_stops_leave_nothing_behind),
		cmocka_unit_test(threads_may_start_ask_and_stop_at_any_time),
		cmocka_unit_test(a_handle_without_a_ring_traces_nothing),
		cmocka_unit_test(a_ring_of_an_odd_size_is_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, open_handle, close_handle);
}
