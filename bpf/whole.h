/* SPDX-License-Identifier: GPL-2.0 */
/*
 * whole.h - is what a read brings one request without a body, whole and alone?  A "get" of memcached or a GET of HTTP/1 that
 * begins with the read and ends with it is told without taking it apart; requests.h has all the others.  Pure.
 */
#ifndef EBEE_WHOLE_H
#define EBEE_WHOLE_H

#include "requests.h"

enum { WHOLE_MAX = 256 }; /* bytes of such a request */

/* One read.  What is behind its bytes is zero. */
struct whole {
	union {
		__u8 bytes[WHOLE_MAX + 8];
		__u64 words[WHOLE_MAX / 8 + 1];
	};
};

/* The beginnings of names that say something about a body, or about what follows. */
static inline bool whole_field_matters(const __u8 *name)
{
	__u32 four = (name[0] | name[1] << 8 | name[2] << 16 | (__u32)name[3] << 24) | 0x20202020;

	return four == (__u32)WORD("cont") || four == (__u32)WORD("tran") || four == (__u32)WORD("upgr") ||
	       four == (__u32)WORD("expe");
}

/* Nonzero: it is.  The connection is between requests, and its protocol is known. */
PARSE_FUNCTION int whole_request(const struct whole *w, __u32 size, int is_http)
{
	if (!w || size > WHOLE_MAX || (__u32)w->words[0] != (is_http ? (__u32)WORD("GET ") : (__u32)WORD("get ")))
		return 0;
	for (__u32 i = 0; i < WHOLE_MAX / 8 && 8 * i < size; i++) {
		if (!parse_newlines(w->words[i]))
			continue;
		for (__u32 next = 8 * i + 1; next <= 8 * i + 8; next++) {
			if (w->bytes[next - 1] != '\n')
				continue;
			if (!is_http)
				return next == size;
			if (w->bytes[next] == '\n')
				return next + 1 == size;
			if (w->bytes[next] == '\r')
				return w->bytes[next + 1] == '\n' && next + 2 == size;
			if (whole_field_matters(&w->bytes[next]))
				return 0;
		}
	}
	return 0;
}

#endif
