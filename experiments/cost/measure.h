/* SPDX-License-Identifier: GPL-2.0 */
/*
 * measure.h - CPU time of this thread, medians, and the one line a measurement prints.  For the programs of this folder.
 */
#ifndef COST_MEASURE_H
#define COST_MEASURE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts them. */
static inline double median(double *values, unsigned int nr)
{
	qsort(values, nr, sizeof(values[0]), by_size);
	return nr % 2 ? values[nr / 2] : (values[nr / 2 - 1] + values[nr / 2]) / 2;
}

/* How often to measure: the program's only argument, or as often as it can. */
static inline unsigned int measure_rounds(int argc, char **argv, unsigned int max)
{
	int nr = argc > 1 ? atoi(argv[1]) : (int)max;

	if (argc > 2 || nr < 1 || nr > (int)max) {
		fprintf(stderr, "usage: %s [ROUNDS]    1 to %u\n", argv[0], max);
		exit(2);
	}
	return (unsigned int)nr;
}

/* name, tab, value */
static inline void report(const char *name, double value)
{
	printf("%s\t%.6g\n", name, value);
}

#endif
