/* SPDX-License-Identifier: GPL-2.0 */
/*
 * frame.h - the header of an HTTP/2 frame, and whether nine bytes can be one.  Pure.
 */
#ifndef EBEE_FRAME_H
#define EBEE_FRAME_H

#include "types.h"

/* RFC 9113, section 6. */
enum {
	FRAME_DATA = 0,
	FRAME_HEADERS = 1,
	FRAME_RST_STREAM = 3,
	FRAME_SETTINGS = 4,
	FRAME_PING = 6,
	FRAME_GOAWAY = 7,
	FRAME_WINDOW_UPDATE = 8,
	FRAME_CONTINUATION = 9,
	FRAME_LARGE = 16384,         /* what a peer takes unless it says otherwise */
	FRAME_LAST_EXTENSION = 0x20, /* none is registered beyond; a higher one is no frame, but lost footing */
	FRAME_END_STREAM = 0x1,
	FRAME_HEADER_SIZE = 9,
	PREFACE_SIZE = 24,
};

struct frame {
	__u32 length, stream;
	__u8 type, flags;
};

static inline struct frame frame_of(const __u8 *h)
{
	return (struct frame){
		.length = h[0] << 16 | h[1] << 8 | h[2],
		.type = h[3],
		.flags = h[4],
		.stream = (h[5] & 0x7f) << 24 | h[6] << 16 | h[7] << 8 | h[8],
	};
}

/* Whether this can be a frame at all: the walk's own check that it has not lost its footing. */
static inline bool is_frame(const struct frame *f)
{
	switch (f->type) {
	case FRAME_DATA:
	case FRAME_HEADERS:
	case FRAME_CONTINUATION:
		return f->stream;
	case FRAME_RST_STREAM:
		return f->stream && f->length == 4;
	case FRAME_SETTINGS:
		return !f->stream && f->length % 6 == 0;
	case FRAME_PING:
		return !f->stream && f->length == 8;
	case FRAME_GOAWAY:
		return !f->stream && f->length >= 8;
	case FRAME_WINDOW_UPDATE:
		return f->length == 4;
	default:
		return f->type <= FRAME_LAST_EXTENSION;
	}
}

/* The same where nothing is known yet.  Text fails by its length, zeros by their stream; of random bytes one in 10^4
 * passes, and then the next one must, at the end of its payload. */
static inline bool may_be_frame(const struct frame *f)
{
	return f->length <= FRAME_LARGE && f->type <= FRAME_CONTINUATION && is_frame(f);
}

#endif
