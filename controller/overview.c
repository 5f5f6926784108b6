// SPDX-License-Identifier: GPL-2.0
/*
 * overview.c - pure but for the stream: lines of a table that are cut where the screen ends.  What matters most stands
 * left and on top.
 */
#include "overview.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "fields.h"
#include "qos.h"

enum { DECISIONS = 5, LINE_SIZE = 512 };

static const char RED[] = "\033[31m", YELLOW[] = "\033[33m", DIM[] = "\033[2m", PLAIN[] = "\033[0m", WIPE[] = "\033[K";

struct page {
	const struct overview *o;
	FILE *out;
	uint32_t nr; /* lines so far */
};

static bool is_full(const struct page *page)
{
	/* A line feed in the last row would scroll. */
	return page->o->rows && page->nr + 1 >= page->o->rows;
}

static void line(struct page *page, const char *paint, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void line(struct page *page, const char *paint, const char *format, ...)
{
	char buf[LINE_SIZE];
	size_t length;
	va_list args;

	if (is_full(page))
		return;
	va_start(args, format);
	vsnprintf(buf, sizeof(buf), format, args);
	va_end(args);
	length = strlen(buf);
	for (size_t i = 0; i < length; i++)
		if (iscntrl((unsigned char)buf[i]))
			buf[i] = '?';
	if (page->o->width && length > page->o->width)
		length = page->o->width;
	while (length && buf[length - 1] == ' ')
		length--;
	paint = page->o->color ? paint : "";
	fprintf(page->out, "%s%.*s%s%s\n", paint, (int)length, buf, *paint ? PLAIN : "", page->o->screen ? WIPE : "");
	page->nr++;
}

void overview_speed(const json_t *service, char *buf, size_t size)
{
	double khz = field_number(service, "khz"), permille = field_number(service, "permille"),
	       measured = field_number(service, "measured_khz");

	if (khz > 0 && measured > 0)
		snprintf(buf, size, "%.2f GHz (%.2f)", khz / 1e6, measured / 1e6);
	else if (khz > 0)
		snprintf(buf, size, "%.2f GHz", khz / 1e6);
	else if (permille > 0)
		snprintf(buf, size, "%.0f %%", permille / 10);
	else
		snprintf(buf, size, "-");
}

void overview_action(const json_t *tick, char *buf, size_t size)
{
	const json_t *action = json_object_get(tick, "action"), *outcome = json_object_get(tick, "outcome");
	const char *direction = field_text(action, "direction"), *resource = field_text(action, "resource"),
		   *victim = field_text(action, "victim");
	bool takes = !strcmp(direction, "up") && (*victim || !strcmp(resource, "core"));
	const char *donor = !takes ? "" : *victim ? victim : "idle";

	if (field_number(outcome, "error") != 0)
		snprintf(buf, size, "not applied: %s", field_text(outcome, "where"));
	else if (!strcmp(direction, "up") || !strcmp(direction, "down"))
		snprintf(buf, size, "%s %s %s%s%s", field_text(action, "reason"), field_text(action, "subject"),
			 resource, takes ? " from " : "", donor);
	else if (!strcmp(field_text(action, "reason"), "exhausted") || !strcmp(field_text(action, "reason"), "start"))
		snprintf(buf, size, "%s%s%s", field_text(action, "reason"), *field_text(action, "subject") ? " " : "",
			 field_text(action, "subject"));
	else
		snprintf(buf, size, "%s", "");
}

static void format_number(char *buf, size_t size, int decimals, double value)
{
	if (isnan(value))
		snprintf(buf, size, "-");
	else
		snprintf(buf, size, "%.*f", decimals, value);
}

static void print_service(struct page *page, const json_t *service, const json_t *goal)
{
	double slack = field_number(service, "slack"), waited;
	char latency[24], cores[24], speed[40], shown[16] = "-", target[32];
	const char *paint = isnan(slack) ? "" : slack < 0 ? RED : slack < QOS_SMALL_SLACK ? YELLOW : "";
	const json_t *culprit;

	format_number(latency, sizeof(latency), 2, field_number(service, "steer_us") / 1e3);
	format_number(cores, sizeof(cores), 0, field_number(service, "cores"));
	overview_speed(service, speed, sizeof(speed));
	if (!isnan(slack)) /* rounded down, so that the smallest violation is not +0 */
		snprintf(shown, sizeof(shown), "%+.0f%%", slack < -9990 ? -999 : floor(slack / 10));
	snprintf(target, sizeof(target), "p%g < %g", field_number(goal, "percentile"),
		 field_number(goal, "target_us") / 1e3);
	line(page, paint, "%-16.31s %6s %9s  %-12s %5s  %-18s %9.0f  %-7s %9.0f  %s", field_text(service, "name"),
	     shown, latency, target, cores, speed, field_number(service, "rps"), field_text(service, "state"),
	     field_number(service, "in_flight"), field_text(service, "core_ids"));
	culprit = json_array_get(json_object_get(service, "culprits"), 0);
	waited = field_number(culprit, "wait_ms");
	if (waited > 0)
		line(page, DIM, "  waited %.0f ms for %s", waited, field_text(culprit, "comm"));
}

static void print_machine(struct page *page, const json_t *status)
{
	const json_t *header = json_object_get(status, "header"), *tick = json_object_get(status, "tick");
	const json_t *machine = json_object_get(header, "machine"), *totals = json_object_get(status, "totals");
	double be = field_number(json_object_get(tick, "be"), "cores"), idle = field_number(tick, "idle_cores");
	double offline = field_number(tick, "offline_cores"),
	       sent = field_number(json_object_get(tick, "be"), "egress_mbit");
	double limit = field_number(json_object_get(tick, "be"), "egress_limit_mbit");

	line(page, "", "parties %.0f on %s: %s, %s, %.1f s, windows of %g s", field_number(status, "pid"),
	     field_text(machine, "host"), field_text(header, "mode"), field_text(header, "policy"),
	     field_number(tick, "t_s"), field_number(json_object_get(header, "config"), "interval_s"));
	if (isnan(idle))
		line(page, "", "%.0f cores, nobody is confined; %.2f %% of the time violated",
		     field_number(machine, "assignable_cores"), field_number(totals, "violated_windows_pct"));
	else
		line(page, "", "%.0f cores: best effort %.0f, idle %.0f%s; %.0f moves; %.2f %% of the time violated",
		     field_number(machine, "assignable_cores"), be, idle, offline > 0 ? ", some offline" : "",
		     field_number(totals, "moves"), field_number(totals, "violated_windows_pct"));
	if (sent >= 0 && limit > 0)
		line(page, "", "best effort sends %.0f of %.0f Mbit/s", sent, limit);
	if (*field_text(machine, "knobs"))
		line(page, DIM, "%s", field_text(machine, "knobs"));
}

static void print_others(struct page *page, const char *whose, const json_t *knobs)
{
	double changed = field_number(knobs, "changed_by_others");

	if (changed > 0)
		line(page, YELLOW, "%s: changed by somebody else in %.0f windows, %s", whose, changed,
		     json_is_true(json_object_get(knobs, "left_to_others")) ? "left to them for now" : "and put back");
}

/* What keeps the machine from what was decided, and is no failure. */
static void print_trouble(struct page *page, const json_t *tick)
{
	const json_t *services = json_object_get(tick, "services"), *speed = json_object_get(tick, "speed");

	for (size_t i = 0; i < json_array_size(services); i++) {
		const json_t *s = json_array_get(services, i);
		double pinned = field_number(s, "pinned_threads"), enough = field_number(s, "no_benefit_above");

		print_others(page, field_text(s, "name"), s);
		if (pinned > 0)
			line(page, YELLOW, "%s: %.0f threads are pinned to a part of its CPUs, by themselves",
			     field_text(s, "name"), pinned);
		if (enough > 0)
			line(page, YELLOW,
			     "%s: more than %.0f cores do nothing; a pool of threads that was sized at its start?",
			     field_text(s, "name"), enough);
	}
	print_others(page, "best effort", json_object_get(tick, "be"));
	print_others(page, "speed", speed);
	if (*field_text(speed, "given_up"))
		line(page, YELLOW, "speed: does nothing by: %s", field_text(speed, "given_up"));
	if (*field_text(tick, "avoided_cpus"))
		line(page, YELLOW, "CPUs that are offline, or not for us: %s", field_text(tick, "avoided_cpus"));
}

static void print_decisions(struct page *page, const json_t *decisions)
{
	size_t nr = json_array_size(decisions), most = page->o->rows ? nr : DECISIONS;
	char action[256];

	for (size_t i = 0; i < nr && i < most; i++) {
		const json_t *decision = json_array_get(decisions, nr - 1 - i),
			     *tick = json_object_get(decision, "tick");
		double more = field_number(decision, "more");

		overview_action(tick, action, sizeof(action));
		if (more > 0)
			line(page, DIM, "%8.1f s  %s, until %.1f s", field_number(tick, "t_s"), action,
			     field_number(decision, "until_s"));
		else
			line(page, DIM, "%8.1f s  %s", field_number(tick, "t_s"), action);
	}
}

void overview_print(const struct overview *o, const json_t *status, FILE *out)
{
	const json_t *goals = json_object_get(json_object_get(json_object_get(status, "header"), "config"), "services");
	const json_t *tick = json_object_get(status, "tick"), *services = json_object_get(tick, "services");
	const char *note = field_text(json_object_get(tick, "outcome"), "note");
	struct page page = { o, out, 0 };

	print_machine(&page, status);
	line(&page, "", "%s", "");
	line(&page, DIM, "%-16s %6s %9s  %-12s %5s  %-18s %9s  %-7s %9s  %s", "service", "slack", "latency",
	     "target, ms", "cores", "speed", "load/s", "state", "in flight", "CPUs");
	for (size_t i = 0; i < json_array_size(services); i++)
		print_service(&page, json_array_get(services, i), json_array_get(goals, i));
	line(&page, "", "%s", "");
	if (*note)
		line(&page, YELLOW, "%s", note);
	print_trouble(&page, tick);
	print_decisions(&page, json_object_get(status, "decisions"));
}
