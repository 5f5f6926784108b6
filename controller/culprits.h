/* SPDX-License-Identifier: GPL-2.0 */
/*
 * culprits.h - names of control groups by id, and culprits in words and as JSON.  Port.
 */
#ifndef PARTIES_CULPRITS_H
#define PARTIES_CULPRITS_H

#include <jansson.h>

#include "ports.h"

struct cgroup_names;

/* Remembers the groups it was asked for last.  NULL without memory. */
struct cgroup_names *cgroup_names_open(void);
/*
 * Path of the group of the cpu controller (version 1) or of version 2 that has this id, below its mount; "..." and the
 * end of one that does not fit.  "": it is gone, or we may not ask (CAP_DAC_READ_SEARCH).
 */
void cgroup_names_find(struct cgroup_names *names, uint64_t id, char *ret, size_t size);
void cgroup_names_close(struct cgroup_names *names); /* NULL is fine */

/* Adds "culprits", an array, and "waits_ms", an object that says what the rest of the waiting was for. */
void culprits_add_json(json_t *object, const struct culprits *culprits);

#endif
