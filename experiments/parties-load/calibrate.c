// SPDX-License-Identifier: GPL-2.0
/*
 * calibrate.c - the search for 100 %.  Glue: short runs at constant rates; first in steps of four up to one that
 * is far too much, then by bisection.
 * A step that has failed for good stops sending at once, so that the server's backlog stays small.
 */
#include "calibrate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "run.h"

enum { NR_BISECTIONS = 7, STEP_TRIES = 2, PROBE_TRIES = 4, PROBES_PER_STEP = 4 };

/* What the search is for, and what only shows that a rate is beyond all capacity. */
enum { LATE_ALLOWED_PERMILLE = 2, LATE_BEYOND_PERMILLE = 100 };

static const double first_rps = 50, growth = 4, highest_rps = 1e7;

struct verdict {
	bool passed;
	bool client_limit; /* what went wrong was ours: sends were late */
	double late_pct;
};

static int try_once(const struct options *o, double rps, uint64_t duration_ns, uint32_t allowed_permille,
		    struct verdict *ret)
{
	static struct meter meter;
	struct run_limits limits = { .rps = rps, .duration_ns = duration_ns, .quiet = true };
	const struct meter_counts *c = &meter.total;
	int err;

	/* At least one: of a few hundred requests, a single late one does not show more than 0.2 %. */
	limits.nr_late_allowed = (uint64_t)fmax(1, rps * (double)duration_ns / 1e9 * allowed_permille / 1000);
	err = run_play(o, &limits, &meter);
	if (err)
		return err;
	ret->late_pct = c->nr_sent ? 100.0 * (double)c->nr_late / (double)c->nr_sent : 0;
	ret->passed = c->nr_completed && !c->nr_errors && c->nr_late <= limits.nr_late_allowed;
	ret->client_limit = !ret->passed && c->max_lag_ns > o->target_ns / 2 && c->nr_late_sends * 2 > c->nr_late;
	fprintf(stderr, "parties-load: %.1f req/s: %s, %.2f %% late%s\n", rps, ret->passed ? "ok" : "too much",
		ret->late_pct, ret->client_limit ? " (the load generator itself was late)" : "");
	return 0;
}

/* A hiccup of the machine must not decide: a rate is too much when it fails every time. */
static int try_rate(const struct options *o, double rps, uint64_t duration_ns, uint32_t allowed_permille, int nr_tries,
		    struct verdict *ret)
{
	int err;

	do
		err = try_once(o, rps, duration_ns, allowed_permille, ret);
	while (!err && !ret->passed && !run_stopped() && --nr_tries);
	return err ? err : run_stopped() ? -EINTR : 0;
}

/* A rate that is beyond what the service can do. */
static int find_beyond(const struct options *o, double *ret)
{
	struct verdict v = { .passed = true };
	double rps = first_rps;
	int err;

	for (;;) {
		err = try_rate(o, rps, o->step_ns / PROBES_PER_STEP, LATE_BEYOND_PERMILLE, PROBE_TRIES, &v);
		if (err)
			return err;
		if (!v.passed || rps >= highest_rps)
			break;
		rps *= growth;
	}
	*ret = rps;
	return 0;
}

int calibrate(const struct options *o)
{
	struct verdict v = { 0 }, best = { 0 };
	double low, high = 0;
	bool client_limit = false;
	int i, err = find_beyond(o, &high);

	for (low = high / growth / growth, i = 0; i < NR_BISECTIONS && !err; i++) {
		double middle = sqrt(low * high);

		err = try_rate(o, middle, o->step_ns, LATE_ALLOWED_PERMILLE, STEP_TRIES, &v);
		if (!err && v.passed) {
			low = middle;
			best = v;
		} else {
			high = middle;
			client_limit = v.client_limit;
		}
	}
	if (err || !best.passed) {
		fprintf(stderr, "parties-load: no calibration: %s\n",
			err ? strerror(-err) : "every rate that was tried misses the target");
		return 1;
	}
	printf("{\"max_rps\":%.1f,\"target_us\":%.1f,\"late_pct\":%.3f,\"client_limit\":%s}\n", low,
	       (double)o->target_ns / 1e3, best.late_pct, client_limit ? "true" : "false");
	return 0;
}
