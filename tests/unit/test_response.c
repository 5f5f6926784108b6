// SPDX-License-Identifier: GPL-2.0
/*
 * test_response.c - where responses end, whatever pieces they come in.
 */
#include "experiments/parties-load/response.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

/* Feeds `text` in pieces of every size; each must give `want`, and never be complete before the end. */
static void check(enum response_kind kind, const char *text, int want, bool failed, bool peer_closes)
{
	size_t size = strlen(text), piece, at;
	struct response r;
	int got;

	for (piece = 1; piece <= size; piece++) {
		response_begin(&r, kind);
		got = 0;
		for (at = 0; at < size && !got; at += piece)
			got = response_feed(&r, text + at, size - at < piece ? size - at : piece);
		if (want < 0 && got >= 0) /* the excess came in a piece of its own */
			got = response_feed(&r, "x", 1);
		assert_int_equal(got, want);
		assert_true(want != 1 || at >= size);
		if (want == 1) {
			assert_int_equal(r.failed, failed);
			assert_int_equal(r.peer_closes, peer_closes);
		}
	}
}

static void memcached_answers_end_with_their_last_line(void **state)
{
	(void)state;
	check(RESPONSE_MEMCACHED, "END\r\n", 1, false, false);
	check(RESPONSE_MEMCACHED, "STORED\r\n", 1, false, false);
	check(RESPONSE_MEMCACHED, "VALUE key-1 0 5\r\nhello\r\nEND\r\n", 1, false, false);
	check(RESPONSE_MEMCACHED, "VALUE a 0 1\r\nx\r\nVALUE b 0 0\r\n\r\nEND\r\n", 1, false, false);
}

static void a_value_that_looks_like_an_end_is_not_one(void **state)
{
	(void)state;
	check(RESPONSE_MEMCACHED, "VALUE k 0 12\r\nEND\r\nSTORED\r\r\nEND\r\n", 1, false, false);
	check(RESPONSE_MEMCACHED, "VALUE k 0 5\r\nEND\r\n\r\n", 0, false, false);
}

static void memcached_errors_are_complete_but_failed(void **state)
{
	(void)state;
	check(RESPONSE_MEMCACHED, "SERVER_ERROR out of memory\r\n", 1, true, false);
	check(RESPONSE_MEMCACHED, "CLIENT_ERROR bad data chunk\r\n", 1, true, false);
	check(RESPONSE_MEMCACHED, "ERROR\r\n", 1, true, false);
	check(RESPONSE_MEMCACHED, "nonsense\r\n", -EBADMSG, false, false);
	check(RESPONSE_MEMCACHED, "VALUE k 0 many\r\n", -EBADMSG, false, false);
}

static void redis_answers_are_a_line_or_a_string_of_its_size(void **state)
{
	(void)state;
	check(RESPONSE_REDIS, "+OK\r\n", 1, false, false);
	check(RESPONSE_REDIS, "$5\r\nhello\r\n", 1, false, false);
	check(RESPONSE_REDIS, "$0\r\n\r\n", 1, false, false);
	check(RESPONSE_REDIS, "$6\r\n+OK\r\nx\r\n", 1, false, false);
	check(RESPONSE_REDIS, "$-1\r\n", 1, false, false);
	check(RESPONSE_REDIS, "$6\r\nhello\r\n", 0, false, false);
}

static void redis_errors_are_complete_but_failed(void **state)
{
	(void)state;
	check(RESPONSE_REDIS, "-LOADING Redis is loading the dataset in memory\r\n", 1, true, false);
	check(RESPONSE_REDIS, "$-2\r\n", -EBADMSG, false, false);
	check(RESPONSE_REDIS, "$\r\n", -EBADMSG, false, false);
	check(RESPONSE_REDIS, "$5x\r\n", -EBADMSG, false, false);
	check(RESPONSE_REDIS, "*1\r\n", -EBADMSG, false, false);
	check(RESPONSE_REDIS, "STORED\r\n", -EBADMSG, false, false);
}

