/* SPDX-License-Identifier: GPL-2.0 */
/*
 * replies.h - where answers end in what a server sends: HTTP/1, memcached, RESP.  Pure.  `protocol` and `asked` of the
 * parse are set by who feeds it, before the first byte of an answer.
 */
#ifndef EBEE_REPLIES_H
#define EBEE_REPLIES_H

#include "requests.h"

/* ---- HTTP/1 ------------------------------------------------------------------------------------------------------ */

static inline bool http1_reply_word(struct parse *p)
{
	if (p->step == STEP_FIELDS)
		return field_word(p);
	if (p->step != STEP_FIRST)
		return chunk_word(p);
	if (!p->nr)
		return IS_WORD(p, "HTTP/1.1") || IS_WORD(p, "HTTP/1.0");
	p->left = p->number;
	p->rest = 1;
	return p->number >= 100 && p->number <= 999;
}

/* The fields are over: how long is the body? */
static inline enum parse_did http1_reply_fields_end(struct parse *p)
{
	__u32 status = p->left;

	if (status == 101 || (p->asked & PARSE_CONNECT && status >= 200 && status < 300)) {
		p->protocol = EXCHANGE_UPGRADED;
		return DID_MORE;
	}
	if (status < 200)
		return parse_end(p, DID_NONE);
	if (p->asked & PARSE_NO_BODY || status == 204 || status == 304)
		return parse_end(p, DID_END);
	if (p->flags & PARSE_CHUNKED) {
		p->step = STEP_CHUNK;
	} else if (!(p->flags & PARSE_SIZED)) {
		p->step = STEP_UNTIL_CLOSE;
		p->skip = NO_NUMBER;
	} else if (p->body) {
		p->step = STEP_BODY;
		p->skip = p->body;
	} else {
		return parse_end(p, DID_END);
	}
	return DID_MORE;
}

static inline enum parse_did http1_reply_line(struct parse *p, bool empty)
{
	if (p->step == STEP_CHUNK)
		return chunk_line(p, empty);
	if (p->step == STEP_FIRST) {
		p->step = STEP_FIELDS;
		return p->left ? DID_MORE : DID_BAD;
	}
	if (!empty)
		return DID_MORE;
	return p->step == STEP_FIELDS ? http1_reply_fields_end(p) : parse_end(p, DID_END);
}

/* ---- memcached --------------------------------------------------------------------------------------------------- */

enum memcached_reply { REPLY_WHOLE, REPLY_VALUE, REPLY_META_VALUE, REPLY_MORE, REPLY_LAST };

static inline bool memcached_reply_word(struct parse *p)
{
	if (!p->nr) {
		p->kind = IS_WORD(p, "VALUE") ? REPLY_VALUE : IS_WORD(p, "VA") ? REPLY_META_VALUE :
			  IS_WORD(p, "STAT") || IS_WORD(p, "ITEM") ? REPLY_MORE : IS_WORD(p, "MN") ? REPLY_LAST : REPLY_WHOLE;
		p->rest = p->kind != REPLY_VALUE && p->kind != REPLY_META_VALUE;
	} else if (p->nr == (p->kind == REPLY_VALUE ? 3 : 1)) {
		p->body = p->number;
		p->rest = 1;
		return p->number != NO_NUMBER;
	}
	return true;
}

static inline enum parse_did memcached_reply_line(struct parse *p)
{
	/* What comes before MN is not waited for: quiet commands were answered. */
	enum parse_did whole = p->asked & PARSE_LAST ? DID_NONE : DID_END;

	switch (p->kind) {
	case REPLY_VALUE:
	case REPLY_META_VALUE:
		p->step = p->kind == REPLY_VALUE ? STEP_PART : STEP_BODY;
		p->skip = p->body + 2;
		return DID_MORE;
	case REPLY_MORE:
		p->step = STEP_PART; /* END is still to come */
		return DID_MORE;
	case REPLY_WHOLE:
		return parse_end(p, whole);
	default:
		return parse_end(p, DID_END);
	}
}

/* ---- RESP -------------------------------------------------------------------------------------------------------- */

