/* SPDX-License-Identifier: GPL-2.0 */
/*
 * report_write.h - records as a table (CSV, RFC 4180) and as a page (HTML with the figure inside).  Port: writes to a
 * stream.
 */
#ifndef PARTIES_REPORT_WRITE_H
#define PARTIES_REPORT_WRITE_H

#include "report_read.h"

/* One row per record, tick and service. `names` are the records' own. */
void report_write_csv(const struct report_run *runs, const char *const *names, uint32_t nr_runs, FILE *out);
/* `svg` is read to its end. */
void report_write_html(const struct report_run *runs, const char *const *names, uint32_t nr_runs, FILE *svg, FILE *out);

#endif
