// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz_parse.c - any bytes through the grammars of requests and answers: they end, keep to their fields, and find no more
 * messages than bytes.  The first byte says which.
 */
#include <stdlib.h>

#include "tests/unit/parse_feed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t protocols[] = { EXCHANGE_HTTP1, EXCHANGE_MEMCACHED, EXCHANGE_RESP, EXCHANGE_NEW };
	struct parse_found found = { 0 };
	struct parse p;
	bool reply;

	if (!size)
		return 0;
	reply = data[0] & 1 && (data[0] >> 1 & 3) < 3;
	parse_feed_start(&p, reply ? protocols[data[0] >> 1 & 3] : EXCHANGE_NEW, data[0] & PARSE_OLD);
	p.asked = reply ? data[0] >> 3 & (PARSE_NO_BODY | PARSE_LAST) : 0;
	parse_feed(&p, data + 1, size - 1, reply, &found);
	if (found.ended + found.one_way + found.none > size || found.begun > size || p.step > STEP_UNTIL_CLOSE ||
	    p.protocol >= EXCHANGE_NR_PROTOCOLS)
		abort();
	return 0;
}
