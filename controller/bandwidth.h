/* SPDX-License-Identifier: GPL-2.0 */
/*
 * bandwidth.h - a share of a group's CPUs' time, in place of their speed.  Port: cpu.max, or cpu.cfs_quota_us and
 * cpu.cfs_period_us.
 *
 * The quota is period * CPUs * permille / 1000: 10 % less is 10 % of each of the group's CPUs, SMT siblings counted, so
 * that the ladder's steps are even.  The full share is no limit at all.
 */
#ifndef PARTIES_BANDWIDTH_H
#define PARTIES_BANDWIDTH_H

#include "journal.h"
#include "knob.h"

enum { BANDWIDTH_NR_STEPS = 10, BANDWIDTH_FULL_PERMILLE = 1000 };

struct bandwidth {
	uint32_t period_us;
	struct knob limit;  /* version 2: cpu.max; version 1: cpu.cfs_quota_us */
	struct knob period; /* version 1; else closed */
};

/* clamp(target / 2, 5 ms, 20 ms): with the kernel's 100 ms a quota shows nothing until the cliff. */
uint32_t bandwidth_period_us(uint64_t target_ns);
/* Never below the 1 ms that is the least the kernel accepts. */
uint64_t bandwidth_quota_us(uint32_t period_us, uint32_t nr_cpus, uint32_t permille);
/* 100, 200 .. 1000 permille; nominal is the last. */
extern const struct speed_ladder bandwidth_ladder;

/* Opens the files of group `dir` and journals what they say.  The caller closes. */
int bandwidth_open(struct bandwidth *b, int version, const char *dir, uint64_t target_ns, struct journal *j);
/* On failure *ret tells why and the caller rolls `u` back. */
int bandwidth_apply(struct bandwidth *b, uint32_t nr_cpus, uint32_t permille, struct undo *u, struct outcome *ret);
/* Once: somebody else changed it since the last step. */
bool bandwidth_drifted(struct bandwidth *b);
void bandwidth_close(struct bandwidth *b);

#endif
