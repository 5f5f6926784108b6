/* SPDX-License-Identifier: GPL-2.0 */
/*
 * parse_feed.h - bytes through the grammars of bpf/, as the programs do it but one at a time; what came out is counted.
 */
#ifndef TESTS_PARSE_FEED_H
#define TESTS_PARSE_FEED_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/replies.h"

struct parse_found {
	unsigned int begun, ended, one_way, none, data, unsure;
	size_t bad_at;   /* position of the byte that could not be, + 1; 0: none */
	uint8_t last_flags;
};

static inline void parse_feed_start(struct parse *p, uint8_t protocol, uint8_t flags)
{
	*p = (struct parse){ .protocol = protocol, .flags = flags, .number = NO_NUMBER };
}

/* false: that is the end of it. */
static inline bool parse_feed_did(struct parse *p, struct parse_found *found, int did, size_t at)
{
	found->ended += did == DID_END && !(p->ended & PARSE_ONE_WAY);
	found->one_way += did == DID_END && p->ended & PARSE_ONE_WAY;
	found->none += did == DID_NONE;
	found->data += did == DID_DATA || did == DID_UNSURE;
	found->unsure += did == DID_UNSURE;
	if (did == DID_END)
		found->last_flags = p->ended;
	if (did == DID_BAD)
		found->bad_at = at + 1;
	return did != DID_BAD && p->protocol != EXCHANGE_MULTIPLEX && p->protocol != EXCHANGE_UPGRADED;
}

static inline void parse_feed(struct parse *p, const void *bytes, size_t size, bool reply, struct parse_found *found)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < size; i++) {
		int did = DID_MORE;

		if (p->skip) {
			if (!--p->skip)
				did = reply ? reply_payload_end(p) : request_payload_end(p);
		} else if (p->rest) {
			if (at[i] == '\n')
				did = reply ? reply_line_end(p) : request_line_end(p);
		} else if (reply) {
			did = reply_byte(p, at[i]);
		} else {
			enum request_first first = FIRST_RECORD;

			if (p->step == STEP_START) {
				first = request_first_byte(p, at[i]);
				if (first == FIRST_MESSAGE) {
					found->begun++;
					p->step = STEP_FIRST;
					p->flags &= PARSE_OLD;
				}
			}
			if (first != FIRST_NOTHING)
				did = request_byte(p, at[i]);
		}
		if (!parse_feed_did(p, found, did, i))
			return;
	}
}

#endif
