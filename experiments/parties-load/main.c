// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - parties-load: an open-loop load generator that plays load profiles.  Glue.
 */
#include <stdio.h>
#include <string.h>

#include "calibrate.h"
#include "options.h"
#include "run.h"
#include "experiments/common/clock.h"

int main(int argc, char **argv)
{
	static struct options o;
	static struct meter meter;
	struct run_limits limits;
	int err = options_parse(argc, argv, &o);

	if (err)
		return err - 1;
	run_catch_signals();
	clock_wake_promptly();
	if (o.calibrate)
		return calibrate(&o);
	limits = (struct run_limits){ .rps = o.rps, .duration_ns = o.duration_ns, .nr_late_allowed = UINT64_MAX };
	err = run_play(&o, &limits, &meter);
	if (err) {
		fprintf(stderr, "parties-load: %s\n", strerror(-err));
		return 1;
	}
	meter_print_summary(&meter, clock_now_ns());
	return meter.total.nr_errors ? 1 : 0;
}
