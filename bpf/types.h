/* SPDX-License-Identifier: GPL-2.0 */
/*
 * types.h - what pure headers need, in the kernel and in the tests.
 */
#ifndef EBEE_TYPES_H
#define EBEE_TYPES_H

#include <linux/types.h>

#ifdef __bpf__
typedef _Bool bool;
enum { false, true };
#else
#include <stdbool.h>
#endif

#endif
