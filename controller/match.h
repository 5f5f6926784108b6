/* SPDX-License-Identifier: GPL-2.0 */
/*
 * match.h - which processes a `match` means right now.  Port: reads /proc and cgroup files below `root`.
 * A port means (our network namespace, port): the processes that hold its listening socket.
 */
#ifndef PARTIES_MATCH_H
#define PARTIES_MATCH_H

#include <sys/types.h>

#include "config.h"

enum { MATCH_MAX_PIDS = 4096 };

struct match_pids {
	uint32_t nr;
	pid_t pids[MATCH_MAX_PIDS]; /* thread group leaders, ascending, descendants of the matched ones included */
};

/*
 * -ENOENT: nothing matches (pid gone, nobody listens, no such cgroup).  -E2BIG: more than MATCH_MAX_PIDS.
 * -EACCES: the port has a listener, but we see nobody who holds it (no rights, another pid namespace); or nothing that
 * we may look at runs the executable.
 * -ENOSYS: a unit, and no systemd.
 */
int match_resolve(const char *root, const struct match *match, struct match_pids *ret);

/* There are some, and none has ended. */
bool match_all_alive(const struct match_pids *pids);

/* What such an error means for this match and what to do: "nobody listens on port 8082; start the service ...". */
void match_explain(const struct match *match, int error, char *buf, size_t size);

/*
 * Resolves every service and batch of `config` and checks what a file alone cannot show: nothing matches, two claim one
 * process, our own process claimed, floors that do not fit `nr_cores`.  0, or -EINVAL with
 * "file:line: key: reason; remedy" in `error`, -EPERM when rights are missing or /proc cannot be read.
 */
int match_check(const char *root, const struct config *config, uint32_t nr_cores, char *error, size_t error_size);

#endif
