/* SPDX-License-Identifier: GPL-2.0 */
/*
 * doctor_knobs.h - judges of single knobs; between doctor.c, doctor_cores.c and doctor_units.c only.  Pure.
 */
#ifndef PARTIES_DOCTOR_KNOBS_H
#define PARTIES_DOCTOR_KNOBS_H

#include "doctor.h"

void doctor_say(char text[DOCTOR_TEXT_SIZE], const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "" for 1, otherwise "s". */
const char *doctor_plural(uint32_t nr);

/* Every CPU has cpufreq, it may be written, and there is something to write. */
bool doctor_can_set_speed(const struct doctor_frequency *q);

/* Fill everything but the name; true: a run cannot do without. */
bool doctor_judge_topology(const struct doctor_facts *f, struct doctor_knob *k);
bool doctor_judge_cpuset(const struct doctor_facts *f, struct doctor_knob *k);
bool doctor_judge_bandwidth(const struct doctor_facts *f, struct doctor_knob *k);
bool doctor_judge_freezer(const struct doctor_facts *f, struct doctor_knob *k);
bool doctor_judge_cpuacct(const struct doctor_facts *f, struct doctor_knob *k);
bool doctor_judge_frequency(const struct doctor_facts *f, struct doctor_knob *k);
bool doctor_judge_epp(const struct doctor_facts *f, struct doctor_knob *k);
bool doctor_judge_clock(const struct doctor_facts *f, struct doctor_knob *k);
bool doctor_judge_subtree(const struct doctor_facts *f, struct doctor_knob *k);
bool doctor_judge_units(const struct doctor_facts *f, struct doctor_knob *k);
bool doctor_judge_cache(const struct doctor_facts *f, struct doctor_knob *k);
bool doctor_judge_bus(const struct doctor_facts *f, struct doctor_knob *k);
bool doctor_judge_limits(const struct doctor_facts *f, struct doctor_knob *k);
bool doctor_judge_egress(const struct doctor_facts *f, struct doctor_knob *k);
bool doctor_judge_energy(const struct doctor_facts *f, struct doctor_knob *k);
bool doctor_judge_interrupts(const struct doctor_facts *f, struct doctor_knob *k);

#endif
