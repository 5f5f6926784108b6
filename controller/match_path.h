/* SPDX-License-Identifier: GPL-2.0 */
/*
 * match_path.h - which control group a match names.  Pure.
 */
#ifndef PARTIES_MATCH_PATH_H
#define PARTIES_MATCH_PATH_H

#include "config.h"

/*
 * `path` is a control group as the kernel writes it, "/a/b".  The length of its part that `match`, a cgroup or a unit, names:
 * that group itself, or the one it is somewhere below.  0: neither.
 *
 * A cgroup is written from its root, and may be a pattern (glob(7)): nothing in it matches a slash, but a component "**" is
 * any number of components.  A unit is the component of that name wherever its slice puts it; a name without a type is a
 * service; a '/' stands between units of which one runs the other: user@1000.service/app.service.
 */
size_t match_path_covered(const struct match *match, const char *path);

/* The last component of `path` that a unit of systemd made, with what systemd put before it taken away; NULL: none. */
const char *match_path_unit(const char *path, char *buf, size_t size);

#endif
