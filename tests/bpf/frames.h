/* SPDX-License-Identifier: GPL-2.0 */
/*
 * frames.h - HTTP/2 by hand, for both ends of a test: whole frames in and out, header blocks that are always the same.
 * No flow control and no settings: tests keep within the protocol's initial windows, or their peer does not look.
 */
#ifndef TESTS_FRAMES_H
#define TESTS_FRAMES_H

#include <poll.h>
#include <sys/uio.h>

#include "bpf/server.h"

enum { F_DATA = 0, F_HEADERS = 1, F_RST_STREAM = 3, F_SETTINGS = 4, F_PING = 6, F_WINDOW_UPDATE = 8 };
enum { END_STREAM = 1, END_HEADERS = 4 };
enum { FRAME_HEADER = 9, MAX_PAYLOAD = 16384, MAX_FRAME = FRAME_HEADER + MAX_PAYLOAD };

struct h2_frame {
	uint8_t type, flags;
	uint32_t stream, length;
	uint8_t payload[MAX_PAYLOAD];
};

/* Writes a frame at `at`; returns where the next one goes. */
static inline uint8_t *h2_put(uint8_t *at, uint8_t type, uint8_t flags, uint32_t stream, const void *payload,
			      uint32_t length)
{
	const uint8_t header[FRAME_HEADER] = {
		(uint8_t)(length >> 16), (uint8_t)(length >> 8), (uint8_t)length, type, flags,
		(uint8_t)(stream >> 24), (uint8_t)(stream >> 16), (uint8_t)(stream >> 8), (uint8_t)stream,
	};

	memcpy(at, header, sizeof(header));
	if (length)
		memcpy(at + sizeof(header), payload, length);
	return at + sizeof(header) + length;
}

/* ":method: GET", ":scheme: http", ":path: /" from the static table, ":authority: h" as a literal. */
static const uint8_t h2_request[] = { 0x82, 0x86, 0x84, 0x41, 0x01, 'h' };
static const uint8_t h2_status_200[] = { 0x88 };
static const char h2_preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

static inline uint8_t *h2_put_request(uint8_t *at, uint32_t stream, bool body_follows)
{
	const uint8_t flags = END_HEADERS | (body_follows ? 0 : END_STREAM);

	return h2_put(at, F_HEADERS, flags, stream, h2_request, sizeof(h2_request));
}

/* Headers and a body of five bytes. */
static inline uint8_t *h2_put_answer(uint8_t *at, uint32_t stream)
{
	at = h2_put(at, F_HEADERS, END_HEADERS, stream, h2_status_200, sizeof(h2_status_200));
	return h2_put(at, F_DATA, END_STREAM, stream, "hello", 5);
}

static inline uint8_t *h2_put_greeting(uint8_t *at)
{
	memcpy(at, h2_preface, sizeof(h2_preface) - 1);
	return h2_put(at + sizeof(h2_preface) - 1, F_SETTINGS, 0, 0, NULL, 0);
}

static inline bool h2_send(int fd, const uint8_t *from, const uint8_t *to)
{
	return write_all(fd, from, (size_t)(to - from));
}

static inline bool h2_send_answer(int fd, uint32_t stream)
{
	uint8_t buf[64];

	return h2_send(fd, buf, h2_put_answer(buf, stream));
}

static inline bool h2_read(int fd, struct h2_frame *ret)
{
	uint8_t h[FRAME_HEADER];

	if (!read_all(fd, h, sizeof(h)))
		return false;
	ret->length = (uint32_t)(h[0] << 16 | h[1] << 8 | h[2]);
	ret->type = h[3];
	ret->flags = h[4];
	ret->stream = (uint32_t)(h[5] << 24 | h[6] << 16 | h[7] << 8 | h[8]);
	return ret->length <= MAX_PAYLOAD && read_all(fd, ret->payload, ret->length);
}

/* The next frame of a stream's end, skipping all others; 0: the connection is over. */
static inline uint32_t h2_read_end(int fd)
{
	struct h2_frame frame;

	while (h2_read(fd, &frame))
		if (frame.stream && (frame.type == F_RST_STREAM || frame.flags & END_STREAM))
			return frame.stream;
	return 0;
}

/* The server's half of the greeting. */
static inline bool h2_welcome(int fd)
{
	char preface[sizeof(h2_preface) - 1];
	uint8_t buf[FRAME_HEADER];

	return read_all(fd, preface, sizeof(preface)) && h2_send(fd, buf, h2_put(buf, F_SETTINGS, 0, 0, NULL, 0));
}

static inline int h2_connect(uint16_t port)
{
	uint8_t buf[64];
	int fd = connect_to(port);

	if (!h2_send(fd, buf, h2_put_greeting(buf)))
		abort();
	return fd;
}

#endif
