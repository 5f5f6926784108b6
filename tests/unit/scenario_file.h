/* SPDX-License-Identifier: GPL-2.0 */
/*
 * scenario_file.h - scenario texts as files that are gone before the test can fail.
 */
#ifndef PARTIES_SCENARIO_FILE_H
#define PARTIES_SCENARIO_FILE_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

struct scenario_file {
	int fd;
	char path[32];
};

/* A file without a name: it lives as long as its descriptor. */
static inline struct scenario_file scenario_file(const char *text)
{
	struct scenario_file f = { .fd = memfd_create("scenario", MFD_CLOEXEC) };
	size_t length = strlen(text);

	assert_true(f.fd >= 0);
	assert_int_equal(write(f.fd, text, length), length);
	snprintf(f.path, sizeof(f.path), "/proc/self/fd/%d", f.fd);
	return f;
}

#endif
