/* SPDX-License-Identifier: GPL-2.0 */
/*
 * inject.h - faults for those who want to see what happens then: calls about chosen files fail, lie, or take time.
 * Port.  Without rules, which is always so on the machine itself, it costs a look at one number.
 *
 * A file of rules has one a line, a word that begins with "#" begins a comment:
 *
 *	GLOB OPERATION FAULT [TIMES [AFTER]]
 *
 *	GLOB       path below the tree's root, as fnmatch(3) has it; * matches a slash, too
 *	OPERATION  open, read, write, stat, opendir, readdir, readlink, mkdir, rmdir, unlink, rename, sync; any: each
 *	FAULT      the name of an errno: it fails so
 *	           ignored     said to be done, and is not: what changes something
 *	           short=N     at most N bytes at once: read, write, readlink
 *	           text=TEXT   says TEXT in place of what is there: read, readlink; "text=a b" for blanks
 *	           delay=DUR   takes as long, and is done
 *	           gone        as if it were not there: ENOENT, or ENODEV of what is open already
 *	           killed      SIGKILL to this process, before it is done
 *	TIMES      so often, then never again (0, or not said: always)
 *	AFTER      only after so many that went well
 *
 * The first rule that applies counts.
 */
#ifndef PARTIES_INJECT_H
#define PARTIES_INJECT_H

#include <stdbool.h>
#include <stddef.h>

enum inject_operation {
	INJECT_OPEN, INJECT_READ, INJECT_WRITE, INJECT_STAT, INJECT_OPENDIR, INJECT_READDIR, INJECT_READLINK,
	INJECT_MKDIR,
	INJECT_RMDIR, INJECT_UNLINK, INJECT_RENAME, INJECT_SYNC, INJECT_ANY
};
enum { INJECT_MAX_RULES = 64 };

struct inject_effect {
	int error;        /* negative errno: it fails so */
	bool ignored;     /* it does nothing, and says it is done */
	size_t most;      /* bytes; 0: no limit */
	const char *text; /* what is read; NULL: what is there.  The rule's. */
};

/*
 * Adds the rules of `file`; paths are below `root`.  -EINVAL with "file:line: key: reason" in `error`, or why it cannot
 * be read.
 */
int inject_load(const char *file, const char *root, char *error, size_t error_size);
/* One rule.  -EINVAL with "key: reason" in `error`; -E2BIG. */
int inject_add(const char *rule, const char *root, char *error, size_t error_size);
/* What becomes of one call; all zero: do it.  A delay is over when it returns; `killed` does not return. */
struct inject_effect inject_look(enum inject_operation operation, const char *path);
size_t inject_nr_rules(void);
/* "file:line" of rule `i` when no call was ever about its files, else NULL: most likely a mistyped path. */
const char *inject_unused(size_t i);
void inject_clear(void);

#endif
