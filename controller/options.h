/* SPDX-License-Identifier: GPL-2.0 */
/*
 * options.h - command lines as typed tables: one table parses a subcommand's options and prints its --help.
 * Glue: messages go to stderr, help to stdout.  It never exits and keeps nothing.
 *
 *	static int run(...)
 *	{
 *		const char *file = NULL;
 *		uint64_t for_ns = 0;
 *		const struct option_spec specs[] = {
 *			{ "config", 'c', "FILE", OPTION_STRING, &file, "the configuration" },
 *			{ "for", 0, "DUR", OPTION_DURATION, &for_ns, "stop after this long" },
 *		};
 *		const struct option_table table = { "run", "-c FILE [--for DUR]", "steer the services", specs, 2 };
 *		int nr = options_parse(&table, argc, argv);
 *
 *		if (nr < 0)
 *			return options_exit(nr);
 */
#ifndef PARTIES_OPTIONS_H
#define PARTIES_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum option_type {
	OPTION_FLAG,     /* bool *: set to true; takes no argument */
	OPTION_STRING,   /* const char **: points into argv */
	OPTION_U64,      /* uint64_t *: decimal */
	OPTION_DURATION, /* uint64_t *: ns, written with a unit */
	OPTION_LIST,     /* struct option_list *: every value, in order, when given again and again */
};

enum { OPTION_LIST_MAX = 64 };
struct option_list {
	uint32_t nr;
	const char *values[OPTION_LIST_MAX]; /* point into argv */
};

struct option_spec {
	const char *name; /* without the dashes */
	char letter;      /* short form, or 0 */
	const char *arg;  /* placeholder in --help; NULL for a flag */
	enum option_type type;
	void *target;     /* untouched when the option is not given; except for a list, the last of several wins */
	const char *help; /* one line */
};

struct option_table {
	const char *command;  /* "run": messages begin with "parties run: " */
	const char *synopsis; /* what follows the command in the usage line; may be "" */
	const char *purpose;  /* one sentence without its full stop */
	const struct option_spec *specs;
	uint32_t nr_specs;
	int min_operands, max_operands;
};

/*
 * Parses argv[1] on.  --help and -h are known to every table; "--" ends the options; "-" is an operand.
 * Returns the number of operands, which are then argv[1], argv[2], ...
 * -EINVAL: one line went to stderr.  -ECANCELED: help was asked for and printed.
 */
int options_parse(const struct option_table *table, int argc, char **argv);

/* The exit code for a negative result of options_parse or options_error. */
int options_exit(int error);

/* For what a table cannot say ("--pid and --port exclude each other"): one line on stderr; returns -EINVAL. */
int options_error(const struct option_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A decimal number and nothing else.  -EINVAL, or -ERANGE when it does not fit 64 bits. */
int options_parse_u64(const char *text, uint64_t *ret);

#endif
