// SPDX-License-Identifier: GPL-2.0
/* Answers of every protocol that may be pipelined, found in what servers send. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "parse_feed.h"

static struct parse p;
static struct parse_found found;

/* `asked`: flags of the request, for every answer in the text. */
static void answers(enum exchange_protocol protocol, uint8_t asked, const char *text)
{
	memset(&found, 0, sizeof(found));
	parse_feed_start(&p, protocol, 0);
	p.asked = asked;
	parse_feed(&p, text, strlen(text), true, &found);
}

static void expect(unsigned int ended, unsigned int none)
{
	assert_int_equal(found.bad_at, 0);
	assert_int_equal(found.ended, ended);
	assert_int_equal(found.none, none);
}

static void http1_answers_end_with_their_bodies(void **state)
{
	(void)state;
	answers(EXCHANGE_HTTP1, 0, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
	expect(2, 0);
	answers(EXCHANGE_HTTP1, 0, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
				   "HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n");
	expect(3, 0);
	answers(EXCHANGE_HTTP1, 0, "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n");
	expect(0, 0);
	assert_int_equal(p.step, STEP_UNTIL_CLOSE);
}

static void answers_to_head_have_no_body(void **state)
{
	(void)state;
	answers(EXCHANGE_HTTP1, PARSE_NO_BODY, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"
					       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
	expect(2, 0);
}

static void interim_answers_are_none(void **state)
{
	(void)state;
	answers(EXCHANGE_HTTP1, 0, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"
				   "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	expect(1, 2);
}

static void an_upgrade_ends_requests_and_answers(void **state)
{
	(void)state;
	answers(EXCHANGE_HTTP1, PARSE_UPGRADE, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n");
	assert_int_equal(p.protocol, EXCHANGE_UPGRADED);
	answers(EXCHANGE_HTTP1, PARSE_UPGRADE | PARSE_CONNECT, "HTTP/1.1 200 Established\r\n\r\n");
	assert_int_equal(p.protocol, EXCHANGE_UPGRADED);
	answers(EXCHANGE_HTTP1, PARSE_UPGRADE, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
	expect(1, 0);
}

static void memcached_answers_of_every_kind(void **state)
{
	(void)state;
	answers(EXCHANGE_MEMCACHED, 0, "VALUE a 0 5\r\nEND\r\n\r\nVALUE b 0 2 77\r\nok\r\nEND\r\nEND\r\nSTORED\r\n7\r\n"
				       "STAT pid 1\r\nSTAT uptime 2\r\nEND\r\nSERVER_ERROR out of memory\r\nVERSION 1.6\r\n");
	expect(7, 0);
	answers(EXCHANGE_MEMCACHED, 0, "VA 4 t1\r\nMN\r\n\r\nHD\r\nEN\r\nMN\r\n");
	expect(4, 0);
	answers(EXCHANGE_MEMCACHED, PARSE_LAST, "VA 2 t1\r\nok\r\nHD\r\nMN\r\n");
	expect(1, 2);
}

static void resp_answers_nest(void **state)
{
	(void)state;
	answers(EXCHANGE_RESP, 0, "+OK\r\n-ERR no\r\n:12\r\n$2\r\nok\r\n$-1\r\n$0\r\n\r\n*0\r\n*-1\r\n");
	expect(8, 0);
	answers(EXCHANGE_RESP, 0, "*2\r\n*2\r\n+a\r\n$1\r\nb\r\n*1\r\n*0\r\n+after\r\n");
	expect(2, 0);
	answers(EXCHANGE_RESP, 0, "%1\r\n+k\r\n*1\r\n:1\r\n~2\r\n#t\r\n_\r\n,1.5\r\n(123\r\n=5\r\ntxt:a\r\n");
	expect(5, 0);
	answers(EXCHANGE_RESP, 0, ">2\r\n+message\r\n+x\r\n+OK\r\n");
	expect(1, 1);
	answers(EXCHANGE_RESP, 0, "|1\r\n+ttl\r\n:1\r\n+OK\r\n");
	expect(1, 0);
}

static void what_is_no_answer_is_refused(void **state)
{
	(void)state;
	answers(EXCHANGE_HTTP1, 0, "hello\r\n");
	assert_int_not_equal(found.bad_at, 0);
	answers(EXCHANGE_HTTP1, 0, "HTTP/1.1 nine\r\n");
	assert_int_not_equal(found.bad_at, 0);
	answers(EXCHANGE_RESP, 0, "OK\r\n");
	assert_int_not_equal(found.bad_at, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(http1_answers_end_with_their_bodies),
		cmocka_unit_test(answers_to_head_have_no_body),
		cmocka_unit_test(interim_answers_are_none),
		cmocka_unit_test(an_upgrade_ends_requests_and_answers),
		cmocka_unit_test(memcached_answers_of_every_kind),
		cmocka_unit_test(resp_answers_nest),
		cmocka_unit_test(what_is_no_answer_is_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
