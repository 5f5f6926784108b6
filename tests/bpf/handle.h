/* SPDX-License-Identifier: GPL-2.0 */
/*
 * handle.h - the one libebee handle of a test program.  Without the rights or the kernel for it tests are skipped; any
 * other failure to open it fails them, for then it is the programs that are wrong.
 */
#ifndef TESTS_HANDLE_H
#define TESTS_HANDLE_H

#include <errno.h>
#include <stdio.h>

#include "ebee.h"

static struct ebee *ebee;
static int open_error;
static char error[256];

#define NEEDS_BPF()                                                                                                    \
	do {                                                                                                           \
		if (open_error == -EPERM || open_error == -ENOTSUP) {                                                  \
			print_message("# %s\n", error);                                                                \
			skip();                                                                                        \
		}                                                                                                      \
		if (open_error)                                                                                        \
			fail_msg("%s", error);                                                                         \
	} while (0)

static inline int open_handle_with(const struct ebee_opts *opts)
{
	open_error = ebee_open(&ebee, opts, error, sizeof(error));
	if (open_error)
		ebee = NULL;
	return 0;
}

static int close_handle(void **state)
{
	(void)state;
	ebee_close(ebee);
	return 0;
}

#endif
