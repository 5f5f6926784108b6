// SPDX-License-Identifier: GPL-2.0
/*
 * explain.c - pure but for memory and the stream: picks decisions and puts them into words.  It judges none of them.
 */
#include "explain.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fields.h"
#include "overview.h"

static const struct {
	const char *word, *meaning;
} reasons[] = {
	{ "start", "every run begins so" },
	{ "upsize", "too little slack was left" },
	{ "downsize", "there was slack to give" },
	{ "revert", "the step down before it had hurt" },
	{ "exhausted", "more is needed, and nothing can be given" },
}, refusals[] = {
	{ "at-limit", "at its limit" },
	{ "no-donor", "nobody has one to give" },
	{ "locked", "a step down has hurt lately" },
	{ "blind", "nothing to judge by" },
	{ "scarce", "too little memory is free" },
};
enum { NR_REASONS = sizeof(reasons) / sizeof(reasons[0]), NR_REFUSALS = sizeof(refusals) / sizeof(refusals[0]) };

/* Names come from files: what would steer a terminal does not reach it. */
static void put(const char *string, FILE *out)
{
	for (; *string; string++)
		fputc(iscntrl((unsigned char)*string) ? '?' : *string, out);
}

static const json_t *service_of(const struct explain *e, const json_t *tick)
{
	return json_array_get(json_object_get(tick, "services"), e->index);
}

static double speed_of(const json_t *service)
{
	double khz = field_number(service, "khz");

	return isnan(khz) ? field_number(service, "permille") : khz;
}

