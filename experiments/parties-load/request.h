/* SPDX-License-Identifier: GPL-2.0 */
/*
 * request.h - the bytes of the next request of a text protocol.  Pure.
 */
#ifndef PARTIES_LOAD_REQUEST_H
#define PARTIES_LOAD_REQUEST_H

#include <stddef.h>

#include "options.h"

enum { REQUEST_MAX_SIZE = OPTIONS_MAX_VALUE + OPTIONS_PATH_SIZE + OPTIONS_HOST_SIZE + 128 };

/* Writes one request of at most REQUEST_MAX_SIZE bytes; `rng` (erand48 state) decides its contents. */
size_t request_build(const struct options *o, unsigned short rng[3], char *buf);

#endif
