// SPDX-License-Identifier: GPL-2.0
/*
 * test_options.c - command line tables: what they accept, what they refuse, and with which words.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "commands.h"
#include "nearest.h"
#include "options.h"

static struct {
	bool quiet;
	const char *file;
	uint64_t seed, for_ns;
} got;

static const struct option_spec specs[] = {
	{ "config", 'c', "FILE", OPTION_STRING, &got.file, "the configuration" },
	{ "for", 0, "DUR", OPTION_DURATION, &got.for_ns, "stop after this long" },
	{ "seed", 's', "N", OPTION_U64, &got.seed, "of the generator" },
	{ "quiet", 'q', NULL, OPTION_FLAG, &got.quiet, "say less" },
};
static const struct option_table table = { "try", "[-c FILE] [WORD]", "Try options", specs, 4, 0, 1 };
static const struct option_table wants_one = { "one", "WORD", "Wants a word", specs, 4, 1, 1 };

/* Runs the parser on up to seven words; what went to `stream` (stdout or stderr) is left in `said`. */
static char said[2048];
static char *words[10];

static int parse(const struct option_table *t, FILE *stream, const char *const *given)
{
	FILE *capture = tmpfile();
	int fd = fileno(stream), keep = dup(fd), nr, argc = 1;
	size_t length;

	assert_non_null(capture);
	memset(&got, 0, sizeof(got));
	words[0] = (char *)t->command;
	while (*given)
		words[argc++] = (char *)*given++;
	words[argc] = NULL;
	fflush(stream);
	dup2(fileno(capture), fd);
	nr = options_parse(t, argc, words);
	fflush(stream);
	dup2(keep, fd);
	close(keep);
	rewind(capture);
	length = fread(said, 1, sizeof(said) - 1, capture);
	said[length] = '\0';
	fclose(capture);
	return nr;
}
#define PARSE(t, stream, ...) parse(&(t), stream, (const char *const[]){ __VA_ARGS__, NULL })

static void refused(int nr, const char *message)
{
	assert_int_equal(nr, -EINVAL);
	assert_int_equal(options_exit(nr), EXIT_USAGE);
	assert_string_equal(said, message);
}

static void every_type_is_stored_in_its_unit(void **state)
{
	(void)state;
	assert_int_equal(
		PARSE(table, stderr, "-c", "a.conf", "--for", "1.5s", "--seed", "18446744073709551615", "--quiet"), 0);
	assert_string_equal(got.file, "a.conf");
	assert_int_equal(got.for_ns, 1500000000);
	assert_true(got.seed == UINT64_MAX);
	assert_true(got.quiet);
	assert_string_equal(said, "");
}

static void arguments_may_be_joined_to_their_option(void **state)
{
	(void)state;
	assert_int_equal(PARSE(table, stderr, "-ca.conf", "--for=250us", "--config=b=c.conf"), 0);
	assert_string_equal(got.file, "b=c.conf");
	assert_int_equal(got.for_ns, 250000);
}

static void operands_are_gathered_in_front_wherever_they_stand(void **state)
{
	(void)state;
	assert_int_equal(PARSE(table, stderr, "-q", "word", "-s", "7"), 1);
	assert_string_equal(words[1], "word");
	assert_int_equal(got.seed, 7);
	assert_int_equal(PARSE(table, stderr, "--", "--seed"), 1);
	assert_string_equal(words[1], "--seed");
	assert_int_equal(PARSE(table, stderr, "-"), 1);
}

static void options_not_given_keep_their_default(void **state)
{
	(void)state;
	got.seed = 5;
	assert_int_equal(options_parse(&table, 1, (char *[]){ (char *)"try", NULL }), 0);
	assert_int_equal(got.seed, 5);
}

static void a_wrong_option_is_named_with_the_nearest_right_one(void **state)
{
	(void)state;
	refused(PARSE(table, stderr, "--sede=4"),
		"parties try: unknown option '--sede', did you mean '--seed'?; see parties try --help\n");
	refused(PARSE(table, stderr, "--nonsense"),
		"parties try: unknown option '--nonsense'; see parties try --help\n");
	refused(PARSE(table, stderr, "-x"), "parties try: unknown option '-x'; see parties try --help\n");
}

static void a_missing_argument_is_named(void **state)
{
	(void)state;
	refused(PARSE(table, stderr, "-c"), "parties try: '-c' needs an argument: FILE; see parties try --help\n");
	refused(PARSE(table, stderr, "--for"), "parties try: '--for' needs an argument: DUR; see parties try --help\n");
}

