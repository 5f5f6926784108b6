// SPDX-License-Identifier: GPL-2.0
/*
 * schemata.c - the grammar of resctrl's files, and ways side by side.  Pure.
 * It opens nothing (resctrl.c does) and does not decide who gets how many ways.
 */
#include "schemata.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_end(char c)
{
	return c == '\0' || is_space(c);
}

static const char *skip_blanks(const char *at)
{
	while (*at == ' ' || *at == '\t')
		at++;
	return at;
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

/* Moves *at behind the number.  -EINVAL: there is none, or it does not fit. */
static int take_number(const char **at, int base, uint32_t *ret)
{
	uint64_t value = 0;
	const char *from = *at;

	for (; digit_of(**at) < base; ++*at) {
		value = value * (uint64_t)base + (uint64_t)digit_of(**at);
		if (value > UINT32_MAX)
			return -EINVAL;
	}
	*ret = (uint32_t)value;
	return *at == from ? -EINVAL : 0;
}

/* Caches are named L2, L3, L3CODE...; the rest are bandwidths. */
static int base_of(const char *name)
{
	return name[0] == 'L' ? 16 : 10;
}

static bool has_domain(const struct schemata *s, uint32_t id)
{
	for (uint32_t i = 0; i < s->nr; i++)
		if (s->domains[i].id == id)
			return true;
	return false;
}

static int take_domain(const char **at, struct schemata *s)
{
	struct schemata_domain domain;

	if (s->nr == SCHEMATA_MAX_DOMAINS)
		return -EINVAL;
	*at = skip_blanks(*at);
	if (take_number(at, 10, &domain.id) || **at != '=' || has_domain(s, domain.id))
		return -EINVAL;
	*at = skip_blanks(*at + 1);
	if (take_number(at, base_of(s->name), &domain.value))
		return -EINVAL;
	s->domains[s->nr++] = domain;
	return 0;
}

/* The place behind "name:", at the beginning of a word; NULL when there is none. */
static const char *find_name(const char *text, const char *name)
{
	size_t len = strlen(name);

	while (*text) {
		const char *word;

		while (is_space(*text))
			text++;
		for (word = text; !is_end(*text); text++)
			if (*text == ':' && (size_t)(text - word) == len && !memcmp(word, name, len))
				return text + 1;
	}
	return NULL;
}

int schemata_find(const char *text, const char *name, struct schemata *ret)
{
	struct schemata s = { .nr = 0 };
	const char *at = find_name(text, name);
	int err;

	if (!at)
		return -ENOENT;
	if (strlen(name) >= sizeof(s.name))
		return -EINVAL;
	memcpy(s.name, name, strlen(name));
	do
		err = take_domain(&at, &s);
	while (!err && *at++ == ';');
	if (err || !is_end(at[-1]))
		return -EINVAL;
	*ret = s;
	return 0;
}

void schemata_set(struct schemata *s, uint32_t value)
{
	for (uint32_t i = 0; i < s->nr; i++)
		s->domains[i].value = value;
}

struct text {
	char *buf;
	size_t len, size;
};

static void put(struct text *t, char c)
{
	if (t->len < t->size)
		t->buf[t->len] = c;
	t->len++;
}

static void put_number(struct text *t, uint32_t value, uint32_t base)
{
	char digits[10];
	int nr = 0;

	do
		digits[nr++] = "0123456789abcdef"[value % base];
	while (value /= base);
	while (nr)
		put(t, digits[--nr]);
}

int schemata_format(const struct schemata *s, char *buf, size_t size)
{
	struct text t = { .buf = buf, .size = size };

	for (const char *c = s->name; *c; c++)
		put(&t, *c);
	for (uint32_t i = 0; i < s->nr; i++) {
		put(&t, i ? ';' : ':');
		put_number(&t, s->domains[i].id, 10);
		put(&t, '=');
		put_number(&t, s->domains[i].value, (uint32_t)base_of(s->name));
	}
	put(&t, '\0');
	return t.len <= size ? (int)t.len - 1 : -ENOSPC;
}

int schemata_parse_mask(const char *text, uint32_t *ret)
{
	uint32_t mask;

	if (take_number(&text, 16, &mask) || !is_end(*text))
		return -EINVAL;
	*ret = mask;
	return 0;
}

/* The leftmost letter is the highest way. */
int schemata_parse_usage(const char *text, uint32_t *ret_taken)
{
	uint32_t id, all = 0;

	do {
		uint32_t taken = 0, nr = 0;

		if (take_number(&text, 10, &id) || *text++ != '=')
			return -EINVAL;
		for (; *text && strchr("0HSXEP", *text); text++, nr++)
			taken = taken << 1 | (*text == 'E' || *text == 'P');
		if (!nr || nr > SCHEMATA_MAX_WAYS)
			return -EINVAL;
		all |= taken;
	} while (*text++ == ';');
	if (!is_end(text[-1]))
		return -EINVAL;
	*ret_taken = all;
	return 0;
}

uint32_t schemata_run(uint32_t mask, uint32_t *ret_first)
{
	uint32_t best = 0, run = 0;

	*ret_first = 0;
	for (uint32_t bit = 0; bit < SCHEMATA_MAX_WAYS; bit++) {
		run = mask >> bit & 1 ? run + 1 : 0;
		if (run > best) {
			best = run;
			*ret_first = bit + 1 - run;
		}
	}
	return best;
}

uint32_t schemata_mask(uint32_t first, uint32_t nr)
{
	return nr < SCHEMATA_MAX_WAYS ? ((1U << nr) - 1) << first : UINT32_MAX;
}

void schemata_lay_out(uint32_t *firsts, const uint32_t *wanted, uint32_t nr, uint32_t nr_ways)
{
	uint32_t end = 0, after = 0; /* of those before; ways that those who follow need, oneself included */

	for (uint32_t i = 0; i < nr; i++)
		after += wanted[i];
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t latest = nr_ways - after;

		if (firsts[i] > latest)
			firsts[i] = latest;
		if (firsts[i] < end)
			firsts[i] = end;
		end = firsts[i] + wanted[i];
		after -= wanted[i];
	}
}
