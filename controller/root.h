/* SPDX-License-Identifier: GPL-2.0 */
/*
 * root.h - the directory that stands in for "/" in this process: "" for the machine itself.  Port.
 * Commands ask here and hand it on; everything below them takes it as an argument.
 */
#ifndef PARTIES_ROOT_H
#define PARTIES_ROOT_H

/* Without a slash at its end. */
const char *root_dir(void);
/* -ENAMETOOLONG, or why it is no directory.  "/" is the machine itself. */
int root_set(const char *dir);

#endif
