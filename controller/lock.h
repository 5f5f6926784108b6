/* SPDX-License-Identifier: GPL-2.0 */
/*
 * lock.h - one instance at a time: a lock on <dir>/lock that names its holder.  Port.
 */
#ifndef PARTIES_LOCK_H
#define PARTIES_LOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "knob.h"

struct lock {
	int fd;         /* -1: not held */
	bool made_dir;  /* this instance, or a dead one before it, made the directory */
	char dir[KNOB_PATH_SIZE];
};

/*
 * Makes `dir` when `make` and takes the lock.  -EBUSY: another instance holds it and `error` names its pid.  -ENOENT:
 * there is no such directory and `make` is false.  Other failures are told in `error` too.
 */
int lock_take(struct lock *lock, const char *dir, bool make, char *error, size_t error_size);
/*
 * Looks without taking it.  0: nobody holds it; -EBUSY: somebody, who signed it with the pid in `holder`; other errors: we
 * may not look.  `dir` and /proc/locks are below `root`.
 */
int lock_look(const char *root, const char *dir, char holder[16]);
/*
 * Removes the file, and the directory if it was made for us and nothing else is in it; else the next holder will.  A lock
 * that is not held is fine.
 */
void lock_release(struct lock *lock);

#endif
