/* SPDX-License-Identifier: GPL-2.0 */
/*
 * clocks.h - how fast CPUs really ran.  Port: the counters APERF and MPERF by perf events, which give the mean over a
 * window weighted by the time that CPUs were awake; elsewhere cpuinfo_avg_freq (Linux 6.15), a mean of the last moments.
 *
 * scaling_cur_freq is never asked: on many drivers it repeats what was requested.
 */
#ifndef PARTIES_CLOCKS_H
#define PARTIES_CLOCKS_H

#include "cpulist.h"

enum clocks_source { CLOCKS_NONE, CLOCKS_APERF, CLOCKS_CPUFREQ };

struct clocks;

/* What is there to ask, by its names; whether we may is shown by clocks_open.  Below a root only the files of the tree. */
enum clocks_source clocks_find(const char *root, unsigned int cpu);
/* "aperf/mperf", "cpuinfo_avg_freq", "unknown". */
const char *clocks_source_name(enum clocks_source source);
/* -ENOTSUP: nothing here tells.  Another errno: it is there, and refused.  The caller closes. */
int clocks_open(struct clocks **ret, const char *root, const struct cpulist *cpus);
/* CPUs that were not there before; one that cannot be opened stays unknown. */
void clocks_add(struct clocks *c, const struct cpulist *cpus);
enum clocks_source clocks_source(const struct clocks *c);
/* A window ends: each CPU may be read once, and then again in the next window. */
void clocks_end_window(struct clocks *c);
/* The mean speed of `cpus` in the window that ended; 0: unknown.  What was not read a window ago is only read. */
uint32_t clocks_read_khz(struct clocks *c, const struct cpulist *cpus);
/* NULL is fine. */
void clocks_close(struct clocks *c);

#endif
