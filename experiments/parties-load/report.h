/* SPDX-License-Identifier: GPL-2.0 */
/*
 * report.h - tells a controller what the client sees: lines of JSON (controller/client_report.h) appended to a file.
 */
#ifndef PARTIES_LOAD_REPORT_H
#define PARTIES_LOAD_REPORT_H

#include "meter.h"

/* Much shorter than a controller's window, so that few requests count in the window after their own. */
#define REPORT_INTERVAL_NS 50000000ULL

struct report {
	int fd;             /* -1: nobody asked */
	uint64_t due_ns;    /* of the next line, on the clock of clock.h */
	struct meter_counts told;
	bool failed;        /* said so already */
};

/* `path` is made if it is not there; NULL asks for none.  Negative errno. */
int report_open(struct report *r, const char *path, uint64_t now_ns);
/*
 * Appends what happened since the last line; also when nothing did, for that says that the client lives.  oldest_ns: since
 * when the oldest request waits, UINT64_MAX for none.
 */
void report_write(struct report *r, const struct meter *m, uint64_t oldest_ns, uint64_t now_ns);
void report_close(struct report *r);

#endif
