// SPDX-License-Identifier: GPL-2.0
/*
 * protocols.c - hard cases that only the first bytes can decide: pipelining, interim answers, one-way commands, streams
 * that stay, many requests at once on one connection.  The servers know just enough of each protocol.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/net.h"
#include "common/rig.h"

/* ---- pipelining -------------------------------------------------------------------------------------------------- */

enum { PIPELINED = 5 };

/* A protocol: one request, its answer; several requests come in one read. */
struct dialect {
	const char *request, *answer;
	bool apart; /* an answer per write, 4 ms apart, instead of all in one write */
};

static const struct dialect http = { "GET /a HTTP/1.1\r\nHost: a\r\n\r\n",
				     "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" };
static const struct dialect http_apart = { "GET /a HTTP/1.1\r\nHost: a\r\n\r\n",
					   "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", true };
static const struct dialect http_post = {
	"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\r\nGET / HTTP/1.1\r\n\r\nab",
	"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
};
static const struct dialect memcached = { "get key\r\n", "VALUE key 0 2\r\nok\r\nEND\r\n" };
static const struct dialect memcached_set = { "set key 0 0 12\r\nget a\r\nget b\r\n", "STORED\r\n" };
static const struct dialect resp = { "*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n", "$2\r\nok\r\n" };
static const struct dialect unknown = { "\x01\x07question", "\x02\x05reply" };

static size_t repeat(char *buf, const char *text, int nr)
{
	size_t length = strlen(text);

	for (int i = 0; i < nr; i++)
		memcpy(buf + (size_t)i * length, text, length);
	return length * (size_t)nr;
}

static void serve_pipelined(int fd)
{
	const struct dialect *d = rig.current->variant;
	char in[1024], out[1024];
	size_t batch = strlen(d->request) * PIPELINED;

	while (net_read(fd, in, batch)) {
		for (int i = 0; i < PIPELINED; i++) {
			rig_sleep_us(4000);
			if (d->apart)
				net_write(fd, d->answer, strlen(d->answer));
		}
		if (!d->apart)
			net_write(fd, out, repeat(out, d->answer, PIPELINED));
	}
}

/* Ten batches; every request of a batch is sent at its start. */
static void client_pipelined(void)
{
	const struct dialect *d = rig.current->variant;
	size_t answer = strlen(d->answer);
	char out[1024], in[1024];
	int fd = net_connect();

	for (int k = 0; k < 10; k++) {
		uint64_t start = rig_clock_us();

		net_write(fd, out, repeat(out, d->request, PIPELINED));
		for (int i = 0; i < PIPELINED; i++) {
			if (!net_read(fd, in, answer))
				rig_broken("the client got no answer");
			rig_saw(RIG_SEEN, rig_clock_us() - start);
		}
	}
	close(fd);
}

/* One request at a time, in a protocol that is recognised. */
static void serve_single(int fd)
{
	const struct dialect *d = rig.current->variant;
	char in[1024];

	while (net_read(fd, in, strlen(d->request))) {
		rig_sleep_us(4000);
		net_write(fd, d->answer, strlen(d->answer));
	}
}

static void client_single(void)
{
	const struct dialect *d = rig.current->variant;
	int fd = net_connect();

	for (int i = 0; i < 20; i++)
		net_ask_with(fd, d->request, strlen(d->request), strlen(d->answer));
	close(fd);
}

/* ---- interim answers and one-way commands ------------------------------------------------------------------------ */

static const char put[] = "PUT /a HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 16\r\n\r\n";
static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
static const char created[] = "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n";

static void serve_continue(int fd)
{
	char in[256];

	while (net_read(fd, in, strlen(put))) {
		net_write(fd, go_on, strlen(go_on));
		if (!net_read(fd, in, 16))
			break;
		rig_sleep_us(4000);
		net_write(fd, created, strlen(created));
	}
}

