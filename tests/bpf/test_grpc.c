// SPDX-License-Identifier: GPL-2.0
/*
 * test_grpc.c - the lifecycle of gRPC calls, against servers that call functions named as gRPC's at known times.  A probe
 * knows no more of a library than names and arguments.  tests/live/grpc.sh has the library itself.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>

#include "bpf/server.h"
#include "ebee.h"

static struct ebee *ebee;
static char error[256];

#define NEEDS_BPF()                                                                                                    \
	do {                                                                                                           \
		if (!ebee) {                                                                                           \
			print_message("# %s\n", error);                                                                \
			skip();                                                                                        \
		}                                                                                                      \
	} while (0)

/* ---- a library ---------------------------------------------------------------------------------------------------- */

void make_stream(void *stream, void *transport, void *refcount, void *server_data)
	__asm__("_ZN18grpc_chttp2_streamC1EP21grpc_chttp2_transport_of_a_test");
void close_stream(void *a, void *b, void *c, uintptr_t d, uintptr_t e, void *f)
	__asm__("_Z30grpc_chttp2_mark_stream_closedP21grpc_chttp2_transport_of_a_test");
void write_stream(void *transport, void *stream)
	__asm__("_Z32grpc_chttp2_mark_stream_writableP21grpc_chttp2_transport_of_a_test");

__attribute__((noinline)) void make_stream(void *stream, void *transport, void *refcount, void *server_data)
{
	__asm__ volatile("" : : "r"(stream), "r"(transport), "r"(refcount), "r"(server_data) : "memory");
}

__attribute__((noinline)) void close_stream(void *a, void *b, void *c, uintptr_t d, uintptr_t e, void *f)
{
	__asm__ volatile("" : : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e), "r"(f) : "memory");
}

__attribute__((noinline)) void write_stream(void *transport, void *stream)
{
	__asm__ volatile("" : : "r"(transport), "r"(stream) : "memory");
}

/* Through pointers no compiler sees through, so that all arguments are passed. */
static void (*volatile make_fn)(void *, void *, void *, void *) = make_stream;
static void (*volatile close_fn)(void *, void *, void *, uintptr_t, uintptr_t, void *) = close_stream;
static void (*volatile write_fn)(void *, void *) = write_stream;

static uint64_t status_ok = 1, status_cancelled = 5;
static char transport, streams[16];

static void begin(void *stream)
{
	make_fn(stream, &transport, NULL, (void *)1);
}

static void half_close(void *stream)
{
	close_fn(&transport, stream, (void *)1, 0, (uintptr_t)&status_ok, NULL);
}

static void end(void *stream, uint64_t *status)
{
	close_fn(&transport, stream, (void *)1, 1, (uintptr_t)status, NULL);
}

/* ---- one observed server ------------------------------------------------------------------------------------------ */

struct observed {
	unsigned int service;
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
	o->service = next_service++;
	o->listener = listen_any(&o->port);
	o->pid = server_start(o->listener, serve);
	assert_int_equal(ebee_set_lifecycle(ebee, o->service, EBEE_GRPC), 0);
	assert_int_equal(ebee_set_target(ebee, o->service, 10000000), 0);
	assert_int_equal(ebee_add_pid(ebee, o->service, o->pid), 0);
	if (ebee_seed(ebee))
		fail_msg("%s", ebee_error(ebee));
	assert_int_equal(ebee_window_open(&o->window, ebee, o->service), 0);
}

static void observe_read(struct observed *o)
{
	sleep_us(20000);
	assert_int_equal(ebee_sweep(ebee), 0);
	assert_int_equal(ebee_window_advance(o->window, &o->info), 0);
}

static void observe_stop(struct observed *o)
{
	ebee_window_close(o->window);
	assert_int_equal(ebee_remove(ebee, o->service), 0);
	server_stop(o->pid);
	close(o->listener);
}

static uint64_t percentile_us(const struct observed *o, enum ebee_latency which, unsigned int permille)
{
	uint64_t ns;

	assert_int_equal(ebee_window_percentile(o->window, which, permille, &ns), 0);
	return ns / 1000;
}

/* Between what was asked of the server and what its client saw. */
static void assert_between_us(uint64_t got, uint64_t asked, uint64_t client)
{
	if (got * 1000 < asked * 992 || got * 1000 > client * 1016)
		fail_msg("%llu us, asked for %llu us, the client saw %llu us", (unsigned long long)got,
			 (unsigned long long)asked, (unsigned long long)client);
}

/* ---- calls -------------------------------------------------------------------------------------------------------- */

static void serve_2ms(int fd)
{
	char buf[MESSAGE];

	while (read_all(fd, buf, MESSAGE)) {
		begin(streams);
		half_close(streams);
		sleep_us(2000);
		write_all(fd, buf, MESSAGE);
		end(streams, &status_ok);
	}
}

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

static void serve_ten_at_once(int fd)
{
	char buf[MESSAGE];
	int i;

	while (read_all(fd, buf, MESSAGE)) {
		for (i = 0; i < 10; i++)
			begin(&streams[i]);
		sleep_us(2000);
		write_all(fd, buf, MESSAGE);
		for (i = 0; i < 10; i++)
			end(&streams[i], &status_ok);
	}
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

/* ---- waiting ------------------------------------------------------------------------------------------------------ */

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

/* ---- in flight ---------------------------------------------------------------------------------------------------- */

static void serve_slowly(int fd)
{
	char buf[MESSAGE];

	while (read_all(fd, buf, MESSAGE)) {
		begin(streams);
		half_close(streams);
		write_fn(&transport, streams);
		sleep_us(700000);
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
	sleep_us(600000);
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
	assert_true(percentile_us(&o, EBEE_OWED, 1000) > 693000);
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
	sleep_us(250000);
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
	assert_true(percentile_us(&o, EBEE_OWED, 1000) < 600000);
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

/* ---- libraries ---------------------------------------------------------------------------------------------------- */

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
			nr += !strncmp(line, "link_type:\tperf", 15);
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

static int open_library(void **state)
{
	const struct ebee_opts opts = { .sz = sizeof(opts), .long_ns = 1000000000 };

	(void)state;
	ebee_open(&ebee, &opts, error, sizeof(error));
	return 0;
}

static int close_library(void **state)
{
	(void)state;
	ebee_close(ebee);
	return 0;
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
		cmocka_unit_test(an_arrival_that_may_be_another_requests_is_not_taken),
		cmocka_unit_test(a_slow_uploader_owns_its_time),
		cmocka_unit_test(a_slow_call_is_seen_while_it_runs_and_counts_in_the_end),
		cmocka_unit_test(a_stream_of_messages_is_one_long_lived_call_and_no_latency),
		cmocka_unit_test(an_answer_that_is_begun_and_stays_open_is_a_stream),
		cmocka_unit_test(a_server_that_hangs_before_it_reads_is_not_idle),
		cmocka_unit_test(calls_of_a_process_that_dies_are_aborted),
		cmocka_unit_test(probes_that_are_never_hit_are_reported),
		cmocka_unit_test(a_service_of_another_lifecycle_is_counted_by_its_sockets_alone),
		cmocka_unit_test(a_program_without_the_library_is_named),
		cmocka_unit_test(probes_leave_with_the_last_service_that_uses_the_file),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, open_library, close_library);
}
