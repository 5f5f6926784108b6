/* SPDX-License-Identifier: GPL-2.0 */
/*
 * memo.h - results that cost much to find, kept in a file: what one process has written, all others that have the file
 * open find.  Port; it knows nothing of what the results mean.
 *
 * A line per result, "key text", only ever appended in one write.  A line that is not whole (the machine stopped, the
 * disk was full) counts as absent.
 */
#ifndef PARTIES_MEMO_H
#define PARTIES_MEMO_H

#include <stddef.h>
#include <stdint.h>

enum { MEMO_TEXT_SIZE = 96 };

struct memo;

/* FNV-1a, to be begun with MEMO_HASH_START. */
static const uint64_t MEMO_HASH_START = UINT64_C(0xcbf29ce484222325);
uint64_t memo_hash(uint64_t hash, const void *bytes, size_t size);

/* Makes the file when there is none.  Negative errno. */
int memo_open(struct memo **ret, const char *path);
void memo_close(struct memo *m);
/* NULL: not known.  The text is valid until the next call. */
const char *memo_get(struct memo *m, uint64_t key);
/* One line of printable text, shorter than MEMO_TEXT_SIZE.  Negative errno: it is not kept. */
int memo_put(struct memo *m, uint64_t key, const char *text);

#endif
