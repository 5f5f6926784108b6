/* SPDX-License-Identifier: GPL-2.0 */
/*
 * gnuplot.h - runs a gnuplot script.  Port: the one place that starts the program; script and picture live in memory
 * only, so there is nothing to clean up.
 */
#ifndef PARTIES_GNUPLOT_H
#define PARTIES_GNUPLOT_H

#include <stdio.h>

/* Anonymous file in memory for a script; NULL without memory. */
FILE *gnuplot_script(void);
/*
 * Runs `script` (which it closes) and gives what gnuplot wrote to its standard output as a stream at its beginning, the
 * caller's to close.  -ENOENT: no gnuplot; -EIO: it failed, and said why on stderr.
 */
int gnuplot_run(FILE *script, FILE **ret);

#endif
