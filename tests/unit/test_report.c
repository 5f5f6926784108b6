// SPDX-License-Identifier: GPL-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "fake_run.h"
#include "figure.h"
#include "record_file.h"
#include "report_read.h"

#define HEADER \
	"{\"record\":\"parties\",\"schema_version\":1,\"mode\":\"live\",\"policy\":\"static\",\"seed\":1," \
	"\"machine\":{\"host\":\"h\",\"assignable_cores\":2,\"speed\":{\"kind\":\"bandwidth\"}}," \
	"\"config\":{\"interval_s\":0.5,\"services\":[{\"name\":\"a\",\"target_us\":5000,\"percentile\":99}]}}\n"
#define TICK(t) \
	"{\"t_s\":" t ",\"window_s\":0.5,\"services\":[{\"name\":\"a\",\"rps\":10,\"steer_us\":1000,\"slack\":800," \
	"\"cores\":1,\"permille\":900,\"state\":\"fresh\"}],\"be\":{\"cores\":1},\"idle_cores\":0}\n"
#define TOTALS "{\"totals\":true,\"violated_windows_pct\":0}\n"

static char folder[] = "/tmp/test_report.XXXXXX", record_path[64], output_path[64];

static int set_up(void **state)
{
	(void)state;
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(record_path, sizeof(record_path), "%s/r.jsonl", folder);
	return 0;
}

/* Fails when the command left anything else in the folder. */
static int tear_down(void **state)
{
	(void)state;
	unlink(record_path);
	unlink(output_path);
	return rmdir(folder);
}

static int read_text(const char *text, struct report_run *ret, char *error, size_t size)
{
	FILE *in = fmemopen((char *)text, strlen(text), "r");
	int err = report_read(in, "r.jsonl", ret, error, size);

	fclose(in);
	return err;
}

static void expect_refused(const char *text, const char *where, const char *why)
{
	char error[256] = "";
	struct report_run run;

	assert_int_equal(read_text(text, &run, error, sizeof(error)), -EINVAL);
	assert_int_equal(strncmp(error, where, strlen(where)), 0);
	assert_non_null(strstr(error, why));
}

static void a_written_run_reads_back_as_it_was(void **state)
{
	static struct fake_run run;
	struct record *record;
	struct report_run back;
	struct record_totals totals;
	char error[256];
	FILE *in;

	(void)state;
	fake_start(&run, &policy_parties_paper);
	run.config.feedback = CONFIG_FEEDBACK_BOTH;
	run.samples[0].other = (struct sample_other){ true, 290, 6 * MS, 7 * MS, 8 * MS, 8 * MS };
	assert_int_equal(tick_init(&run.tick, 1), 0);
	assert_int_equal(record_open(&record, record_path), 0);
	record_header(record, &run.tick, "sim", "");
	for (uint64_t n = 0; n < 200; n++) {
		tick_step(&run.tick, n * 500 * MS, n ? 500 * MS : 0);
		record_tick(record, &run.tick);
	}
	tick_totals(&run.tick, &totals);
	record_totals(record, &totals);
	assert_int_equal(record_close(record), 0);
	in = fopen(record_path, "r");
	assert_int_equal(report_read(in, "r", &back, error, sizeof(error)), 0);
	fclose(in);
	assert_int_equal(back.nr_ticks, 200);
	assert_int_equal(back.nr_services, 2);
	assert_string_equal(back.mode, "sim");
	assert_float_equal(back.ticks[199].t_s, 99.5, 1e-6);
	assert_float_equal(report_point(&back, 199, 0)->value[REPORT_P99_US], 4000, 1e-6);
	assert_float_equal(report_point(&back, 199, 1)->value[REPORT_CORES],
			   allocation_count(&run.tick.allocation, 1), 1e-9);
	assert_string_equal(back.feedback, "both");
	assert_float_equal(report_point(&back, 199, 0)->value[REPORT_OTHER_STEER_US], 8000, 1e-6);
	assert_true(isnan(report_point(&back, 199, 1)->value[REPORT_OTHER_STEER_US]));
	assert_true(report_has_cores(&back));
	assert_non_null(back.totals);
	report_free(&back);
	tick_fini(&run.tick);
}

