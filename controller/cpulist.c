/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cpulist.c - sets of CPU numbers and the kernel's list format.  Pure.
 * It does not know which CPUs exist: that is topology.c.
 */
#include "cpulist.h"

#include <errno.h>
#include <string.h>

enum { NR_WORDS = CPULIST_MAX_CPUS / 64 };

void cpulist_clear(struct cpulist *set)
{
	memset(set, 0, sizeof(*set));
}

void cpulist_add(struct cpulist *set, unsigned int cpu)
{
	if (cpu < CPULIST_MAX_CPUS)
		set->bits[cpu / 64] |= 1ULL << (cpu % 64);
}

void cpulist_remove(struct cpulist *set, unsigned int cpu)
{
	if (cpu < CPULIST_MAX_CPUS)
		set->bits[cpu / 64] &= ~(1ULL << (cpu % 64));
}

bool cpulist_has(const struct cpulist *set, unsigned int cpu)
{
	return cpu < CPULIST_MAX_CPUS && (set->bits[cpu / 64] >> (cpu % 64) & 1);
}

bool cpulist_empty(const struct cpulist *set)
{
	return cpulist_next(set, 0) < 0;
}

bool cpulist_equal(const struct cpulist *a, const struct cpulist *b)
{
	return cpulist_subset(a, b) && cpulist_subset(b, a);
}

bool cpulist_subset(const struct cpulist *a, const struct cpulist *b)
{
	for (unsigned int i = 0; i < NR_WORDS; i++)
		if (a->bits[i] & ~b->bits[i])
			return false;
	return true;
}

unsigned int cpulist_count(const struct cpulist *set)
{
	unsigned int nr = 0;

	/* Clearing the lowest bit each time: the compiler's popcount may call a library function. */
	for (unsigned int i = 0; i < NR_WORDS; i++)
		for (uint64_t word = set->bits[i]; word; word &= word - 1)
			nr++;
	return nr;
}

void cpulist_or(struct cpulist *set, const struct cpulist *other)
{
	for (unsigned int i = 0; i < NR_WORDS; i++)
		set->bits[i] |= other->bits[i];
}

void cpulist_and(struct cpulist *set, const struct cpulist *other)
{
	for (unsigned int i = 0; i < NR_WORDS; i++)
		set->bits[i] &= other->bits[i];
}

void cpulist_andnot(struct cpulist *set, const struct cpulist *other)
{
	for (unsigned int i = 0; i < NR_WORDS; i++)
		set->bits[i] &= ~other->bits[i];
}

int cpulist_next(const struct cpulist *set, unsigned int from)
{
	for (unsigned int i = from / 64; i < NR_WORDS; i++) {
		uint64_t word = set->bits[i];

		if (i == from / 64)
			word &= ~0ULL << (from % 64);
		if (word)
			return (int)(i * 64) + __builtin_ctzll(word);
	}
	return -1;
}

/* Reads digits at *text and moves it past them. */
static int parse_cpu(const char **text, unsigned int *ret)
{
	unsigned int value = 0;

	if (**text < '0' || **text > '9')
		return -EINVAL;
	for (; **text >= '0' && **text <= '9'; (*text)++) {
		value = value * 10 + (unsigned int)(**text - '0');
		if (value >= CPULIST_MAX_CPUS)
			return -ERANGE;
	}
	*ret = value;
	return 0;
}

int cpulist_parse(const char *text, struct cpulist *ret)
{
	struct cpulist set;
	unsigned int first, last;
	int err;

	cpulist_clear(&set);
	while (*text && *text != '\n') {
		err = parse_cpu(&text, &first);
		if (err)
			return err;
		last = first;
		if (*text == '-') {
			text++;
			err = parse_cpu(&text, &last);
			if (err)
				return err;
		}
		if (last < first)
			return -EINVAL;
		for (; first <= last; first++)
			cpulist_add(&set, first);
		if (*text == ',') {
			text++;
			if (*text < '0' || *text > '9')
				return -EINVAL;
		} else if (*text && *text != '\n') {
			return -EINVAL;
		}
	}
	if (text[0] == '\n' && text[1])
		return -EINVAL;
	*ret = set;
	return 0;
}

/* Appends a decimal number at *len; false when it does not fit with its NUL. */
static bool put_number(char *buf, size_t size, size_t *len, unsigned int value)
{
	char digits[12];
	size_t nr = 0;

	do
		digits[nr++] = (char)('0' + value % 10);
	while (value /= 10);
	if (*len + nr >= size)
		return false;
	while (nr)
		buf[(*len)++] = digits[--nr];
	return true;
}

static bool put_char(char *buf, size_t size, size_t *len, char c)
{
	if (*len + 1 >= size)
		return false;
	buf[(*len)++] = c;
	return true;
}

int cpulist_format(const struct cpulist *set, char *buf, size_t size)
{
	size_t len = 0;
	int first, last;

	if (!size)
		return -ENOSPC;
	for (first = cpulist_next(set, 0); first >= 0; first = cpulist_next(set, (unsigned int)last + 1)) {
		for (last = first; cpulist_has(set, (unsigned int)last + 1); last++)
			;
		if (len && !put_char(buf, size, &len, ','))
			return -ENOSPC;
		if (!put_number(buf, size, &len, (unsigned int)first))
			return -ENOSPC;
		if (last == first)
			continue;
		if (!put_char(buf, size, &len, '-') || !put_number(buf, size, &len, (unsigned int)last))
			return -ENOSPC;
	}
	buf[len] = '\0';
	return (int)len;
}
