/* SPDX-License-Identifier: GPL-2.0 */
/*
 * subtree.h - the part of a version 2 hierarchy in which groups of ours are made, and what it takes that groups below get
 * controllers.  Port.
 *
 * Under systemd every group belongs to it, but for what is below a unit with Delegate=.  Elsewhere it may switch controllers
 * off at any time.  Version 1 of cpuset is nobody's: there, and without systemd, groups of ours are at the top.
 */
#ifndef PARTIES_SUBTREE_H
#define PARTIES_SUBTREE_H

#include "cgroup.h"
#include "journal.h"

/* What the configuration may say instead of a unit's name. */
#define SUBTREE_AUTO "auto" /* our own group where it is delegated, otherwise the top */
#define SUBTREE_TOP "top"

/* systemd gave this group to whoever runs in it. */
bool subtree_is_delegated(const char *dir);
/*
 * Sets the homes of version 2 in `mounts`.  `wanted` is what the configuration says; NULL or "": SUBTREE_AUTO.  `why`
 * says why it is the top although a part could be delegated; "" otherwise.
 * -ENOENT, -EPERM: the unit named is not there, or not delegated; told in `why`.
 */
int subtree_find(const char *root, const char *wanted, struct cgroup_mounts *mounts, char *why, size_t size);
/* Makes the group <mount's home>/<name>, journalled; one that exists is fine. */
int subtree_make(const struct cgroup_mount *mount, const char *name, struct journal *j);
/*
 * Version 2: every group down to the parent of `dir` hands out `controllers` ("cpuset cpu"), from the home where `dir` is
 * below it, otherwise from the top.  What it takes to switch them off again is journalled.  Told in `error`.
 */
int subtree_hand_out(const struct cgroup_mount *mount, const char *root, const char *dir, const char *controllers,
		     struct journal *j, char *error, size_t error_size);

#endif
