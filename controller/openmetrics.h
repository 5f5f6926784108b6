/* SPDX-License-Identifier: GPL-2.0 */
/*
 * openmetrics.h - a run as text for programs that collect metrics (OpenMetrics 1.0, which Prometheus reads).  Pure but
 * for the stream.
 */
#ifndef PARTIES_OPENMETRICS_H
#define PARTIES_OPENMETRICS_H

#include "record.h"

#define OPENMETRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* Seconds, hertz, joules and ratios of one; what a window does not show is left out. */
void openmetrics_print(const struct tick *tick, const struct record_totals *totals, FILE *out);

#endif
