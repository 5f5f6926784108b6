// SPDX-License-Identifier: GPL-2.0
/*
 * inject.c - port: rules about files, and whose turn it is.  inject_calls.c asks for our calls, knob.c for those that a
 * library makes.
 */
#include "inject.h"

#include <errno.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config.h"
#include "nearest.h"

enum { WORD_SIZE = 256, MAX_WORDS = 5, LAST_ERRNO = 133, KERNELS_ENOTSUPP = 524 };
#define BIT(operation) (1U << INJECT_##operation)
#define CHANGES (BIT(WRITE) | BIT(MKDIR) | BIT(RMDIR) | BIT(UNLINK) | BIT(RENAME) | BIT(SYNC))

static const char *const operation_names[] = {
	"open", "read", "write", "stat", "opendir", "readdir", "readlink", "mkdir", "rmdir", "unlink", "rename", "sync",
	"any"
};
enum { NR_OPERATIONS = sizeof(operation_names) / sizeof(operation_names[0]) };

enum fault { FAULT_ERRNO, FAULT_IGNORED, FAULT_SHORT, FAULT_TEXT, FAULT_DELAY, FAULT_GONE, FAULT_KILLED };
static const struct {
	const char *name;
	unsigned int operations; /* that can have it, bit by bit; 0: every one */
	const char *reason;
} fault_kinds[] = {
	[FAULT_IGNORED] = { "ignored", CHANGES, "only what changes something can be ignored" },
	[FAULT_SHORT] = { "short=", BIT(READ) | BIT(WRITE) | BIT(READLINK), "only read, write, readlink can be short" },
	[FAULT_TEXT] = { "text=", BIT(READ) | BIT(READLINK), "only read and readlink can say another text" },
	[FAULT_DELAY] = { "delay=", 0, NULL },
	[FAULT_GONE] = { "gone", 0, NULL },
	[FAULT_KILLED] = { "killed", 0, NULL },
};
enum { NR_FAULTS = sizeof(fault_kinds) / sizeof(fault_kinds[0]) };

static struct rule {
	char glob[WORD_SIZE], root[WORD_SIZE], where[WORD_SIZE];
	enum inject_operation operation;
	enum fault fault;
	int error;
	uint64_t number;      /* bytes, or ns */
	char text[WORD_SIZE];
	uint64_t times, after; /* left; times 0: always */
	bool over, touched;
} rules[INJECT_MAX_RULES];
static size_t nr_rules;

static int refuse(char *error, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static int refuse(char *error, size_t size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, size, format, args);
	va_end(args);
	return -EINVAL;
}

/*
 * The next word at *at, without the quotes around a part of it and with \n as a newline.  0: none; -1: one without an
 * end.
 */
static int next_word(const char **at, char word[WORD_SIZE])
{
	const char *s = *at + strspn(*at, " \t\n");
	bool quoted = false;
	size_t len = 0;

	if (!*s || *s == '#')
		return 0;
	for (; *s && (quoted || !strchr(" \t\n", *s)); s++) {
		if (*s == '"')
			quoted = !quoted;
		else if (len == WORD_SIZE - 1)
			return -1;
		else
			word[len++] = s[0] == '\\' && s[1] == 'n' ? (s++, '\n') : *s;
	}
	word[len] = '\0';
	*at = s;
	return quoted ? -1 : 1;
}

static int parse_operation(const char *word, struct rule *new, char *error, size_t size)
{
	struct nearest nearest = { .word = word };

	for (int i = 0; i < NR_OPERATIONS; i++) {
		if (!strcmp(word, operation_names[i])) {
			new->operation = (enum inject_operation)i;
			return 0;
		}
		nearest_offer(&nearest, operation_names[i]);
	}
	return refuse(error, size, "operation: '%.40s' is none of open, read, write, stat, opendir, readdir, readlink, "
		      "mkdir, rmdir, unlink, rename, sync, any%s%s", word, nearest.best ? "; did you mean " : "",
		      nearest.best ? nearest.best : "");
}

/* Of every name of an error; 0: it is none. */
static int parse_errno(const char *word)
{
	static const struct {
		const char *name;
		int number;
	} others[] = { { "EWOULDBLOCK", EWOULDBLOCK }, { "ENOTSUP", ENOTSUP }, { "EDEADLOCK", EDEADLOCK },
		       { "ENOTSUPP", KERNELS_ENOTSUPP } };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(word, others[i].name))
			return others[i].number;
	for (int err = 1; err <= LAST_ERRNO; err++) {
		const char *name = strerrorname_np(err);

		if (name && !strcmp(word, name))
			return err;
	}
	return 0;
}

static int parse_count(const char *word, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(word, &end, 10);
	return *word < '0' || *word > '9' || *end || errno ? -EINVAL : 0;
}