static void a_bad_line_is_named_with_its_number(void **state)
{
	(void)state;
	expect_refused(HEADER TICK("0") "{\"t_s\":oops}\n" TICK("1"), "r.jsonl:3: ", "invalid token");
	expect_refused(HEADER TICK("0") "[]\n", "r.jsonl:3: ", "not an object");
	expect_refused(HEADER TICK("0") "{\"x\":1}\n", "r.jsonl:3: ", "no t_s");
	expect_refused(HEADER TICK("1") TICK("0.5"), "r.jsonl:3: ", "backwards");
	expect_refused(HEADER "{\"t_s\":0,\"services\":[]}\n", "r.jsonl:2: ", "number of services");
	expect_refused(HEADER "{\"t_s\":0,\"services\":[{\"name\":\"b\"}]}\n", "r.jsonl:2: ", "another service");
	expect_refused(HEADER TICK("0") TOTALS TICK("1"), "r.jsonl:4: ", "after the totals");
}

static void what_is_no_record_is_refused(void **state)
{
	(void)state;
	expect_refused("\n", "r.jsonl:1: ", "");
	expect_refused("{\"a\":1}\n", "r.jsonl:1: ", "no header");
	expect_refused("{\"record\":\"parties\",\"schema_version\":9}\n", "r.jsonl:1: ", "version");
	expect_refused("{\"record\":\"parties\",\"schema_version\":1}\n", "r.jsonl:1: ", "services");
	expect_refused(HEADER, "r.jsonl:1: ", "no ticks");
}

static void a_last_line_cut_off_is_left_out(void **state)
{
	struct report_run run;
	char error[256];

	(void)state;
	assert_int_equal(read_text(HEADER TICK("0") TICK("0.5") "{\"t_s\":1,\"wind", &run, error, sizeof(error)), 0);
	assert_true(run.truncated);
	assert_null(run.totals);
	assert_int_equal(run.nr_ticks, 2);
	report_free(&run);
}

static void null_and_missing_numbers_are_not_zero(void **state)
{
	struct report_run run;
	char error[256];

	(void)state;
	assert_int_equal(read_text(HEADER "{\"t_s\":0,\"services\":[{\"name\":\"a\",\"p99_us\":null}]}\n", &run, error,
				   sizeof(error)), 0);
	assert_true(isnan(report_point(&run, 0, 0)->value[REPORT_P99_US]));
	assert_true(isnan(report_point(&run, 0, 0)->value[REPORT_CORES]));
	assert_false(report_has_cores(&run));
	report_free(&run);
}

/* stdout and stderr stay the test's own: TAP must not be disturbed. */
static int report(const char *text, const char *ending)
{
	FILE *out = fopen(record_path, "w");
	char command[] = "report", option[] = "-o", *argv[] = { command, record_path, option, output_path, NULL };
	int err = dup(2), null = open("/dev/null", O_WRONLY), code;

	fputs(text, out);
	fclose(out);
	snprintf(output_path, sizeof(output_path), "%s/f.%s", folder, ending);
	dup2(null, 2);
	code = cmd_report(4, argv);
	dup2(err, 2);
	close(err);
	close(null);
	return code;
}

static void expect_begin(const char *begin)
{
	char line[256] = "";
	FILE *in = fopen(output_path, "r");

	assert_non_null(in);
	assert_int_equal(fread(line, 1, strlen(begin), in), strlen(begin));
	fclose(in);
	assert_string_equal(line, begin);
}

static void a_table_has_a_row_for_each_tick_and_service(void **state)
{
	char line[1024];
	int nr_lines = 0;
	FILE *in;

	(void)state;
	assert_int_equal(report(HEADER TICK("0") TICK("0.5") TOTALS, "csv"), EXIT_OK);
	expect_begin("record,t_s,window_s,service,");
	in = fopen(output_path, "r");
	while (fgets(line, sizeof(line), in))
		nr_lines++;
	fclose(in);
	assert_int_equal(nr_lines, 3);
	assert_non_null(strstr(line, ",0.5,0.5,a,5000,fresh,"));
}

static void figures_are_drawn_in_every_format(void **state)
{
	static const char *const formats[][2] = { { "svg", "<?xml" }, { "png", "\x89PNG" }, { "pdf", "%PDF" },
						  { "html", "<!DOCTYPE html>" } };

	(void)state;
	if (system("command -v gnuplot >/dev/null")) {
		print_message("# gnuplot is not installed\n");
		skip();
	}
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		assert_int_equal(report(HEADER TICK("0") TICK("0.5") TOTALS, formats[i][0]), EXIT_OK);
		expect_begin(formats[i][1]);
		unlink(output_path);
	}
}

