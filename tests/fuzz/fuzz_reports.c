// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz_reports.c - libFuzzer target: any bytes as the lines that clients report.  A report is taken whole or not at all, and
 * a window holds what its reports held.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "client_report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct client_reports reports;

static void check_window(void)
{
	bool heard = reports.nr_reports > 0;
	struct sample s;

	client_reports_end(&reports, 990, 25000000, &s);
	assert((s.signal == POLICY_LOST) == !heard);
	assert(heard || !(s.nr_completed + s.nr_arrived + s.nr_in_flight + s.p99_ns));
	assert(s.p50_ns <= s.p95_ns && s.p95_ns <= s.p99_ns && s.steer_ns == s.p99_ns);
	assert((s.nr_completed > 0) == (s.p99_ns > 0) && s.nr_late <= s.nr_completed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *end = text + size;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text)), *reason = NULL;
		size_t length = (size_t)((newline ? newline : end) - text);
		uint64_t before = reports.nr_reports, booked = reports.cell.nr_booked;
		int err = client_reports_add(&reports, text, length, 1000, 1, &reason);

		assert(!err == !reason && !err == (reports.nr_reports > before));
		assert(!err || reports.cell.nr_booked == booked);
		text += length + 1;
	}
	check_window();
	return 0;
}