static void an_argument_nobody_asked_for_is_refused(void **state)
{
	(void)state;
	refused(PARSE(table, stderr, "--quiet=yes"),
		"parties try: '--quiet' takes no argument; see parties try --help\n");
	refused(PARSE(table, stderr, "a", "b"), "parties try: unexpected operand 'b'; see parties try --help\n");
}

static void a_missing_operand_shows_the_usage(void **state)
{
	(void)state;
	refused(PARSE(wants_one, stderr, "-q"),
		"parties one: an operand is missing: parties one WORD; see parties one --help\n");
}

static void values_of_the_wrong_type_are_refused(void **state)
{
	(void)state;
	refused(PARSE(table, stderr, "--seed", "-1"),
		"parties try: --seed: '-1' is not a number; see parties try --help\n");
	refused(PARSE(table, stderr, "--seed", "18446744073709551616"),
		"parties try: --seed: '18446744073709551616' is not a number of 64 bits; see parties try --help\n");
	refused(PARSE(table, stderr, "--for", "10"),
		"parties try: --for: '10' is not a duration; write for example 500ms or 2m; see parties try --help\n");
}

static void help_goes_to_stdout_and_lists_every_option(void **state)
{
	(void)state;
	assert_int_equal(PARSE(table, stdout, "--help"), -ECANCELED);
	assert_int_equal(options_exit(-ECANCELED), EXIT_OK);
	assert_string_equal(said, "usage: parties try [-c FILE] [WORD]\nTry options.\n\n"
				  "  -c, --config FILE            the configuration\n"
				  "      --for DUR                stop after this long\n"
				  "  -s, --seed N                 of the generator\n"
				  "  -q, --quiet                  say less\n"
				  "  -h, --help                   print this and exit\n");
}

static void a_list_keeps_every_value_in_order_and_has_an_end(void **state)
{
	struct option_list list = { 0 };
	const struct option_spec spec = { "set", 0, "KEY=VALUE", OPTION_LIST, &list, "again" };
	const struct option_table many = { "many", "", "Take many", &spec, 1, 0, 0 };
	char *given[OPTION_LIST_MAX + 3] = { (char *)"many" };

	(void)state;
	for (int i = 1; i < OPTION_LIST_MAX + 2; i++)
		given[i] = (char *)(i == 2 ? "--set=b=2" : "--set=a=1,x");
	assert_int_equal(options_parse(&many, 3, given), 0);
	assert_int_equal(list.nr, 2);
	assert_string_equal(list.values[0], "a=1,x");
	assert_string_equal(list.values[1], "b=2");
	list.nr = 0;
	assert_int_equal(options_parse(&many, OPTION_LIST_MAX + 1, given), 0);
	list.nr = 0;
	assert_int_equal(options_parse(&many, OPTION_LIST_MAX + 2, given), -EINVAL);
}

static void the_nearest_word_is_a_slip_away_not_any_word(void **state)
{
	struct nearest slip = { .word = "tagret" }, other = { .word = "banana" }, tie = { .word = "cores" };
	struct nearest letter = { .word = "x" };

	(void)state;
	nearest_offer(&slip, "match");
	nearest_offer(&slip, "target");
	assert_string_equal(slip.best, "target");
	assert_int_equal(slip.distance, 1);
	nearest_offer(&other, "match");
	nearest_offer(&other, "");
	assert_null(other.best);
	nearest_offer(&letter, "m");
	assert_null(letter.best);
	nearest_offer(&tie, "scores");
	nearest_offer(&tie, "core");
	assert_string_equal(tie.best, "scores");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_is_stored_in_its_unit),
		cmocka_unit_test(arguments_may_be_joined_to_their_option),
		cmocka_unit_test(operands_are_gathered_in_front_wherever_they_stand),
		cmocka_unit_test(options_not_given_keep_their_default),
		cmocka_unit_test(a_wrong_option_is_named_with_the_nearest_right_one),
		cmocka_unit_test(a_missing_argument_is_named),
		cmocka_unit_test(an_argument_nobody_asked_for_is_refused),
		cmocka_unit_test(a_missing_operand_shows_the_usage),
		cmocka_unit_test(values_of_the_wrong_type_are_refused),
		cmocka_unit_test(help_goes_to_stdout_and_lists_every_option),
		cmocka_unit_test(a_list_keeps_every_value_in_order_and_has_an_end),
		cmocka_unit_test(the_nearest_word_is_a_slip_away_not_any_word),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