static void a_page_stands_alone_and_holds_figure_and_totals(void **state)
{
	char page[200000];
	size_t length;
	FILE *in;

	(void)state;
	if (system("command -v gnuplot >/dev/null")) {
		print_message("# gnuplot is not installed\n");
		skip();
	}
	assert_int_equal(report(HEADER TICK("0") TOTALS, "html"), EXIT_OK);
	in = fopen(output_path, "r");
	length = fread(page, 1, sizeof(page) - 1, in);
	fclose(in);
	page[length] = '\0';
	assert_non_null(strstr(page, "<svg"));
	assert_null(strstr(page, "<?xml"));
	assert_non_null(strstr(page, "violated windows [% of judged time]</th><td>0</td>"));
	assert_non_null(strstr(page, "</html>"));
}

static void without_gnuplot_a_figure_is_refused_but_a_table_is_not(void **state)
{
	char *old = strdup(getenv("PATH"));

	(void)state;
	setenv("PATH", "/nonexistent", 1);
	assert_int_equal(report(HEADER TICK("0") TOTALS, "svg"), EXIT_UNABLE);
	assert_int_equal(access(output_path, F_OK), -1);
	assert_int_equal(report(HEADER TICK("0") TOTALS, "csv"), EXIT_OK);
	setenv("PATH", old, 1);
	free(old);
}

static size_t count(const char *text, const char *what)
{
	size_t nr = 0;

	while ((text = strstr(text, what)) && ++nr)
		text++;
	return nr;
}

static void the_other_feedback_is_a_line_of_its_own_and_named(void **state)
{
	static const char *const records[] = {
		"{\"record\":\"parties\",\"schema_version\":1,\"config\":{\"feedback\":\"both\",\"services\":[{\"name\":\"a\","
		"\"target_us\":5000,\"percentile\":99}]}}\n{\"t_s\":0,\"services\":[{\"name\":\"a\",\"steer_us\":100,"
		"\"other_steer_us\":90000}]}\n",
		"{\"record\":\"parties\",\"schema_version\":1,\"config\":{\"feedback\":\"client-first\",\"services\":[{\"name\":"
		"\"a\",\"target_us\":5000,\"percentile\":99}]}}\n{\"t_s\":0,\"services\":[{\"name\":\"a\",\"steer_us\":null}]}\n",
	};
	struct report_run runs[2];
	char error[256], *script = NULL;
	size_t length;
	FILE *out = open_memstream(&script, &length);

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(read_text(records[i], &runs[i], error, sizeof(error)), 0);
	figure_script(runs, 2, FIGURE_SVG, out);
	fclose(out);
	assert_int_equal(count(script, "reported by clients"), 1);
	assert_int_equal(count(script, "in the kernel"), 0);
	assert_int_equal(count(script, "kernel feedback"), 1);
	assert_int_equal(count(script, "client feedback"), 1);
	assert_non_null(strstr(script, "set yrange [0.1:100]"));
	free(script);
	report_free(&runs[0]);
	report_free(&runs[1]);
}

static void a_bad_record_leaves_no_output_and_no_remains(void **state)
{
	(void)state;
	assert_int_equal(report("nonsense\n", "csv"), EXIT_USAGE);
	assert_int_equal(access(output_path, F_OK), -1);
	assert_int_equal(report(HEADER TICK("0"), "docx"), EXIT_USAGE);
	assert_int_equal(access(output_path, F_OK), -1);
}

static void hostile_names_cannot_break_out_of_the_script(void **state)
{
	struct report_run run;
	char error[256];

	(void)state;
	assert_int_equal(read_text("{\"record\":\"parties\",\"schema_version\":1,\"policy\":\"'`rm`\\n\",\"config\":{"
				   "\"services\":[{\"name\":\"a'b\",\"target_us\":1,\"percentile\":99}]}}\n"
				   "{\"t_s\":0,\"services\":[{\"name\":\"a'b\"}]}\n", &run, error, sizeof(error)), 0);
	assert_string_equal(run.policy, "??rm??");
	assert_string_equal(run.services[0].name, "a?b");
	report_free(&run);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_written_run_reads_back_as_it_was),
		cmocka_unit_test(a_bad_line_is_named_with_its_number),
		cmocka_unit_test(what_is_no_record_is_refused),
		cmocka_unit_test(a_last_line_cut_off_is_left_out),
		cmocka_unit_test(null_and_missing_numbers_are_not_zero),
		TEST(a_table_has_a_row_for_each_tick_and_service),
		TEST(figures_are_drawn_in_every_format),
		TEST(a_page_stands_alone_and_holds_figure_and_totals),
		TEST(without_gnuplot_a_figure_is_refused_but_a_table_is_not),
		cmocka_unit_test(the_other_feedback_is_a_line_of_its_own_and_named),
		TEST(a_bad_record_leaves_no_output_and_no_remains),
		cmocka_unit_test(hostile_names_cannot_break_out_of_the_script),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
