/* SPDX-License-Identifier: GPL-2.0 */
/*
 * schemata.h - what the kernel's resctrl files say, and which ways of a cache are whose.  Pure.
 *
 * A schemata file has a line for each resource, `NAME:DOMAIN=VALUE;DOMAIN=VALUE...`: masks of ways in hexadecimal (L3, or
 * L3CODE and L3DATA where code and data are told apart; L2), and numbers for memory bandwidth (MB, SMBA): percent, or
 * where the hardware knows only absolute limits (AMD) eighths of a GB/s.  Spaces before names and numbers mean nothing; a
 * domain without an online CPU is missing.
 *
 * Ways of one owner must lie side by side: hardware takes no mask with holes.
 */
#ifndef PARTIES_SCHEMATA_H
#define PARTIES_SCHEMATA_H

#include <stddef.h>
#include <stdint.h>

enum { SCHEMATA_MAX_DOMAINS = 128, SCHEMATA_NAME_SIZE = 16, SCHEMATA_MAX_WAYS = 32 };

/* One line. */
struct schemata {
	char name[SCHEMATA_NAME_SIZE];
	uint32_t nr;
	struct schemata_domain {
		uint32_t id, value; /* a mask, or a number */
	} domains[SCHEMATA_MAX_DOMAINS];
};

/*
 * The line of resource `name` in `text`, whose lines end with a newline or a space.  -ENOENT: there is none.  -EINVAL: it
 * makes no sense.  *ret is untouched then.
 */
int schemata_find(const char *text, const char *name, struct schemata *ret);
/* The same in every domain. */
void schemata_set(struct schemata *s, uint32_t value);
/* Writes the line without a newline; returns its length, or -ENOSPC. */
int schemata_format(const struct schemata *s, char *buf, size_t size);

/* info/L3/cbm_mask and shareable_bits.  -EINVAL. */
int schemata_parse_mask(const char *text, uint32_t *ret);
/* info/L3/bit_usage: the ways that somebody else has for himself (E, P) in any domain.  -EINVAL. */
int schemata_parse_usage(const char *text, uint32_t *ret_taken);
/* The longest run of ones, the lowest of equals: how many, and where it begins. */
uint32_t schemata_run(uint32_t mask, uint32_t *ret_first);
/* `nr` ones from bit `first`; both together are at most SCHEMATA_MAX_WAYS. */
uint32_t schemata_mask(uint32_t first, uint32_t nr);
/*
 * Gives `nr` owners, who stay in their order, `wanted` of `nr_ways` ways each, side by side and nobody's twice; wanted adds
 * up to no more than nr_ways.  `firsts` says where each began, and then where it begins: nobody moves but those who are in
 * the way.  What is in no owner's part is idle.
 */
void schemata_lay_out(uint32_t *firsts, const uint32_t *wanted, uint32_t nr, uint32_t nr_ways);

#endif