static inline bool resp_reply_word(struct parse *p)
{
	__u64 number = p->number == NO_NUMBER ? 0 : p->number;

	if (p->step == STEP_FIRST) {
		p->left = 1;
		p->kind = (__u8)p->word == '>'; /* told, not asked for */
		p->step = STEP_PART;
	}
	p->rest = 1;
	switch ((__u8)p->word) {
	case '$':
	case '=':
	case '!':
		if (p->number != NO_NUMBER)
			p->skip = number + 2;
		p->left--;
		return true;
	case '*':
	case '~':
	case '>':
		p->left += number - 1;
		return number <= REQUEST_MAX_PARTS;
	case '%':
		p->left += 2 * number - 1;
		return number <= REQUEST_MAX_PARTS;
	case '|':
		p->left += 2 * number;
		return number <= REQUEST_MAX_PARTS;
	case '+':
	case '-':
	case ':':
	case ',':
	case '#':
	case '_':
	case '(':
		p->left--;
		return true;
	default:
		return false;
	}
}

static inline enum parse_did resp_reply_line(struct parse *p)
{
	if (p->left || p->skip)
		return DID_MORE;
	return parse_end(p, p->kind ? DID_NONE : DID_END);
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

/* false: this cannot be the protocol. */
PARSE_FUNCTION int reply_word(struct parse *p)
{
	if (!p)
		return false;
	switch (p->protocol) {
	case EXCHANGE_HTTP1:
		return http1_reply_word(p);
	case EXCHANGE_MEMCACHED:
		return memcached_reply_word(p);
	default:
		return resp_reply_word(p);
	}
}

PARSE_FUNCTION int reply_line_end(struct parse *p)
{
	bool empty, good = true;
	enum parse_did did;

	if (!p)
		return DID_BAD;
	empty = !p->nr && !p->length && !p->rest;
	if (p->length && !p->rest)
		good = reply_word(p);
	if (!good)
		return DID_BAD;
	did = p->protocol == EXCHANGE_HTTP1     ? http1_reply_line(p, empty) :
	      p->protocol == EXCHANGE_MEMCACHED ? memcached_reply_line(p) :
						  resp_reply_line(p);
	parse_next_line(p);
	return did;
}

PARSE_FUNCTION int reply_payload_end(struct parse *p)
{
	if (!p)
		return DID_BAD;
	if (p->protocol == EXCHANGE_RESP)
		return resp_reply_line(p);
	if (p->step == STEP_BODY)
		return parse_end(p, p->protocol == EXCHANGE_MEMCACHED && p->asked & PARSE_LAST ? DID_NONE : DID_END);
	return DID_MORE;
}

PARSE_FUNCTION int reply_byte(struct parse *p, __u8 c)
{
	struct parse_style style = {};
	enum parse_event event;

	if (!p)
		return DID_BAD;
	if (p->protocol == EXCHANGE_HTTP1)
		style = http1_style(p);
	else
		style.typed = p->protocol == EXCHANGE_RESP;
	event = parse_byte(p, c, &style);
	if (event == EVENT_LINE)
		return reply_line_end(p);
	if (event == EVENT_WORD) {
		int good = reply_word(p);

		parse_next_word(p);
		return good ? DID_MORE : DID_BAD;
	}
	return DID_MORE;
}

/* As request_bytes; an answer begins with any byte. */
PARSE_FUNCTION int reply_bytes(struct parse *p, const struct chunk *chunk, __u32 at, __u32 held)
{
	int did = DID_MORE;

	if (!p || !chunk)
		return DID_BAD;
	if (p->step == STEP_START)
		p->step = STEP_FIRST;
	for (int i = 0; i < PARSE_CHUNK && did == DID_MORE; i++) {
		if (at >= held || at >= PARSE_CHUNK || p->skip || parse_is_left(p))
			break;
		if (!p->rest && is_idle_field(p, chunk->bytes[at])) {
			p->rest = !parse_rest(p, chunk, &at, held);
		} else if (p->rest) {
			if (parse_rest(p, chunk, &at, held))
				did = reply_line_end(p);
		} else {
			p->next++;
			did = reply_byte(p, chunk->bytes[at++]);
		}
	}
	return did;
}

#endif
