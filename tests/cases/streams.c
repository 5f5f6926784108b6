// SPDX-License-Identifier: GPL-2.0
/*
 * streams.c - hard cases of HTTP/2 and gRPC: many requests at once on one connection, calls that stay open.  Both ends
 * speak just enough of the framing (RFC 9113), with header fields from HPACK's static table.
 */
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/net.h"
#include "common/rig.h"

enum { FRAME_DATA = 0, FRAME_HEADERS = 1, FRAME_SETTINGS = 4 };
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4, HEADER_SIZE = 9, MAX_PAYLOAD = 256, MANY = 100, MESSAGES = 20 };

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
static const char get[] = "\x82\x86\x84\x41\x01" "a";
static const char post_unary[] = "\x83\x86\x44\x04/s/u\x41\x01" "a\x5f\x10" "application/grpc";
static const char post_stream[] = "\x83\x86\x44\x04/s/s\x41\x01" "a\x5f\x10" "application/grpc";
static const char ok[] = "\x88",
		  grpc_ok[] = "\x88\x5f\x10"
			      "application/grpc",
		  grpc_end[] = "\x40\x0bgrpc-status\x01"
			       "0";
/* A message of two bytes; its prefix has zeros, so its size is sizeof() - 1. */
static const char message[] = "\0\0\0\0\x02hi";

struct frame {
	unsigned int type, flags, stream, size;
	char payload[MAX_PAYLOAD];
};

static size_t put(char *out, unsigned int type, unsigned int flags, unsigned int stream, const char *payload,
		  size_t size)
{
	const unsigned char head[HEADER_SIZE] = {
		0, (unsigned char)(size >> 8),	 (unsigned char)size,  (unsigned char)type, (unsigned char)flags, 0,
		0, (unsigned char)(stream >> 8), (unsigned char)stream
	};

	memcpy(out, head, sizeof(head));
	memcpy(out + sizeof(head), payload, size);
	return sizeof(head) + size;
}

static bool get_frame(int fd, struct frame *f)
{
	unsigned char head[HEADER_SIZE];

	if (!net_read(fd, head, sizeof(head)))
		return false;
	*f = (struct frame) {
		head[3], head[4], (unsigned int)head[7] << 8 | head[8], (unsigned int)head[1] << 8 | head[2], { 0 }
	};
	return f->size <= MAX_PAYLOAD && net_read(fd, f->payload, f->size);
}

/* ---- server ------------------------------------------------------------------------------------------------------ */

static bool greet(int fd)
{
	char out[64], in[sizeof(preface)];
	struct frame f;
	size_t size = put(out, FRAME_SETTINGS, 0, 0, "", 0);

	if (!net_read(fd, in, strlen(preface)) || !get_frame(fd, &f) || f.type != FRAME_SETTINGS)
		return false;
	size += put(out + size, FRAME_SETTINGS, ACK, 0, "", 0);
	return net_write(fd, out, size);
}

/* The next whole request, or 0 at the end. */
static unsigned int next_request(int fd)
{
	struct frame f;

	while (get_frame(fd, &f))
		if (f.stream && f.flags & END_STREAM)
			return f.stream;
	return 0;
}

static size_t put_answer(char *out, unsigned int stream)
{
	size_t size = put(out, FRAME_HEADERS, END_HEADERS, stream, ok, strlen(ok));

	return size + put(out + size, FRAME_DATA, END_STREAM, stream, "ok", 2);
}

static void serve_one_by_one(int fd)
{
	unsigned int stream;
	char out[64];

	if (!greet(fd))
		return;
	while ((stream = next_request(fd))) {
		rig_sleep_us(4000);
		net_write(fd, out, put_answer(out, stream));
	}
}

/* Takes a hundred requests and answers them, all in one write or each in its own. */
static void serve_hundreds(int fd, bool together)
{
	static char out[MANY * 64];
	unsigned int streams[MANY];

	if (!greet(fd))
		return;
	for (;;) {
		size_t size = 0;

		for (int i = 0; i < MANY; i++) {
			streams[i] = next_request(fd);
			if (!streams[i])
				return;
		}
		rig_sleep_us(20000);
		for (int i = 0; i < MANY; i++) {
			size += put_answer(out + size, streams[i]);
			if (together)
				continue;
			rig_sleep_us(1000);
			net_write(fd, out, size);
			size = 0;
		}
		net_write(fd, out, size);
	}
}

static void serve_together(int fd)
{
	serve_hundreds(fd, true);
}

static void serve_apart(int fd)
{
	serve_hundreds(fd, false);
}

/* Unary calls take 4 ms.  A streaming call takes a message and gives one, every 50 ms, until it is over. */
static void serve_calls(int fd)
{
	bool streaming = false;
	struct frame f;
	char out[256];

	if (!greet(fd))
		return;
	while (get_frame(fd, &f)) {
		size_t size = 0;

		if (f.type == FRAME_HEADERS && f.stream)
			streaming = f.payload[7] == 's';
		if (f.type == FRAME_HEADERS && streaming)
			net_write(fd, out, put(out, FRAME_HEADERS, END_HEADERS, f.stream, grpc_ok, strlen(grpc_ok)));
		if (f.type != FRAME_DATA)
			continue;
		rig_sleep_us(streaming ? 50000 : 4000);
		if (!streaming)
			size = put(out, FRAME_HEADERS, END_HEADERS, f.stream, grpc_ok, strlen(grpc_ok));
		size += put(out + size, FRAME_DATA, 0, f.stream, message, sizeof(message) - 1);
		if (f.flags & END_STREAM)
			size += put(out + size, FRAME_HEADERS, END_HEADERS | END_STREAM, f.stream, grpc_end,
				    strlen(grpc_end));
		net_write(fd, out, size);
	}
}