static void client_continue(void)
{
	int fd = net_connect();

	for (int i = 0; i < 10; i++) {
		uint64_t start = rig_clock_us(), rest;
		char in[256];

		net_write(fd, put, strlen(put));
		net_read(fd, in, strlen(go_on));
		rest = rig_clock_us();
		net_write(fd, "sixteen bytes...", 16);
		if (!net_read(fd, in, strlen(created)))
			rig_broken("the client got no answer");
		rig_saw(RIG_SEEN, rig_clock_us() - rest);
		rig_saw(RIG_SEEN_TOTAL, rig_clock_us() - start);
	}
	close(fd);
}

static const char quiet_set[] = "set key 0 0 2 noreply\r\nok\r\n";

/* Commands that want no answer, then a get; 15 ms apart. */
static void serve_one_way(int fd)
{
	char in[256];

	while (net_read(fd, in, strlen(quiet_set)) && net_read(fd, in, strlen(quiet_set)) &&
	       net_read(fd, in, strlen(memcached.request))) {
		rig_sleep_us(4000);
		net_write(fd, memcached.answer, strlen(memcached.answer));
	}
}

static void client_one_way(void)
{
	int fd = net_connect();

	for (int i = 0; i < 10; i++) {
		uint64_t start;

		for (int k = 0; k < 2; k++) {
			net_write(fd, quiet_set, strlen(quiet_set));
			rig_sleep_us(15000);
		}
		start = rig_clock_us();
		net_ask_with(fd, memcached.request, strlen(memcached.request), strlen(memcached.answer));
		rig_saw(RIG_SEEN_TOTAL, rig_clock_us() - start);
	}
	close(fd);
}

/* Half of an answer, a pause longer than it takes an exchange to settle, the rest. */
static void serve_pausing(int fd)
{
	const struct dialect *d = rig.current->variant;
	size_t half = strlen(d->answer) - 1;
	char in[1024];

	while (net_read(fd, in, strlen(d->request))) {
		net_write(fd, d->answer, half);
		rig_sleep_us(1200000);
		net_write(fd, d->answer + half, strlen(d->answer) - half);
	}
}

static void client_once(void)
{
	const struct dialect *d = rig.current->variant;
	int fd = net_connect();

	net_ask_with(fd, d->request, strlen(d->request), strlen(d->answer));
	close(fd);
}

/* ---- what stays -------------------------------------------------------------------------------------------------- */

enum { EVENTS = 25 };

static const char stream_head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
static const char upgraded[] = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
static const char get_events[] = "GET /e HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n";
static const char get_socket[] = "GET /w HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
static const char event[] = "data: tick\n\n", frame[] = "\x81\x04tick";

/* 100 ms between events, for 2.5 seconds; the path says what is wanted. */
static void serve_streams(int fd)
{
	char in[256];

	for (;;) {
		ssize_t n = read(fd, in, sizeof(in));

		if (n <= 0)
			return;
		if (in[5] == 'e' || in[5] == 'w') {
			bool events = in[5] == 'e';

			net_write(fd, events ? stream_head : upgraded, strlen(events ? stream_head : upgraded));
			for (int i = 0; i < EVENTS; i++) {
				rig_sleep_us(100000);
				net_write(fd, events ? event : frame, strlen(events ? event : frame));
			}
		} else {
			rig_sleep_us(in[5] == 'p' ? 2500000 : 4000);
			net_write(fd, http.answer, strlen(http.answer));
		}
	}
}

static void take(const char *request, size_t size)
{
	char in[1024];
	int fd = net_connect();

	net_write(fd, request, strlen(request));
	if (!net_read(fd, in, size))
		rig_broken("the stream ended early");
	close(fd);
}

static void take_events(void)
{
	take(get_events, strlen(stream_head) + EVENTS * strlen(event));
}

static void take_frames(void)
{
	take(get_socket, strlen(upgraded) + EVENTS * strlen(frame));
}