static bool same(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

const char *explain_open(struct explain *e, const json_t *header, const char *name, uint32_t nr_wanted, char names[256])
{
	json_t *services = json_object_get(json_object_get(header, "config"), "services");
	size_t used = 0;

	*e = (struct explain){ .name = name, .nr_wanted = nr_wanted, .changed_s = NAN };
	if (!json_array_size(services))
		return "not a record of parties: the header names no services";
	for (e->index = 0; e->index < json_array_size(services); e->index++) {
		json_t *service = json_array_get(services, e->index);

		if (!strcmp(field_text(service, "name"), name)) {
			e->goal = json_incref(service);
			e->entries = calloc(nr_wanted, sizeof(e->entries[0]));
			return e->entries ? NULL : "no memory";
		}
		if (used < 200)
			used += (size_t)snprintf(names + used, 256 - used, " %.40s", field_text(service, "name"));
	}
	return "no such service";
}

void explain_close(struct explain *e)
{
	for (uint32_t i = 0; e->entries && i < e->nr_wanted; i++)
		json_decref(e->entries[i].tick);
	free(e->entries);
	json_decref(e->goal);
	json_decref(e->last);
	*e = (struct explain){ 0 };
}

static bool is_rejected(const struct explain *e, const json_t *action)
{
	const json_t *rejected = json_object_get(action, "rejected");

	for (size_t i = 0; i < json_array_size(rejected); i++)
		if (!strcmp(field_text(json_array_get(rejected, i), "service"), e->name))
			return true;
	return false;
}

static bool is_about(const struct explain *e, const json_t *tick, bool changed)
{
	const json_t *action = json_object_get(tick, "action");
	const char *reason = field_text(action, "reason"), *subject = field_text(action, "subject");
	bool moves = strcmp(field_text(action, "direction"), "hold");

	if (changed || !strcmp(reason, "start"))
		return true;
	if (!strcmp(subject, e->name) || !strcmp(field_text(action, "victim"), e->name))
		return moves || !strcmp(reason, "exhausted") || json_is_true(json_object_get(action, "infeasible"));
	return moves && is_rejected(e, action);
}

/* The same again while nothing could be done. */
static bool is_repeated(const struct explain *e, const json_t *tick)
{
	const struct explain_entry *last = e->nr ? &e->entries[(e->nr - 1) % e->nr_wanted] : NULL;

	return last && !strcmp(field_text(json_object_get(tick, "action"), "direction"), "hold") &&
	       json_equal(json_object_get(tick, "action"), json_object_get(last->tick, "action"));
}

void explain_take(struct explain *e, json_t *tick, double until_s)
{
	const json_t *service = service_of(e, tick), *before = service_of(e, e->last);
	bool changed = e->last && (!same(field_number(service, "cores"), field_number(before, "cores")) ||
				   !same(speed_of(service), speed_of(before)));
	struct explain_entry *entry;

	if (e->last && field_number(tick, "t_s") == field_number(e->last, "t_s"))
		return;
	if (changed)
		e->changed_s = field_number(tick, "t_s");
	if (is_about(e, tick, changed)) {
		if (is_repeated(e, tick)) {
			e->entries[(e->nr - 1) % e->nr_wanted].until_s = isnan(until_s) ? field_number(tick, "t_s")
											: until_s;
		} else {
			entry = &e->entries[e->nr++ % e->nr_wanted];
			json_decref(entry->tick);
			*entry = (struct explain_entry){ json_incref(tick), until_s, field_number(before, "cores"),
							 speed_of(before) };
		}
	}
	json_decref(e->last);
	e->last = json_incref(tick);
}

static void print_latency(const json_t *service, const json_t *goal, FILE *out)
{
	double us = field_number(service, "steer_us"), slack = field_number(service, "slack");

	if (isnan(us))
		fprintf(out, "no requests");
	else
		fprintf(out, "p%g %.2f ms of %g ms", field_number(goal, "percentile"), us / 1e3,
			field_number(goal, "target_us") / 1e3);
	if (!isnan(slack))
		fprintf(out, ", slack %+.0f %%", floor(slack / 10));
	fprintf(out, ", %.0f requests/s, ", field_number(service, "rps"));
	put(field_text(service, "state")[0] ? field_text(service, "state") : "first window", out);
}

static void print_share(const struct explain *e, FILE *out)
{
	const json_t *service = service_of(e, e->last);
	double most = field_number(e->goal, "cores_max");
	char speed[40];

	put(e->name, out);
	if (isnan(field_number(service, "cores"))) {
		fprintf(out, " is not confined\n");
	} else {
		overview_speed(service, speed, sizeof(speed));
		fprintf(out, " has %.0f core%s (CPUs ", field_number(service, "cores"),
			field_number(service, "cores") == 1 ? "" : "s");
		put(field_text(service, "core_ids"), out);
		fprintf(out, ") of %.0f", field_number(e->goal, "cores_min"));
		if (most > 0)
			fprintf(out, " to %.0f", most);
		else
			fprintf(out, " or more");
		if (strcmp(speed, "-"))
			fprintf(out, ", at %s", speed);
		if (!isnan(e->changed_s))
			fprintf(out, ", since %.1f s", e->changed_s);
		fprintf(out, "\n");
	}
	fprintf(out, "now, at %.1f s: ", field_number(e->last, "t_s"));
	print_latency(service, e->goal, out);
	fprintf(out, "\n");
}

static const char *meaning(const char *word, bool is_reason)
{
	for (int i = 0; i < NR_REASONS && is_reason; i++)
		if (!strcmp(word, reasons[i].word))
			return reasons[i].meaning;
	for (int i = 0; i < NR_REFUSALS && !is_reason; i++)
		if (!strcmp(word, refusals[i].word))
			return refusals[i].meaning;
	return word;
}

static void print_change(const struct explain_entry *entry, const json_t *service, FILE *out)
{
	double cores = field_number(service, "cores"), speed = speed_of(service);
	char shown[40];

	overview_speed(service, shown, sizeof(shown));
	if (!isnan(cores) && !isnan(entry->cores) && cores != entry->cores)
		fprintf(out, "; cores %.0f -> %.0f", entry->cores, cores);
	if (!isnan(speed) && !isnan(entry->speed) && speed != entry->speed)
		fprintf(out, "; %s to %s", speed > entry->speed ? "up" : "down", shown);
}

static void print_rejected(const json_t *action, FILE *out)
{
	const json_t *rejected = json_object_get(action, "rejected");
	size_t nr = json_array_size(rejected);

	for (size_t i = 0; i < nr; i++) {
		const json_t *no = json_array_get(rejected, i);

		fprintf(out, "%s", i ? ", " : "             not: ");
		if (strcmp(field_text(no, "resource"), "none")) {
			put(field_text(no, "resource"), out);
			fprintf(out, " of ");
		}
		put(field_text(no, "service")[0] ? field_text(no, "service") : "the machine", out);
		fprintf(out, " (");
		put(meaning(field_text(no, "why"), false), out);
		fputc(')', out);
	}
	if (nr)
		fputc('\n', out);
}

static void print_entry(const struct explain *e, const struct explain_entry *entry, FILE *out)
{
	const json_t *action = json_object_get(entry->tick, "action"), *service = service_of(e, entry->tick);
	char what[256];

	overview_action(entry->tick, what, sizeof(what));
	fprintf(out, "%8.1f s  ", field_number(entry->tick, "t_s"));
	put(what[0] ? what : field_text(action, "reason"), out);
	if (field_number(json_object_get(entry->tick, "outcome"), "error") == 0) {
		fputs(": ", out);
		put(meaning(field_text(action, "reason"), true), out);
	}
	print_change(entry, service, out);
	if (!isnan(entry->until_s))
		fprintf(out, "; the same until %.1f s", entry->until_s);
	fputs("\n             seen: ", out);
	print_latency(service, e->goal, out);
	fputc('\n', out);
	print_rejected(action, out);
}

void explain_print(const struct explain *e, FILE *out)
{
	uint32_t nr = e->nr < e->nr_wanted ? e->nr : e->nr_wanted;

	print_share(e, out);
	fprintf(out, "%s\n", nr ? "decided, the last first:" : "nothing was decided about it");
	for (uint32_t i = 0; i < nr; i++)
		print_entry(e, &e->entries[(e->nr - 1 - i) % e->nr_wanted], out);
}
