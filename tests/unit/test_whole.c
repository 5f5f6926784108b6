// SPDX-License-Identifier: GPL-2.0
/* Reads that are one request, whole and alone: never told where the grammar says something else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "parse_feed.h"

#include "bpf/whole.h"

static int is_whole(const char *text)
{
	struct whole w = { 0 };
	size_t size = strlen(text);

	if (size > WHOLE_MAX)
		return 0;
	memcpy(w.bytes, text, size);
	return whole_request(&w, (uint32_t)size, text[0] == 'G');
}

static void usual_requests_are_whole(void **state)
{
	(void)state;
	assert_true(is_whole("get k\r\n"));
	assert_true(is_whole("get a b c\n"));
	assert_true(is_whole("GET / HTTP/1.1\r\n\r\n"));
	assert_true(is_whole("GET / HTTP/1.0\n\n"));
	assert_true(is_whole("GET /a?b HTTP/1.1\r\nHost: a.b:80\r\nUser-Agent: x\r\nAccept: */*\r\nConnection: keep-alive\r\nCookie: a\r\n\r\n"));
}

static void more_or_less_than_one_is_not(void **state)
{
	(void)state;
	assert_false(is_whole("get k"));
	assert_false(is_whole("get k\r\nget k\r\n"));
	assert_false(is_whole("get k\r\nq"));
	assert_false(is_whole("gets k\r\n"));
	assert_false(is_whole("GET / HTTP/1.1\r\n"));
	assert_false(is_whole("GET / HTTP/1.1\r\nHost: a\r\n"));
	assert_false(is_whole("GET / HTTP/1.1\r\nHost: a\r\n\r"));
	assert_false(is_whole("GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n"));
	assert_false(is_whole("GET / HTTP/1.1\r\n\r\nG"));
	assert_false(is_whole("HEAD / HTTP/1.1\r\n\r\n"));
}

static void what_announces_a_body_or_a_change_is_not(void **state)
{
	(void)state;
	assert_false(is_whole("GET / HTTP/1.1\r\nContent-Length: 2\r\n\r\n"));
	assert_false(is_whole("GET / HTTP/1.1\r\nA: b\r\ncONTENT-length: 2\r\n\r\n"));
	assert_false(is_whole("GET / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n"));
	assert_false(is_whole("GET / HTTP/1.1\nUPGRADE: websocket\n\n"));
	assert_false(is_whole("GET / HTTP/1.1\r\nExpect: 100-continue\r\n\r\n"));
}

static void a_request_may_fill_the_room(void **state)
{
	char text[WHOLE_MAX + 2];

	(void)state;
	memset(text, 'a', sizeof(text));
	memcpy(text, "get ", 4);
	strcpy(text + WHOLE_MAX - 2, "\r\n");
	assert_true(is_whole(text));
	memcpy(text, "GET ", 4);
	strcpy(text + WHOLE_MAX - 4, "\r\n\r\n");
	assert_true(is_whole(text));
	strcpy(text + WHOLE_MAX - 3, "\r\n\r\n");
	assert_false(is_whole(text));
}

static void the_grammar_agrees(void **state)
{
	static const char *const parts[] = {
		"GET ", "get ", "/", "k", " HTTP/1.1", "\r\n", "\n", "\r", "\r\n\r\n", "Host: a", "Content-Length: 3", "Upgrade: h2c",
		"content-type: a", " ", "abc", "Transfer-Encoding: chunked", "Cookie: 12345678901234567890", "\t", ":",
	};
	unsigned int nr_whole = 0;

	(void)state;
	srandom(1);
	for (unsigned int i = 0; i < 200000; i++) {
		const char *first = i % 2 ? "get k\r\n" : "GET / HTTP/1.1\r\n\r\n";
		struct parse_found found = { 0 };
		char text[512] = "";
		struct parse p;

		strcpy(text, i % 2 ? "get " : "GET ");
		for (long nr = random() % 9; nr >= 0; nr--)
			strcat(text, parts[random() % (long)(sizeof(parts) / sizeof(parts[0]))]);
		strcat(text, i % 2 ? "\r\n" : "\r\n\r\n");
		if (!is_whole(text))
			continue;
		nr_whole++;
		parse_feed_start(&p, EXCHANGE_NEW, 0);
		parse_feed(&p, first, strlen(first), false, &found); /* its protocol is known by now */
		memset(&found, 0, sizeof(found));
		p.next = 0;
		parse_feed(&p, text, strlen(text), false, &found);
		if (found.bad_at || found.ended != 1 || found.one_way || p.step != STEP_START || p.next != strlen(text) ||
		    found.last_flags)
			fail_msg("not one request: %s", text);
	}
	assert_true(nr_whole > 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(usual_requests_are_whole),
		cmocka_unit_test(more_or_less_than_one_is_not),
		cmocka_unit_test(what_announces_a_body_or_a_change_is_not),
		cmocka_unit_test(a_request_may_fill_the_room),
		cmocka_unit_test(the_grammar_agrees),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
