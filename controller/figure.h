/* SPDX-License-Identifier: GPL-2.0 */
/*
 * figure.h - records as a gnuplot script: one column per record, and below each other, over one time axis, load,
 * latency against target, cores, speed.  Port: writes text to a stream.
 */
#ifndef PARTIES_FIGURE_H
#define PARTIES_FIGURE_H

#include "report_read.h"

enum { FIGURE_MAX_RUNS = 4 };
enum figure_format { FIGURE_SVG, FIGURE_PNG, FIGURE_PDF };

/* The whole script, data included, for 1 .. FIGURE_MAX_RUNS runs; gnuplot writes the picture to its standard output. */
void figure_script(const struct report_run *runs, uint32_t nr_runs, enum figure_format format, FILE *out);

#endif
