// SPDX-License-Identifier: GPL-2.0
/*
 * latency_log.c - every single value of a run.  Allocates; otherwise pure: no clock, no I/O, no lock.
 */
#include "latency_log.h"

#include <errno.h>
#include <stdlib.h>

int latency_log_add(struct latency_log *log, uint64_t ns)
{
	if (log->nr == log->capacity) {
		size_t capacity = log->capacity ? log->capacity * 2 : 4096;
		uint64_t *values_ns = reallocarray(log->values_ns, capacity, sizeof(*values_ns));

		if (!values_ns)
			return -ENOMEM;
		log->values_ns = values_ns;
		log->capacity = capacity;
	}
	log->values_ns[log->nr++] = ns;
	return 0;
}

static int compare_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void latency_log_sort(struct latency_log *log)
{
	if (log->nr)
		qsort(log->values_ns, log->nr, sizeof(*log->values_ns), compare_ns);
}

uint64_t latency_log_percentile(const struct latency_log *log, uint32_t permille)
{
	uint64_t rank = ((uint64_t)log->nr * permille + 999) / 1000;

	if (!log->nr)
		return 0;
	return log->values_ns[rank ? rank - 1 : 0];
}

double latency_log_mean(const struct latency_log *log)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < log->nr; i++)
		sum += (double)log->values_ns[i];
	return log->nr ? sum / (double)log->nr : 0;
}

void latency_log_free(struct latency_log *log)
{
	free(log->values_ns);
	*log = (struct latency_log){ 0 };
}
