// SPDX-License-Identifier: GPL-2.0
/*
 * drift.c - pure: counts, and doubles its patience.  Whose value changed, and what to do then, is machine.c's.
 */
#include "drift.h"

#include <stdio.h>

uint32_t drift_seen(struct drift *d, uint64_t step)
{
	uint32_t span;

	if (!d->nr || step - d->first_step >= DRIFT_SPAN) {
		d->nr = 0;
		d->first_step = step;
	}
	d->nr_all++;
	if (++d->nr < DRIFT_MAX)
		return 0;
	span = DRIFT_SPAN << d->nr_yields;
	if (d->nr_yields < DRIFT_MAX_DOUBLINGS)
		d->nr_yields++;
	d->nr = 0;
	d->yielded_until = step + span;
	return span;
}

void drift_note(struct drift *d, uint64_t step, const char *whose, const char *what, char *note, size_t size)
{
	uint32_t nr_steps = drift_seen(d, step);

	if (nr_steps)
		snprintf(note, size, "%.40s: somebody else keeps changing %s; left to them for %u steps", whose, what, nr_steps);
	else if (!note[0])
		snprintf(note, size, "%.40s: somebody else changed %s; put back", whose, what);
}

bool drift_is_left(const struct drift *d, uint64_t step)
{
	return step < d->yielded_until;
}
