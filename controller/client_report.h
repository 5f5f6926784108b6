/* SPDX-License-Identifier: GPL-2.0 */
/*
 * client_report.h - what the clients of a service report, a line of JSON each, added up over a window.  Pure, but for the
 * memory jansson parses in.
 *
 *	{"latencies_us": [812, 790.5, [1200, 3]], "t": 1700000000.25, "sent": 5, "in_flight": 1, "oldest_us": 300, "client": "a"}
 *
 * latencies_us  of the requests that were answered since the client's last report: a number each, or [latency, how many].
 *               It must be there and may be empty: that says that the client lives.
 * t             when it was written, seconds since 1970.  A report too far from now says nothing of this window and is
 *               refused; without it every report is of the window in which it is read.
 * sent          requests sent since the last report; without it as many as were answered.
 * in_flight     requests sent and not answered yet, and oldest_us the age of the oldest; without them nothing is known.
 * client        which of several clients it is, so that their requests in flight add up.
 *
 * Other keys are ignored.  A report is taken whole or not at all.
 */
#ifndef PARTIES_CLIENT_REPORT_H
#define PARTIES_CLIENT_REPORT_H

#include "ports.h"
#include "window.h"

enum { CLIENT_REPORT_MAX_CLIENTS = 64, CLIENT_REPORT_NAME_SIZE = 32 };

/* One service's reports since its last window ended.  All zero at first. */
struct client_reports {
	uint64_t nr_reports, nr_sent;
	uint32_t nr_clients;
	struct client_in_flight {
		char name[CLIENT_REPORT_NAME_SIZE];
		uint64_t nr_in_flight, oldest_ns; /* as it said last */
	} clients[CLIENT_REPORT_MAX_CLIENTS];
	struct exchange_cell cell; /* grows; EXCHANGE_OWED alone */
	struct window window;
};

/*
 * `text` is one line.  now_s is the wall clock's time in seconds, limit_s how far from it a report may be.  0; -ESTALE for
 * a report that is late or early, -EINVAL for one that cannot be understood, both with a static sentence in *ret_reason.
 */
int client_reports_add(struct client_reports *r, const char *text, size_t length, double now_s, double limit_s,
		       const char **ret_reason);
/* Ends the window.  Nothing reported: the signal is lost, for a client that is dead looks like one that is idle. */
void client_reports_end(struct client_reports *r, uint32_t percentile_permille, uint64_t target_ns, struct sample *ret);

#endif
