/* SPDX-License-Identifier: GPL-2.0 */
/*
 * report_read.h - a record (record.h) read back into arrays.  Port: reads a stream, trusts nothing in it.
 */
#ifndef PARTIES_REPORT_READ_H
#define PARTIES_REPORT_READ_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "config.h"

/* A service's numbers in one tick, named as in the record; NAN where that has null or nothing. */
enum report_column {
	REPORT_ARRIVALS, REPORT_COMPLETED, REPORT_RPS, REPORT_MEAN_US, REPORT_P50_US, REPORT_P95_US, REPORT_P99_US,
	REPORT_TOTAL_P99_US, REPORT_RESIDENCY_P99_US, REPORT_SERVICE_P99_US, REPORT_STEER_US, REPORT_IN_FLIGHT,
	REPORT_OLDEST_US, REPORT_OVER_TARGET, REPORT_LATE, REPORT_LISTEN_DROPS, REPORT_SLACK, REPORT_CORES,
	REPORT_SPEED, REPORT_KHZ, REPORT_MEASURED_KHZ, REPORT_PERMILLE, REPORT_CPU_S, REPORT_THROTTLED_S,
	REPORT_OTHER_COMPLETED, REPORT_OTHER_P50_US, REPORT_OTHER_P95_US, REPORT_OTHER_P99_US, REPORT_OTHER_STEER_US,
	REPORT_NR_COLUMNS
};
const char *report_column_name(enum report_column column);

struct report_point {
	double value[REPORT_NR_COLUMNS];
	char state[16];
};

struct report_tick {
	double t_s, window_s, be_cores, idle_cores; /* cores NAN while observing */
	int32_t subject;                            /* service the action was about, or -1 */
	char action[64];                            /* "upsize core up"; "" when nothing moved */
};

struct report_service {
	char name[CONFIG_NAME_SIZE];
	double target_us, percentile;
	double max_rps;
};

enum report_speed { REPORT_SPEED_NONE, REPORT_SPEED_KHZ, REPORT_SPEED_PERMILLE };

struct report_run {
	char mode[32], policy[32], host[64], kernel[64], feedback[16];
	uint64_t seed;
	double nr_cores, interval_s;
	enum report_speed speed;
	uint32_t nr_services;
	struct report_service services[POLICY_MAX_SERVICES];
	size_t nr_ticks;
	struct report_tick *ticks;
	struct report_point *points; /* nr_ticks * nr_services, tick by tick */
	json_t *totals;              /* NULL: the run was killed, or is still going on */
	bool truncated;              /* the last line is cut off and was left out */
};

/*
 * `name` is what messages call the stream.  0, or -EINVAL with "name:line: reason" in `error`.  Text that ends up in
 * figures is reduced to plain characters.  Release with report_free.
 */
int report_read(FILE *in, const char *name, struct report_run *ret, char *error, size_t error_size);
void report_free(struct report_run *run);

const struct report_point *report_point(const struct report_run *run, size_t tick, uint32_t service);
/* The run has cores to show: somebody was steered. */
bool report_has_cores(const struct report_run *run);

#endif
