/* SPDX-License-Identifier: GPL-2.0 */
/*
 * frequency.h - the speed of CPUs.  Port to libcpupower, which knows the sysfs of "/" only.
 *
 * Where the governor `userspace` is there, a speed is set exactly; otherwise the highest speed is capped.  CPUs that
 * the hardware clocks together are one domain and run at the fastest speed that one of them is to have.
 */
#ifndef PARTIES_FREQUENCY_H
#define PARTIES_FREQUENCY_H

#include "cpulist.h"
#include "journal.h"
#include "knob.h"

struct frequency;

/* What a driver says of a domain.  The ladder is the first domain's. */
struct frequency_limits {
	uint32_t nr_listed; /* 0: no list */
	uint32_t listed_khz[SPEED_MAX_STEPS];
	unsigned long min_khz, max_khz;
	unsigned long base_khz;  /* what the vendor guarantees; 0: not said */
	unsigned long boost_khz; /* 0: no boost speeds apart, or they are switched off */
};

/* Pure.  Listed speeds, else 100 MHz steps; a boost speed is one step above nominal. */
void frequency_fill_ladder(struct speed_ladder *ladder, const struct frequency_limits *limits);

/*
 * Finds the domains of `cpus` and the ladder; writes nothing.  -ENODEV: no cpufreq (virtual machines, containers), or
 * not for all of `cpus`.  -EROFS: sysfs is mounted read-only.  The caller closes.
 */
int frequency_open(struct frequency **ret, const struct cpulist *cpus);
const struct speed_ladder *frequency_ladder(const struct frequency *f);
/* "userspace" or "cap". */
const char *frequency_method(const struct frequency *f);
/* Journals governor, speed and limits of every domain. */
int frequency_journal(const struct frequency *f, struct journal *j);
/* Takes control: the widest limits, and the governor.  On failure *ret tells why. */
int frequency_start(struct frequency *f, struct undo *u, struct outcome *ret);
/*
 * khz_by_cpu[cpu] for every CPU of the domains.  Domains of which no CPU is online are left out, and taken over again when
 * one is back.  On failure *ret tells why and the caller rolls `u` back.
 */
int frequency_apply(struct frequency *f, const uint32_t khz_by_cpu[CPULIST_MAX_CPUS], const struct cpulist *online,
		    struct undo *u, struct outcome *ret);
/* Once: somebody else changed a speed since the last step. */
bool frequency_drifted(struct frequency *f);
/* NULL is fine. */
void frequency_close(struct frequency *f);

#endif
