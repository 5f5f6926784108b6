/* SPDX-License-Identifier: GPL-2.0 */
/*
 * symbols.h - where in a file a function begins, by the start of its name.  Port over libelf.
 */
#ifndef EBEE_SYMBOLS_H
#define EBEE_SYMBOLS_H

#include <stdint.h>

enum { SYMBOLS_MAX_PREFIXES = 8 };

/*
 * For each prefix the offset in the file of a function that the file defines and whose name starts so; 0: there is
 * none.  Both symbol tables are searched; clones that a compiler made of a part of a function (a dot in the name) do
 * not count.  An offset is what a user-space probe wants: it holds wherever the file is loaded.  The number of prefixes
 * found, or negative errno, -ENOEXEC when the file is not ELF.
 */
int symbols_find(const char *path, const char *const *prefixes, unsigned int nr_prefixes, uint64_t *ret_offsets);

#endif
