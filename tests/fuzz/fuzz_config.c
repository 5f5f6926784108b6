// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz_config.c - any bytes as a configuration: never a crash, an error is one line, and what loads prints and loads to
 * the same.
 */
#include <stdlib.h>
#include <string.h>

#include "config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *print(const struct config *config)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	config_print(config, out);
	fclose(out);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct config config, again;
	char error[512] = "", *first, *second;

	if (config_parse("fuzz.conf", (const char *)data, size, &config, error, sizeof(error))) {
		if (strncmp(error, "fuzz.conf:", 10) || strchr(error, '\n'))
			abort();
		return 0;
	}
	first = print(&config);
	if (config_parse("fuzz.conf", first, strlen(first), &again, error, sizeof(error)))
		abort();
	second = print(&again);
	if (strcmp(first, second))
		abort();
	free(first);
	free(second);
	return 0;
}
