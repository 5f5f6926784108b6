/* SPDX-License-Identifier: GPL-2.0 */
/*
 * parse_feed.h - bytes through the grammars of bpf/, as the programs do it but one at a time; what came out is counted.
 */
#ifndef TESTS_PARSE_FEED_H
#define TESTS_PARSE_FEED_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/replies.h"

struct parse_found {
	unsigned int begun, ended, one_way, none, data, unsure;
	unsigned int last_flags; /* of the last message that ended */
	size_t bad_at;   /* position of the byte that could not be, + 1; 0: none */
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
	return did != DID_BAD && !parse_is_left(p);
}

/* In chunks of `cut` bytes at most, as reads would bring them. */
static inline void parse_feed_cut(struct parse *p, const void *bytes, size_t size, bool reply, size_t cut,
				  struct parse_found *found)
{
	const uint8_t *from = bytes;
	struct chunk chunk = { 0 };

	while (p->next < size) {
		uint32_t at = p->next, held = (uint32_t)(size - at < cut ? size - at : cut);
		int did = DID_MORE;

		if (p->skip) {
			uint32_t n = p->skip < size - at ? (uint32_t)p->skip : (uint32_t)(size - at);

			p->next += n;
			p->skip -= n;
			if (!p->skip)
				did = reply ? reply_payload_end(p) : request_payload_end(p);
		} else if (reply) {
			memcpy(chunk.bytes, from + at, held);
			did = reply_bytes(p, &chunk, 0, held);
		} else {
			enum request_first first = FIRST_RECORD;

			memcpy(chunk.bytes, from + at, held);
			if (p->step == STEP_START)
				first = request_first_byte(p, from[at]);
			if (first == FIRST_NOTHING) {
				p->next++;
				continue;
			}
			if (first == FIRST_MESSAGE) {
				found->begun++;
				p->step = STEP_FIRST;
				p->flags &= PARSE_OLD;
			}
			did = request_bytes(p, &chunk, 0, held);
		}
		if (!parse_feed_did(p, found, did, p->next - 1))
			return;
	}
}

static inline void parse_feed(struct parse *p, const void *bytes, size_t size, bool reply, struct parse_found *found)
{
	const struct parse before = *p;
	struct parse_found first;

	memset(found, 0, sizeof(*found));
	parse_feed_cut(p, bytes, size, reply, PARSE_CHUNK, found);
	first = *found;
	/* However reads cut it, it is the same. */
	for (size_t cut = 1; cut < PARSE_CHUNK; cut += 1 + cut / 4) {
		*p = before;
		memset(found, 0, sizeof(*found));
		parse_feed_cut(p, bytes, size, reply, cut, found);
		if (memcmp(&first, found, sizeof(first))) {
			fprintf(stderr, "cut into %zu bytes it is something else\n", cut);
			abort();
		}
	}
}

#endif
