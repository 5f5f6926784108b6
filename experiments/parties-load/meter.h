/* SPDX-License-Identifier: GPL-2.0 */
/*
 * meter.h - what the client saw: counts and latencies, for an interval and for the whole run, printed as JSON lines.
 * One thread.
 */
#ifndef PARTIES_LOAD_METER_H
#define PARTIES_LOAD_METER_H

#include <stdbool.h>
#include <stdint.h>

#include "hist.h"

struct meter_counts {
	uint64_t nr_sent, nr_completed, nr_errors, nr_retries;
	uint64_t nr_late;       /* completed after the target, or failed */
	uint64_t nr_late_sends; /* taken off the schedule more than METER_LAG_NS after their instant */
	uint64_t max_lag_ns;
	uint64_t sum_ns, max_ns;
	uint64_t buckets[HIST_NR_BUCKETS];
};

#define METER_LAG_NS 1000000ULL

struct meter {
	uint64_t target_ns;         /* 0: none, nothing is late */
	uint64_t start_ns;
	uint64_t interval_start_ns;
	uint64_t nr_outstanding;    /* sent or queued, neither completed nor failed */
	bool lag_warned;
	struct meter_counts interval, total; /* total lacks the running interval */
};

/* Latencies count from `intended_ns`, when the schedule wanted the request sent. */
void meter_sent(struct meter *m, uint64_t intended_ns, uint64_t now_ns);
void meter_completed(struct meter *m, uint64_t intended_ns, uint64_t now_ns);
void meter_failed(struct meter *m, const char *why);
void meter_retried(struct meter *m);

/* Ends the interval; prints it unless `quiet`. */
void meter_end_interval(struct meter *m, uint64_t now_ns, double asked_rps, bool quiet);
/* After the last interval has ended. */
void meter_print_summary(const struct meter *m, uint64_t now_ns);

#endif
