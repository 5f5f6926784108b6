/* SPDX-License-Identifier: GPL-2.0 */
/*
 * requests.h - where requests begin and end in what a client sends: HTTP/1, memcached (text and meta), RESP, TLS records;
 * and which of them it is, by its first line.  Pure.
 *
 * A grammar has a function for each word (false: this cannot be the protocol) and one for each line.  Bodies are jumped
 * over by their size, so what looks like a request in a body is none.
 */
#ifndef EBEE_REQUESTS_H
#define EBEE_REQUESTS_H

#include "fields.h"
#include "records.h"

enum { REQUEST_MAX_PARTS = 1 << 20 };

/* ---- HTTP/1 ------------------------------------------------------------------------------------------------------ */

static inline void method_word(struct parse *p)
{
	if (IS_WORD(p, "HEAD"))
		p->flags |= PARSE_NO_BODY;
	if (IS_WORD(p, "CONNECT"))
		p->flags |= PARSE_UPGRADE | PARSE_CONNECT;
}

static inline bool http1_word(struct parse *p)
{
	if (p->step == STEP_FIELDS)
		return field_word(p);
	if (p->step != STEP_FIRST)
		return chunk_word(p);
	method_word(p);
	p->rest = 1;
	return (__u8)(p->word - 'A') <= 'Z' - 'A';
}

static inline enum parse_did http1_line(struct parse *p, bool empty)
{
	if (p->step == STEP_CHUNK)
		return chunk_line(p, empty);
	if (p->step == STEP_FIRST) {
		p->step = STEP_FIELDS;
		return DID_MORE;
	}
	if (!empty)
		return DID_MORE;
	if (p->step == STEP_FIELDS && p->flags & PARSE_CHUNKED) {
		p->step = STEP_CHUNK;
		return DID_MORE;
	}
	if (p->step == STEP_FIELDS && p->body) {
		p->skip = p->body;
		p->step = STEP_BODY;
		return DID_MORE;
	}
	return parse_end(p, DID_END);
}

/* ---- memcached --------------------------------------------------------------------------------------------------- */

enum memcached_kind {
	MEMCACHED_NONE,
	MEMCACHED_KEYS,  /* nothing but keys follows */
	MEMCACHED_STORE, /* the fifth word is the size of what follows the line */
	MEMCACHED_WORDS, /* noreply may follow the key */
	MEMCACHED_FLUSH, /* there is no key */
	MEMCACHED_META,  /* flags may be among them */
	MEMCACHED_META_SET, /* and the third word is the size of what follows the line */
	MEMCACHED_QUIT,  /* is not answered */
};

/* enum memcached_kind. */
PARSE_FUNCTION int memcached_kind(const struct parse *p)
{
	if (!p)
		return MEMCACHED_NONE;
	if (IS_WORD(p, "get") || IS_WORD(p, "gets") || IS_WORD(p, "gat") || IS_WORD(p, "gats") || IS_WORD(p, "mn"))
		return MEMCACHED_KEYS;
	if (IS_WORD(p, "set") || IS_WORD(p, "add") || IS_WORD(p, "replace") || IS_WORD(p, "append") ||
	    IS_WORD(p, "prepend") || IS_WORD(p, "cas"))
		return MEMCACHED_STORE;
	if (IS_WORD(p, "delete") || IS_WORD(p, "incr") || IS_WORD(p, "decr") || IS_WORD(p, "touch") ||
	    IS_WORD(p, "verbosity") || IS_WORD(p, "version") || IS_WORD(p, "stats"))
		return MEMCACHED_WORDS;
	if (IS_WORD(p, "mg") || IS_WORD(p, "md") || IS_WORD(p, "ma") || IS_WORD(p, "me"))
		return MEMCACHED_META;
	if (IS_WORD(p, "ms"))
		return MEMCACHED_META_SET;
	if (IS_WORD(p, "flush_all"))
		return MEMCACHED_FLUSH;
	return IS_WORD(p, "quit") || IS_WORD(p, "shutdown") ? MEMCACHED_QUIT : MEMCACHED_NONE;
}

static inline bool memcached_word(struct parse *p)
{
	if (p->step == STEP_TRAILER)
		return false;
	if (!p->nr) {
		p->kind = memcached_kind(p);
		if (p->kind == MEMCACHED_NONE) /* it knows some that we do not; all are answered */
			p->kind = MEMCACHED_WORDS;
		if (p->kind == MEMCACHED_QUIT)
			p->flags |= PARSE_ONE_WAY;
		if (IS_WORD(p, "mn"))
			p->flags |= PARSE_LAST;
		p->rest = p->kind == MEMCACHED_KEYS;
		return (__u8)(p->word - 'a') <= 'z' - 'a';
	}
	if ((p->kind == MEMCACHED_STORE && p->nr == 4) || (p->kind == MEMCACHED_META_SET && p->nr == 2)) {
		p->body = p->number;
	} else if (p->kind == MEMCACHED_META || p->kind == MEMCACHED_META_SET) {
		if (p->nr > 1 && IS_WORD(p, "q"))
			p->flags |= PARSE_ONE_WAY;
	} else if (IS_WORD(p, "noreply") && p->nr >= (p->kind == MEMCACHED_STORE ? 5 : p->kind == MEMCACHED_FLUSH ? 1 : 2)) {
		p->flags |= PARSE_ONE_WAY;
	}
	return true;
}

