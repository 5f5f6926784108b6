/* SPDX-License-Identifier: GPL-2.0 */
/*
 * restore.h - puts back what a journal says.  Port.
 */
#ifndef PARTIES_RESTORE_H
#define PARTIES_RESTORE_H

#include <stddef.h>

#include "journal.h"
#include "knob.h"

#define RESTORE_STATE_DIR "/run/parties"

/* The directory of lock and journal: `state_dir`, or where it is NULL the usual one below `root`. */
void restore_state_dir(const char *root, const char *state_dir, char ret[KNOB_PATH_SIZE]);
/*
 * Undoes the journal of `state_dir` and removes it.  Returns how many things were put back, 0 when there is no journal
 * or all was right, or the first error, told in `error`: then the rest was put back all the same, and the file stays.
 * Values of CPUs that are offline are kept for the next time: told in `error`, too, which is "" otherwise.
 * The caller holds the lock.
 */
int restore_journal(const char *root, const char *state_dir, char *error, size_t error_size);
/* Undoes a killed run, under the lock.  0: nothing to do, > 0: number of values put back, negative errno.  -EBUSY: that run is alive. */
int restore_killed_run(const char *root, const char *state_dir, char *error, size_t error_size);
/* Puts back the files of one group that is left, as far as it is still there.  The journal stays as it is. */
void restore_group(const char *root, const struct journal *j, const char *dir);

#endif
