/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fdpair.h - what fdpair.bpf.c and its reader share.  For comparison only.
 */
#ifndef FDPAIR_H
#define FDPAIR_H

#include <linux/types.h>

enum fdpair_kind {
	FDPAIR_ACCEPT_CLOSE, /* accept returns -> close of that descriptor */
	FDPAIR_READ_SEND,    /* a read is entered -> the first send on that descriptor is entered */
	FDPAIR_NR_KINDS
};

struct fdpair_record {
	__u64 kind, ns;
};

#endif
