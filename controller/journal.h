/* SPDX-License-Identifier: GPL-2.0 */
/*
 * journal.h - what has to be put back, on disk before anything is changed.  Port.
 *
 * <state_dir>/journal is text, one thing a line, fields separated by tabs:
 *
 *   parties journal 1
 *   value  <file> <text>                 the file said this: write it unless it says so now
 *   write  <file> <text>                 write this, whatever the file says
 *   group  <dir> <home>                  we made this group; tasks without a line of their own go to <home>
 *   task   <tid> <start> <dir> <origin>  we moved this task from <origin> into our group <dir>
 *   affinity <tid> <start> <dir> <cpus>  this thread had pinned itself, in the cpuset group <dir>
 *   pinned <tid> <start> <dir> <cpus>    we pinned this thread of the process /proc/<pid>; it had these
 *   pinned 0 0 / <cpus>                  we pinned threads to these, and others are born with them
 *
 * Lines are added with journal_add, reach the disk with journal_sync, and only then may the thing be touched. 
 * restore.c goes from the last line to the first and is idempotent: a value that is right, a task that is gone or
 * elsewhere, a group that is gone are fine.  A last line without a newline was never synced, so its thing was never
 * touched.
 */
#ifndef PARTIES_JOURNAL_H
#define PARTIES_JOURNAL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "knob.h"

enum { JOURNAL_VERSION = 1, JOURNAL_LINE_SIZE = 2 * KNOB_PATH_SIZE + KNOB_TEXT_SIZE };

enum journal_kind { JOURNAL_VALUE, JOURNAL_WRITE, JOURNAL_GROUP, JOURNAL_TASK, JOURNAL_AFFINITY, JOURNAL_PINNED };

struct journal_entry {
	enum journal_kind kind;
	pid_t tid;                    /* TASK, AFFINITY, PINNED */
	uint64_t start;               /* of that task, in clock ticks, so that a reused number is not taken for it */
	char path[KNOB_PATH_SIZE];    /* file, or the group's directory */
	char text[KNOB_TEXT_SIZE];    /* VALUE, WRITE: the text; GROUP: home; TASK: origin; AFFINITY, PINNED: CPUs */
};

struct journal;

/* What cannot be put back yet, in the state directory: values of CPUs that are offline. */
#define JOURNAL_LATER "later"

/* Starts an empty journal.  -EEXIST: one is there that must be undone first. */
int journal_open(struct journal **ret, const char *state_dir);
/* Writes the entries marked into JOURNAL_LATER, in place of what it said. */
int journal_postpone(const char *state_dir, const struct journal_entry *entries, const bool *postponed, size_t nr);
/* -EINVAL: a tab or newline inside a field. */
int journal_add(struct journal *j, const struct journal_entry *entry);
/* The file as it is now, as a VALUE. */
int journal_add_knob(struct journal *j, const struct knob *k);
int journal_sync(struct journal *j);
/* Its file. */
const char *journal_path(const struct journal *j);
/* Closes the file and leaves it on disk.  NULL is fine. */
void journal_close(struct journal *j);

/* One line, newline or not.  -EINVAL; *ret untouched then.  The header is not an entry. */
int journal_parse_line(const char *line, struct journal_entry *ret);

#endif
