/* SPDX-License-Identifier: GPL-2.0 */
/*
 * response.h - finds the end of one response in a stream of bytes, however it is cut.  Pure.
 */
#ifndef PARTIES_LOAD_RESPONSE_H
#define PARTIES_LOAD_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum response_kind { RESPONSE_MEMCACHED, RESPONSE_REDIS, RESPONSE_HTTP, RESPONSE_TRUTH };

enum response_state {
	RESPONSE_FIRST_LINE, /* or, for memcached, any line outside a value */
	RESPONSE_HEADER,
	RESPONSE_BODY,       /* body_left bytes, or until the peer closes */
	RESPONSE_CHUNK_LINE,
	RESPONSE_CHUNK,
	RESPONSE_TRAILER,
	RESPONSE_DONE,
};

struct response {
	enum response_kind kind;
	enum response_state state;
	bool begun;       /* at least one byte came */
	bool failed;      /* the server says that the request failed */
	bool peer_closes; /* the connection cannot carry another request */
	bool until_close, interim, chunked, has_length;
	uint64_t body_left;
	uint32_t line_size;
	char line[256];   /* longer lines are cut: only their beginnings matter */
};

void response_begin(struct response *r, enum response_kind kind);

/* 1: complete; 0: more bytes are needed; -EBADMSG: not a response, or bytes after its end. */
int response_feed(struct response *r, const char *data, size_t size);

/* The peer closed: 1 when that completes the response, otherwise -ECONNRESET. */
int response_end(struct response *r);

#endif
