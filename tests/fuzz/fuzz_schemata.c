// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz_schemata.c - libFuzzer target: whatever resctrl's grammar accepts is printed back as the same line; what is refused
 * changes nothing; and ways laid out lie side by side whatever is wanted.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "schemata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_lines(const char *text)
{
	static const char *const names[] = { "L3", "L3CODE", "L3DATA", "L2", "MB", "SMBA" };
	static char line[64 * SCHEMATA_MAX_DOMAINS];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct schemata s, again;

		memset(&s, 0x5a, sizeof(s));
		again = s;
		if (schemata_find(text, names[i], &s)) {
			assert(!memcmp(&s, &again, sizeof(s)));
			continue;
		}
		assert(s.nr > 0 && s.nr <= SCHEMATA_MAX_DOMAINS && !strcmp(s.name, names[i]));
		assert(schemata_format(&s, line, sizeof(line)) == (int)strlen(line));
		assert(schemata_find(line, names[i], &again) == 0);
		assert(!memcmp(&s, &again, sizeof(s)));
		assert(schemata_format(&s, line, strlen(line)) < 0);
	}
}

static void check_bits(const char *text)
{
	uint32_t taken = 0, mask = 0, first;

	schemata_parse_usage(text, &taken);
	schemata_parse_mask(text, &mask);
	mask &= ~taken;
	if (mask) {
		uint32_t run = schemata_run(mask, &first);

		assert(run > 0 && (schemata_mask(first, run) & ~mask) == 0);
	}
}

static void check_lay_out(const uint8_t *data, size_t size)
{
	uint32_t firsts[16], wanted[16], nr = 0, sum = 0, end = 0;

	for (size_t i = 0; i + 1 < size && nr < 16 && sum + data[i + 1] % 8 <= SCHEMATA_MAX_WAYS; i += 2, nr++) {
		firsts[nr] = data[i];
		wanted[nr] = data[i + 1] % 8;
		sum += wanted[nr];
	}
	schemata_lay_out(firsts, wanted, nr, SCHEMATA_MAX_WAYS);
	for (uint32_t i = 0; i < nr; i++) {
		assert(firsts[i] >= end);
		end = firsts[i] + wanted[i];
	}
	assert(end <= SCHEMATA_MAX_WAYS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);

	assert(text);
	check_lines(text);
	check_bits(text);
	check_lay_out(data, size);
	free(text);
	return 0;
}
