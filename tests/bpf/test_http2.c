// SPDX-License-Identifier: GPL-2.0
/*
 * test_http2.c - libebee on HTTP/2 measured by stream: which bytes are a request, and how long it took.  What does not
 * end well is in test_http2_life.c.
 * waits: yes
 */
#include "bpf/http2_server.h"

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

enum { NR_SPLIT = 20 };

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
	uint64_t begun, spent;
	int fd;

	(void)state;
	start(serve_late);
	begun = clock_us();
	fd = h2_connect(port);
	sleep_us(50000);
	spent = clock_us() - begun; /* of the server's delay, before the request is there */
	assert_true(spent < 150000);
	ask_together(fd, 1, 1);
	look();
	assert_int_equal(info.nr_completed, 1);
	/* The greeting came before and waited longer: each chunk has its own arrival. */
	assert_between_us(percentile_us(EBEE_RESIDENCY, 1000), 150000 - spent, client_us(1000));
	assert_between_us(percentile_us(EBEE_OWED, 1000), 150000 - spent, client_us(1000));
	close(fd);
	end();
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
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, open_handle, close_handle);
}
