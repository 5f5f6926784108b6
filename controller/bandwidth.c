/* SPDX-License-Identifier: GPL-2.0 */
/*
 * bandwidth.c - CPU time limits of groups.  Port.
 * It does not decide whether bandwidth stands in for frequency: that is machine.c.
 */
#include "bandwidth.h"

#include <inttypes.h>
#include <stdio.h>

enum { MIN_PERIOD_US = 5000, MAX_PERIOD_US = 20000, MIN_QUOTA_US = 1000 };

uint32_t bandwidth_period_us(uint64_t target_ns)
{
	uint64_t us = target_ns / 2000;

	return us < MIN_PERIOD_US ? MIN_PERIOD_US : us > MAX_PERIOD_US ? MAX_PERIOD_US : (uint32_t)us;
}

uint64_t bandwidth_quota_us(uint32_t period_us, uint32_t nr_cpus, uint32_t permille)
{
	uint64_t us = (uint64_t)period_us * nr_cpus * permille / BANDWIDTH_FULL_PERMILLE;

	return us < MIN_QUOTA_US ? MIN_QUOTA_US : us;
}

const struct speed_ladder bandwidth_ladder = {
	.kind = SPEED_BANDWIDTH, .nr_steps = BANDWIDTH_NR_STEPS, .nominal = BANDWIDTH_NR_STEPS - 1,
	.value = { 100, 200, 300, 400, 500, 600, 700, 800, 900, BANDWIDTH_FULL_PERMILLE },
};

/* Journalled limit first: undoing goes backwards, so the period is back before the quota that belongs to it. */
int bandwidth_open(struct bandwidth *b, int version, const char *dir, uint64_t target_ns, struct journal *j)
{
	struct bandwidth new = { .period_us = bandwidth_period_us(target_ns), .limit.fd = -1, .period.fd = -1 };
	int err = 0;

	if (version == 1)
		err = knob_open(&new.period, &knob_plain, dir, "cpu.cfs_period_us");
	if (!err)
		err = knob_open(&new.limit, &knob_plain, dir, version == 1 ? "cpu.cfs_quota_us" : "cpu.max");
	if (!err)
		err = journal_add_knob(j, &new.limit);
	if (!err && version == 1)
		err = journal_add_knob(j, &new.period);
	if (err)
		bandwidth_close(&new);
	else
		*b = new;
	return err;
}

/* A period is changed while there is no quota, so that no half-way ratio can clash with a parent's limit. */
static int change_period(struct bandwidth *b, struct undo *u, struct outcome *ret)
{
	char want[16], now[KNOB_TEXT_SIZE];
	int err;

	snprintf(want, sizeof(want), "%" PRIu32, b->period_us);
	if (knob_read(&b->period, now, sizeof(now)) >= 0 && b->period.kind->same(now, want))
		return 0;
	err = knob_change(u, &b->limit, "-1", ret);
	return err ? err : knob_change(u, &b->period, want, ret);
}

int bandwidth_apply(struct bandwidth *b, uint32_t nr_cpus, uint32_t permille, struct undo *u, struct outcome *ret)
{
	bool limited = permille < BANDWIDTH_FULL_PERMILLE, v1 = b->period.fd >= 0;
	uint64_t quota_us = bandwidth_quota_us(b->period_us, nr_cpus, permille);
	char quota[24], text[48];
	int err = v1 ? change_period(b, u, ret) : 0;

	snprintf(quota, sizeof(quota), "%" PRIu64, quota_us);
	if (v1)
		snprintf(text, sizeof(text), "%s", limited ? quota : "-1");
	else
		snprintf(text, sizeof(text), "%s %" PRIu32, limited ? quota : "max", b->period_us);
	return err ? err : knob_change(u, &b->limit, text, ret);
}

bool bandwidth_drifted(struct bandwidth *b)
{
	bool drifted = b->limit.drifted || b->period.drifted;

	b->limit.drifted = b->period.drifted = false;
	return drifted;
}

void bandwidth_close(struct bandwidth *b)
{
	knob_close(&b->limit);
	knob_close(&b->period);
}
