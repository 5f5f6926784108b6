// SPDX-License-Identifier: GPL-2.0
/*
 * report_read.c - port: parses JSON lines into arrays.  It draws nothing and repairs nothing.
 */
#include "report_read.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fields.h"
#include "record.h"

static const char *const column_names[REPORT_NR_COLUMNS] = {
	"arrivals", "completed", "rps", "mean_us", "p50_us", "p95_us", "p99_us", "total_p99_us", "residency_p99_us",
	"service_p99_us", "steer_us", "in_flight", "oldest_us", "over_target", "late", "listen_drops", "slack", "cores",
	"speed", "khz", "measured_khz", "permille", "cpu_s", "throttled_s", "other_completed", "other_p50_us", "other_p95_us",
	"other_p99_us", "other_steer_us",
};

const char *report_column_name(enum report_column column)
{
	return column_names[column];
}

const struct report_point *report_point(const struct report_run *run, size_t tick, uint32_t service)
{
	return &run->points[tick * run->nr_services + service];
}

bool report_has_cores(const struct report_run *run)
{
	for (size_t i = 0; i < run->nr_ticks; i++)
		if (!isnan(report_point(run, i, 0)->value[REPORT_CORES]))
			return true;
	return false;
}

/* Names go into scripts, tables and pages: what is not plain becomes a question mark. */
static void copy_plain(const json_t *object, const char *key, char *buf, size_t size)
{
	const char *text = json_string_value(json_object_get(object, key));
	size_t i;

	for (i = 0; text && text[i] && i + 1 < size; i++)
		buf[i] = isalnum((unsigned char)text[i]) || strchr("_.:/- ", text[i]) ? text[i] : '?';
	buf[i] = '\0';
}

static const char *parse_service(const json_t *object, struct report_service *ret)
{
	copy_plain(object, "name", ret->name, sizeof(ret->name));
	ret->target_us = field_number(object, "target_us");
	ret->percentile = field_number(object, "percentile");
	if (!ret->name[0])
		return "a service has no name";
	if (!(ret->target_us > 0) || !(ret->percentile > 0))
		return "a service has no target";
	return NULL;
}

/* The reason why not, or NULL. */
static const char *parse_header(struct report_run *run, const json_t *line)
{
	const json_t *machine = json_object_get(line, "machine"), *config = json_object_get(line, "config");
	const json_t *services = json_object_get(config, "services"), *speed = json_object_get(machine, "speed");
	const char *kind = json_string_value(json_object_get(speed, "kind")), *why = NULL;
	const char *word = json_string_value(json_object_get(line, "record"));

	if (!word || strcmp(word, "parties"))
		return "not a record: the first line is no header";
	if (field_number(line, "schema_version") != RECORD_SCHEMA_VERSION)
		return "written by another version: schema_version is not 1; use the parties that wrote it";
	if (json_array_size(services) < 1 || json_array_size(services) > POLICY_MAX_SERVICES)
		return "the header names no services, or too many";
	run->nr_services = (uint32_t)json_array_size(services);
	for (uint32_t i = 0; i < run->nr_services && !why; i++)
		why = parse_service(json_array_get(services, i), &run->services[i]);
	copy_plain(line, "mode", run->mode, sizeof(run->mode));
	copy_plain(line, "policy", run->policy, sizeof(run->policy));
	copy_plain(config, "feedback", run->feedback, sizeof(run->feedback));
	copy_plain(machine, "host", run->host, sizeof(run->host));
	copy_plain(machine, "kernel", run->kernel, sizeof(run->kernel));
	run->seed = (uint64_t)json_integer_value(json_object_get(line, "seed"));
	run->nr_cores = field_number(machine, "assignable_cores");
	run->interval_s = field_number(config, "interval_s");
	run->speed = !kind || !strcmp(kind, "none") ? REPORT_SPEED_NONE :
		     !strcmp(kind, "cpufreq") ? REPORT_SPEED_KHZ : REPORT_SPEED_PERMILLE;
	return why;
}

static void parse_action(const struct report_run *run, const json_t *action, struct report_tick *tick)
{
	char reason[24], resource[16], direction[16], subject[CONFIG_NAME_SIZE];

	copy_plain(action, "reason", reason, sizeof(reason));
	copy_plain(action, "resource", resource, sizeof(resource));
	copy_plain(action, "direction", direction, sizeof(direction));
	copy_plain(action, "subject", subject, sizeof(subject));
	tick->subject = -1;
	for (uint32_t i = 0; i < run->nr_services; i++)
		if (!strcmp(subject, run->services[i].name))
			tick->subject = (int32_t)i;
	if (resource[0])
		snprintf(tick->action, sizeof(tick->action), "%s %s %s", reason, resource, direction);
}

