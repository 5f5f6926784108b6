/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fields.h - what requests and answers of HTTP/1 share: lines of name and value, and bodies in chunks.  Pure.
 */
#ifndef EBEE_FIELDS_H
#define EBEE_FIELDS_H

#include "parse.h"

enum http_field { FIELD_OTHER, FIELD_LENGTH, FIELD_CODING };

/* A word of a line of name and value. */
static inline bool field_word(struct parse *p)
{
	if (!p->nr) {
		p->kind = FIELD_OTHER;
		if (IS_WORD(p, "content-length"))
			p->kind = FIELD_LENGTH;
		else if (IS_WORD(p, "transfer-encoding"))
			p->kind = FIELD_CODING;
		else if (IS_WORD(p, "upgrade"))
			p->flags |= PARSE_UPGRADE;
		else if (IS_WORD(p, "expect"))
			p->flags |= PARSE_EXPECT;
		p->rest = p->kind == FIELD_OTHER;
	} else if (p->kind == FIELD_LENGTH) {
		p->body = p->number;
		p->flags |= PARSE_SIZED;
		return p->number != NO_NUMBER;
	} else if (p->kind == FIELD_CODING && IS_WORD(p, "chunked")) {
		p->flags |= PARSE_CHUNKED;
	}
	return true;
}

/* Most names begin with another letter than those of interest. */
static inline bool field_may_matter(__u8 c)
{
	c |= 0x20;
	return c == 'c' || c == 't' || c == 'u' || c == 'e';
}

static inline struct parse_style http1_style(const struct parse *p)
{
	struct parse_style style = { .lower = p->step == STEP_FIELDS, .hex = p->step == STEP_CHUNK };

	style.separator = style.hex ? ';' : style.lower ? (p->nr ? ',' : ':') : 0;
	return style;
}

/* Of a chunk's line, or of what follows the last chunk. */
static inline bool chunk_word(struct parse *p)
{
	p->rest = 1;
	if (p->step == STEP_CHUNK)
		p->body = p->number;
	return p->step != STEP_CHUNK || p->number != NO_NUMBER;
}

/* The line with a chunk's size is over: its bytes and a line end come next. */
static inline enum parse_did chunk_line(struct parse *p, bool empty)
{
	if (empty)
		return DID_BAD;
	if (!p->body)
		p->step = STEP_TRAILER;
	else
		p->skip = p->body + 2;
	return DID_MORE;
}

#endif
