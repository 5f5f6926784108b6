// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz_cpulist.c - libFuzzer target: whatever the list parser accepts, it prints back as the same set.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cpulist.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	struct cpulist set, again;
	char list[8192];

	assert(text);
	if (cpulist_parse(text, &set) == 0) {
		assert(cpulist_format(&set, list, sizeof(list)) >= 0);
		assert(cpulist_parse(list, &again) == 0);
		assert(cpulist_equal(&set, &again));
	}
	free(text);
	return 0;
}
