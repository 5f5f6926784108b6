/* SPDX-License-Identifier: GPL-2.0 */
/*
 * replay.h - a record (record.h) as the two ends of a tick: the samples and outcomes it holds are given to the same
 * tick again.  Glue.  Core ids and latencies that no policy reads are not rebuilt.
 *
 * Call replay_header with the first line, change `config` if wanted, replay_start once, replay_tick for every tick's
 * line, replay_end at last.  The first three return NULL, or the reason why not, which lives as long as *r.
 */
#ifndef PARTIES_REPLAY_H
#define PARTIES_REPLAY_H

#include <jansson.h>

#include "tick.h"

struct replay {
	struct config config;       /* what decisions rest on; matches and file are left out */
	struct topology topology;   /* the assignable cores, all alike */
	struct speed_ladder ladder;
	struct tick tick;           /* after replay_tick: what is decided now */
	struct sample samples[POLICY_MAX_SERVICES]; /* what the sensor gives next */
	struct outcome outcome;     /* what the actuator answers next */
	uint64_t memory_slack_bytes; /* likewise */
	uint64_t last_ns;           /* end of the tick before */
	char why[160];
};

const char *replay_header(struct replay *r, const json_t *line);
const char *replay_start(struct replay *r);
const char *replay_tick(struct replay *r, const json_t *line);
/* May be called at any time; *r was zero before replay_header. */
void replay_end(struct replay *r);

#endif
