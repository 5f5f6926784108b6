/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ask.h - finds the runs of this machine that can be looked at (live.h), and asks them.  Port: local sockets.
 */
#ifndef PARTIES_ASK_H
#define PARTIES_ASK_H

#include <jansson.h>
#include <stdint.h>

/*
 * The run with that pid, or with 0 the only one there is.  -ESRCH: there is none; -EINVAL: several, named in `error`.
 * Other users' runs are not seen, unless they are root's.
 */
int ask_find(uint64_t wanted, uint32_t *ret_pid, char *error, size_t error_size);
/*
 * Its status.json, to be released with json_decref.  -ESRCH: it is over; -EACCES: it is root's; -ETIMEDOUT: it stands
 * still.  All with one line in `error`.
 */
int ask_status(uint32_t pid, json_t **ret, char *error, size_t error_size);

#endif
