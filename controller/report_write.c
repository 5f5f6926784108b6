// SPDX-License-Identifier: GPL-2.0
/*
 * report_write.c - port: CSV and HTML.  It computes no figure of its own: totals are the record's.
 */
#include "report_write.h"

#include <math.h>
#include <string.h>

static void csv_text(FILE *out, const char *text)
{
	if (!text[strcspn(text, ",\"\r\n")]) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text; text++)
		fprintf(out, *text == '"' ? "\"\"" : "%c", *text);
	fputc('"', out);
}

static void csv_number(FILE *out, double value)
{
	fputc(',', out);
	if (!isnan(value))
		fprintf(out, "%.9g", value);
}

static void csv_row(const struct report_run *run, const char *name, size_t i, uint32_t s, FILE *out)
{
	const struct report_tick *tick = &run->ticks[i];
	const struct report_point *p = report_point(run, i, s);

	csv_text(out, name);
	csv_number(out, tick->t_s);
	csv_number(out, tick->window_s);
	fprintf(out, ",%s", run->services[s].name);
	csv_number(out, run->services[s].target_us);
	fprintf(out, ",%s", p->state);
	for (int c = 0; c < REPORT_NR_COLUMNS; c++)
		csv_number(out, p->value[c]);
	csv_number(out, tick->be_cores);
	csv_number(out, tick->idle_cores);
	fprintf(out, ",%s\r\n", tick->subject == (int32_t)s ? tick->action : "");
}

void report_write_csv(const struct report_run *runs, const char *const *names, uint32_t nr_runs, FILE *out)
{
	fputs("record,t_s,window_s,service,target_us,state", out);
	for (int c = 0; c < REPORT_NR_COLUMNS; c++)
		fprintf(out, ",%s", report_column_name(c));
	fputs(",be_cores,idle_cores,action\r\n", out);
	for (uint32_t r = 0; r < nr_runs; r++)
		for (size_t i = 0; i < runs[r].nr_ticks; i++)
			for (uint32_t s = 0; s < runs[r].nr_services; s++)
				csv_row(&runs[r], names[r], i, s, out);
}

static void html_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '&')
			fputs("&amp;", out);
		else if (*text == '<')
			fputs("&lt;", out);
		else
			fputc(*text, out);
	}
}

static void html_cell(FILE *out, const json_t *value)
{
	fputs("<td>", out);
	if (json_is_string(value))
		html_text(out, json_string_value(value));
	else if (json_is_integer(value))
		fprintf(out, "%lld", (long long)json_integer_value(value));
	else if (json_is_number(value))
		fprintf(out, "%.6g", json_number_value(value));
	else
		fputs("&ndash;", out);
	fputs("</td>", out);
}

static void html_totals(const struct report_run *runs, uint32_t nr_runs, FILE *out)
{
	static const char *const rows[][2] = {
		{ "duration_s", "duration [s]" },
		{ "violated_windows_pct", "violated windows [% of judged time]" },
		{ "raw_violated_pct", "raw violated windows [%]" },
		{ "raw_windows", "raw windows, of 200 requests or more" },
		{ "late_requests_pct", "late requests, worst service [%]" },
		{ "core_seconds", "core seconds of the services" },
		{ "mean_speed", "mean speed [kHz, or permille of a core]" },
		{ "energy_j", "energy [J]" },
		{ "energy_source", "energy is" },
		{ "energy_vs_oracle", "energy against the oracle" },
		{ "be_work", "best-effort work" },
		{ "be_core_seconds", "core seconds of best effort" },
		{ "be_work_vs_oracle", "best-effort work against the oracle" },
		{ "time_to_valid_s", "time to a valid allocation [s]" },
		{ "own_cpu_pct", "the controller itself [% of a core]" },
		{ "ticks", "ticks" },
		{ "overruns", "overruns" },
		{ "moves", "moves" },
		{ "infeasible", "infeasible events" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool known = false;

		for (uint32_t r = 0; r < nr_runs; r++)
			known |= json_object_get(runs[r].totals, rows[i][0]) != NULL;
		if (!known)
			continue;
		fprintf(out, "<tr><th>%s</th>", rows[i][1]);
		for (uint32_t r = 0; r < nr_runs; r++)
			html_cell(out, json_object_get(runs[r].totals, rows[i][0]));
		fputs("</tr>\n", out);
	}
}

static void html_services(const struct report_run *run, const char *name, FILE *out)
{
	size_t i;
	json_t *service;

	json_array_foreach(json_object_get(run->totals, "services"), i, service) {
		fputs("<tr><td>", out);
		html_text(out, name);
		fputs("</td>", out);
		html_cell(out, json_object_get(service, "name"));
		html_cell(out, json_object_get(service, "requests"));
		html_cell(out, json_object_get(service, "late_requests_pct"));
		html_cell(out, json_object_get(service, "violated_windows_pct"));
		fputs("</tr>\n", out);
	}
}

/* Only the <svg> element belongs inside a page, not the declarations before it. */
static void html_figure(FILE *svg, FILE *out)
{
	char line[4096];
	bool inside = false;

	while (fgets(line, sizeof(line), svg)) {
		inside |= !strncmp(line, "<svg", 4);
		if (inside)
			fputs(line, out);
	}
}

void report_write_html(const struct report_run *runs, const char *const *names, uint32_t nr_runs, FILE *svg, FILE *out)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>parties: ", out);
	html_text(out, names[0]);
	fputs("</title>\n<style>body{font:14px sans-serif;margin:2em}svg{max-width:100%;height:auto}"
	      "table{border-collapse:collapse;margin:1em 0}th,td{border-bottom:1px solid #ddd;padding:.2em .8em;"
	      "text-align:left}td{font-variant-numeric:tabular-nums}</style></head>\n<body>\n<h1>parties</h1>\n", out);
	html_figure(svg, out);
	fputs("<h2>Totals</h2>\n<table><tr><th></th>", out);
	for (uint32_t r = 0; r < nr_runs; r++) {
		fputs("<th>", out);
		html_text(out, names[r]);
		fprintf(out, "<br>%s, %s, seed %llu%s</th>", runs[r].policy, runs[r].mode,
			(unsigned long long)runs[r].seed, runs[r].totals ? "" : " (did not end: no totals)");
	}
	fputs("</tr>\n", out);
	html_totals(runs, nr_runs, out);
	fputs("</table>\n<h2>Services</h2>\n<table><tr><th>record</th><th>service</th><th>requests</th>"
	      "<th>late [%]</th><th>violated [% of the time]</th></tr>\n", out);
	for (uint32_t r = 0; r < nr_runs; r++)
		html_services(&runs[r], names[r], out);
	fputs("</table>\n</body></html>\n", out);
}
