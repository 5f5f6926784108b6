// SPDX-License-Identifier: GPL-2.0
/*
 * live.c - glue: what a run answers to those who look at it.  Nothing is made before somebody asks, except that the
 * last decisions are kept.
 */
#include "live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "openmetrics.h"
#include "record.h"

static const char page_html[] =
#include "web_page.inc"
	;

static void print_json(json_t *object, FILE *out)
{
	json_dumpf(object, out, RECORD_DUMP_FLAGS);
	json_decref(object);
}

static void print_status(const struct live *live, const struct record_totals *totals, FILE *out)
{
	json_t *sums = record_totals_json(totals);

	/* Known at the end only. */
	json_object_del(sums, "own_cpu_pct");
	json_object_del(sums, "overruns");
	fprintf(out, "{\"schema_version\":%d,\"pid\":%d,\"header\":%s,\"tick\":", RECORD_SCHEMA_VERSION, (int)getpid(),
		live->header);
	print_json(record_tick_json(live->tick), out);
	fputs(",\"totals\":", out);
	print_json(sums, out);
	fputs(",\"decisions\":", out);
	recent_print_decisions(&live->recent, out);
	fputs("}\n", out);
}

static struct web_page page_of(void *ctx, const char *path)
{
	const struct live *live = ctx;
	struct web_page page = { .type = "application/json" };
	struct record_totals totals;
	FILE *out;

	if (!strcmp(path, "/"))
		return (struct web_page){ strdup(page_html), sizeof(page_html) - 1, "text/html; charset=utf-8" };
	if (!live->tick || !live->tick->totals.nr_ticks ||
	    (strcmp(path, "/status.json") && strcmp(path, "/course.json") && strcmp(path, "/metrics")))
		return page;
	out = open_memstream(&page.text, &page.length);
	if (!out)
		return page;
	tick_totals(live->tick, &totals);
	if (!strcmp(path, "/status.json")) {
		print_status(live, &totals, out);
	} else if (!strcmp(path, "/course.json")) {
		recent_print_course(&live->recent, live->tick, out);
	} else {
		openmetrics_print(live->tick, &totals, out);
		page.type = OPENMETRICS_TYPE;
	}
	if (fclose(out)) {
		free(page.text);
		page.text = NULL;
	}
	return page;
}

int live_open(struct live *live, struct loop *loop, const char *address, char *error, size_t error_size)
{
	const struct web_opts opts = { .address = address, .ctx = live, .page = page_of };
	int err = web_open(&live->web, &opts, error, error_size);

	return err ? err : loop_watch(loop, web_fd(live->web), web_serve, live->web);
}

int live_start(struct live *live, const struct tick *tick, const char *mode, const char *machine)
{
	json_t *header = record_header_json(tick, mode, machine);

	live->header = json_dumps(header, RECORD_DUMP_FLAGS);
	json_decref(header);
	if (!live->header || recent_init(&live->recent, tick->config->nr_services))
		return -ENOMEM;
	live->tick = tick;
	return 0;
}

void live_tick(struct live *live)
{
	if (!live->tick)
		return;
	recent_add(&live->recent, live->tick);
	web_serve(live->web);
}

void live_close(struct live *live)
{
	web_close(live->web);
	recent_free(&live->recent);
	free(live->header);
	*live = (struct live){ 0 };
}
