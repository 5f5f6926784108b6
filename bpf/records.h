/* SPDX-License-Identifier: GPL-2.0 */
/*
 * records.h - a client's bytes where headers say how long what follows is: records of TLS, frames of HTTP/2.  Pure.
 */
#ifndef EBEE_RECORDS_H
#define EBEE_RECORDS_H

#include "frame.h"
#include "parse.h"

/* ---- TLS --------------------------------------------------------------------------------------------------------- */

/* RFC 8446, section 5.1. */
enum {
	TLS_CHANGE_CIPHER = 20,
	TLS_HANDSHAKE = 22,
	TLS_DATA = 23,
	TLS_LAST_TYPE = 24,
	TLS_HEADER_SIZE = 5,
	TLS_LARGEST = 16384 + 2048,
	TLS_CLIENT_HELLO = 1,
	TLS_FINISHED_SHA256 = 4 + 32 + 1 + 16, /* handshake header, hash, type, tag: a record of its own */
	TLS_FINISHED_SHA384 = 4 + 48 + 1 + 16,
	TLS_CLOSE_NOTIFY = 2 + 1 + 16,
	TLS_MAX_UNSURE = 2, /* data records left out before we give up waiting for the end of the handshake */
};

/*
 * A record of the client's.  `first`: of a handshake record, the first byte of its contents.
 *
 * TLS 1.3 hides its handshake in data records, and the client's part ends with Finished, whose size is known.  Until 1.2 it
 * is open, and its last record, the first one enciphered, is a handshake record after the change of cipher.  (In 1.3 only
 * a second ClientHello can be that.)  So the client's side alone tells when the handshake is over.
 */
static inline enum parse_did tls_record(struct parse *p, __u8 type, __u32 size, __u8 first)
{
	enum parse_did did = DID_DATA;

	if (type == TLS_CHANGE_CIPHER)
		p->flags |= PARSE_CIPHER;
	else if (type == TLS_HANDSHAKE && p->flags & PARSE_CIPHER && !(first == TLS_CLIENT_HELLO && size > 64))
		p->flags |= PARSE_TLS12;
	if (type != TLS_DATA)
		return DID_MORE;
	if (!(p->flags & (PARSE_DATA | PARSE_TLS12))) {
		if (size == TLS_FINISHED_SHA256 || size == TLS_FINISHED_SHA384) {
			p->flags |= PARSE_DATA;
			return DID_MORE;
		}
		if (p->left++ < TLS_MAX_UNSURE)
			return DID_MORE;
		did = DID_UNSURE;
	}
	p->flags |= PARSE_DATA;
	return size == TLS_CLOSE_NOTIFY && !(p->flags & PARSE_TLS12) ? DID_MORE : did;
}

static inline enum parse_did tls_byte(struct parse *p, __u8 c)
{
	__u8 type, first = c;
	__u32 size;

	if (p->length < TLS_HEADER_SIZE) {
		p->word |= (__u64)c << 8 * p->length;
		if (++p->length < TLS_HEADER_SIZE)
			return DID_MORE;
		first = 0;
	}
	type = p->word;
	size = (p->word >> 24 & 0xff) << 8 | (p->word >> 32 & 0xff);
	if (type < TLS_CHANGE_CIPHER || type > TLS_LAST_TYPE || (__u8)(p->word >> 8) != 3 || size > TLS_LARGEST)
		return DID_BAD;
	if (type == TLS_HANDSHAKE && size && p->length++ == TLS_HEADER_SIZE)
		return DID_MORE; /* one byte more */
	p->skip = p->length > TLS_HEADER_SIZE ? size - 1 : size;
	p->word = 0;
	p->length = 0;
	return tls_record(p, type, size, first);
}

/* ---- HTTP/2 ------------------------------------------------------------------------------------------------------ */

enum { FRAMES_SURE = 4 };

/* Nine bytes of a connection that we did not see begin: HTTP/2 when four frames in a row are, one of them a request's. */
static inline enum parse_did frames_byte(struct parse *p, __u8 c)
{
	__u8 header[FRAME_HEADER_SIZE];
	struct frame frame;

	if (p->length < 8)
		p->word |= (__u64)c << 8 * p->length;
	if (++p->length < FRAME_HEADER_SIZE)
		return DID_MORE;
	for (int i = 0; i < 8; i++)
		header[i] = p->word >> 8 * i;
	header[8] = c;
	frame = frame_of(header);
	if (!may_be_frame(&frame))
		return DID_BAD;
	if (frame.type == FRAME_HEADERS && frame.stream & 1)
		p->flags |= PARSE_SIZED;
	p->skip = frame.length;
	p->word = 0;
	p->length = 0;
	if (++p->left >= FRAMES_SURE && p->flags & PARSE_SIZED)
		p->protocol = EXCHANGE_MULTIPLEX;
	return DID_MORE;
}

#endif