static void take_poll(void)
{
	uint64_t start = rig_clock_us();

	take("GET /p HTTP/1.1\r\nHost: a\r\n\r\n", strlen(http.answer));
	rig_saw(RIG_SEEN, rig_clock_us() - start);
}

static void ask_shortly(void)
{
	int fd = net_connect();

	for (int i = 0; i < 20; i++)
		net_ask_with(fd, http.request, strlen(http.request), strlen(http.answer));
	close(fd);
}

/* One stream and twenty ordinary requests beside it; only those have a latency. */
static void client_events(void)
{
	net_beside(take_events, ask_shortly);
}

static void client_websocket(void)
{
	net_beside(take_frames, ask_shortly);
}

static void client_long_poll(void)
{
	net_beside(take_poll, ask_shortly);
}

#define PIPELINE(dialect, count, ...) .serve = serve_pipelined, .client = client_pipelined, .variant = &(dialect), \
	.expect = { .nr = (count), __VA_ARGS__ }
#define STREAM(how) \
	.serve = serve_streams, .client = how, .expect = { .nr = 20, .us = 4000, .must_declare = "long_lived" }

static const struct rig_case cases[] = {
	{ "5b", "HTTP/1 answer that pauses for 1.2 s", .serve = serve_pausing, .client = client_once, .variant = &http,
	  .expect = { .nr = 1, .us = 1200000 } },
	{ "5c", "answer that pauses for 1.2 s, unknown protocol", .serve = serve_pausing, .client = client_once,
	  .variant = &unknown, .expect = { .nr = 1, .us = 1200000, .may_declare = "multipart" } },
	{ "8a", "five HTTP/1 requests in a read, one write back", PIPELINE(http, 50, .us = 20000) },
	{ "8b", "five HTTP/1 requests in a read, answered one by one",
	  PIPELINE(http_apart, 50, .us = 12000, .p99_us = 20000) },
	{ "8c", "five HTTP/1 requests with bodies that look like some", PIPELINE(http_post, 50, .us = 20000) },
	{ "8d", "five memcached gets in a read, one write back", PIPELINE(memcached, 50, .us = 20000) },
	{ "8e", "five memcached sets of data that looks like gets", PIPELINE(memcached_set, 50, .us = 20000) },
	{ "8f", "five RESP commands in a read, one write back", PIPELINE(resp, 50, .us = 20000) },
	{ "8g", "five requests in an unknown protocol",
	  PIPELINE(unknown, 50, .nr_least = 50, .us = 20000, .may_declare = "opaque") },
	{ "8h", "HTTP/1, one request at a time", .serve = serve_single, .client = client_single, .variant = &http,
	  .expect = { .nr = 20, .us = 4000 } },
	{ "8i", "RESP, one command at a time", .serve = serve_single, .client = client_single, .variant = &resp,
	  .expect = { .nr = 20, .us = 4000 } },
	{ "8j", "HTTP/1 with 100-continue before the body", .serve = serve_continue, .client = client_continue,
	  .expect = { .nr = 10, .us = 4000, .total_us = 4000 } },
	{ "8k", "memcached sets with noreply between gets", .serve = serve_one_way, .client = client_one_way,
	  .expect = { .nr = 10, .us = 4000, .total_us = 4000, .must_declare = "one_way", .must_nr = 20 } },
	{ "27a", "server-sent events beside requests", STREAM(client_events) },
	{ "27b", "WebSocket beside requests", STREAM(client_websocket) },
	/* Nothing tells a server that waits for an event from one that is stuck, and that one must be seen. */
	{ "27c", "long poll beside requests: a request that took long", .serve = serve_streams, .client = client_long_poll,
	  .expect = { .nr = 21, .us = 4000, .p99_us = 2500000 } },
};

int main(int argc, char **argv)
{
	(void)argc;
	return rig_main(cases, sizeof(cases) / sizeof(cases[0]), argv);
}
