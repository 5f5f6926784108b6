/* SPDX-License-Identifier: GPL-2.0 */
/*
 * live.h - a run that can be looked at: by `parties status`, `top` and `explain`, and with an address by browsers and
 * collectors of metrics.  Glue between tick.h, recent.h, record.h and web.h.
 *
 *	/status.json  {"schema_version":1, "pid":N, "header":{...}, "tick":{...}, "totals":{...}, "decisions":[...]}
 *	              header, tick and totals as in a record (record.h), decisions as in recent.h
 *	/course.json  the whole run in at most RECENT_POINTS points (recent.h)
 *	/metrics      openmetrics.h
 *	/             a page that draws all of it
 */
#ifndef PARTIES_LIVE_H
#define PARTIES_LIVE_H

#include "loop.h"
#include "recent.h"
#include "web.h"

struct live {
	const struct tick *tick;
	char *header; /* JSON */
	struct recent recent;
	struct web *web; /* NULL: nobody can ask */
};

/* `address` as in web.h.  Negative errno with the reason in `error`. */
int live_open(struct live *live, struct loop *loop, const char *address, char *error, size_t error_size);
/* Before the first tick; `mode` and `machine` as in record.h.  -ENOMEM. */
int live_start(struct live *live, const struct tick *tick, const char *mode, const char *machine);
/* After every tick. */
void live_tick(struct live *live);
void live_close(struct live *live);

#endif
