/* SPDX-License-Identifier: GPL-2.0 */
/*
 * limit_files.h - memory.high and io.max of a best-effort group (version 2 of control groups), set once.  Port.
 * Its memory bandwidth is resctrl.h's.
 */
#ifndef PARTIES_LIMIT_FILES_H
#define PARTIES_LIMIT_FILES_H

#include "be_limits.h"
#include "journal.h"

/* " memory io": the controllers it takes, each after a blank; "" for none, and where `limits` is NULL. */
const char *limit_files_controllers(const struct limits *limits);
/*
 * Whether a version 2 hierarchy mounted at `mount_dir` has them.  NULL: there is no such hierarchy.  -ENOTSUP, told in
 * `error` with what to do.
 */
int limit_files_check(const struct limits *limits, const char *mount_dir, char *error, size_t error_size);
/* Journals what group `dir` says, writes the limits and reads them back.  Told in `error`. */
int limit_files_set(const struct limits *limits, const char *dir, struct journal *j, char *error, size_t error_size);

#endif
