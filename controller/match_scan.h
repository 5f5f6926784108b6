/* SPDX-License-Identifier: GPL-2.0 */
/*
 * match_scan.h - one look at the machine that several matches share; between match.c and match_check.c only.
 * About 1 MB: made for the stack of the main thread, so that nothing is allocated beside the tick.
 */
#ifndef PARTIES_MATCH_SCAN_H
#define PARTIES_MATCH_SCAN_H

#include "match.h"
#include "procfs.h"

struct match_scan {
	const char *root;
	uint64_t ports[65536 / 64];        /* a bit for each port some match names */
	bool chosen[PROCFS_MAX_PROCESSES]; /* by the last match_scan_choose, descendants included */
	struct procfs procfs;
};

/* On success the caller calls match_scan_close. */
int match_scan_open(struct match_scan *scan, const char *root);
/* Names the ports of all matches; before the first match_scan_choose. */
void match_scan_want(struct match_scan *scan, const struct config *config);
/* 0, or what match_resolve returns; -E2BIG is for its caller to find. */
int match_scan_choose(struct match_scan *scan, const struct match *match);
void match_scan_close(struct match_scan *scan);

#endif
