/* SPDX-License-Identifier: GPL-2.0 */
/*
 * changes.h - the log of a run: one line when something begins and one when it ends, however long it lasts.  Port: stderr.
 */
#ifndef PARTIES_CHANGES_H
#define PARTIES_CHANGES_H

#include "sensor_client.h"
#include "sensor_ebee.h"
#include "tick.h"

/* What is logged already.  All zero at first. */
struct changes {
	bool lost, failed;
	bool no_benefit[POLICY_MAX_SERVICES];
	uint32_t nr_offline, nr_cores;
};

/* After every tick.  The sensors may be NULL. */
void changes_log(struct changes *c, const struct tick *tick, struct sensor_ebee *sensor, struct sensor_client *clients);

#endif
