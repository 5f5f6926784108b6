// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz_profile.c - libFuzzer target: any text is either a load profile that can be played or an error with its place.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/common/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	struct profile profile;
	const char *reason = NULL;
	int line = 0;

	assert(text);
	if (profile_parse(text, &profile, &line, &reason) == 0) {
		uint64_t duration_ns = profile_duration_ns(&profile);

		for (uint64_t i = 0; i <= 16; i++)
			profile_load_ppm(&profile, duration_ns / 16 * i);
		profile_load_ppm(&profile, UINT64_MAX);
	} else {
		assert(line > 0 && reason && *reason);
	}
	free(text);
	return 0;
}
