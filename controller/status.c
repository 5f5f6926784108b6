// SPDX-License-Identifier: GPL-2.0
/*
 * status.c - port: what a tick did, as text.  It keeps nothing but the last action and decides nothing.
 */
#include "status.h"

#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "qos.h"

static const uint64_t PERIOD_NS = 1000000000;
static const char RED[] = "\033[31m", YELLOW[] = "\033[33m", DIM[] = "\033[2m", PLAIN[] = "\033[0m";

enum { LINE_SIZE = 4096 }; /* a pipe takes this much in one piece (PIPE_BUF) */

/* Appends to a bounded text; what does not fit is cut. */
struct text {
	char *buf;
	size_t size, used;
};

static void add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct text *t, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(t->buf + t->used, t->size - t->used, format, args);
	va_end(args);
	if (n > 0)
		t->used = t->used + (size_t)n < t->size ? t->used + (size_t)n : t->size - 1;
}

void status_init(struct status *status, int fd)
{
	const char *no_color = getenv("NO_COLOR");

	*status = (struct status){ .fd = fd, .color = fd >= 0 && isatty(fd) && (!no_color || !*no_color) };
}

static const char *owner_name(const struct tick *tick, int32_t service)
{
	return service == POLICY_BE ? "best-effort" : service >= 0 ? tick->config->services[service].name : "idle";
}

void status_format_action(const struct tick *tick, char *buf, size_t size)
{
	const struct policy_decision *d = &tick->report.decision;
	struct text t = { buf, size, 0 };

	add(&t, "%s", "");
	if (tick->report.outcome.error) {
		add(&t, "not applied: %s", tick->report.outcome.where);
	} else if (d->direction != POLICY_HOLD) {
		add(&t, "%s %s %s", policy_reason_name(d->reason), owner_name(tick, d->subject),
		    policy_resource_name(d->resource));
		if (d->direction == POLICY_UP && d->resource == POLICY_CORE)
			add(&t, " from %s", owner_name(tick, d->victim));
	} else if (d->reason == POLICY_REASON_EXHAUSTED || d->reason == POLICY_REASON_START) {
		add(&t, "%s", policy_reason_name(d->reason));
		if (d->subject >= 0)
			add(&t, " %s", owner_name(tick, d->subject));
	}
}

static void add_speed(struct text *t, const struct speed_ladder *ladder, uint32_t step)
{
	if (ladder->kind == SPEED_FREQ)
		add(t, " %.2fGHz", ladder->value[step] / 1e6);
	else if (ladder->kind == SPEED_BANDWIDTH)
		add(t, " %3u%%", ladder->value[step] / 10);
}

static void add_service(struct text *t, const struct status *status, const struct tick *tick, uint32_t i)
{
	const struct policy_service *s = &tick->report.view.services[i];
	const struct culprits *c = &tick->report.samples[i].culprits;
	const struct sample_other *other = &tick->report.samples[i].other;
	int32_t slack = tick->report.slack_permille[i];
	const char *paint = !status->color || !qos_has_slack(s) ? "" : slack < 0 ? RED : slack < QOS_SMALL_SLACK ? YELLOW : "";

	add(t, " | %s %s", tick->config->services[i].name, paint);
	if (s->nr_completed > 0)
		add(t, "%7.2f", s->latency_ns / 1e6);
	else
		add(t, "%7s", "-");
	add(t, "/%gms", s->target_ns / 1e6);
	if (other->nr_completed > 0)
		add(t, " (%s %.2f)", tick->config->feedback == CONFIG_FEEDBACK_BOTH ? "client" : "kernel", other->steer_ns / 1e6);
	if (qos_has_slack(s)) /* rounded down, so that the smallest violation is not +0 */
		add(t, " %+4d%%", slack < -9990 ? -999 : (slack + 10000) / 10 - 1000);
	else
		add(t, "     -");
	add(t, "%s", *paint ? PLAIN : "");
	if (tick->steer) {
		add(t, " %2uc", allocation_count(&tick->allocation, (int)i));
		add_speed(t, tick->ladder, tick->allocation.speed[i]);
	}
	/* The first tick has no window behind it. */
	add(t, " %-7s", tick->report.view.window_ns ? policy_signal_name(s->signal) : "");
	if (c->nr && qos_has_slack(s) && slack < QOS_SMALL_SLACK)
		add(t, " waited %.0fms for %s", c->top[0].wait_ns / 1e6, c->top[0].comm);
}