static inline enum parse_did memcached_line(struct parse *p, bool empty)
{
	bool store = p->kind == MEMCACHED_STORE, sized = store || p->kind == MEMCACHED_META_SET;

	if (p->step == STEP_TRAILER) /* the value's own line end, where it has to be */
		return empty ? parse_end(p, DID_END) : DID_BAD;
	/* Without a good size the command is refused, and nothing belongs to it but its line. */
	if (!sized || p->body == NO_NUMBER || p->nr < (store ? 4 : 2))
		return parse_end(p, DID_END);
	p->skip = p->body;
	p->step = STEP_TRAILER;
	return DID_MORE;
}

/* ---- RESP -------------------------------------------------------------------------------------------------------- */

static inline bool resp_word(struct parse *p)
{
	if (p->nr)
		return true;
	if (p->step == STEP_NAME) {
		/* From here on it is told things, rather than answered. */
		if (IS_WORD(p, "subscribe") || IS_WORD(p, "psubscribe") || IS_WORD(p, "ssubscribe") || IS_WORD(p, "monitor"))
			p->protocol = EXCHANGE_UPGRADED;
		return true;
	}
	p->body = p->number;
	if (p->step == STEP_PART)
		return (__u8)p->word == '$' && p->number != NO_NUMBER;
	if ((__u8)p->word != '*') { /* a command in words */
		p->rest = 1;
		return true;
	}
	p->left = p->number;
	return p->number && p->number <= REQUEST_MAX_PARTS;
}

/* One part is over. */
static inline enum parse_did resp_part_end(struct parse *p)
{
	p->step = STEP_PART;
	return --p->left ? DID_MORE : parse_end(p, DID_END);
}

static inline enum parse_did resp_line(struct parse *p, bool empty)
{
	if (p->step == STEP_NAME)
		return resp_part_end(p);
	if (p->step == STEP_PART) {
		if (empty)
			return DID_BAD;
		if (p->kind && p->body && p->body <= 16)
			p->step = STEP_NAME;
		else
			p->skip = p->body + 2;
		p->kind = 0;
		return DID_MORE;
	}
	if (!p->left)
		return parse_end(p, DID_END);
	p->kind = 1; /* the name is next */
	p->step = STEP_PART;
	return DID_MORE;
}

/* ---- which is it ------------------------------------------------------------------------------------------------- */

static inline bool is_method(const struct parse *p)
{
	__u64 word = p->word;

	if (p->length < 3 || p->length > 18)
		return false;
	for (int i = 0; i < 8; i++, word >>= 8)
		if (word && (__u8)(word - 'A') > 'Z' - 'A' && (__u8)word != '-')
			return false;
	return true;
}

static inline bool new_word(struct parse *p)
{
	if (p->nr || (__u8)p->word == '*')
		return true;
	if (memcached_kind(p) != MEMCACHED_NONE) {
		p->protocol = EXCHANGE_MEMCACHED;
		return memcached_word(p);
	}
	if (IS_WORD(p, "PROXY")) { /* a line of a proxy's, before the client's own first one */
		p->kind = NEW_PROXY;
		p->rest = 1;
		return true;
	}
	p->kind = NEW_HTTP;
	method_word(p);
	if (IS_WORD(p, "PRI"))
		p->flags |= PARSE_LAST;
	return is_method(p);
}