/* Doubles the room when it is used up. */
static int make_room(struct report_run *run)
{
	size_t nr = run->nr_ticks ? run->nr_ticks * 2 : 64;
	void *ticks, *points;

	if (run->nr_ticks & (run->nr_ticks - 1) || (run->nr_ticks && run->nr_ticks < 64))
		return 0;
	ticks = realloc(run->ticks, nr * sizeof(run->ticks[0]));
	if (!ticks)
		return -ENOMEM;
	run->ticks = ticks;
	points = realloc(run->points, nr * run->nr_services * sizeof(run->points[0]));
	if (!points)
		return -ENOMEM;
	run->points = points;
	return 0;
}

static const char *parse_tick(struct report_run *run, const json_t *line)
{
	const json_t *services = json_object_get(line, "services");
	struct report_tick tick = {
		.t_s = field_number(line, "t_s"), .window_s = field_number(line, "window_s"),
		.be_cores = field_number(json_object_get(line, "be"), "cores"), .idle_cores = field_number(line, "idle_cores"),
	};

	if (isnan(tick.t_s))
		return "neither a tick (no t_s) nor totals";
	if (run->nr_ticks && tick.t_s < run->ticks[run->nr_ticks - 1].t_s)
		return "time goes backwards";
	if (json_array_size(services) != run->nr_services)
		return "another number of services than in the header";
	if (make_room(run))
		return strerror(ENOMEM);
	parse_action(run, json_object_get(line, "action"), &tick);
	run->ticks[run->nr_ticks] = tick;
	for (uint32_t i = 0; i < run->nr_services; i++) {
		struct report_point *point = &run->points[run->nr_ticks * run->nr_services + i];
		const json_t *service = json_array_get(services, i);
		char name[CONFIG_NAME_SIZE];

		copy_plain(service, "name", name, sizeof(name));
		if (strcmp(name, run->services[i].name))
			return "another service than in the header";
		for (int c = 0; c < REPORT_NR_COLUMNS; c++)
			point->value[c] = field_number(service, column_names[c]);
		copy_plain(service, "state", point->state, sizeof(point->state));
		run->services[i].max_rps = fmax(run->services[i].max_rps, point->value[REPORT_RPS]);
	}
	run->nr_ticks++;
	return NULL;
}

static const char *parse_line(struct report_run *run, json_t *line)
{
	if (!json_is_object(line))
		return "not an object";
	if (!run->nr_services)
		return parse_header(run, line);
	if (run->totals)
		return "a line after the totals";
	if (!json_is_true(json_object_get(line, "totals")))
		return parse_tick(run, line);
	run->totals = json_incref(line);
	return NULL;
}

int report_read(FILE *in, const char *name, struct report_run *ret, char *error, size_t error_size)
{
	struct report_run run = { 0 };
	const char *why = NULL;
	char *text = NULL;
	size_t size = 0, nr = 0;
	json_error_t json_error;
	ssize_t length;

	while (!why && !run.truncated && (length = getline(&text, &size, in)) > 0) {
		json_t *line = json_loadb(text, (size_t)length, JSON_REJECT_DUPLICATES, &json_error);

		nr++;
		/* Only a line without an end can be one that a killed run did not finish. */
		if (!line && text[length - 1] != '\n' && run.nr_services)
			run.truncated = true;
		else if (!line)
			why = json_error.text;
		else
			why = parse_line(&run, line);
		if (why)
			snprintf(error, error_size, "%s:%zu: %s%s", name, nr, line || nr > 1 ? "" : "not a record: ", why);
		json_decref(line);
	}
	free(text);
	if (!why && ferror(in))
		snprintf(error, error_size, "%s: %s", name, why = strerror(errno));
	if (!why && run.nr_ticks == 0)
		snprintf(error, error_size, "%s:%zu: %s", name, nr, why = nr ? "no ticks" : "empty");
	if (why) {
		report_free(&run);
		return -EINVAL;
	}
	*ret = run;
	return 0;
}

void report_free(struct report_run *run)
{
	free(run->ticks);
	free(run->points);
	json_decref(run->totals);
	memset(run, 0, sizeof(*run));
}
