/* SPDX-License-Identifier: GPL-2.0 */
/*
 * parse.h - protocols made of lines and payloads (HTTP/1, memcached, RESP), or of headers and payloads (TLS, HTTP/2),
 * byte by byte: what is remembered between two reads, and how bytes become words.  Payloads are jumped over, and so is the
 * rest of a line that does not matter, eight bytes at a time.  What words mean is requests.h's and replies.h's.  Pure:
 * built for the kernel and for the tests.
 *
 * Worked example: "set key 0 0 2\r\nok\r\n" is five words (nr 0..4) of which the grammar keeps the first and the number of
 * the last, a line end, four bytes to jump over, and the end of a message.
 */
#ifndef EBEE_PARSE_H
#define EBEE_PARSE_H

#include "exchange.h"
#include "types.h"

/* Where one direction of a connection has been read to.  Everything happens under the socket's own lock. */
struct parse {
	__u64 skip;    /* bytes of payload still to be jumped over */
	__u64 body;    /* bytes of payload that will follow the lines */
	__u64 word;    /* of the word, the first eight bytes, the first one lowest */
	__u64 tail;    /* and the last eight, the last one lowest */
	__u64 number;  /* the word as a number; NO_NUMBER: it is none */
	__u32 next;    /* TCP sequence number of the first byte not looked at */
	__u32 begin;   /* and where the message in hand begins */
	__u32 left;    /* parts of the message still to come */
	__u16 length;  /* of the word */
	__u8 nr;       /* words before it in the line, 255 for more */
	__u8 step;     /* enum parse_step */
	__u8 kind;     /* of the message; the grammar's own */
	__u8 flags;    /* PARSE_ */
	__u8 ended;    /* and of the message before */
	__u8 rest;     /* nonzero: nothing matters until the line ends */
	__u8 tries;    /* connections older than we are: how often we looked for a beginning */
	__u8 protocol; /* enum exchange_protocol */
	__u8 asked;    /* of an answer: the flags of its request */
};

/* What a byte, the end of a line or of a payload did. */
enum parse_did {
	DID_MORE, /* nothing that matters outside */
	DID_BAD,  /* this cannot be the protocol */
	DID_END,  /* that was the last byte of a message; its flags are in `ended` */
	DID_NONE, /* that was the last byte of what is no message: an interim answer, news that nobody asked for */
	DID_DATA, /* TLS: a record of application data begins */
	DID_UNSURE, /* likewise, but the handshake's end was not recognised */
};

/* A verifier looks at a global function once, and not once for each of its callers and their states. */
#ifdef __bpf__
#define PARSE_FUNCTION __attribute__((noinline))
#else
#define PARSE_FUNCTION static inline
#endif


#define NO_NUMBER (~0ULL)
enum { PARSE_MAX_DIGITS = 18 };

enum parse_step {
	STEP_START,  /* between messages */
	STEP_FIRST,  /* in the first line of one */
	STEP_FIELDS, /* HTTP/1: lines of name and value */
	STEP_CHUNK,  /* HTTP/1: size of a chunk, then its bytes */
	STEP_TRAILER, /* what follows a body: HTTP/1, lines until an empty one; memcached, the value's line end */
	STEP_PART,   /* RESP: size of a part, then its bytes */
	STEP_NAME,   /* RESP: the first part, the command's name */
	STEP_BODY,   /* payload, and the message is over */
	STEP_UNTIL_CLOSE, /* HTTP/1: an answer without a size */
};

enum {
	PARSE_CHUNKED = 1,
	PARSE_EXPECT = 2,   /* HTTP/1: the body waits for an interim answer */
	PARSE_UPGRADE = 4,  /* may speak something else after the answer */
	PARSE_NO_BODY = 8,  /* HTTP/1: HEAD, or an answer that has none */
	PARSE_ONE_WAY = 16, /* wants no answer */
	PARSE_LAST = 32,    /* memcached: mn, whose answer follows those of quiet commands */
	PARSE_CONNECT = 32, /* HTTP/1: another connection through this one */
	PARSE_OLD = 64,     /* the connection is older than we are */
	PARSE_SIZED = 128,  /* HTTP/1: the body's size was said */
	/* TLS, the same bits: */
	PARSE_CIPHER = 1,   /* the client changed to its cipher */
	PARSE_TLS12 = 2,    /* and sent a handshake record after that: not TLS 1.3 */
	PARSE_DATA = 4,     /* the handshake is over */
};

/* What a new connection may turn out to speak: the kind while nothing is known. */
enum { NEW_TEXT, NEW_HTTP, NEW_PROXY, NEW_FRAMES };

/* Of a constant string, as struct parse keeps it. */
#define WORD_BYTE(s, i) ((i) < sizeof(s) - 1 ? (__u64)(__u8)(s)[(i) < sizeof(s) ? (i) : 0] << 8 * (i) : 0)
#define WORD(s) (WORD_BYTE(s, 0) | WORD_BYTE(s, 1) | WORD_BYTE(s, 2) | WORD_BYTE(s, 3) | WORD_BYTE(s, 4) | \
		 WORD_BYTE(s, 5) | WORD_BYTE(s, 6) | WORD_BYTE(s, 7))
