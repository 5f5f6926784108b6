/* SPDX-License-Identifier: GPL-2.0 */
/*
 * latency_log.h - every single value of a run, for exact percentiles.  Allocates; otherwise pure.
 * For a truth to compare with: a histogram is smaller and never stalls, but only near the truth.
 */
#ifndef PARTIES_LATENCY_LOG_H
#define PARTIES_LATENCY_LOG_H

#include <stddef.h>
#include <stdint.h>

struct latency_log {
	uint64_t *values_ns;
	size_t nr, capacity;
};

/* An empty log is all zero. -ENOMEM. */
int latency_log_add(struct latency_log *log, uint64_t ns);
void latency_log_sort(struct latency_log *log);
/* Nearest rank: the value of rank ceil(permille / 1000 * nr) of a SORTED log; 0 when it is empty. */
uint64_t latency_log_percentile(const struct latency_log *log, uint32_t permille);
double latency_log_mean(const struct latency_log *log);
void latency_log_free(struct latency_log *log);

#endif