static void http_bodies_have_their_length(void **state)
{
	(void)state;
	check(RESPONSE_HTTP, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 1, false, false);
	check(RESPONSE_HTTP, "HTTP/1.1 200 OK\r\ncontent-length:5\r\nConnection: Close\r\n\r\nhello", 1, false, true);
	check(RESPONSE_HTTP, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 1, false, false);
	check(RESPONSE_HTTP, "HTTP/1.1 204 No Content\r\n\r\n", 1, false, false);
	check(RESPONSE_HTTP, "HTTP/1.1 304 Not Modified\r\n\r\n", 1, false, false);
	check(RESPONSE_HTTP, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello", 0, false, false);
}

static void http_chunks_end_with_the_empty_one(void **state)
{
	(void)state;
	check(RESPONSE_HTTP, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1a;x=y\r\n"
			     "abcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n", 1, false, false);
	check(RESPONSE_HTTP, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nTrailer: 1\r\n\r\n",
	      1, false, false);
	check(RESPONSE_HTTP, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n", 0, false, false);
}

static void interim_responses_are_not_the_answer(void **state)
{
	(void)state;
	check(RESPONSE_HTTP, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 1, false,
	      false);
	check(RESPONSE_HTTP, "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", 0, false, false);
}

static void http_errors_are_complete_but_failed(void **state)
{
	(void)state;
	check(RESPONSE_HTTP, "HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nno!", 1, true, false);
	check(RESPONSE_HTTP, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", 1, true, false);
	check(RESPONSE_HTTP, "SSH-2.0-OpenSSH\r\n", -EBADMSG, false, false);
}

static void a_body_without_length_ends_with_the_connection(void **state)
{
	struct response r;
	const char *text = "HTTP/1.0 200 OK\r\n\r\nas long as it takes";

	(void)state;
	response_begin(&r, RESPONSE_HTTP);
	assert_int_equal(response_feed(&r, text, strlen(text)), 0);
	assert_true(r.peer_closes);
	assert_int_equal(response_end(&r), 1);
}

static void a_connection_that_ends_early_is_an_error(void **state)
{
	struct response r;
	const char *text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel";

	(void)state;
	response_begin(&r, RESPONSE_HTTP);
	assert_int_equal(response_end(&r), -ECONNRESET);
	assert_int_equal(response_feed(&r, text, strlen(text)), 0);
	assert_int_equal(response_end(&r), -ECONNRESET);
}

static void bytes_after_the_end_are_an_error(void **state)
{
	(void)state;
	check(RESPONSE_MEMCACHED, "END\r\nEND\r\n", -EBADMSG, false, false);
	check(RESPONSE_REDIS, "$1\r\nx\r\n+", -EBADMSG, false, false);
	check(RESPONSE_HTTP, "HTTP/1.1 204 No Content\r\n\r\nx", -EBADMSG, false, false);
	check(RESPONSE_TRUTH, "000000000001000\n0", -EBADMSG, false, false);
}

static void long_header_lines_do_not_overflow(void **state)
{
	char text[4096];
	size_t size;
	struct response r;

	(void)state;
	size = (size_t)snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nX: %02000d\r\n\r\nx", 0);
	response_begin(&r, RESPONSE_HTTP);
	assert_int_equal(response_feed(&r, text, size), 1);
}

static void truth_answers_are_sixteen_bytes(void **state)
{
	(void)state;
	check(RESPONSE_TRUTH, "000000000001000\n", 1, false, false);
	check(RESPONSE_TRUTH, "00000000001000\n", -EBADMSG, false, false);
	check(RESPONSE_TRUTH, "0000000000010o0\n", -EBADMSG, false, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memcached_answers_end_with_their_last_line),
		cmocka_unit_test(a_value_that_looks_like_an_end_is_not_one),
		cmocka_unit_test(memcached_errors_are_complete_but_failed),
		cmocka_unit_test(redis_answers_are_a_line_or_a_string_of_its_size),
		cmocka_unit_test(redis_errors_are_complete_but_failed),
		cmocka_unit_test(http_bodies_have_their_length),
		cmocka_unit_test(http_chunks_end_with_the_empty_one),
		cmocka_unit_test(interim_responses_are_not_the_answer),
		cmocka_unit_test(http_errors_are_complete_but_failed),
		cmocka_unit_test(a_body_without_length_ends_with_the_connection),
		cmocka_unit_test(a_connection_that_ends_early_is_an_error),
		cmocka_unit_test(bytes_after_the_end_are_an_error),
		cmocka_unit_test(long_header_lines_do_not_overflow),
		cmocka_unit_test(truth_answers_are_sixteen_bytes),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
