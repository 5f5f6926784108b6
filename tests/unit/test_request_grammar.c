// SPDX-License-Identifier: GPL-2.0
/* Requests of every protocol, found in what clients send. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "parse_feed.h"

static struct parse p;
static struct parse_found found;

static void feed(uint8_t flags, const void *bytes, size_t size)
{
	memset(&found, 0, sizeof(found));
	parse_feed_start(&p, EXCHANGE_NEW, flags);
	parse_feed(&p, bytes, size, false, &found);
}

static void text(const char *bytes)
{
	feed(0, bytes, strlen(bytes));
}

static void expect(enum exchange_protocol protocol, unsigned int ended, unsigned int one_way)
{
	assert_int_equal(found.bad_at, 0);
	assert_int_equal(p.protocol, protocol);
	assert_int_equal(found.ended, ended);
	assert_int_equal(found.one_way, one_way);
	assert_int_equal(p.step, STEP_START);
}

/* ---- HTTP/1 ------------------------------------------------------------------------------------------------------ */

static void requests_without_bodies_end_with_their_fields(void **state)
{
	(void)state;
	text("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
	expect(EXCHANGE_HTTP1, 1, 0);
	text("GET /a HTTP/1.0\n\nDELETE /b HTTP/1.1\nX: y\n\n");
	expect(EXCHANGE_HTTP1, 2, 0);
	text("\r\nM-SEARCH * HTTP/1.1\r\n\r\n");
	expect(EXCHANGE_HTTP1, 1, 0);
	text("GET / HTTP/1.1\r\nContent-Length: 0\r\n\r\nHEAD / HTTP/1.1\r\n\r\n");
	expect(EXCHANGE_HTTP1, 2, 0);
	assert_int_equal(found.last_flags & PARSE_NO_BODY, PARSE_NO_BODY);
}

static void bodies_are_jumped_over_by_their_size(void **state)
{
	(void)state;
	text("POST / HTTP/1.1\r\ncontent-LENGTH:18\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n");
	expect(EXCHANGE_HTTP1, 2, 0);
	text("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nab");
	assert_int_equal(found.ended, 0);
	assert_int_equal(p.skip, 1);
}

static void chunked_bodies_end_with_their_trailer(void **state)
{
	(void)state;
	text("PUT / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"
	     "A;x=\"GET\"\r\n0123456789\r\n1\r\nx\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n");
	expect(EXCHANGE_HTTP1, 2, 0);
	text("PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\nfF\r\n");
	assert_int_equal(p.skip, 257);
	text("PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nSum: 1\r\nContent-Length: 5\r\n\r\n"
	     "GET / HTTP/1.1\r\n\r\n");
	expect(EXCHANGE_HTTP1, 2, 0);
}

static void fields_that_matter_are_noticed(void **state)
{
	(void)state;
	text("GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
	assert_int_equal(found.last_flags & PARSE_UPGRADE, PARSE_UPGRADE);
	text("GET / HTTP/1.1\r\nX-Upgrade: no\r\nUpgraded: no\r\nExpectation: no\r\n\r\n");
	assert_int_equal(found.last_flags, 0);
	text("PUT / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nok");
	assert_int_equal(found.last_flags & PARSE_EXPECT, PARSE_EXPECT);
	text("CONNECT a:443 HTTP/1.1\r\n\r\n");
	assert_int_equal(found.last_flags & PARSE_CONNECT, PARSE_CONNECT);
}

static void what_is_not_http_is_refused(void **state)
{
	const char *bad[] = { "GET / HTTP/3\r\n", "GET /\r\n", "hello there HTTP/1.1\r\n", "GE\x01 / HTTP/1.1\r\n",
			      "GET / HTTP/1.1\r\nContent-Length: two\r\n\r\n",
			      "GET / HTTP/1.1\r\n\r\nget / HTTP/1.1\r\n",
			      "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		text(bad[i]);
		assert_int_not_equal(found.bad_at, 0);
	}
}

/* ---- memcached --------------------------------------------------------------------------------------------------- */

static void memcached_commands_are_lines_and_values(void **state)
{
	char key[251];

	(void)state;
	memset(key, 'k', 250);
	key[250] = '\0';
	text("get a b:c\r\ngets a\r\nset k 0 0 12\r\nget a\r\nget b\r\ncas k 0 0 2 77\r\nok\r\ndelete k\r\nincr k 1\r\nversion\r\n");
	expect(EXCHANGE_MEMCACHED, 7, 0);
	text("mg k v t\r\nms k 2 T0\r\nok\r\nmd k\r\nma k\r\nmn\r\n");
	expect(EXCHANGE_MEMCACHED, 5, 0);
	assert_int_equal(found.last_flags & PARSE_LAST, PARSE_LAST);
	{
		char line[600];

		snprintf(line, sizeof(line), "set %s 4294967295 2592000 3\r\nget\r\nget %s\r\n", key, key);
		text(line);
	}
	expect(EXCHANGE_MEMCACHED, 2, 0);
}

static void commands_that_want_no_answer_are_told_apart(void **state)
{
	(void)state;
	text("set k 0 0 2 noreply\r\nok\r\nget k\r\nincr k 1 noreply\r\ndelete k noreply\r\nflush_all noreply\r\nquit\r\n");
	expect(EXCHANGE_MEMCACHED, 1, 5);
	text("mg k v q\r\nms k 2 q\r\nok\r\nmn\r\n");
	expect(EXCHANGE_MEMCACHED, 1, 2);
	text("get noreply\r\nmg q\r\nset noreply 0 0 2\r\nok\r\n");
	expect(EXCHANGE_MEMCACHED, 3, 0);
}

static void a_refused_memcached_command_is_its_line(void **state)
{
	(void)state;
	text("get a\r\nset k 0 0 x\r\nset k\r\nbogus\r\nget a\r\n");
	expect(EXCHANGE_MEMCACHED, 5, 0);
}

/* ---- RESP -------------------------------------------------------------------------------------------------------- */

static void resp_commands_are_counted_by_their_parts(void **state)
{
	(void)state;
	text("*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$13\r\n*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\n");
	assert_int_equal(found.bad_at, 0);
	text("*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$14\r\n*1\r\n$4\r\nPING\r\n\r\n*1\r\n$4\r\nPING\r\n");
	expect(EXCHANGE_RESP, 3, 0);
	text("*1\r\n$4\r\nPING\r\nPING\r\n*2\r\n$4\r\nECHO\r\n$0\r\n\r\n");
	expect(EXCHANGE_RESP, 3, 0);
}

static void subscribers_are_left(void **state)
{
	(void)state;
	text("*2\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n");
	assert_int_equal(p.protocol, EXCHANGE_UPGRADED);
	text("*2\r\n$10\r\nPSUBSCRIBE\r\n$1\r\nc\r\n");
	assert_int_equal(p.protocol, EXCHANGE_UPGRADED);
	text("*2\r\n$3\r\nGET\r\n$9\r\nsubscribe\r\n");
	expect(EXCHANGE_RESP, 1, 0);
}

/* ---- TLS --------------------------------------------------------------------------------------------------------- */

static uint8_t records[70000];
static size_t nr_bytes;

static void record(uint8_t type, unsigned int size, uint8_t first)
{
	uint8_t *at = records + nr_bytes;

	memset(at, 0x55, size + 5);
	at[0] = type;
	at[1] = 3;
	at[2] = 3;
	at[3] = size >> 8;
	at[4] = size;
	if (size)
		at[5] = first;
	nr_bytes += size + 5;
}

static void tls(unsigned int data, unsigned int unsure)
{
	feed(0, records, nr_bytes);
	assert_int_equal(found.bad_at, 0);
	assert_int_equal(p.protocol, EXCHANGE_TLS);
	assert_int_equal(found.data, data);
	assert_int_equal(found.unsure, unsure);
	nr_bytes = 0;
}

static void handshakes_of_tls_are_no_requests(void **state)
{
	(void)state;
	record(22, 300, 1); record(20, 1, 1); record(23, 53, 0); record(23, 100, 0); record(23, 19, 0);
	tls(1, 0); /* 1.3, and goodbye */
	record(22, 300, 1); record(20, 1, 1); record(22, 250, 1); record(23, 69, 0); record(23, 100, 0);
	tls(1, 0); /* 1.3, the server wanted another group */
	record(22, 300, 1); record(22, 70, 16); record(20, 1, 1); record(22, 40, 0x99); record(23, 45, 0); record(21, 26, 0);
	tls(1, 0); /* 1.2 */
	record(22, 300, 1); record(20, 1, 1); record(22, 40, 1); record(23, 53, 0); record(23, 19, 0);
	tls(2, 0); /* 1.2, resumed: no size means anything */
}

static void a_handshake_that_is_not_understood_is_declared(void **state)
{
	(void)state;
	record(22, 300, 1); record(23, 1500, 0); record(23, 300, 0); record(23, 100, 0); record(23, 100, 0);
	tls(2, 1);
}

static void what_is_no_record_is_refused(void **state)
{
	(void)state;
	record(22, 300, 1);
	record(99, 10, 0);
	feed(0, records, nr_bytes);
	nr_bytes = 0;
	assert_int_not_equal(found.bad_at, 0);
}

/* ---- which is it ------------------------------------------------------------------------------------------------- */

static void http2_is_known_by_its_preface_and_by_its_frames(void **state)
{
	static const uint8_t frames[] = { 0, 0, 0, 4, 0, 0, 0, 0, 0,  0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 1,
					  0, 0, 1, 1, 5, 0, 0, 0, 7, 'x',  0, 0, 0, 4, 1, 0, 0, 0, 0,
					  0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8 };

	(void)state;
	text("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
	assert_int_equal(p.protocol, EXCHANGE_MULTIPLEX);
	feed(PARSE_OLD, frames, sizeof(frames));
	assert_int_equal(p.protocol, EXCHANGE_MULTIPLEX);
	feed(0, frames, sizeof(frames)); /* nothing new begins so */
	assert_int_not_equal(found.bad_at, 0);
}

static void a_proxys_line_is_part_of_the_first_request(void **state)
{
	(void)state;
	text("PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\nGET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n");
	expect(EXCHANGE_HTTP1, 2, 0);
	assert_int_equal(found.begun, 2);
}

static void a_value_that_is_longer_than_it_says_is_no_memcached(void **state)
{
	(void)state;
	text("get a\r\nadd 1 2 3 4\nget foo\n");
	assert_int_not_equal(found.bad_at, 0);
}

static void other_bytes_are_opaque(void **state)
{
	const char *bytes[] = { "\x01\x07question", "\x80\x01", "hello\r\n", "Get / HTTP/1.1\r\n", "*x\r\n", "{\"a\":1}\n",
				"SELECT 1\n", "GET\r\n" };

	(void)state;
	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		text(bytes[i]);
		assert_int_not_equal(found.bad_at, 0);
	}
}

static void newlines_are_found_eight_bytes_at_a_time(void **state)
{
	(void)state;
	srand(1);
	for (int i = 0; i < 20000; i++) {
		struct chunk chunk;
		unsigned int at = (unsigned int)rand() % PARSE_CHUNK, want;

		for (int k = 0; k < PARSE_CHUNK; k++)
			chunk.bytes[k] = (uint8_t)(rand() % 12 + (rand() % 3 ? 5 : 100));
		for (want = at; want < PARSE_CHUNK && chunk.bytes[want] != '\n'; want++)
			;
		assert_int_equal(parse_newline(&chunk, at), want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_without_bodies_end_with_their_fields),
		cmocka_unit_test(bodies_are_jumped_over_by_their_size),
		cmocka_unit_test(chunked_bodies_end_with_their_trailer),
		cmocka_unit_test(fields_that_matter_are_noticed),
		cmocka_unit_test(what_is_not_http_is_refused),
		cmocka_unit_test(memcached_commands_are_lines_and_values),
		cmocka_unit_test(commands_that_want_no_answer_are_told_apart),
		cmocka_unit_test(a_refused_memcached_command_is_its_line),
		cmocka_unit_test(resp_commands_are_counted_by_their_parts),
		cmocka_unit_test(subscribers_are_left),
		cmocka_unit_test(handshakes_of_tls_are_no_requests),
		cmocka_unit_test(a_handshake_that_is_not_understood_is_declared),
		cmocka_unit_test(what_is_no_record_is_refused),
		cmocka_unit_test(http2_is_known_by_its_preface_and_by_its_frames),
		cmocka_unit_test(a_proxys_line_is_part_of_the_first_request),
		cmocka_unit_test(a_value_that_is_longer_than_it_says_is_no_memcached),
		cmocka_unit_test(other_bytes_are_opaque),
		cmocka_unit_test(newlines_are_found_eight_bytes_at_a_time),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
