// SPDX-License-Identifier: GPL-2.0
/*
 * profile.c - parses and evaluates load profiles.  Pure: text in, plain values out; reads no file and drives no load.
 */
#include "profile.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { MAX_PERCENT = 1000 };
static const uint64_t max_duration_ns = 24 * 3600 * 1000000000ULL;

struct unit {
	char name[4];
	uint64_t scale;
};

static const struct unit durations[] = {
	{ "us", 1000 },	{ "ms", 1000000 }, { "s", 1000000000 }, { "m", 60000000000 }, { "h", 3600000000000 }, { "", 0 },
};
static const struct unit percents[] = { { "%", PROFILE_FULL_LOAD_PPM / 100 }, { "", 0 } };

struct cursor {
	const char *at;
	int line;
	const char *reason; /* why parsing stopped */
};

static void skip_blanks(struct cursor *c)
{
	while (*c->at == ' ' || *c->at == '\t' || *c->at == '\r')
		c->at++;
}

static bool at_directive_end(const struct cursor *c)
{
	return *c->at == '\0' || *c->at == '\n' || *c->at == ';' || *c->at == '#';
}

/* Goes to the next directive; false at the end of the text. */
static bool next_directive(struct cursor *c)
{
	for (;; c->at++) {
		skip_blanks(c);
		if (*c->at == '#')
			c->at += strcspn(c->at, "\n");
		if (*c->at == '\n')
			c->line++;
		else if (*c->at != ';')
			return *c->at != '\0';
	}
}

static size_t word_length(const char *text)
{
	size_t n = 0;

	while (isalpha((unsigned char)text[n]) || text[n] == '%')
		n++;
	return n;
}

/* Decimal arithmetic in integers, so that every machine and locale reads the same load. */
static int parse_quantity(struct cursor *c, const struct unit *units, uint64_t max, uint64_t *ret)
{
	uint64_t mantissa = 0, divisor = 1;
	unsigned __int128 value;
	bool fraction = false;
	unsigned int nr_digits = 0;
	size_t length;

	skip_blanks(c);
	for (; isdigit((unsigned char)*c->at) || (*c->at == '.' && !fraction); c->at++) {
		if (*c->at == '.') {
			fraction = true;
			continue;
		}
		mantissa = mantissa * 10 + (uint64_t)(*c->at - '0');
		divisor *= fraction ? 10 : 1;
		if (++nr_digits > 9) {
			c->reason = "more than nine digits";
			return -EINVAL;
		}
	}
	length = word_length(c->at);
	while (units->scale && (strlen(units->name) != length || memcmp(units->name, c->at, length)))
		units++;
	if (!nr_digits || !units->scale) {
		c->reason = nr_digits ? "unit missing or unknown; durations are like 500ms, 10s, 2m and loads like 20%"
				      : "a number is missing";
		return -EINVAL;
	}
	c->at += length;
	value = (unsigned __int128)mantissa * units->scale / divisor;
	if (value > max) {
		c->reason = "value out of range; at most 24h and 1000%";
		return -EINVAL;
	}
	*ret = (uint64_t)value;
	return 0;
}

static int parse_load(struct cursor *c, uint32_t *ret_ppm)
{
	uint64_t ppm;
	int err = parse_quantity(c, percents, (uint64_t)MAX_PERCENT * PROFILE_FULL_LOAD_PPM / 100, &ppm);

	if (!err)
		*ret_ppm = (uint32_t)ppm;
	return err;
}

/* Turns one directive into the segment that follows `last`. */
static int parse_directive(struct cursor *c, const struct profile_segment *last, struct profile_segment *segment)
{
	const char *word = c->at;
	size_t length = word_length(word);
	bool at = length == 2 && !memcmp(word, "at", 2), ramp = length == 4 && !memcmp(word, "ramp", 4);
	uint64_t duration_ns;
	int err;

	if (!at && !ramp && !(length == 4 && !memcmp(word, "hold", 4))) {
		c->reason = "unknown directive; they are: at, ramp, hold";
		return -EINVAL;
	}
	c->at += length;
	err = parse_quantity(c, durations, max_duration_ns, &duration_ns);
	*segment = (struct profile_segment){ last->end_ns, last->end_ns + duration_ns, last->to_ppm, last->to_ppm };
	if (!err && (at || ramp))
		err = parse_load(c, &segment->to_ppm);
	if (err)
		return err;
	if (at) {
		if (duration_ns < last->end_ns) {
			c->reason = "this instant is before the end of the previous directive";
			return -EINVAL;
		}
		segment->start_ns = segment->end_ns = duration_ns;
		segment->from_ppm = segment->to_ppm;
	}
	skip_blanks(c);
	if (!at_directive_end(c)) {
		c->reason = "text after the directive; separate directives with ';' or a new line";
		return -EINVAL;
	}
	return 0;
}

int profile_parse(const char *text, struct profile *ret, int *ret_line, const char **ret_reason)
{
	struct cursor c = { .at = text, .line = 1, .reason = "no directive" };
	struct profile_segment last = { 0 };
	struct profile profile = { 0 };
	int err = -EINVAL;

	while (next_directive(&c)) {
		if (profile.nr_segments == PROFILE_MAX_SEGMENTS) {
			c.reason = "more than 256 directives";
			err = -E2BIG;
			break;
		}
		err = parse_directive(&c, &last, &profile.segments[profile.nr_segments]);
		if (err)
			break;
		last = profile.segments[profile.nr_segments++];
	}
	if (err) {
		*ret_line = c.line;
		*ret_reason = c.reason;
		return err;
	}
	*ret = profile;
	return 0;
}

uint64_t profile_duration_ns(const struct profile *profile)
{
	return profile->nr_segments ? profile->segments[profile->nr_segments - 1].end_ns : 0;
}

uint32_t profile_load_ppm(const struct profile *profile, uint64_t t_ns)
{
	const struct profile_segment *s;
	uint32_t low = 0, high = profile->nr_segments;
	__int128 rise;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (profile->segments[middle].start_ns <= t_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return 0;
	s = &profile->segments[low - 1];
	if (t_ns >= s->end_ns)
		return s->to_ppm;
	rise = (__int128)s->to_ppm - s->from_ppm;
	return (uint32_t)(s->from_ppm + rise * (__int128)(t_ns - s->start_ns) / (__int128)(s->end_ns - s->start_ns));
}
