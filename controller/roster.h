/* SPDX-License-Identifier: GPL-2.0 */
/*
 * roster.h - which processes are each service and batch right now, and telling sensor and machine when that changes.
 * Glue.
 */
#ifndef PARTIES_ROSTER_H
#define PARTIES_ROSTER_H

#include "machine.h"
#include "sensor_ebee.h"

enum { ROSTER_MAX_GROUPS = POLICY_MAX_SERVICES + CONFIG_MAX_BATCHES };

struct roster {
	const struct config *config;
	struct sensor_ebee *sensor;
	struct machine *machine; /* NULL: nothing is moved */
	uint32_t next;           /* group to look at next */
	uint64_t looked_ns[ROSTER_MAX_GROUPS]; /* when its processes were last searched for */
	struct match_pids fresh;
	struct match_pids pids[ROSTER_MAX_GROUPS]; /* services, then batches */
};

/* Resolves every group; one that is not there has no process. */
void roster_resolve(struct roster *roster, uint64_t now_ns);
/* Hands every group to sensor and machine as it stands.  Negative errno of the first that is refused. */
int roster_hand_over(struct roster *roster);
/* Why. */
const char *roster_explain(const struct roster *roster, int err);
/*
 * Looks again at so many groups that each has its turn once a second, and hands over those that changed: a service that
 * restarted is taken up, one that is gone is idle.  One log line per change.
 *
 * A look is cheap while every known process lives; searching all processes is not, so it happens at once when one is
 * gone, and every five seconds otherwise.  (Children need no search to be confined: they inherit the group.)
 */
void roster_refresh(struct roster *roster, uint64_t now_ns, uint64_t interval_ns);
/* CPU time of the processes a service has now; it falls when one of them ends. */
uint64_t roster_cpu_ns(const struct roster *roster, uint32_t service);

#endif