#define TAIL_BYTE(s, i) (sizeof(s) > (i) + 1 ? (__u64)(__u8)(s)[sizeof(s) > (i) + 1 ? sizeof(s) - 2 - (i) : 0] << 8 * (i) : 0)
#define TAIL(s) (TAIL_BYTE(s, 0) | TAIL_BYTE(s, 1) | TAIL_BYTE(s, 2) | TAIL_BYTE(s, 3) | TAIL_BYTE(s, 4) | \
		 TAIL_BYTE(s, 5) | TAIL_BYTE(s, 6) | TAIL_BYTE(s, 7))
/* Exact for words of up to sixteen bytes, and for longer ones but for what is in the middle. */
#define IS_WORD(p, s) ((p)->length == sizeof(s) - 1 && (p)->word == WORD(s) && (p)->tail == TAIL(s))

enum parse_event { EVENT_NONE, EVENT_WORD, EVENT_LINE }; /* EVENT_LINE: its last word, if any, is in the fields */

static inline void parse_next_word(struct parse *p)
{
	p->length = 0;
	p->word = p->tail = 0;
	p->number = NO_NUMBER;
	if (p->nr < 255)
		p->nr++;
}

static inline void parse_next_line(struct parse *p)
{
	p->length = 0;
	p->word = p->tail = 0;
	p->number = NO_NUMBER;
	p->nr = 0;
	p->rest = 0;
}

/* How a line is read. */
struct parse_style {
	__u8 separator; /* ends a word beside space and tab; 0: none */
	bool lower;     /* letters are taken as lower case */
	bool hex;
	bool typed;     /* the first byte of a line is no digit of the number after it */
};

static inline void parse_add_digit(struct parse *p, __u8 c, const struct parse_style *style)
{
	__u64 digit = c - '0', base = style->hex ? 16 : 10;

	if (style->hex && (c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		digit = (c | 0x20) - 'a' + 10;
	if (style->typed && !p->nr && !p->length)
		return;
	if (digit >= base || p->length > PARSE_MAX_DIGITS)
		p->number = NO_NUMBER;
	else if (p->length == (style->typed && !p->nr))
		p->number = digit;
	else if (p->number != NO_NUMBER)
		p->number = p->number * base + digit;
}

/* Takes one byte in. */
static inline enum parse_event parse_byte(struct parse *p, __u8 c, const struct parse_style *style)
{
	if (c == '\n')
		return EVENT_LINE;
	if (c == '\r')
		return EVENT_NONE;
	if (c == ' ' || c == '\t' || (style->separator && c == style->separator))
		return p->length ? EVENT_WORD : EVENT_NONE;
	if (style->lower && c >= 'A' && c <= 'Z')
		c |= 0x20;
	parse_add_digit(p, c, style);
	if (p->length < 8)
		p->word |= (__u64)c << 8 * p->length;
	p->tail = p->tail << 8 | c;
	if (p->length < 0xffff)
		p->length++;
	return EVENT_NONE;
}

/* After the last byte of a message, or of what is none. */
static inline enum parse_did parse_end(struct parse *p, enum parse_did did)
{
	p->ended = p->flags;
	p->step = STEP_START;
	p->flags &= PARSE_OLD;
	p->kind = 0;
	p->body = 0;
	return did;
}

/* Nonzero when a byte of the eight is a newline; exact up to and with the first one. */
static inline __u64 parse_newlines(__u64 eight)
{
	__u64 x = eight ^ 0x0a0a0a0a0a0a0a0aULL;

	return (x - 0x0101010101010101ULL) & ~x & 0x8080808080808080ULL;
}

/* What is looked at in one go. */
enum { PARSE_CHUNK = 64 };
struct chunk {
	union {
		__u8 bytes[PARSE_CHUNK];
		__u64 words[PARSE_CHUNK / 8];
	};
};

/* Where the first newline is at or after `at`, or PARSE_CHUNK.  Bytes before `at` in its word are made to be none. */
PARSE_FUNCTION int parse_newline(const struct chunk *chunk, __u32 at)
{
	__u64 hide = (1ULL << 8 * (at & 7)) - 1, found;
	__u32 i, byte;

	if (!chunk)
		return PARSE_CHUNK;
	for (i = at >> 3; i < PARSE_CHUNK / 8; i++) {
		/* Kept as a number: Linux 6.1 loses sight of a pointer that moves. */
		asm volatile("" : "+r"(i));
		found = parse_newlines(chunk->words[i & (PARSE_CHUNK / 8 - 1)] | hide);
		hide = 0;
		for (byte = 0; found && byte < 8; byte++, found >>= 8)
			if (found & 0x80)
				return 8 * i + byte;
	}
	return PARSE_CHUNK;
}

/* Neither requests nor answers that can be told apart from here on. */
static inline bool parse_is_left(const struct parse *p)
{
	return p->protocol == EXCHANGE_MULTIPLEX || p->protocol == EXCHANGE_UPGRADED;
}

/* The rest of a line, of bytes `*at` up to `held`: to its end (true), or through all of them. */
static inline bool parse_rest(struct parse *p, const struct chunk *chunk, __u32 *at, __u32 held)
{
	__u32 newline = parse_newline(chunk, *at);
	bool ended = newline < held;
	__u32 to = ended ? newline + 1 : held;

	p->next += to - *at;
	*at = to;
	return ended;
}

#endif
