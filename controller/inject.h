/* SPDX-License-Identifier: GPL-2.0 */
/*
 * inject.h - faults for those who want to see what happens then: opens, reads and writes of chosen files fail, or lie.
 * Port.  Without rules, which is always so on the machine itself, it costs a look at one number.
 *
 * A file of rules has one a line, "#" begins a comment:
 *
 *	GLOB OPERATION FAULT [TIMES [AFTER]]
 *
 *	GLOB       path below the tree's root, as fnmatch(3) has it; * matches a slash, too
 *	OPERATION  open, read or write
 *	FAULT      the name of an errno; or "ignored": the write is said to be done and is not
 *	TIMES      so often, then never again (0, or not said: always)
 *	AFTER      only after so many that went well
 *
 * The first rule that applies counts.
 */
#ifndef PARTIES_INJECT_H
#define PARTIES_INJECT_H

#include <stddef.h>

enum inject_operation { INJECT_OPEN, INJECT_READ, INJECT_WRITE };
enum { INJECT_MAX_RULES = 64, INJECT_IGNORED = 1 };

/* Adds the rules of `file`; paths are below `root`.  -EINVAL with "file:line: reason" in `error`, or why it is not read. */
int inject_load(const char *file, const char *root, char *error, size_t error_size);
/* One rule.  -EINVAL with the reason in `error`; -E2BIG. */
int inject_add(const char *rule, const char *root, char *error, size_t error_size);
/* 0: do it.  INJECT_IGNORED: do nothing and say it is done.  Negative errno: it fails so. */
int inject_fault(enum inject_operation operation, const char *path);
/* Whether there is any rule; for a line in the log. */
size_t inject_nr_rules(void);
void inject_clear(void);

#endif
