/* SPDX-License-Identifier: GPL-2.0 */
/*
 * record.h - a run as JSON (jansson): a header, one object per tick, a last one with totals.
 * Field names are DESIGN's; times are seconds or us as the name says.  What decisions rest on and would lose digits that
 * way stands beside it as an integer in ns, so that the record can be decided again (replay.h).
 */
#ifndef PARTIES_RECORD_H
#define PARTIES_RECORD_H

#include <jansson.h>
#include <stdio.h>

#include "tick.h"

enum { RECORD_SCHEMA_VERSION = 1, RECORD_DUMP_FLAGS = JSON_COMPACT | JSON_REAL_PRECISION(9) };

/* How fast a change of load was answered, in seconds after it (experiments/oracle/score.h). */
enum { RECORD_MAX_CHANGES = 64, RECORD_NEVER = -1 };
struct record_change {
	double t_s, first_ok_s, valid_s, recover_s;
	bool infeasible; /* nothing holds the load at some time of it: left out below */
};

/* Of a simulation, beside what nobody who steers can know. */
struct record_oracle {
	double energy_ratio, be_work_ratio; /* negative: not comparable */
	double in_v_pct;                    /* share of the feasible time in which the allocation was valid */
	double first_ok_s, valid_s, recover_s; /* the worst of the changes; never counts as 60 s */
	uint32_t nr_changes;
	struct record_change changes[RECORD_MAX_CHANGES];
};

struct record_totals {
	double violated_windows_pct;  /* judged windows, METRICS */
	double raw_violated_pct;      /* of nr_raw_windows: those with N >= 200 */
	uint64_t nr_raw_windows;
	double late_requests_pct;     /* worst service; completions only where ages in flight are unknown */
	uint32_t nr_services;
	struct record_service_totals {
		const char *name;
		double violated_windows_pct, late_requests_pct;
		uint64_t nr_requests;
	} services[POLICY_MAX_SERVICES];
	double core_seconds, energy_j;
	const char *energy_source;    /* "modelled" or "measured" */
	bool has_package;             /* the machine has energy meters */
	double package_j;             /* what they measured of whole packages: never scored */
	double be_work, be_core_seconds;
	double own_cpu_pct;           /* of one core; BPF programs included where the kernel counts them */
	double duration_s, mean_speed; /* kHz or permille, weighted by cores; of the time since the ladder was last changed */
	uint64_t nr_ticks, nr_overruns, nr_moves, nr_infeasible;
	uint64_t nr_infeasible_windows;      /* not judged, since no allocation holds */
	const struct record_oracle *oracle;  /* NULL: none at hand */
};

/*
 * New objects, to be released with json_decref; NULL: no memory.  `mode` is "live", "dry-run", "observe" or "sim";
 * `machine` what machine_describe says, or "".
 */
json_t *record_header_json(const struct tick *tick, const char *mode, const char *machine);
json_t *record_tick_json(const struct tick *tick);
json_t *record_totals_json(const struct record_totals *totals);

/* "", "otherwise", "bandwidth", "gone": what the outcome of a tick says of speeds. */
const char *record_speed_word(enum outcome_speed speed);

/* The decision of the last tick as record_tick writes it, one line of JSON; free() it.  NULL: no memory. */
char *record_action_text(const struct tick *tick);

/* The totals object as one line, for `--json`. */
int record_print_totals(const struct record_totals *totals, FILE *out);

#endif