size_t status_format(const struct status *status, const struct tick *tick, char *buf, size_t size)
{
	struct text t = { buf, size - 1, 0 };

	add(&t, "%7.1fs", (tick->report.now_ns - tick->start_ns) / 1e9);
	for (uint32_t i = 0; i < tick->report.view.nr_services; i++)
		add_service(&t, status, tick, i);
	if (tick->steer) {
		add(&t, " | ");
		if (tick->report.view.has_be)
			add(&t, "BE %2uc ", allocation_count(&tick->allocation, ALLOCATION_BE));
		add(&t, "idle %2uc", allocation_count(&tick->allocation, ALLOCATION_IDLE));
	}
	if (status->action[0])
		add(&t, " | %s%s%s", status->color ? DIM : "", status->action, status->color ? PLAIN : "");
	t.buf[t.used++] = '\n';
	t.buf[t.used] = '\0';
	return t.used;
}

/* A reader that stands still (a paused terminal, a full pipe) loses lines; control does not wait for it. */
static void put(int fd, const char *buf, size_t length)
{
	struct pollfd room = { .fd = fd, .events = POLLOUT };

	if (poll(&room, 1, 0) == 1 && (room.revents & POLLOUT) && write(fd, buf, length) < 0)
		return;
}

void status_tick(struct status *status, const struct tick *tick)
{
	char action[sizeof(status->action)], line[LINE_SIZE];

	if (status->fd < 0)
		return;
	status_format_action(tick, action, sizeof(action));
	if (action[0])
		memcpy(status->action, action, sizeof(action));
	if (tick->report.now_ns < status->due_ns)
		return;
	put(status->fd, line, status_format(status, tick, line, sizeof(line)));
	status->action[0] = '\0';
	/* From the tick's own time, so that a late tick does not make two lines. */
	status->due_ns = tick->report.now_ns + PERIOD_NS - tick->config->interval_ns / 2;
}

static void summarize_speed(const struct speed_ladder *ladder, double mean, FILE *out)
{
	if (ladder->kind == SPEED_FREQ)
		fprintf(out, "  mean speed        %.2f of %.2f GHz nominal\n", mean / 1e6,
			ladder->value[ladder->nominal] / 1e6);
	else if (ladder->kind == SPEED_BANDWIDTH)
		fprintf(out, "  mean bandwidth    %.0f %% of the cores owned\n", mean / 10);
}

static void summarize_oracle(const struct record_totals *t, FILE *out)
{
	const struct record_oracle *o = t->oracle;

	fprintf(out, "  valid allocation  %.1f %% of the time, at most %.1f s after a change of load", o->in_v_pct, o->valid_s);
	if (t->nr_infeasible_windows)
		fprintf(out, "; nothing holds in %llu windows, not judged", (unsigned long long)t->nr_infeasible_windows);
	fputc('\n', out);
	if (o->energy_ratio >= 0)
		fprintf(out, "  beside an oracle  %.3f of its energy\n", o->energy_ratio);
	if (o->be_work_ratio >= 0)
		fprintf(out, "  beside an oracle  %.3f of its best-effort work\n", o->be_work_ratio);
}

void status_summary(const struct tick *tick, const struct record_totals *t, FILE *out)
{
	double all = tick->report.view.nr_cores * t->duration_s;

	fprintf(out, "summary: %.1f s, %llu ticks, %llu overruns, %llu moves, %llu infeasible\n", t->duration_s,
		(unsigned long long)t->nr_ticks, (unsigned long long)t->nr_overruns, (unsigned long long)t->nr_moves,
		(unsigned long long)t->nr_infeasible);
	fprintf(out, "  violated windows  %.2f %% of judged time (%.2f %% of %llu raw windows of 200 requests or more)\n",
		t->violated_windows_pct, t->raw_violated_pct, (unsigned long long)t->nr_raw_windows);
	for (uint32_t i = 0; i < t->nr_services; i++)
		fprintf(out, "  late requests     %s: %.3f %% of %llu (allowed %g %%), violated %.2f %% of the time\n",
			t->services[i].name, t->services[i].late_requests_pct,
			(unsigned long long)t->services[i].nr_requests,
			(1000 - tick->config->services[i].percentile_permille) / 10.0,
			t->services[i].violated_windows_pct);
	fprintf(out, "  core seconds      %.1f of %.1f (all cores all the time): %.1f %%\n", t->core_seconds, all,
		all > 0 ? 100 * t->core_seconds / all : 0);
	summarize_speed(tick->ladder, t->mean_speed, out);
	fprintf(out, "  energy            %.1f J (%s)\n", t->energy_j, t->energy_source);
	if (t->has_package)
		fprintf(out, "  package energy    %.1f J (measured, of everything in the processors)\n", t->package_j);
	fprintf(out, "  best effort       %.1f units of work in %.1f core seconds\n", t->be_work, t->be_core_seconds);
	if (t->oracle)
		summarize_oracle(t, out);
	if (t->own_cpu_pct > 0)
		fprintf(out, "  own cost          %.3f %% of a core\n", t->own_cpu_pct);
}