/* ---- client ------------------------------------------------------------------------------------------------------ */

static int connect_h2(void)
{
	int fd = net_connect();
	char out[64];
	struct frame f;

	memcpy(out, preface, strlen(preface));
	net_write(fd, out, strlen(preface) + put(out + strlen(preface), FRAME_SETTINGS, 0, 0, "", 0));
	if (!get_frame(fd, &f) || !get_frame(fd, &f) || f.type != FRAME_SETTINGS || f.flags != ACK)
		rig_broken("no settings");
	net_write(fd, out, put(out, FRAME_SETTINGS, ACK, 0, "", 0));
	return fd;
}

/* The end of one answer: its stream. */
static unsigned int wait_for_end(int fd)
{
	struct frame f;

	do {
		if (!get_frame(fd, &f))
			rig_broken("the client got no answer");
	} while (!(f.flags & END_STREAM) || !f.stream);
	return f.stream;
}

static void client_one_by_one(void)
{
	int fd = connect_h2();

	rig_sleep_us(20000);
	for (unsigned int i = 0; i < 20; i++) {
		uint64_t start = rig_clock_us();
		char out[64];

		net_write(fd, out, put(out, FRAME_HEADERS, END_HEADERS | END_STREAM, 2 * i + 1, get, strlen(get)));
		wait_for_end(fd);
		rig_saw(RIG_SEEN, rig_clock_us() - start);
	}
	close(fd);
}

static void client_hundred(void)
{
	static char out[MANY * 64];
	size_t size = 0;
	int fd = connect_h2();
	uint64_t start;

	for (unsigned int i = 0; i < MANY; i++)
		size += put(out + size, FRAME_HEADERS, END_HEADERS | END_STREAM, 2 * i + 1, get, strlen(get));
	start = rig_clock_us();
	net_write(fd, out, size);
	for (int i = 0; i < MANY; i++) {
		wait_for_end(fd);
		rig_saw(RIG_SEEN, rig_clock_us() - start);
	}
	close(fd);
}

static void client_stream(void)
{
	int fd = connect_h2();
	struct frame f;
	char out[128];

	net_write(fd, out, put(out, FRAME_HEADERS, END_HEADERS, 1, post_stream, strlen(post_stream)));
	for (int i = 1; i <= MESSAGES; i++) {
		net_write(fd, out,
			  put(out, FRAME_DATA, i == MESSAGES ? END_STREAM : 0, 1, message, sizeof(message) - 1));
		do {
			if (!get_frame(fd, &f))
				rig_broken("the stream ended early");
		} while (f.type != FRAME_DATA);
	}
	close(fd);
}

static void client_unary(void)
{
	int fd = connect_h2();

	for (unsigned int i = 0; i < 20; i++) {
		uint64_t start = rig_clock_us();
		char out[128];
		size_t size = put(out, FRAME_HEADERS, END_HEADERS, 2 * i + 1, post_unary, strlen(post_unary));

		net_write(fd, out,
			  size + put(out + size, FRAME_DATA, END_STREAM, 2 * i + 1, message, sizeof(message) - 1));
		wait_for_end(fd);
		rig_saw(RIG_SEEN, rig_clock_us() - start);
	}
	close(fd);
}

static void client_stream_and_unary(void)
{
	net_beside(client_stream, client_unary);
}

static const struct rig_case cases[] = {
	{ "25a", "HTTP/2, one request at a time", .serve = serve_one_by_one, .client = client_one_by_one,
	  .expect = { .nr = 20, .us = 4000, .may_declare = "multiplexed" } },
	{ "25b", "HTTP/2, 100 streams at once, answers in one write", .serve = serve_together, .client = client_hundred,
	  .expect = { .nr = MANY, .us = 20000, .may_declare = "multiplexed" } },
	{ "25c", "HTTP/2, 100 streams at once, answered over 100 ms", .serve = serve_apart, .client = client_hundred,
	  .expect = { .nr = MANY, .us = 69000, .p99_us = 118000, .may_declare = "multiplexed" } },
	{ "25d", "gRPC framing, one unary call at a time", .serve = serve_calls, .client = client_unary,
	  .expect = { .nr = 20, .us = 4000, .may_declare = "multiplexed" } },
	{ "26a", "gRPC framing, a call of 20 messages beside unary calls", .serve = serve_calls,
	  .client = client_stream_and_unary, .expect = { .nr = 20, .us = 4000, .may_declare = "multiplexed" } },
};

int main(int argc, char **argv)
{
	(void)argc;
	return rig_main(cases, sizeof(cases) / sizeof(cases[0]), argv);
}