static inline enum parse_did new_line(struct parse *p)
{
	if (!p->nr && (__u8)p->word == '*') {
		p->protocol = EXCHANGE_RESP;
		return resp_word(p) ? resp_line(p, false) : DID_BAD;
	}
	if (p->kind == NEW_PROXY) {
		p->kind = NEW_TEXT;
		return DID_MORE;
	}
	if (p->kind != NEW_HTTP)
		return DID_BAD;
	if (p->flags & PARSE_LAST && IS_WORD(p, "HTTP/2.0")) {
		p->protocol = EXCHANGE_MULTIPLEX;
		return DID_MORE;
	}
	p->protocol = EXCHANGE_HTTP1;
	p->step = STEP_FIELDS;
	return IS_WORD(p, "HTTP/1.1") || IS_WORD(p, "HTTP/1.0") ? DID_MORE : DID_BAD;
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

/* false: this cannot be the protocol. */
PARSE_FUNCTION int request_word(struct parse *p)
{
	if (!p)
		return false;
	switch (p->protocol) {
	case EXCHANGE_HTTP1:
		return http1_word(p);
	case EXCHANGE_MEMCACHED:
		return memcached_word(p);
	case EXCHANGE_RESP:
		return resp_word(p);
	default:
		return new_word(p);
	}
}

static inline enum parse_did request_line(struct parse *p, bool empty)
{
	switch (p->protocol) {
	case EXCHANGE_HTTP1:
		return http1_line(p, empty);
	case EXCHANGE_MEMCACHED:
		return memcached_line(p, empty);
	case EXCHANGE_RESP:
		return resp_line(p, empty);
	case EXCHANGE_UPGRADED:
		return DID_MORE;
	default:
		return new_line(p);
	}
}

/* The line whose last word is in hand is over.  Returns enum parse_did. */
PARSE_FUNCTION int request_line_end(struct parse *p)
{
	bool empty, good = true;
	enum parse_did did;

	if (!p)
		return DID_BAD;
	empty = !p->nr && !p->length && !p->rest;
	if (p->length && !p->rest)
		good = request_word(p);
	did = good ? request_line(p, empty) : DID_BAD;
	parse_next_line(p);
	return did;
}

/* A payload has been jumped over. */
PARSE_FUNCTION int request_payload_end(struct parse *p)
{
	if (!p)
		return DID_BAD;
	if (p->step == STEP_BODY)
		return parse_end(p, DID_END);
	return p->step == STEP_PART ? resp_part_end(p) : DID_MORE;
}

enum request_first { FIRST_NOTHING, FIRST_RECORD, FIRST_MESSAGE };

/* The first byte after a message, or of all: white space, a record's, or a message begins with it. */
static inline enum request_first request_first_byte(struct parse *p, __u8 c)
{
	if (c == '\r' || c == '\n' || c == ' ')
		return FIRST_NOTHING;
	if (p->protocol != EXCHANGE_NEW)
		return FIRST_MESSAGE;
	if (c == TLS_HANDSHAKE || (c == TLS_DATA && p->flags & PARSE_OLD)) {
		p->protocol = EXCHANGE_TLS;
		p->flags = p->flags & PARSE_OLD ? PARSE_DATA | PARSE_OLD : 0;
	} else if (!c && p->flags & PARSE_OLD) {
		p->kind = NEW_FRAMES;
	} else {
		return FIRST_MESSAGE;
	}
	p->step = STEP_FIRST;
	return FIRST_RECORD;
}

/* A line of no interest begins with it. */
static inline bool is_idle_field(const struct parse *p, __u8 c)
{
	return p->protocol == EXCHANGE_HTTP1 && p->step == STEP_FIELDS && !p->nr && !p->length && c != '\r' && c != '\n' &&
	       !field_may_matter(c);
}

/* One byte, of a message or record that has begun. */
PARSE_FUNCTION int request_byte(struct parse *p, __u8 c)
{
	struct parse_style style = {};
	enum parse_event event;

	if (!p)
		return DID_BAD;
	if (p->protocol == EXCHANGE_TLS)
		return tls_byte(p, c);
	if (p->protocol == EXCHANGE_NEW) {
		if (p->kind == NEW_FRAMES)
			return frames_byte(p, c);
		if ((c < ' ' && c != '\r' && c != '\n' && c != '\t') || c > '~')
			return DID_BAD;
	}
	if (p->protocol == EXCHANGE_HTTP1) {
		style = http1_style(p);
	} else {
		style.typed = p->protocol != EXCHANGE_MEMCACHED;
		style.lower = p->step == STEP_NAME;
	}
	event = parse_byte(p, c, &style);
	if (event == EVENT_LINE)
		return request_line_end(p);
	if (event == EVENT_WORD) {
		int good = request_word(p);

		parse_next_word(p);
		return good ? DID_MORE : DID_BAD;
	}
	return DID_MORE;
}

/*
 * Bytes `at` up to `held` of a message or record that has begun, until something happens: it ends, a payload begins, or
 * they are used up.  Returns enum parse_did.
 */
PARSE_FUNCTION int request_bytes(struct parse *p, const struct chunk *chunk, __u32 at, __u32 held)
{
	int did = DID_MORE;

	if (!p || !chunk)
		return DID_BAD;
	for (int i = 0; i < PARSE_CHUNK && did == DID_MORE; i++) {
		if (at >= held || at >= PARSE_CHUNK || p->skip || p->step == STEP_START || parse_is_left(p))
			break;
		if (!p->rest && is_idle_field(p, chunk->bytes[at])) {
			p->rest = !parse_rest(p, chunk, &at, held); /* nearly every line of HTTP/1 */
		} else if (p->rest) {
			if (parse_rest(p, chunk, &at, held))
				did = request_line_end(p);
		} else {
			p->next++;
			did = request_byte(p, chunk->bytes[at++]);
		}
	}
	return did;
}

#endif