static int parse_fault(const char *word, struct rule *new, char *error, size_t size)
{
	int which = NR_FAULTS;
	const char *value;

	new->error = -parse_errno(word);
	if (new->error)
		return 0;
	while (--which > FAULT_ERRNO) {
		size_t len = strlen(fault_kinds[which].name);

		if (!strncmp(word, fault_kinds[which].name, len) && (word[len - 1] == '=' || !word[len]))
			break;
	}
	if (which == FAULT_ERRNO)
		return refuse(error, size, "fault: '%.40s' is neither the name of an errno, as EBUSY, nor ignored, "
			      "short=N, text=TEXT, delay=DUR, gone or killed", word);
	if (fault_kinds[which].operations && !(fault_kinds[which].operations & 1U << new->operation))
		return refuse(error, size, "fault: %s", fault_kinds[which].reason);
	new->fault = (enum fault)which;
	value = word + strlen(fault_kinds[which].name);
	if (which == FAULT_SHORT && (parse_count(value, &new->number) || !new->number))
		return refuse(error, size, "fault: '%.40s' is no number of bytes above 0", value);
	if (which == FAULT_DELAY && config_parse_duration(value, &new->number))
		return refuse(error, size, "fault: '%.40s' is no duration, as 20ms", value);
	snprintf(new->text, sizeof(new->text), "%s", value);
	return 0;
}

static int parse_rule(const char *line, struct rule *new, char *error, size_t size)
{
	char words[MAX_WORDS + 1][WORD_SIZE] = { "", "", "", "0", "0" };
	int nr = 0, more = 1, err;

	for (; nr <= MAX_WORDS && (more = next_word(&line, words[nr])) > 0; nr++)
		;
	if (more < 0)
		return refuse(error, size, "rule: a quotation mark has no end, or a word more than %d characters",
			      WORD_SIZE - 1);
	if (nr < 3 || nr > MAX_WORDS)
		return refuse(error, size, "rule: it has %s words than GLOB OPERATION FAULT [TIMES [AFTER]]",
			      nr < 3 ? "fewer" : "more");
	if (!strchr("/*?[", words[0][0]))
		return refuse(error, size, "glob: '%.40s' begins with neither / nor *, so it matches no path", words[0]);
	err = parse_operation(words[1], new, error, size);
	if (!err)
		err = parse_fault(words[2], new, error, size);
	if (err)
		return err;
	if (parse_count(words[3], &new->times))
		return refuse(error, size, "times: '%.40s' is no number", words[3]);
	if (parse_count(words[4], &new->after))
		return refuse(error, size, "after: '%.40s' is no number", words[4]);
	memcpy(new->glob, words[0], WORD_SIZE);
	return 0;
}

int inject_add(const char *rule, const char *root, char *error, size_t error_size)
{
	struct rule new = { .touched = false };
	int err = parse_rule(rule, &new, error, error_size);

	if (!err && nr_rules == INJECT_MAX_RULES) {
		snprintf(error, error_size, "rule: more than %d of them", INJECT_MAX_RULES);
		err = -E2BIG;
	}
	if (err)
		return err;
	snprintf(new.root, sizeof(new.root), "%s", root);
	rules[nr_rules++] = new;
	return 0;
}

int inject_load(const char *file, const char *root, char *error, size_t error_size)
{
	char *line = NULL, reason[256], word[WORD_SIZE];
	FILE *in = fopen(file, "re");
	size_t size = 0;
	int err = 0;

	if (!in) {
		err = -errno;
		snprintf(error, error_size, "%s: %s", file, strerror(-err));
		return err;
	}
	for (int nr = 1; !err && getline(&line, &size, in) > 0; nr++) {
		const char *at = line;

		if (!next_word(&at, word))
			continue;
		err = inject_add(line, root, reason, sizeof(reason));
		if (err)
			snprintf(error, error_size, "%s:%d: %s", file, nr, reason);
		else
			snprintf(rules[nr_rules - 1].where, WORD_SIZE, "%s:%d", file, nr);
	}
	free(line);
	fclose(in);
	return err;
}

static struct inject_effect effect_of(const struct rule *r, enum inject_operation operation)
{
	struct timespec delay = { (time_t)(r->number / 1000000000), (long)(r->number % 1000000000) };

	switch (r->fault) {
	case FAULT_ERRNO: return (struct inject_effect){ .error = r->error };
	case FAULT_IGNORED: return (struct inject_effect){ .ignored = true };
	case FAULT_SHORT: return (struct inject_effect){ .most = r->number };
	case FAULT_TEXT: return (struct inject_effect){ .text = r->text };
	case FAULT_GONE:
		return (struct inject_effect){
			.error = operation == INJECT_READ || operation == INJECT_WRITE ? -ENODEV : -ENOENT
		};
	case FAULT_DELAY: nanosleep(&delay, NULL); break;
	case FAULT_KILLED: raise(SIGKILL); break;
	}
	return (struct inject_effect){ 0 };
}

struct inject_effect inject_look(enum inject_operation operation, const char *path)
{
	for (struct rule *r = rules; r < rules + nr_rules; r++) {
		size_t root_len = strlen(r->root);

		if (r->over || (r->operation != operation && r->operation != INJECT_ANY) ||
		    strncmp(path, r->root, root_len) || fnmatch(r->glob, path + root_len, 0))
			continue;
		r->touched = true;
		if (r->after) {
			r->after--;
			continue;
		}
		r->over = r->times && !--r->times;
		return effect_of(r, operation);
	}
	return (struct inject_effect){ 0 };
}

size_t inject_nr_rules(void)
{
	return nr_rules;
}

const char *inject_unused(size_t i)
{
	return rules[i].touched ? NULL : rules[i].where;
}

void inject_clear(void)
{
	nr_rules = 0;
}
