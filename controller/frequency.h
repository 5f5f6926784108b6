/* SPDX-License-Identifier: GPL-2.0 */
/*
 * frequency.h - the speed of CPUs.  Port to libcpupower (frequency_domain.h).
 *
 * The best way that every CPU has (ladder.h) is taken first.  CPUs that the hardware clocks together are one domain and
 * run at the fastest speed that one of them is to have.  Where domains differ, as those of performance and efficiency
 * cores, the ladder is the fastest one's, and every other runs at the nearest of its own steps.
 */
#ifndef PARTIES_FREQUENCY_H
#define PARTIES_FREQUENCY_H

#include "cpulist.h"
#include "journal.h"
#include "knob.h"
#include "ladder.h"

struct frequency;

/*
 * Finds the domains of `cpus`, the ladder and the ways; writes nothing.  -ENODEV: no cpufreq (virtual machines,
 * containers), not for all of `cpus`, or no way to set a speed.  -EROFS: sysfs is mounted read-only.  The caller closes.
 */
int frequency_open(struct frequency **ret, const char *root, const struct cpulist *cpus);
/*
 * CPUs that were not there before: their domains are opened, journalled and synced, and taken over by the next
 * frequency_apply.  One that is not ready yet, or lacks the way, is tried again a few times and then left at its own speed.
 * Negative errno: the journal cannot be written.
 */
int frequency_add(struct frequency *f, const struct cpulist *cpus, struct journal *j);
const struct speed_ladder *frequency_ladder(const struct frequency *f);
enum ladder_way frequency_way(const struct frequency *f);
/* Journals governor, speed and limits of every domain, and what the way needs beside them. */
int frequency_journal(const struct frequency *f, struct journal *j);
/* Takes control: the widest limits, and the governor.  On failure *ret tells why. */
int frequency_start(struct frequency *f, struct undo *u, struct outcome *ret);
/*
 * khz_by_cpu[cpu] for every CPU of the domains.  Domains of which no CPU is online are left out, and taken over again when
 * one is back.  A CPU that gets less than it is to have, by heat or firmware, is no failure: told once in ret->note.
 * On failure *ret tells why and the caller rolls `u` back.
 */
int frequency_apply(struct frequency *f, const uint32_t khz_by_cpu[CPULIST_MAX_CPUS], const struct cpulist *online,
		    struct undo *u, struct outcome *ret);
/*
 * From now on the next way, whose files are journalled and synced first.  Returns it; LADDER_NOTHING: there is none, and
 * the next frequency_apply frees all CPUs to run as fast as they can.  Negative errno: the journal cannot be written.
 */
int frequency_fall(struct frequency *f, struct journal *j);
/* The fastest speed that was asked for any of `cpus` at the last step, their domains' other CPUs included; 0: none was. */
uint32_t frequency_asked_khz(const struct frequency *f, const struct cpulist *cpus);
/* Once: somebody else changed a speed since the last step. */
bool frequency_drifted(struct frequency *f);
/* NULL is fine. */
void frequency_close(struct frequency *f);

#endif
