/* SPDX-License-Identifier: GPL-2.0 */
/*
 * number.h - numbers of the command line: whole text or nothing, with bounds.  Pure.
 */
#ifndef PARTIES_NUMBER_H
#define PARTIES_NUMBER_H

#include <stdint.h>

/* A decimal integer without sign.  -EINVAL: not one; -ERANGE: outside [min, max]. */
int number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *ret);

/* A decimal fraction like 0.5 or 1200. */
int number_parse_real(const char *text, double min, double max, double *ret);

/* "250us", "25ms", "1.5s", "2m"; from 1 ns to 24 hours. */
int number_parse_duration(const char *text, uint64_t *ret_ns);

#endif
