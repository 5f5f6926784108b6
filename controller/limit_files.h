/* SPDX-License-Identifier: GPL-2.0 */
/*
 * limit_files.h - memory.high and io.max of a best-effort group (version 2 of control groups).  Port.
 * Its memory bandwidth is resctrl.h's, and what it may send egress.h's.
 */
#ifndef PARTIES_LIMIT_FILES_H
#define PARTIES_LIMIT_FILES_H

#include "be_limits.h"
#include "journal.h"

/* Closed: it has no such limit. */
struct limit_files {
	struct knob memory, io;
};

/* " memory io": the controllers it takes, each after a blank; "" for none, and where `limits` is NULL. */
const char *limit_files_controllers(const struct limits *limits);
/*
 * Whether a version 2 hierarchy mounted at `mount_dir` has them.  NULL: there is no such hierarchy.  -ENOTSUP, told in
 * `error` with what to do.
 */
int limit_files_check(const struct limits *limits, const char *mount_dir, char *error, size_t error_size);
/* Memory of the machine that could be had without taking it from anybody, as the kernel estimates it. */
int limit_files_available(const char *root, uint64_t *ret_bytes);
void limit_files_init(struct limit_files *f);
/* Journals what group `dir` says, writes the limits and reads them back.  Told in `error`. */
int limit_files_set(struct limit_files *f, const struct limits *limits, const char *dir, struct journal *j, char *error,
		    size_t error_size);
/* Makes them say so many of LIMITS_UNITS of their limits.  *ret as knob_change. */
int limit_files_apply(struct limit_files *f, const struct limits *limits, uint32_t memory_units, uint32_t disk_units,
		      struct undo *u, struct outcome *ret);
/* Whether somebody else changed one since the last look. */
bool limit_files_drifted(struct limit_files *f);
void limit_files_close(struct limit_files *f);

#endif
