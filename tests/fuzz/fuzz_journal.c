// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz_journal.c - libFuzzer target: any line of a journal is an entry whose fields are terminated, or refused; a
 * refused line leaves the entry untouched.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "journal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *line = strndup((const char *)data, size);
	struct journal_entry entry, untouched;

	assert(line);
	memset(&entry, 0x5a, sizeof(entry));
	untouched = entry;
	if (journal_parse_line(line, &entry) == 0) {
		assert(entry.kind <= JOURNAL_PINNED);
		assert(memchr(entry.path, 0, sizeof(entry.path)));
		assert(memchr(entry.text, 0, sizeof(entry.text)));
	} else {
		assert(!memcmp(&entry, &untouched, sizeof(entry)));
	}
	free(line);
	return 0;
}
