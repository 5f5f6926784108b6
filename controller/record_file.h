/* SPDX-License-Identifier: GPL-2.0 */
/*
 * record_file.h - a run as a file of JSON lines (record.h).  Port.  Writing never blocks control: a failed write is
 * reported once by record_close.
 */
#ifndef PARTIES_RECORD_FILE_H
#define PARTIES_RECORD_FILE_H

#include "record.h"

struct record;

/*
 * -errno: the path cannot be written; nothing is left behind.  A file that is there is emptied only by the header, so
 * that a run that cannot start costs nobody a record.
 */
int record_open(struct record **ret, const char *path);
/* `mode` and `machine` as in record.h. */
int record_header(struct record *r, const struct tick *tick, const char *mode, const char *machine);
int record_tick(struct record *r, const struct tick *tick);
int record_totals(struct record *r, const struct record_totals *totals);
/* Negative errno of the first write that failed.  Removes the file it created when no header was ever written. */
int record_close(struct record *r);

#endif
