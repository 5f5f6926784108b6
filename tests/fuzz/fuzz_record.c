// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz_record.c - libFuzzer target: any file given to `parties report` is a record or an error with its place.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "report_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(const struct report_run *run)
{
	for (size_t tick = 0; tick < run->nr_ticks; tick++)
		for (uint32_t i = 0; i < run->nr_services; i++)
			assert(memchr(report_point(run, tick, i)->state, 0, sizeof(run->points->state)));
	report_has_cores(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *in = fmemopen((void *)data, size ? size : 1, "r");
	struct report_run run;
	char error[512] = "";

	assert(in);
	if (size && report_read(in, "input", &run, error, sizeof(error)) == 0) {
		read_all(&run);
		report_free(&run);
	} else {
		assert(!size || *error);
	}
	fclose(in);
	return 0;
}
