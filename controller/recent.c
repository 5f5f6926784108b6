// SPDX-License-Identifier: GPL-2.0
/*
 * recent.c - pure but for memory: the last decisions and the course of a run.  It decides nothing and writes nowhere by
 * itself; a service's part of a point is eight bytes, so that hours of many services stay small.
 */
#include "recent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"

/* The first of a time is of the machine: its latency is the time in ms, cores are best effort's, speed idle cores. */
struct recent_point {
	uint32_t latency_us; /* 0: unknown */
	uint16_t cores, speed;
};

int recent_init(struct recent *recent, uint32_t nr_services)
{
	*recent = (struct recent){ .nr_services = nr_services, .ticks_per_point = 1 };
	recent->points = calloc((size_t)RECENT_POINTS * (nr_services + 1), sizeof(recent->points[0]));
	return recent->points ? 0 : -ENOMEM;
}

void recent_free(struct recent *recent)
{
	for (uint32_t i = 0; i < RECENT_DECISIONS; i++)
		free(recent->decisions[i].line);
	free(recent->points);
	*recent = (struct recent){ 0 };
}

static struct recent_point *points_of(const struct recent *recent, uint64_t time)
{
	return recent->points + time * (recent->nr_services + 1);
}

static void add_point(struct recent *recent, uint64_t time, const struct recent_point *points)
{
	struct recent_point *to = points_of(recent, time);

	for (uint32_t i = 0; i <= recent->nr_services; i++) {
		uint32_t latency_us = to[i].latency_us > points[i].latency_us ? to[i].latency_us : points[i].latency_us;

		to[i] = points[i];
		to[i].latency_us = latency_us;
	}
}

/* Two points become one, which makes room for as many again. */
static void halve(struct recent *recent)
{
	size_t size = (recent->nr_services + 1) * sizeof(recent->points[0]);

	for (uint64_t i = 0; i < RECENT_POINTS / 2; i++) {
		memmove(points_of(recent, i), points_of(recent, 2 * i), size);
		add_point(recent, i, points_of(recent, 2 * i + 1));
	}
	memset(points_of(recent, RECENT_POINTS / 2), 0, size * (RECENT_POINTS / 2));
	recent->ticks_per_point *= 2;
}

static double seconds(const struct tick *tick)
{
	return (tick->report.now_ns - tick->start_ns) / 1e9;
}

/* In permille of nominal: a run may change from frequencies to quotas and go on.  0: there is no speed. */
static uint16_t speed_of(const struct tick *tick, uint32_t service)
{
	const struct speed_ladder *ladder = tick->ladder;

	if (ladder->kind == SPEED_NONE)
		return 0;
	return (uint16_t)(1000ull * ladder->value[tick->allocation.speed[service]] / ladder->value[ladder->nominal]);
}

static void add_to_course(struct recent *recent, const struct tick *tick)
{
	struct recent_point points[POLICY_MAX_SERVICES + 1];

	points[0].latency_us = (uint32_t)(seconds(tick) * 1e3);
	points[0].cores = (uint16_t)allocation_count(&tick->allocation, ALLOCATION_BE);
	points[0].speed = (uint16_t)allocation_count(&tick->allocation, ALLOCATION_IDLE);
	for (uint32_t i = 0; i < recent->nr_services; i++) {
		const struct policy_service *s = &tick->report.view.services[i];
		uint64_t us = s->nr_completed ? s->latency_ns / 1000 : 0;

		points[i + 1].latency_us = us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
		points[i + 1].cores = (uint16_t)allocation_count(&tick->allocation, (int)i);
		points[i + 1].speed = speed_of(tick, i);
	}
	if (recent->nr_ticks / recent->ticks_per_point == RECENT_POINTS)
		halve(recent);
	add_point(recent, recent->nr_ticks++ / recent->ticks_per_point, points);
}

/* What happens every window as long as nothing can be done is one decision. */
static bool is_repeated(const struct recent *recent, const struct tick *tick)
{
	const struct recent_decision *last = &recent->decisions[(recent->nr_decisions - 1) % RECENT_DECISIONS];
	const struct policy_decision *d = &tick->report.decision;

	return recent->nr_decisions && d->direction == POLICY_HOLD && !tick->report.outcome.error && !d->infeasible &&
	       last->reason == d->reason && last->subject == d->subject;
}

