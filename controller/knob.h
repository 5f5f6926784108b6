/* SPDX-License-Identifier: GPL-2.0 */
/*
 * knob.h - one kernel file that is read and written many times, and the undo log of a step.  Port.
 *
 * A knob stays open: a pread on a kept descriptor costs a tenth of open, read, close.  knob_change is the one way to
 * write: it looks first, writes only what differs, reads back what the kernel made of it, and remembers the old text,
 * so that a step that fails half-way is taken back write by write in reverse order.
 */
#ifndef PARTIES_KNOB_H
#define PARTIES_KNOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ports.h"

/* The longest text is a cpulist: every second one of CPULIST_MAX_CPUS takes 2,500 characters. */
enum { KNOB_PATH_SIZE = 512, KNOB_TEXT_SIZE = 2560, UNDO_MAX_WRITES = 2048 };

struct knob;

/* How a sort of file is written and compared. */
struct knob_kind {
	int (*write)(const struct knob *k, const char *text); /* 0 or negative errno */
	bool (*same)(const char *have, const char *want);     /* the kernel's text means what we asked for */
	int (*read)(const struct knob *k, char *text, size_t size); /* as knob_read, which it is where this is NULL */
	bool by_library; /* `write` is a library's, whose calls inject_calls.c does not see */
};

/* Written as it is, read back letter by letter. */
extern const struct knob_kind knob_plain;

struct knob {
	const struct knob_kind *kind;
	int fd;           /* -1: closed */
	unsigned int cpu; /* for kinds that a library writes by CPU number */
	dev_t device;     /* for kinds whose file has a line for each */
	char path[KNOB_PATH_SIZE];
	uint64_t ours;    /* a hash of what we left in it; 0: nothing yet */
	bool drifted;     /* it said something else at the next look; for the owner to clear */
};

struct undo_write {
	struct knob *knob;
	char before[KNOB_TEXT_SIZE];
};

/* The writes of one step.  Large; allocated once.  The knobs outlive it. */
struct undo {
	uint32_t nr;
	struct undo_write writes[UNDO_MAX_WRITES];
};

/* Opens dir/file for reading, and for writing where that is allowed.  The caller closes it with knob_close. */
int knob_open(struct knob *k, const struct knob_kind *kind, const char *dir, const char *file);
/* Hundreds of CPUs have a handful of files each, and the usual limit is 1,024: the hard one counts from now on. */
void knob_allow_many(void);
/* A closed knob, or one that was zeroed and given fd -1, is fine. */
void knob_close(struct knob *k);
/* The whole text.  Its length, or negative errno (-ENOSPC: it does not fit in `size` with its NUL). */
int knob_read_all(const struct knob *k, char *text, size_t size);
/* The first line, without its newline.  Errors as above. */
int knob_read(const struct knob *k, char *text, size_t size);
/* `text` and a newline, in one write. */
int knob_write(const struct knob *k, const char *text);
/* Makes `k` say `want`.  On failure ret->error and ret->where are set and the same error is returned. */
int knob_change(struct undo *u, struct knob *k, const char *want, struct outcome *ret);
/* Takes back everything since undo_begin, the latest first; goes on after an error and returns the first one. */
int undo_rollback(struct undo *u);
void undo_begin(struct undo *u);

/* For files that are used once. */
int knob_read_path(const char *path, char *text, size_t size);
int knob_write_path(const char *path, const char *text);

#endif
