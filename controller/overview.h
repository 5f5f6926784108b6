/* SPDX-License-Identifier: GPL-2.0 */
/*
 * overview.h - a run's status (live.h) as text for a screen.  Pure but for the stream; believes nothing of its input.
 */
#ifndef PARTIES_OVERVIEW_H
#define PARTIES_OVERVIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct overview {
	uint32_t width, rows; /* of the screen; 0: as much as there is to say */
	bool color;
	bool screen; /* what stood in a line before is wiped out */
};

/* Who has what, and the last decisions, newest first: as many as there are rows, or 5. */
void overview_print(const struct overview *o, const json_t *status, FILE *out);
/* What a tick of a record decided, in words: "upsize search core from best-effort"; "" when nothing. */
void overview_action(const json_t *tick, char *buf, size_t size);
/* The speed of a service of a tick, "2.40 GHz", "60 %" or "-". */
void overview_speed(const json_t *service, char *buf, size_t size);

#endif