static bool is_worth_keeping(const struct tick_report *report)
{
	const struct policy_decision *d = &report->decision;

	return d->direction != POLICY_HOLD || report->outcome.error || d->infeasible ||
	       d->reason == POLICY_REASON_START || d->reason == POLICY_REASON_EXHAUSTED;
}

void recent_add(struct recent *recent, const struct tick *tick)
{
	struct recent_decision *last;
	json_t *object;
	char *line;

	add_to_course(recent, tick);
	if (!is_worth_keeping(&tick->report))
		return;
	if (is_repeated(recent, tick)) {
		last = &recent->decisions[(recent->nr_decisions - 1) % RECENT_DECISIONS];
		last->nr_more++;
		last->until_s = seconds(tick);
		return;
	}
	object = record_tick_json(tick);
	line = json_dumps(object, RECORD_DUMP_FLAGS);
	json_decref(object);
	if (!line)
		return;
	last = &recent->decisions[recent->nr_decisions++ % RECENT_DECISIONS];
	free(last->line);
	*last = (struct recent_decision){ line, tick->report.decision.reason, tick->report.decision.subject, 0,
					  seconds(tick) };
}

void recent_print_decisions(const struct recent *recent, FILE *out)
{
	uint64_t nr = recent->nr_decisions < RECENT_DECISIONS ? recent->nr_decisions : RECENT_DECISIONS;

	fputc('[', out);
	for (uint64_t i = recent->nr_decisions - nr; i < recent->nr_decisions; i++) {
		const struct recent_decision *d = &recent->decisions[i % RECENT_DECISIONS];

		fprintf(out, "%s{\"tick\":%s,\"more\":%u,\"until_s\":%.3f}", i > recent->nr_decisions - nr ? "," : "",
			d->line, d->nr_more, d->until_s);
	}
	fputc(']', out);
}

static void print_time(const struct recent_point *point, FILE *out)
{
	fprintf(out, "%g", point->latency_us / 1e3);
}

/* A number; 0 stands for null. */
static void print_known(uint32_t value, FILE *out)
{
	if (value)
		fprintf(out, "%u", value);
	else
		fputs("null", out);
}

static void print_latency(const struct recent_point *point, FILE *out)
{
	print_known(point->latency_us, out);
}

static void print_cores(const struct recent_point *point, FILE *out)
{
	fprintf(out, "%u", point->cores);
}

static void print_idle(const struct recent_point *point, FILE *out)
{
	fprintf(out, "%u", point->speed);
}

static void print_speed(const struct recent_point *point, FILE *out)
{
	print_known(point->speed, out);
}

/* One array: a column of the points of one service, or of the machine. */
static void print_column(const struct recent *recent, const char *name, uint32_t service,
			 void (*print)(const struct recent_point *point, FILE *out), FILE *out)
{
	uint64_t nr = (recent->nr_ticks + recent->ticks_per_point - 1) / recent->ticks_per_point;

	fprintf(out, "\"%s\":[", name);
	for (uint64_t i = 0; i < nr; i++) {
		fputs(i ? "," : "", out);
		print(points_of(recent, i) + service, out);
	}
	fputc(']', out);
}

void recent_print_course(const struct recent *recent, const struct tick *tick, FILE *out)
{
	fputc('{', out);
	print_column(recent, "t_s", 0, print_time, out);
	fputc(',', out);
	print_column(recent, "be", 0, print_cores, out);
	fputc(',', out);
	print_column(recent, "idle", 0, print_idle, out);
	fputs(",\"services\":[", out);
	for (uint32_t i = 0; i < recent->nr_services; i++) {
		fprintf(out, "%s{\"name\":\"%s\",", i ? "," : "", tick->config->services[i].name);
		print_column(recent, "steer_us", i + 1, print_latency, out);
		fputc(',', out);
		print_column(recent, "cores", i + 1, print_cores, out);
		fputc(',', out);
		print_column(recent, "speed", i + 1, print_speed, out);
		fputc('}', out);
	}
	fputs("]}\n", out);
}
