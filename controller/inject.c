// SPDX-License-Identifier: GPL-2.0
/*
 * inject.c - port: rules about files, and whose turn it is.  knob.c asks for kernel files, journal.c for its own.
 */
#include "inject.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GLOB_SIZE = 256, LAST_ERRNO = 133 };

static const char *const operation_names[] = { "open", "read", "write" };

static struct rule {
	char glob[GLOB_SIZE];
	enum inject_operation operation;
	int fault;
	uint32_t times, after; /* left; times 0: always */
	bool over;
	size_t root_len;
} rules[INJECT_MAX_RULES];
static size_t nr_rules;

static int parse_operation(const char *word, enum inject_operation *ret)
{
	for (size_t i = 0; i < sizeof(operation_names) / sizeof(operation_names[0]); i++)
		if (!strcmp(word, operation_names[i])) {
			*ret = (enum inject_operation)i;
			return 0;
		}
	return -EINVAL;
}

static int parse_fault(const char *word, int *ret)
{
	if (!strcmp(word, "ignored")) {
		*ret = INJECT_IGNORED;
		return 0;
	}
	for (int err = 1; err <= LAST_ERRNO; err++) {
		const char *name = strerrorname_np(err);

		if (name && !strcmp(word, name)) {
			*ret = -err;
			return 0;
		}
	}
	return -EINVAL;
}

static int parse_count(const char *word, uint32_t *ret)
{
	char *end;
	unsigned long n = strtoul(word, &end, 10);

	if (*word < '0' || *word > '9' || *end || n > UINT32_MAX)
		return -EINVAL;
	*ret = (uint32_t)n;
	return 0;
}

int inject_add(const char *rule, const char *root, char *error, size_t error_size)
{
	char operation[16], fault[32], times[16] = "0", after[16] = "0", rest[2];
	struct rule new = { .root_len = strlen(root) };
	int nr = sscanf(rule, "%255s %15s %31s %15s %15s %1s", new.glob, operation, fault, times, after, rest);
	const char *wrong = NULL;

	if (nr < 3 || nr > 5)
		wrong = "a rule is GLOB OPERATION FAULT [TIMES [AFTER]]";
	else if (parse_operation(operation, &new.operation))
		wrong = "the operation is none of open, read, write";
	else if (parse_fault(fault, &new.fault))
		wrong = "the fault is neither the name of an errno, as EBUSY, nor \"ignored\"";
	else if (new.fault == INJECT_IGNORED && new.operation != INJECT_WRITE)
		wrong = "only a write can be ignored";
	else if (parse_count(times, &new.times) || parse_count(after, &new.after))
		wrong = "TIMES and AFTER are numbers";
	if (wrong) {
		snprintf(error, error_size, "%s", wrong);
		return -EINVAL;
	}
	if (nr_rules == INJECT_MAX_RULES) {
		snprintf(error, error_size, "more than %d rules", INJECT_MAX_RULES);
		return -E2BIG;
	}
	rules[nr_rules++] = new;
	return 0;
}

int inject_load(const char *file, const char *root, char *error, size_t error_size)
{
	char *line = NULL, reason[128];
	FILE *in = fopen(file, "re");
	size_t size = 0;
	int err = 0;

	if (!in) {
		err = -errno;
		snprintf(error, error_size, "%s: %s", file, strerror(-err));
		return err;
	}
	for (int nr = 1; !err && getline(&line, &size, in) > 0; nr++) {
		line[strcspn(line, "#\n")] = '\0';
		if (!line[strspn(line, " \t")])
			continue;
		err = inject_add(line, root, reason, sizeof(reason));
		if (err)
			snprintf(error, error_size, "%s:%d: %s", file, nr, reason);
	}
	free(line);
	fclose(in);
	return err;
}

int inject_fault(enum inject_operation operation, const char *path)
{
	for (struct rule *r = rules; r < rules + nr_rules; r++) {
		if (r->over || r->operation != operation || fnmatch(r->glob, path + r->root_len, 0))
			continue;
		if (r->after) {
			r->after--;
			continue;
		}
		r->over = r->times && !--r->times;
		return r->fault;
	}
	return 0;
}

size_t inject_nr_rules(void)
{
	return nr_rules;
}

void inject_clear(void)
{
	nr_rules = 0;
}
