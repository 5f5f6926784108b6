/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cpulist.h - sets of CPU numbers and the kernel's list format ("0-3,8,10-11").  Pure.
 */
#ifndef PARTIES_CPULIST_H
#define PARTIES_CPULIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CPULIST_MAX_CPUS = 1024 };

struct cpulist {
	uint64_t bits[CPULIST_MAX_CPUS / 64];
};

void cpulist_clear(struct cpulist *set);
void cpulist_add(struct cpulist *set, unsigned int cpu);
void cpulist_remove(struct cpulist *set, unsigned int cpu);
bool cpulist_has(const struct cpulist *set, unsigned int cpu);
bool cpulist_empty(const struct cpulist *set);
bool cpulist_equal(const struct cpulist *a, const struct cpulist *b);
/* a is inside b */
bool cpulist_subset(const struct cpulist *a, const struct cpulist *b);
unsigned int cpulist_count(const struct cpulist *set);
void cpulist_or(struct cpulist *set, const struct cpulist *other);
void cpulist_and(struct cpulist *set, const struct cpulist *other);
void cpulist_andnot(struct cpulist *set, const struct cpulist *other);
/* First CPU >= from, or -1. */
int cpulist_next(const struct cpulist *set, unsigned int from);

/* Accepts what the kernel prints, trailing newline included; "" is the empty set.  -EINVAL or -ERANGE. */
int cpulist_parse(const char *text, struct cpulist *ret);
/* Writes a NUL-terminated list; returns its length or -ENOSPC. */
int cpulist_format(const struct cpulist *set, char *buf, size_t size);

#endif
