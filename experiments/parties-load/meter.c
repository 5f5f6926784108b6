// SPDX-License-Identifier: GPL-2.0
/*
 * meter.c - counts, latency histograms and their JSON lines (jansson).  Glue: prints on stdout, warnings on stderr.
 */
#include "meter.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "experiments/common/clock.h"

void meter_sent(struct meter *m, uint64_t intended_ns, uint64_t now_ns)
{
	uint64_t lag_ns = now_ns > intended_ns ? now_ns - intended_ns : 0;

	m->nr_outstanding++;
	m->interval.nr_sent++;
	if (lag_ns > m->interval.max_lag_ns)
		m->interval.max_lag_ns = lag_ns;
	if (lag_ns > METER_LAG_NS)
		m->interval.nr_late_sends++;
}

void meter_completed(struct meter *m, uint64_t intended_ns, uint64_t now_ns)
{
	uint64_t ns = now_ns > intended_ns ? now_ns - intended_ns : 0;

	m->nr_outstanding--;
	m->interval.nr_completed++;
	m->interval.sum_ns += ns;
	if (ns > m->interval.max_ns)
		m->interval.max_ns = ns;
	if (m->target_ns && ns > m->target_ns)
		m->interval.nr_late++;
	m->interval.buckets[hist_index(ns)]++;
}

void meter_failed(struct meter *m, const char *why)
{
	/* The first reason is enough; a dead server would repeat it a thousand times a second. */
	if (!m->total.nr_errors && !m->interval.nr_errors)
		fprintf(stderr, "parties-load: request failed: %s\n", why);
	m->nr_outstanding--;
	m->interval.nr_errors++;
	m->interval.nr_late++;
}

void meter_retried(struct meter *m)
{
	m->interval.nr_retries++;
}

/* Nearest rank, midpoint of its bucket. */
static double percentile_us(const struct meter_counts *c, unsigned int permille)
{
	uint64_t rank = (c->nr_completed * permille + 999) / 1000, seen = 0;
	unsigned int i;

	if (!c->nr_completed)
		return 0;
	for (i = 0; i < HIST_NR_BUCKETS - 1; i++) {
		seen += c->buckets[i];
		if (seen >= rank)
			break;
	}
	return (double)hist_mid(i) / 1e3;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static json_t *describe(const struct meter_counts *c, double time_s, double elapsed_s, double asked_rps)
{
	json_t *o = json_object();

	json_object_set_new(o, "time_s", json_real(time_s));
	json_object_set_new(o, "sent", json_integer((json_int_t)c->nr_sent));
	json_object_set_new(o, "completed", json_integer((json_int_t)c->nr_completed));
	json_object_set_new(o, "errors", json_integer((json_int_t)c->nr_errors));
	json_object_set_new(o, "rate_asked", json_real(asked_rps));
	json_object_set_new(o, "rate_achieved", json_real(elapsed_s > 0 ? (double)c->nr_completed / elapsed_s : 0));
	json_object_set_new(o, "mean_us",
			    json_real(c->nr_completed ? (double)c->sum_ns / 1e3 / (double)c->nr_completed : 0));
	json_object_set_new(o, "p50_us", json_real(percentile_us(c, 500)));
	json_object_set_new(o, "p95_us", json_real(percentile_us(c, 950)));
	json_object_set_new(o, "p99_us", json_real(percentile_us(c, 990)));
	json_object_set_new(o, "max_us", json_real((double)c->max_ns / 1e3));
	json_object_set_new(o, "max_lag_us", json_real((double)c->max_lag_ns / 1e3));
	json_object_set_new(o, "late_sends_pct", json_real(percent(c->nr_late_sends, c->nr_sent)));
	return o;
}

/* Nine digits: no exponent below 1000 s, for readers that are not JSON parsers. */
static void print_line(json_t *o)
{
	json_dumpf(o, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
	putchar('\n');
	fflush(stdout);
	json_decref(o);
}

static void add_interval(struct meter_counts *total, const struct meter_counts *c)
{
	unsigned int i;

	total->nr_sent += c->nr_sent;
	total->nr_completed += c->nr_completed;
	total->nr_errors += c->nr_errors;
	total->nr_retries += c->nr_retries;
	total->nr_late += c->nr_late;
	total->nr_late_sends += c->nr_late_sends;
	total->sum_ns += c->sum_ns;
	if (c->max_lag_ns > total->max_lag_ns)
		total->max_lag_ns = c->max_lag_ns;
	if (c->max_ns > total->max_ns)
		total->max_ns = c->max_ns;
	for (i = 0; i < HIST_NR_BUCKETS; i++)
		total->buckets[i] += c->buckets[i];
}

void meter_end_interval(struct meter *m, uint64_t now_ns, double asked_rps, bool quiet)
{
	double elapsed_s = (double)(now_ns - m->interval_start_ns) / 1e9;

	if (!quiet)
		print_line(describe(&m->interval, (double)(now_ns - m->start_ns) / 1e9, elapsed_s, asked_rps));
	if (!quiet && !m->lag_warned && m->interval.nr_late_sends * 100 > m->interval.nr_sent) {
		fprintf(stderr,
			"parties-load: behind its own schedule: %.1f %% of sends over %llu us late, at worst %llu us\n",
			percent(m->interval.nr_late_sends, m->interval.nr_sent),
			(unsigned long long)(METER_LAG_NS / NS_PER_US),
			(unsigned long long)(m->interval.max_lag_ns / NS_PER_US));
		m->lag_warned = true;
	}
	add_interval(&m->total, &m->interval);
	memset(&m->interval, 0, sizeof(m->interval));
	m->interval_start_ns = now_ns;
}

void meter_print_summary(const struct meter *m, uint64_t now_ns)
{
	double elapsed_s = (double)(now_ns - m->start_ns) / 1e9;
	json_t *o = describe(&m->total, elapsed_s, elapsed_s, elapsed_s > 0 ? (double)m->total.nr_sent / elapsed_s : 0);

	json_object_set_new(o, "summary", json_true());
	json_object_set_new(o, "retries", json_integer((json_int_t)m->total.nr_retries));
	if (m->target_ns) {
		json_object_set_new(o, "target_us", json_real((double)m->target_ns / 1e3));
		json_object_set_new(o, "late_pct",
				    json_real(percent(m->total.nr_late, m->total.nr_completed + m->total.nr_errors)));
	}
	print_line(o);
}
