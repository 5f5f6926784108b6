/* SPDX-License-Identifier: GPL-2.0 */
/*
 * speed.h - what speed means on a machine, setting it for services, and finding out whether that does anything.  Port:
 * frequency.h and clocks.h behind one door; bandwidth, where it stands in, is the groups'.
 */
#ifndef PARTIES_SPEED_H
#define PARTIES_SPEED_H

#include "clocks.h"
#include "drift.h"
#include "effective.h"
#include "frequency.h"
#include "machine.h"

/* A way whose files could not be written in so many steps, and in none between them, is given up. */
enum { SPEED_MAX_FAILURES = 3 };

struct speed {
	struct speed_ladder ladder;
	struct frequency *frequency; /* NULL unless it is what speed means here */
	struct clocks *clocks;       /* NULL: nothing tells how fast CPUs really are */
	struct effective judge;
	char given_up[48];           /* ways, with blanks between */
	const char *useless;         /* why the way is to be given up at the next step; NULL: it works, or may */
	bool gone;                   /* none works: speeds are left alone */
	bool may_be_quota;           /* then bandwidth stands in, which is the caller's: nobody asked for frequency by name */
	bool left;                   /* to somebody else, for a while */
	struct drift drift;
	uint32_t nr_failed;
	uint32_t asked_khz[POLICY_MAX_SERVICES]; /* in the window before the last */
};

/* What there is; writes nothing.  -ENOTSUP, told in `error`: not what was asked for.  The caller closes. */
int speed_find(struct speed *s, const struct machine_opts *opts, bool has_bandwidth, char *error, size_t error_size);
/* Journals and takes control.  On failure `error` tells why; where bandwidth may stand in, speeds are `gone` instead. */
int speed_start(struct speed *s, struct journal *j, struct undo *u, char *error, size_t error_size);
/* CPUs there are now.  Negative errno: the journal cannot be written. */
int speed_add(struct speed *s, const struct cpulist *cpus, struct journal *j);
/*
 * A window ends, in which `service` had `cpus`.  Returns their speed, kHz; 0: unknown.  Every service once, after
 * clocks_end_window.
 */
uint32_t speed_measure(struct speed *s, uint32_t service, const struct cpulist *cpus, const struct sample *sample);
/*
 * Speeds of an allocation.  A way that was found to do nothing is given up first, for the next one or for none:
 * ret->speed (BANDWIDTH where it may stand in) and ret->note.  On failure *ret tells why and the caller rolls `u` back.
 */
int speed_apply(struct speed *s, const struct allocation *want, const struct topology *topo,
		const struct cpulist *online, struct journal *j, struct undo *u, struct outcome *ret);
/* What somebody else changed before step `step`, told in ret->note. */
void speed_look_for_drift(struct speed *s, uint64_t step, struct outcome *ret);
void speed_close(struct speed *s);

#endif
