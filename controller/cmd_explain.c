// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_explain.c - `parties explain`: glue that gets a run's ticks from the run itself or from a record.  What they mean
 * is explain.c's business.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "commands.h"
#include "explain.h"
#include "options.h"
#include "record.h"

struct asked {
	const char *service, *record;
	uint64_t pid, nr;
};

/* One line, then the exit code. */
static int fail(enum exit_code code, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int fail(enum exit_code code, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "parties explain: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return code;
}

static int open_with(struct explain *e, const json_t *header, const struct asked *asked, const char *where)
{
	char names[256] = "";
	const char *why = explain_open(e, header, asked->service, (uint32_t)asked->nr, names);

	if (!why)
		return EXIT_OK;
	return names[0] ? fail(EXIT_USAGE, "%s: no service '%s'; there is:%s", where, asked->service, names)
			: fail(EXIT_USAGE, "%s: %s", where, why);
}

static int from_run(struct explain *e, const struct asked *asked)
{
	char error[512] = "", where[32];
	json_t *status = NULL, *decisions;
	uint32_t pid = 0;
	int err = ask_find(asked->pid, &pid, error, sizeof(error)), code;

	if (!err)
		err = ask_status(pid, &status, error, sizeof(error));
	if (err)
		return fail(err == -EACCES ? EXIT_UNABLE : err == -EINVAL ? EXIT_USAGE : EXIT_FAILED, "%s", error);
	snprintf(where, sizeof(where), "run %u", pid);
	code = open_with(e, json_object_get(status, "header"), asked, where);
	decisions = json_object_get(status, "decisions");
	for (size_t i = 0; !code && i < json_array_size(decisions); i++) {
		json_t *decision = json_array_get(decisions, i);

		explain_take(e, json_object_get(decision, "tick"),
			     json_integer_value(json_object_get(decision, "more")) > 0
				     ? json_number_value(json_object_get(decision, "until_s"))
				     : NAN);
	}
	if (!code)
		explain_take(e, json_object_get(status, "tick"), NAN);
	json_decref(status);
	return code;
}

static int take_line(struct explain *e, const struct asked *asked, size_t nr, json_t *line)
{
	const char *word = json_string_value(json_object_get(line, "record"));
	char where[512];

	if (nr > 1) {
		if (json_object_get(line, "t_s") && json_object_get(line, "services"))
			explain_take(e, line, NAN);
		return EXIT_OK;
	}
	snprintf(where, sizeof(where), "%s:1", asked->record);
	if (!word || strcmp(word, "parties"))
		return fail(EXIT_USAGE, "%s: not a record: the first line is no header", where);
	if (json_integer_value(json_object_get(line, "schema_version")) != RECORD_SCHEMA_VERSION)
		return fail(EXIT_USAGE, "%s: written by another version: schema_version is not %d; use the parties that wrote it",
			    where, RECORD_SCHEMA_VERSION);
	return open_with(e, line, asked, where);
}

/* A last line that is cut off is one that a killed run did not finish. */
static int from_record(struct explain *e, const struct asked *asked)
{
	FILE *in = fopen(asked->record, "re");
	json_error_t error;
	char *text = NULL;
	size_t size = 0, nr = 0;
	ssize_t length;
	int code = EXIT_OK;

	if (!in)
		return fail(EXIT_USAGE, "%s: %s", asked->record, strerror(errno));
	while (!code && (length = getline(&text, &size, in)) > 0) {
		json_t *line = json_loadb(text, (size_t)length, JSON_REJECT_DUPLICATES, &error);

		nr++;
		if (line)
			code = take_line(e, asked, nr, line);
		else if (nr == 1 || text[length - 1] == '\n')
			code = fail(EXIT_USAGE, "%s:%zu: %s%s", asked->record, nr, nr == 1 ? "not a record: " : "",
				    error.text);
		json_decref(line);
	}
	if (!code && ferror(in))
		code = fail(EXIT_USAGE, "%s: %s", asked->record, strerror(errno));
	else if (!code && !e->last)
		code = fail(EXIT_USAGE, "%s:%zu: %s", asked->record, nr, nr ? "no ticks" : "empty");
	free(text);
	fclose(in);
	return code;
}

int cmd_explain(int argc, char **argv)
{
	struct asked asked = { .nr = 10 };
	struct explain e = { 0 };
	const struct option_spec specs[] = {
		{ "record", 'r', "FILE", OPTION_STRING, &asked.record,
		  "explain from a record instead of a run that is alive" },
		{ "pid", 0, "N", OPTION_U64, &asked.pid, "the run with this pid, where there are several" },
		{ "number", 'n', "N", OPTION_U64, &asked.nr, "so many decisions; 10" },
	};
	const struct option_table table = {
		"explain", "SERVICE [-r FILE] [--pid N] [-n N]", "Says why a service has what it has", specs,
		sizeof(specs) / sizeof(specs[0]), 1, 1,
	};
	int err = options_parse(&table, argc, argv), code;

	if (err < 0)
		return options_exit(err);
	if (asked.nr < 1 || asked.nr > EXPLAIN_MAX)
		return options_exit(options_error(&table, "-n: 1 to %d", EXPLAIN_MAX));
	asked.service = argv[1];
	code = asked.record ? from_record(&e, &asked) : from_run(&e, &asked);
	if (!code)
		explain_print(&e, stdout);
	explain_close(&e);
	return code;
}
