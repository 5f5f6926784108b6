// SPDX-License-Identifier: GPL-2.0
/*
 * options.c - command lines from typed tables.  Glue: prints help and usage errors.  It knows no command.
 */
#include "options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "config.h"
#include "nearest.h"

int options_exit(int error)
{
	return error == -ECANCELED ? EXIT_OK : EXIT_USAGE;
}

int options_error(const struct option_table *table, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "parties %s: ", table->command);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "; see parties %s --help\n", table->command);
	return -EINVAL;
}

int options_parse_u64(const char *text, uint64_t *ret)
{
	unsigned long long value;

	if (!*text || text[strspn(text, "0123456789")])
		return -EINVAL;
	errno = 0;
	value = strtoull(text, NULL, 10);
	if (errno)
		return -ERANGE;
	*ret = value;
	return 0;
}

static void print_help(const struct option_table *table)
{
	printf("usage: parties %s%s%s\n%s.\n\n", table->command, *table->synopsis ? " " : "", table->synopsis,
	       table->purpose);
	for (uint32_t i = 0; i < table->nr_specs; i++) {
		const struct option_spec *spec = &table->specs[i];
		char letter[] = { '-', spec->letter, ',', ' ', 0 }, left[64];

		snprintf(left, sizeof(left), "%s--%s%s%s", spec->letter ? letter : "    ", spec->name,
			 spec->arg ? " " : "", spec->arg ? spec->arg : "");
		printf("  %-28s %s\n", left, spec->help);
	}
	printf("  %-28s %s\n", "-h, --help", "print this and exit");
}

static const struct option_spec *find_long(const struct option_table *table, const char *name, size_t length)
{
	for (uint32_t i = 0; i < table->nr_specs; i++)
		if (strlen(table->specs[i].name) == length && !strncmp(table->specs[i].name, name, length))
			return &table->specs[i];
	return NULL;
}

static const struct option_spec *find_letter(const struct option_table *table, char letter)
{
	for (uint32_t i = 0; i < table->nr_specs; i++)
		if (table->specs[i].letter == letter)
			return &table->specs[i];
	return NULL;
}

static int error_unknown(const struct option_table *table, const char *word, size_t length)
{
	char name[64];
	struct nearest nearest = { .word = name };

	snprintf(name, sizeof(name), "%.*s", (int)length - 2, word + 2);
	if (word[1] == '-')
		for (uint32_t i = 0; i < table->nr_specs; i++)
			nearest_offer(&nearest, table->specs[i].name);
	if (nearest.best)
		return options_error(table, "unknown option '%.*s', did you mean '--%s'?", (int)length, word,
				     nearest.best);
	return options_error(table, "unknown option '%.*s'", (int)length, word);
}

static int store(const struct option_table *table, const struct option_spec *spec, const char *value)
{
	struct option_list *list;
	int rc = 0;

	switch (spec->type) {
	case OPTION_FLAG:
		*(bool *)spec->target = true;
		break;
	case OPTION_STRING:
		*(const char **)spec->target = value;
		break;
	case OPTION_U64:
		rc = options_parse_u64(value, spec->target);
		if (rc)
			return options_error(table, "--%s: '%s' is not a number%s", spec->name, value,
					     rc == -ERANGE ? " of 64 bits" : "");
		break;
	case OPTION_DURATION:
		rc = config_parse_duration(value, spec->target);
		if (rc)
			return options_error(table, "--%s: '%s' is not a duration; write for example 500ms or 2m",
					     spec->name, value);
		break;
	case OPTION_LIST:
		list = spec->target;
		if (list->nr == OPTION_LIST_MAX)
			return options_error(table, "--%s is given more than %d times", spec->name, OPTION_LIST_MAX);
		list->values[list->nr++] = value;
		break;
	}
	return 0;
}

/* argv[*at] is an option: `word`; moves *at over an argument that stands apart. */
static int parse_one(const struct option_table *table, int argc, char **argv, int *at)
{
	const char *word = argv[*at], *value = NULL;
	size_t length = strlen(word);
	const struct option_spec *spec;

	if (word[1] == '-') {
		value = strchr(word, '=');
		if (value)
			length = value++ - word;
		spec = find_long(table, word + 2, length - 2);
	} else {
		spec = find_letter(table, word[1]);
		if (word[2])
			value = word + 2;
		length = 2;
	}
	if (!spec)
		return error_unknown(table, word, length);
	if (spec->type == OPTION_FLAG && value)
		return options_error(table, "'%.*s' takes no argument", (int)length, word);
	if (spec->type != OPTION_FLAG && !value) {
		if (*at + 1 >= argc)
			return options_error(table, "'%s' needs an argument: %s", word, spec->arg);
		value = argv[++*at];
	}
	return store(table, spec, value);
}

int options_parse(const struct option_table *table, int argc, char **argv)
{
	int nr_operands = 0, rc;
	bool options_end = false;

	for (int i = 1; i < argc; i++) {
		if (options_end || argv[i][0] != '-' || !argv[i][1]) {
			argv[++nr_operands] = argv[i];
		} else if (!strcmp(argv[i], "--")) {
			options_end = true;
		} else if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			print_help(table);
			return -ECANCELED;
		} else {
			rc = parse_one(table, argc, argv, &i);
			if (rc)
				return rc;
		}
	}
	if (nr_operands < table->min_operands)
		return options_error(table, "an operand is missing: parties %s %s", table->command, table->synopsis);
	if (nr_operands > table->max_operands)
		return options_error(table, "unexpected operand '%s'", argv[table->max_operands + 1]);
	return nr_operands;
}
