/* SPDX-License-Identifier: GPL-2.0 */
/*
 * drift.h - somebody else writes what we write: for how long we put it back, and when we leave it to them.  Pure.
 *
 * Another manager (systemd, kubelet, tuned) that sets a value once, as after a reload, is put right at once.  One that
 * sets it again and again would fight us for ever, and neither would get what it wants: after DRIFT_MAX times within
 * DRIFT_SPAN steps its knobs are left alone, for DRIFT_SPAN steps at first and twice as long each time after that.
 */
#ifndef PARTIES_DRIFT_H
#define PARTIES_DRIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DRIFT_MAX = 5, DRIFT_SPAN = 60, DRIFT_MAX_DOUBLINGS = 6 };

/* Of one owner of knobs: a control group, or the speed of the machine.  All zero at first. */
struct drift {
	uint32_t nr;            /* since first_step */
	uint32_t nr_all;        /* ever */
	uint32_t nr_yields;
	uint64_t first_step, yielded_until;
};

/* In step `step` a value was not as we left it.  Returns for how many steps to leave it alone from now on; 0: put it back. */
uint32_t drift_seen(struct drift *d, uint64_t step);
/* The same, told in `note`, where leaving it to them counts for more than putting it back. */
void drift_note(struct drift *d, uint64_t step, const char *whose, const char *what, char *note, size_t size);
bool drift_is_left(const struct drift *d, uint64_t step);

#endif
