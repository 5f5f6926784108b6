// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_report.c - `parties report`: glue from records to one file, which appears whole or not at all.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "figure.h"
#include "gnuplot.h"
#include "options.h"
#include "report_write.h"

enum report_format { REPORT_SVG, REPORT_PNG, REPORT_PDF, REPORT_HTML, REPORT_CSV, REPORT_NR_FORMATS };
static const char *const endings[REPORT_NR_FORMATS] = { ".svg", ".png", ".pdf", ".html", ".csv" };

static int read_records(struct report_run *runs, char **names, uint32_t nr)
{
	char error[512];

	for (uint32_t i = 0; i < nr; i++) {
		FILE *in = fopen(names[i], "re");
		int err;

		if (!in) {
			fprintf(stderr, "parties report: %s: %s\n", names[i], strerror(errno));
			return EXIT_USAGE;
		}
		err = report_read(in, names[i], &runs[i], error, sizeof(error));
		fclose(in);
		if (err) {
			fprintf(stderr, "%s\n", error);
			return EXIT_USAGE;
		}
		if (runs[i].truncated)
			fprintf(stderr, "event=line-ignored file=\"%s\" reason=\"the last line is cut off\"\n",
				names[i]);
		if (!runs[i].totals)
			fprintf(stderr, "event=no-totals file=\"%s\" reason=\"the run did not end\"\n", names[i]);
	}
	return EXIT_OK;
}

static int draw(const struct report_run *runs, uint32_t nr, enum figure_format format, FILE **ret)
{
	FILE *script = gnuplot_script();
	int err;

	if (script)
		figure_script(runs, nr, format, script);
	err = script ? gnuplot_run(script, ret) : -ENOMEM;
	if (err == -ENOENT)
		fputs("parties report: gnuplot is missing; install gnuplot-nox (.csv needs none)\n", stderr);
	else if (err)
		fprintf(stderr, "parties report: gnuplot failed\n");
	return err == -ENOENT ? EXIT_UNABLE : err ? EXIT_FAILED : EXIT_OK;
}

static void copy(FILE *in, FILE *out)
{
	char buf[1 << 16];
	size_t n;

	while ((n = fread(buf, 1, sizeof(buf), in)) > 0)
		fwrite(buf, 1, n, out);
}

static int write_output(const struct report_run *runs, char **names, uint32_t nr, enum report_format format, FILE *out)
{
	static const enum figure_format figures[] = { FIGURE_SVG, FIGURE_PNG, FIGURE_PDF, FIGURE_SVG };
	const char *const *titles = (const char *const *)names;
	FILE *figure;
	int code;

	if (format == REPORT_CSV) {
		report_write_csv(runs, titles, nr, out);
		return EXIT_OK;
	}
	code = draw(runs, nr, figures[format], &figure);
	if (code)
		return code;
	if (format == REPORT_HTML)
		report_write_html(runs, titles, nr, figure, out);
	else
		copy(figure, out);
	fclose(figure);
	return EXIT_OK;
}

/* Under another name until it is whole. */
static int write_whole(const struct report_run *runs, char **names, uint32_t nr, enum report_format format,
		       const char *path)
{
	char temporary[4096];
	FILE *out;
	int code, err = 0;

	snprintf(temporary, sizeof(temporary), "%s.%d.tmp", path, (int)getpid());
	out = fopen(temporary, "we");
	if (!out) {
		fprintf(stderr, "parties report: %s: %s\n", path, strerror(errno));
		return EXIT_USAGE;
	}
	code = write_output(runs, names, nr, format, out);
	if (ferror(out))
		err = EIO;
	if (fclose(out) == EOF)
		err = errno;
	if (!code && !err && rename(temporary, path) < 0)
		err = errno;
	if (err && !code) {
		fprintf(stderr, "parties report: %s: %s\n", path, strerror(err));
		code = EXIT_FAILED;
	}
	if (code)
		unlink(temporary);
	return code;
}

/* An interrupt waits, so that no half file stays behind; it ends gnuplot at once. */
static int make_output(const struct report_run *runs, char **names, uint32_t nr, enum report_format format,
		       const char *path)
{
	sigset_t end, old;
	int code;

	sigemptyset(&end);
	sigaddset(&end, SIGINT);
	sigaddset(&end, SIGTERM);
	sigaddset(&end, SIGHUP);
	sigprocmask(SIG_BLOCK, &end, &old);
	code = write_whole(runs, names, nr, format, path);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return code;
}

/* The format that the ending of `path` names, or REPORT_NR_FORMATS. */
static enum report_format format_of(const char *path)
{
	const char *ending = strrchr(path, '.');
	enum report_format format = 0;

	while (format < REPORT_NR_FORMATS && (!ending || strcmp(ending, endings[format]) != 0))
		format++;
	return format;
}

int cmd_report(int argc, char **argv)
{
	const char *path = NULL;
	const struct option_spec specs[] = {
		{ "output", 'o', "FILE", OPTION_STRING, &path, "an .html, .svg, .pdf, .png or .csv (required)" },
	};
	const struct option_table table = {
		"report", "RECORD... -o FILE", "Draws records side by side, or writes them as a table", specs, 1, 1,
		FIGURE_MAX_RUNS,
	};
	struct report_run runs[FIGURE_MAX_RUNS] = { 0 };
	int code, nr = options_parse(&table, argc, argv);

	if (nr < 0)
		return options_exit(nr);
	if (!path)
		return options_exit(options_error(&table, "-o FILE is missing"));
	if (format_of(path) == REPORT_NR_FORMATS)
		return options_exit(options_error(&table, "'%s' ends in none of .html .svg .pdf .png .csv", path));
	code = read_records(runs, argv + 1, (uint32_t)nr);
	if (!code)
		code = make_output(runs, argv + 1, (uint32_t)nr, format_of(path), path);
	for (int i = 0; i < nr; i++)
		report_free(&runs[i]);
	return code;
}
