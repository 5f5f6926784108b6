// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_doctor.c - `parties doctor`: glue; has the machine looked at and judged, and prints that as a table or as JSON.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "doctor_look.h"
#include "options.h"
#include "root.h"

enum { TABLE_WIDTH = 120, FOUND_COLUMN = 20, TEXT_COLUMN = 29 };

struct doctor_options {
	const char *file;
	bool json;
};

static int parse_options(struct doctor_options *o, int argc, char **argv)
{
	const struct option_spec specs[] = {
		{ "config", 'c', "FILE", OPTION_STRING, &o->file, "look at the services of this configuration, too" },
		{ "json", 0, NULL, OPTION_FLAG, &o->json, "one JSON object" },
	};
	const struct option_table table = {
		"doctor",
		"[-c FILE] [--json]",
		"Shows what parties finds on this machine, what it can use of it, and whether a run could work",
		specs,
		sizeof(specs) / sizeof(specs[0]),
		0,
		0,
	};
	int rc = options_parse(&table, argc, argv);

	return rc < 0 ? rc : 0;
}

/* Wraps at blanks; the first line goes on at `column`, the others begin there. */
static void print_wrapped(const char *text, int column)
{
	const int room = TABLE_WIDTH - column;

	while ((int)strlen(text) > room) {
		int len = room;

		while (len > 0 && text[len] != ' ')
			len--;
		if (!len) /* a word as long as a line */
			len = (int)strcspn(text, " ");
		printf("%.*s\n", len, text);
		text += len + (text[len] == ' ');
		if (!*text)
			return;
		printf("%*s", column, "");
	}
	printf("%s\n", text);
}

static void print_more(const char *label, const char *text)
{
	if (!text[0])
		return;
	printf("%*s%-*s", FOUND_COLUMN, "", TEXT_COLUMN - FOUND_COLUMN, label);
	print_wrapped(text, TEXT_COLUMN);
}

static void print_table(const struct doctor_report *report)
{
	printf("%-11s %-7s %s\n", "knob", "usable", "found");
	for (uint32_t i = 0; i < report->nr; i++) {
		const struct doctor_knob *k = &report->knobs[i];

		printf("%-11s %-7s ", k->name, k->usable ? "yes" : "no");
		print_wrapped(k->found, FOUND_COLUMN);
		print_more(k->usable ? "note:" : "why not:", k->reason);
		print_more("instead:", k->fallback);
		print_more("to do:", k->advice);
	}
	/* One line, however long, for those who look for it. */
	printf("run: %s%s\n", report->can_run ? "can" : "cannot, because ", report->because);
}

static int print_json(const struct doctor_report *report)
{
	json_t *list = json_array(), *object;
	int err = 0;

	for (uint32_t i = 0; i < report->nr && !err; i++) {
		const struct doctor_knob *k = &report->knobs[i];

		err = json_array_append_new(list, json_pack("{s:s,s:s,s:b,s:s,s:s,s:s}", "knob", k->name, "found", k->found,
							    "usable", k->usable, "reason", k->reason, "fallback",
							    k->fallback, "advice", k->advice));
	}
	object = json_pack("{s:o,s:b,s:s}", "knobs", list, "run", report->can_run, "because", report->because);
	if (!err)
		err = object ? json_dumpf(object, stdout, JSON_COMPACT) : -1;
	putchar('\n');
	json_decref(object);
	return err;
}

static int examine(const struct doctor_options *o, struct doctor_facts *facts, struct doctor_report *report)
{
	char error[512];
	struct config config;

	if (o->file && config_load(o->file, &config, error, sizeof(error))) {
		fprintf(stderr, "%s\n", error);
		return EXIT_USAGE;
	}
	doctor_look(root_dir(), o->file ? &config : NULL, facts);
	doctor_judge(facts, report);
	if (!o->json)
		print_table(report);
	else if (print_json(report) && !ferror(stdout))
		return EXIT_FAILED;
	return report->can_run ? EXIT_OK : EXIT_UNABLE;
}

int cmd_doctor(int argc, char **argv)
{
	struct doctor_options o = { 0 };
	struct doctor_facts *facts = calloc(1, sizeof(*facts));
	struct doctor_report *report = calloc(1, sizeof(*report));
	int rc = facts && report ? parse_options(&o, argc, argv) : -ENOMEM;

	rc = rc == -ENOMEM ? EXIT_UNABLE : rc ? options_exit(rc) : examine(&o, facts, report);
	free(facts);
	free(report);
	return rc;
}
