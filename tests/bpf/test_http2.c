// SPDX-License-Identifier: GPL-2.0
/*
 * test_http2.c - libebee on HTTP/2 measured by stream, against servers that speak just enough of it, in the running
 * kernel.  Skips without the rights, and on kernels without the hooks after checking that they are named.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>

#include "bpf/frames.h"
#include "bpf/handle.h"

enum { LONG_MS = 400 };

static struct ebee_window *window;
static struct ebee_window_info info;

/* The one server of a test. */
static int listener;
static uint16_t port;
static pid_t pid;

/* Skips on kernels without the hooks, once the reason names one. */
#define NEEDS_STREAMS()                                                                                                \
	do {                                                                                                           \
		NEEDS_BPF();                                                                                           \
		if (ebee_set_lifecycle(ebee, 0, EBEE_HTTP2) == -ENOTSUP) {                                             \
			assert_non_null(strstr(ebee_error(ebee), "this kernel has no"));                               \
			print_message("# %s\n", ebee_error(ebee));                                                     \
			skip();                                                                                        \
		}                                                                                                      \
		if (ebee_error(ebee)[0])                                                                               \
			fail_msg("%s", ebee_error(ebee));                                                              \
	} while (0)

static void start(serve_fn *serve)
{
	NEEDS_STREAMS();
	nr_seen = 0;
	listener = listen_any(&port);
	pid = server_start(listener, serve);
	assert_int_equal(ebee_add_port(ebee, 0, port), 0);
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

static uint64_t percentile_us(enum ebee_latency which, unsigned int permille)
{
	uint64_t ns;

	assert_int_equal(ebee_window_percentile(window, which, permille, &ns), 0);
	return ns / 1000;
}

/* Between what the server was asked to take and what the client saw, give or take half a bucket. */
static void assert_between_us(uint64_t got, uint64_t asked, uint64_t client)
{
	if (got * 1000 < asked * 992 || got * 1000 > client * 1016)
		fail_msg("%llu us, asked for %llu us, the client saw %llu us", (unsigned long long)got,
			 (unsigned long long)asked, (unsigned long long)client);
}

static void assert_nothing_lost(void)
{
	assert_int_equal(info.nr_in_flight, 0);
	assert_int_equal(info.coverage.nr_aborted, 0);
	assert_int_equal(info.coverage.nr_opaque, 0);
	assert_int_equal(info.coverage.nr_multiplexed, 0);
	assert_int_equal(info.coverage.nr_lost, 0);
	assert_int_equal(info.coverage.nr_no_arrival, 0);
	assert_int_equal(info.coverage.nr_unmatched, 0);
}

/* `nr` requests in one write, the first stream being `from`; answers are awaited and their times taken down. */
static void ask_together(int fd, unsigned int nr, uint32_t from)
{
	uint8_t *buf = malloc(nr * 64), *at = buf;
	uint64_t begun;

	for (unsigned int i = 0; i < nr; i++)
		at = h2_put_request(at, from + 2 * i, false);
	begun = clock_us();
	assert_true(h2_send(fd, buf, at));
	free(buf);
	for (unsigned int i = 0; i < nr; i++) {
		assert_true(h2_read_end(fd));
		seen_us[nr_seen++ % MAX_SEEN] = clock_us() - begun;
	}
}

/* ---- many on one connection -------------------------------------------------------------------------------------- */

enum { NR_STREAMS = 100, NR_BATCHES = 10, PER_BATCH = NR_STREAMS / NR_BATCHES, BATCH_US = 20000 };

/* Takes 100 requests and answers ten at a time, the last first, each ten in one sendmsg of twenty-one pieces. */
static void serve_in_batches(int fd)
{
	const uint64_t start_us = h2_welcome(fd) ? clock_us() : 0;
	uint32_t ids[NR_STREAMS];
	uint64_t begun;

	for (int i = 0; i < NR_STREAMS; i++)
		ids[i] = h2_read_end(fd);
	begun = start_us ? clock_us() : 0;
	for (int b = 0; b < NR_BATCHES; b++) {
		uint8_t buf[PER_BATCH * 64 + 32];
		struct iovec pieces[2 * PER_BATCH + 1];
		uint8_t *at = h2_put(buf, F_PING, 0, 0, "12345678", 8);
		struct msghdr msg = { .msg_iov = pieces, .msg_iovlen = 2 * PER_BATCH + 1 };
		uint64_t due = begun + (uint64_t)(b + 1) * BATCH_US, now = clock_us();

		pieces[0] = (struct iovec){ buf, (size_t)(at - buf) };
		for (int i = 0; i < PER_BATCH; i++) {
			uint8_t *answer = at;

			at = h2_put_answer(at, ids[NR_STREAMS - 1 - (b * PER_BATCH + i)]);
			/* Split inside the second header. */
			pieces[2 * i + 1] = (struct iovec){ answer, 14 };
			pieces[2 * i + 2] = (struct iovec){ answer + 14, (size_t)(at - answer) - 14 };
		}
		if (due > now)
			sleep_us((unsigned int)(due - now));
		if (sendmsg(fd, &msg, MSG_NOSIGNAL) != at - buf)
			_exit(1);
	}
	pause();
}

static void a_hundred_streams_on_one_connection_are_a_hundred_requests(void **state)
{
	int fd;

	(void)state;
	start(serve_in_batches);
	fd = h2_connect(port);
	ask_together(fd, NR_STREAMS, 1);
	look();
	assert_int_equal(info.nr_completed, NR_STREAMS);
	assert_int_equal(info.nr_arrived, NR_STREAMS);
	assert_nothing_lost();
	assert_between_us(percentile_us(EBEE_OWED, 500), 5 * BATCH_US, client_us(500));
	assert_between_us(percentile_us(EBEE_OWED, 50), BATCH_US, client_us(50));
	assert_between_us(percentile_us(EBEE_TOTAL, 990), 10 * BATCH_US, client_us(990));
	assert_between_us(percentile_us(EBEE_SERVICE, 990), 10 * BATCH_US, client_us(990));
	close(fd);
	end();
}

/* ---- borders ----------------------------------------------------------------------------------------------------- */

enum { NR_SPLIT = 20, SERVE_US = 5000 };

/* One at a time; reads seven bytes at most, writes three. */
static void serve_in_crumbs(int fd)
{
	uint8_t in[4096], out[64];
	size_t have = 0, done = sizeof(h2_preface) - 1;
	ssize_t n;

	h2_send(fd, out, h2_put(out, F_SETTINGS, 0, 0, NULL, 0));
	while ((n = read(fd, in + have, 7)) > 0) {
		have += (size_t)n;
		while (have >= done + FRAME_HEADER) {
			size_t length = (size_t)(in[done] << 16 | in[done + 1] << 8 | in[done + 2]);
			const uint8_t *end;

			if (have < done + FRAME_HEADER + length)
				break;
			if (in[done + 4] & END_STREAM && in[done + 3] <= F_HEADERS) {
				sleep_us(SERVE_US);
				end = h2_put_answer(out, (uint32_t)(in[done + 7] << 8 | in[done + 8]));
				for (const uint8_t *p = out; p < end; p += 3)
					write_all(fd, p, (size_t)(end - p < 3 ? end - p : 3));
			}
			done += FRAME_HEADER + length;
		}
	}
}

/* Five bytes at a time. */
static void send_in_crumbs(int fd, const uint8_t *from, const uint8_t *to)
{
	for (; from < to; from += 5)
		assert_true(write_all(fd, from, (size_t)(to - from < 5 ? to - from : 5)));
}

static void frames_may_be_cut_anywhere(void **state)
{
	uint8_t buf[256];
	int fd;

	(void)state;
	start(serve_in_crumbs);
	fd = connect_to(port);
	send_in_crumbs(fd, buf, h2_put_greeting(buf));
	for (uint32_t i = 0; i < NR_SPLIT; i++) {
		uint64_t begun = clock_us();
		uint8_t *at = h2_put_request(buf, 2 * i + 1, true);

		at = h2_put(at, F_WINDOW_UPDATE, 0, 0, "\0\0\1\0", 4);
		send_in_crumbs(fd, buf, h2_put(at, F_DATA, END_STREAM, 2 * i + 1, "body", 4));
		assert_int_equal(h2_read_end(fd), 2 * i + 1);
		seen_us[nr_seen++] = clock_us() - begun;
	}
	look();
	assert_int_equal(info.nr_completed, NR_SPLIT);
	assert_nothing_lost();
	assert_between_us(percentile_us(EBEE_OWED, 500), SERVE_US, client_us(500));
	assert_between_us(percentile_us(EBEE_TOTAL, 990), SERVE_US, client_us(990));
	close(fd);
	end();
}

enum { LARGE = 16 << 20, NR_LARGE = 3 }; /* more than the buffers of both ends hold */

/* Answers with 16 MiB through a socket that takes as much as it likes, and is asked again with the rest. */
static void serve_large_without_blocking(int fd)
{
	uint8_t *answer = malloc(LARGE + LARGE / MAX_PAYLOAD * FRAME_HEADER + 64);
	static const uint8_t zeros[MAX_PAYLOAD];
	uint32_t stream;

	h2_welcome(fd);
	while ((stream = h2_read_end(fd))) {
		uint8_t *at = h2_put(answer, F_HEADERS, END_HEADERS, stream, h2_status_200, 1), *from = answer;

		for (int i = LARGE / MAX_PAYLOAD; i; i--)
			at = h2_put(at, F_DATA, i == 1 ? END_STREAM : 0, stream, zeros, MAX_PAYLOAD);
		while (from < at) {
			struct pollfd writable = { .fd = fd, .events = POLLOUT };
			ssize_t n = send(fd, from, (size_t)(at - from), MSG_NOSIGNAL | MSG_DONTWAIT);

			if (n > 0)
				from += n;
			else
				poll(&writable, 1, 1000);
		}
	}
}

static void what_is_offered_again_is_seen_once(void **state)
{
	uint8_t buf[64];
	int fd;

	(void)state;
	start(serve_large_without_blocking);
	fd = h2_connect(port);
	for (uint32_t i = 0; i < NR_LARGE; i++) {
		uint64_t begun = clock_us();

		assert_true(h2_send(fd, buf, h2_put_request(buf, 2 * i + 1, false)));
		sleep_us(50000); /* until its buffers are full */
		assert_int_equal(h2_read_end(fd), 2 * i + 1);
		seen_us[nr_seen++] = clock_us() - begun;
	}
	look();
	assert_int_equal(info.nr_completed, NR_LARGE);
	assert_nothing_lost();
	assert_between_us(percentile_us(EBEE_TOTAL, 500), 50000, client_us(500));
	close(fd);
	end();
}

/* ---- what a request is ------------------------------------------------------------------------------------------- */

static void serve_one_by_one(int fd)
{
	uint32_t stream;

	h2_welcome(fd);
	while ((stream = h2_read_end(fd))) {
		sleep_us(SERVE_US);
		h2_send_answer(fd, stream);
	}
}

static void trailers_pushes_and_pings_are_no_requests(void **state)
{
	uint8_t buf[256], *at;
	int fd;

	(void)state;
	start(serve_one_by_one);
	fd = h2_connect(port);
	for (uint32_t stream = 1; stream < 20; stream += 2) {
		at = h2_put(buf, F_PING, 0, 0, "12345678", 8);
		at = h2_put_request(at, stream, true);
		at = h2_put(at, F_DATA, 0, stream, "body", 4);
		at = h2_put_request(at, stream, false); /* trailers, as far as framing goes */
		assert_true(h2_send(fd, buf, at));
		assert_int_equal(h2_read_end(fd), stream);
	}
	look();
	assert_int_equal(info.nr_arrived, 10);
	assert_int_equal(info.nr_completed, 10);
	assert_nothing_lost();
	close(fd);
	end();
}

static void a_slow_upload_is_in_total_but_not_in_owed(void **state)
{
	uint64_t begun, rest, over;
	uint8_t buf[64];
	int fd;

	(void)state;
	start(serve_one_by_one);
	fd = h2_connect(port);
	begun = clock_us();
	assert_true(h2_send(fd, buf, h2_put_request(buf, 1, true)));
	/* The frame's header early, its last bytes late. */
	h2_put(buf, F_DATA, END_STREAM, 1, "body", 4);
	assert_true(write_all(fd, buf, 11));
	sleep_us(200000);
	rest = clock_us();
	assert_true(write_all(fd, buf + 11, 2));
	assert_int_equal(h2_read_end(fd), 1);
	over = clock_us();
	look();
	assert_int_equal(info.nr_completed, 1);
	assert_between_us(percentile_us(EBEE_TOTAL, 1000), 200000 + SERVE_US, over - begun);
	assert_between_us(percentile_us(EBEE_OWED, 1000), SERVE_US, over - rest);
	close(fd);
	end();
}

static void serve_late(int fd)
{
	sleep_us(150000);
	serve_one_by_one(fd);
}

static void waiting_to_be_read_is_residency(void **state)
{
	uint64_t apart;
	int fd;

	(void)state;
	start(serve_late);
	fd = h2_connect(port);
	apart = clock_us();
	sleep_us(50000);
	ask_together(fd, 1, 1);
	apart = clock_us() - apart;
	look();
	assert_int_equal(info.nr_completed, 1);
	/* The greeting came before and waited longer: each chunk has its own arrival. */
	assert_between_us(percentile_us(EBEE_RESIDENCY, 1000), 90000, client_us(1000));
	assert_between_us(percentile_us(EBEE_OWED, 1000), 90000, client_us(1000));
	assert_true(apart > client_us(1000));
	close(fd);
	end();
}

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

static int open_handle(void **state)
{
	const struct ebee_opts opts = { .sz = sizeof(opts), .nr_services = 1, .long_ns = LONG_MS * 1000000ULL };

	(void)state;
	return open_handle_with(&opts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hundred_streams_on_one_connection_are_a_hundred_requests),
		cmocka_unit_test(frames_may_be_cut_anywhere),
		cmocka_unit_test(what_is_offered_again_is_seen_once),
		cmocka_unit_test(trailers_pushes_and_pings_are_no_requests),
		cmocka_unit_test(a_slow_upload_is_in_total_but_not_in_owed),
		cmocka_unit_test(waiting_to_be_read_is_residency),
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
