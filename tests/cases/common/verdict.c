// SPDX-License-Identifier: GPL-2.0
/*
 * verdict.c - what clients saw, what was measured, and which of the two is wrong; prints the row.  Runs nothing.
 */
#include "rig.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_SEEN = 65536 };

static uint64_t seen[RIG_NR_SERIES][MAX_SEEN];
static unsigned int nr_seen[RIG_NR_SERIES];

/* ---- time -------------------------------------------------------------------------------------------------------- */

uint64_t rig_clock_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

void rig_sleep_us(uint64_t us)
{
	struct timespec t = { (time_t)(us / 1000000), (long)(us % 1000000) * 1000 };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

void rig_saw(enum rig_series series, uint64_t us)
{
	unsigned int i = __atomic_fetch_add(&nr_seen[series], 1, __ATOMIC_RELAXED);

	if (i < MAX_SEEN)
		seen[series][i] = us;
}

static int by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

uint64_t rig_seen_us(enum rig_series series, unsigned int percent)
{
	unsigned int nr = nr_seen[series] < MAX_SEEN ? nr_seen[series] : MAX_SEEN;

	qsort(seen[series], nr, sizeof(seen[series][0]), by_time);
	return nr ? seen[series][(nr * percent + 99) / 100 - 1] : 0;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void naive_text(char *text, size_t size)
{
	const json_t *close_ = json_object_get(rig.naive, "accept_close"),
		     *send_ = json_object_get(rig.naive, "read_send");

	if (!rig.naive) {
		snprintf(text, size, "-");
		return;
	}
	snprintf(text, size, "%.0f x %.1f, %.0f x %.1f ms", rig_number(close_, "requests"),
		 rig_number(close_, "p99_us") / 1e3, rig_number(send_, "requests"), rig_number(send_, "p99_us") / 1e3);
}

__attribute__((format(printf, 3, 0)))
static _Noreturn void row(const char *expected, const char *measured, const char *verdict, va_list args)
{
	char naive_words[128], verdict_words[256];

	naive_text(naive_words, sizeof(naive_words));
	vsnprintf(verdict_words, sizeof(verdict_words), verdict, args);
	printf("%s\t%s\t%s\t%s\t%s\t%s\n", rig_name(rig.current), rig.current->pattern, expected, naive_words, measured,
	       verdict_words);
	fflush(stdout);
	_exit(0);
}

void rig_row(const char *expected, const char *measured, const char *verdict, ...)
{
	va_list args;

	va_start(args, verdict);
	row(expected, measured, verdict, args);
}

void rig_skip(const char *why, ...)
{
	char words[256] = "skipped: ";
	va_list args;

	va_start(args, why);
	vsnprintf(words + strlen(words), sizeof(words) - strlen(words), why, args);
	rig_row("-", "-", "%s", words);
}

void rig_broken(const char *why, ...)
{
	char words[256] = "WRONG: the test broke: ";
	va_list args;

	va_start(args, why);
	vsnprintf(words + strlen(words), sizeof(words) - strlen(words), why, args);
	rig_row("-", "-", "%s", words);
}

/* ---- verdicts ---------------------------------------------------------------------------------------------------- */

double rig_number(const json_t *line, const char *key)
{
	const json_t *value = json_object_get(line, key);

	if (!value)
		value = json_object_get(json_object_get(line, "coverage"), key);
	return json_is_number(value) ? json_number_value(value) : -1;
}

/* Half a bucket to either side; an answer is handed over when the call that does it returns. */
static bool between(double got_us, uint64_t asked_us, uint64_t client_us)
{
	return got_us >= (double)asked_us * 0.992 && got_us <= (double)(client_us + rig.late_us) * 1.008 + 1;
}

/* What is wrong with the percentiles, or an empty text. */
static void judge_latency(const struct rig_expect *e, char *wrong, size_t size)
{
	const struct {
		const char *key;
		uint64_t asked_us;
		enum rig_series series;
		unsigned int percent;
	} rules[] = {
		{ "p50_us", e->us, RIG_SEEN, 50 },
		{ "p99_us", e->p99_us ? e->p99_us : e->us, RIG_SEEN, 99 },
		{ "total_p50_us", e->total_us, RIG_SEEN_TOTAL, 50 },
		{ "total_p99_us", e->total_us, RIG_SEEN_TOTAL, 99 },
	};

	wrong[0] = '\0';
	for (size_t i = 0; i < (e->total_us ? 4 : 2); i++) {
		double got = rig_number(rig.summary, rules[i].key);
		uint64_t most = rig_seen_us(rules[i].series, rules[i].percent);

		if (!between(got, rules[i].asked_us, most)) {
			snprintf(wrong, size, "%s %.1f ms, not %.1f..%.1f", rules[i].key, got / 1e3,
				 (double)rules[i].asked_us / 1e3, (double)most / 1e3);
			return;
		}
	}
}

/* The first of the counters, a list with commas, that went up; NULL: none did. */
static const char *declaring(const char *list, char *name, size_t size)
{
	while (list && *list) {
		size_t length = strcspn(list, ",");

		snprintf(name, size, "%.*s", (int)length, list);
		if (rig_number(rig.summary, name) > 0)
			return name;
		list += length + (list[length] == ',');
	}
	return NULL;
}

/* The counter that belongs to the right result, in words, or what is wrong with it. */
static bool judge_counter(const struct rig_expect *e, char *words, size_t size)
{
	double got;

	words[0] = '\0';
	if (!e->must_declare)
		return true;
	got = rig_number(rig.summary, e->must_declare);
	if (got > 0 && (!e->must_nr || got == e->must_nr)) {
		snprintf(words, size, ", %s=%.0f", e->must_declare, got);
		return true;
	}
	snprintf(words, size, got < 0 ? "there is no %s" : "%s=%.0f", e->must_declare, got);
	return false;
}

void rig_judge(const struct rig_case *c)
{
	const struct rig_expect *e = &c->expect;
	double got = rig_number(rig.summary, "requests");
	unsigned int least = e->nr_least ? e->nr_least : e->nr;
	char expected[64], measured[64] = "0", latency[160], counter[64], name[32];
	bool counted = judge_counter(e, counter, sizeof(counter));
	const char *by = declaring(e->may_declare, name, sizeof(name));

	snprintf(expected, sizeof(expected), "%u x %.1f/%.1f ms", e->nr, (double)e->us / 1e3,
		 (double)(e->p99_us ? e->p99_us : e->us) / 1e3);
	if (got > 0)
		snprintf(measured, sizeof(measured), "%.0f x %.1f/%.1f ms", got,
			 rig_number(rig.summary, "p50_us") / 1e3, rig_number(rig.summary, "p99_us") / 1e3);
	judge_latency(e, latency, sizeof(latency));
	if (got > e->nr)
		rig_row(expected, measured, "WRONG: %.0f too many%s%s", got - e->nr, *latency ? "; " : "", latency);
	if (got < least && !by)
		rig_row(expected, measured, "WRONG: %.0f missing%s%s", e->nr - got, *latency && got > 0 ? "; " : "",
			got > 0 ? latency : "");
	/* Nothing completed has no latency that could be wrong. */
	if (*latency && got > 0)
		rig_row(expected, measured, "WRONG: %s", latency);
	if (!counted)
		rig_row(expected, measured, "WRONG: %s", counter);
	if (got < least)
		rig_row(expected, measured, "declared: %s=%.0f", by, rig_number(rig.summary, by));
	rig_row(expected, measured, "right%s", counter);
}
