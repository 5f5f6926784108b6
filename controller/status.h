/* SPDX-License-Identifier: GPL-2.0 */
/*
 * status.h - a run for human eyes: one line per second, and a summary.  Port: writes to a file descriptor and never
 * waits for its reader.
 */
#ifndef PARTIES_STATUS_H
#define PARTIES_STATUS_H

#include <stdio.h>

#include "record.h"

struct status {
	int fd;             /* -1: quiet */
	bool color;
	uint64_t due_ns;    /* of the next line */
	char action[128];   /* the last one since the last line */
};

/* Colour when `fd` is a terminal and NO_COLOR is unset or empty. */
void status_init(struct status *status, int fd);
/* Call after every tick; prints once a second of the tick's own clock. */
void status_tick(struct status *status, const struct tick *tick);
/* The tick's line, newline included; returns its length. */
size_t status_format(const struct status *status, const struct tick *tick, char *buf, size_t size);
/* What the decision did, in words: "upsize search core from best-effort"; "" when nothing moved. */
void status_format_action(const struct tick *tick, char *buf, size_t size);
void status_summary(const struct tick *tick, const struct record_totals *totals, FILE *out);

#endif
