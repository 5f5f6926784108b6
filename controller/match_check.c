// SPDX-License-Identifier: GPL-2.0
/*
 * match_check.c - whether this machine, now, is what a configuration speaks of; the words when it is not.
 * Port over procfs.  Finding the processes is match.c's.
 */
#include "match.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "match_scan.h"
#include "rights.h"

/* A service or a batch, whichever. */
struct group {
	const char *kind, *name;
	const struct match *match;
	int line;
};

struct check {
	const struct config *config;
	struct match_scan scan;
	uint8_t owner[PROCFS_MAX_PROCESSES]; /* group index + 1, or 0 */
	char *error;
	size_t error_size;
};

static struct group group_at(const struct config *config, uint32_t i)
{
	if (i < config->nr_services) {
		const struct config_service *s = &config->services[i];

		return (struct group){ "service", s->name, &s->match, s->match_line };
	}
	const struct config_batch *b = &config->batches[i - config->nr_services];

	return (struct group){ "batch", b->name, &b->match, b->match_line };
}

static int __attribute__((format(printf, 4, 5)))
fail(struct check *c, int line, const char *key, const char *format, ...)
{
	int length = snprintf(c->error, c->error_size, "%s:%d: %s: ", c->config->file, line, key);
	va_list args;

	va_start(args, format);
	if (length >= 0 && (size_t)length < c->error_size)
		vsnprintf(c->error + length, c->error_size - length, format, args);
	va_end(args);
	return -EINVAL;
}

static const char *comm_of(const struct check *c, uint32_t process, char buf[PROCFS_COMM_SIZE])
{
	return procfs_comm(&c->scan.procfs, c->scan.procfs.list[process].pid, buf) ? "?" : buf;
}

static void explain_nothing(const struct match *match, char *buf, size_t size)
{
	switch (match->kind) {
	case MATCH_PID:
		snprintf(buf, size, "pid %u does not exist; start the service first or correct the pid", match->number);
		break;
	case MATCH_PORT:
		snprintf(buf, size, "nobody listens on port %u; start the service first or correct the port",
			 match->number);
		break;
	case MATCH_CGROUP:
		snprintf(buf, size, "no process is in cgroup %s; start the work there first or correct the path",
			 match->text);
		break;
	case MATCH_UNIT:
		snprintf(buf, size, "unit %s has no process; start it first or correct the name", match->text);
		break;
	case MATCH_EXE:
		snprintf(buf, size, "no process runs %s; start the service first or correct the name (not that of a link: "
			 "ls -l /proc/PID/exe shows it)", match->text);
		break;
	}
}

static void explain_unseen(const struct match *match, char *buf, size_t size)
{
	char missing[256] = "";
	bool may = !rights_check(RIGHTS_SEE_OTHERS, missing, sizeof(missing));

	if (match->kind == MATCH_EXE)
		snprintf(buf, size, "no process that we may look at runs %s; missing %s; run as root, or match by pid, cgroup or "
			 "unit", match->text, missing);
	else if (may)
		snprintf(buf, size, "port %u has a listener, but no process that we see holds it; run where its process "
			 "is seen (its pid namespace is another), or match by cgroup", match->number);
	else
		snprintf(buf, size, "port %u has a listener, but not whose is seen: missing %s; run as root, or match by "
			 "pid, cgroup or unit", match->number, missing);
}

void match_explain(const struct match *match, int error, char *buf, size_t size)
{
	switch (error) {
	case -ENOENT:
		explain_nothing(match, buf, size);
		break;
	case -EACCES:
		explain_unseen(match, buf, size);
		break;
	case -ENOSYS:
		snprintf(buf, size, "this machine does not run systemd; match by pid, port, cgroup or exe");
		break;
	case -E2BIG:
		snprintf(buf, size, "more processes or sockets than can be followed; match more narrowly");
		break;
	default:
		snprintf(buf, size, "the processes cannot be read: %s; is /proc mounted?", strerror(-error));
		break;
	}
}

static int error_resolve(struct check *c, const struct group *g, int error)
{
	char reason[CONFIG_PATH_SIZE + 384];

	match_explain(g->match, error, reason, sizeof(reason));
	fail(c, g->line, "match", "%s", reason);
	return error == -ENOENT || error == -E2BIG || error == -ENOSYS ? -EINVAL : -EPERM;
}

/* A number that is no process we could steer may still be something. */
static int error_pid(struct check *c, const struct group *g)
{
	const struct procfs *p = &c->scan.procfs;
	int i = procfs_find(p, g->match->number);
	char path[32];

	if (i >= 0 && p->list[i].kernel)
		return fail(c, g->line, "match", "pid %u is a kernel thread; name a process", g->match->number);
	if (i >= 0)
		return fail(c, g->line, "match", "pid %u has ended and waits for its parent; start the service again",
			    g->match->number);
	snprintf(path, sizeof(path), "%u/stat", g->match->number);
	if (!faccessat(p->fd, path, F_OK, 0))
		return fail(c, g->line, "match", "%u is a thread; name its process", g->match->number);
	return error_resolve(c, g, -ENOENT);
}

/* A forwarder holds a container's published port; the work is done elsewhere. */
static bool forwards_only(const char *comm)
{
	static const char *const names[] = { "docker-proxy", "rootlessport", "slirp4netns", "pasta", "kube-proxy" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], comm))
			return true;
	return false;
}

static int check_forwarder(struct check *c, const struct group *g)
{
	const struct procfs *p = &c->scan.procfs;
	char comm[PROCFS_COMM_SIZE];

	for (uint32_t i = 0; g->match->kind == MATCH_PORT && i < p->nr_holders; i++) {
		if (p->holders[i].port != g->match->number || !forwards_only(comm_of(c, p->holders[i].process, comm)))
			continue;
		return fail(c, g->line, "match", "port %u is held by pid %d (%s), which only forwards; "
			    "match the process behind it by pid or cgroup",
			    g->match->number, p->list[p->holders[i].process].pid, comm);
	}
	return 0;
}

/* Steering ourselves would slow the hand that has to undo it.  What started us is covered: we descend from it. */
static int check_not_self(struct check *c, const struct group *g)
{
	pid_t self = procfs_self(&c->scan.procfs);
	int i = procfs_find(&c->scan.procfs, self);

	if (i < 0 || !c->scan.chosen[i])
		return 0;
	return fail(c, g->line, "match", "%s '%s' claims parties itself (pid %d) or what it was started from; "
		    "match more narrowly", g->kind, g->name, self);
}

static int check_claims(struct check *c, uint32_t index, const struct group *g)
{
	const struct procfs *p = &c->scan.procfs;
	char comm[PROCFS_COMM_SIZE];
	uint32_t nr = 0;

	for (uint32_t i = 0; i < p->nr; i++) {
		if (!c->scan.chosen[i])
			continue;
		if (c->owner[i]) {
			struct group other = group_at(c->config, c->owner[i] - 1);

			return fail(c, g->line, "match", "%s '%s' and %s '%s' both claim pid %d (%s); "
				    "give each its own processes", other.kind, other.name, g->kind, g->name,
				    p->list[i].pid, comm_of(c, i, comm));
		}
		c->owner[i] = index + 1;
		if (++nr > MATCH_MAX_PIDS)
			return error_resolve(c, g, -E2BIG);
	}
	return 0;
}

static int check_group(struct check *c, uint32_t index)
{
	struct group g = group_at(c->config, index);
	int rc = match_scan_choose(&c->scan, g.match);

	if (rc == -ENOENT && g.match->kind == MATCH_PID)
		return error_pid(c, &g);
	if (rc)
		return error_resolve(c, &g, rc);
	rc = check_forwarder(c, &g);
	if (!rc)
		rc = check_not_self(c, &g);
	if (!rc)
		rc = check_claims(c, index, &g);
	return rc;
}

static int check_floors(struct check *c, uint32_t nr_cores)
{
	const struct config *config = c->config;
	uint32_t sum = 0, last = 0;

	for (uint32_t i = 0; i < config->nr_services; i++) {
		if (sum <= nr_cores)
			last = i;
		sum += config->services[i].cores_min;
	}
	if (sum <= nr_cores)
		return 0;
	return fail(c, config->services[last].line, "cores",
		    "floors need %u cores, this machine has %u to give; lower a floor or take a service away", sum,
		    nr_cores);
}

int match_check(const char *root, const struct config *config, uint32_t nr_cores, char *error, size_t error_size)
{
	struct check c = { .config = config, .error = error, .error_size = error_size };
	int rc = check_floors(&c, nr_cores);

	if (rc)
		return rc;
	rc = match_scan_open(&c.scan, root);
	if (rc) {
		snprintf(error, error_size, "%s/proc: cannot be read: %s; is it mounted?", root, strerror(-rc));
		return -EPERM;
	}
	match_scan_want(&c.scan, config);
	for (uint32_t i = 0; !rc && i < config->nr_services + config->nr_batches; i++)
		rc = check_group(&c, i);
	match_scan_close(&c.scan);
	return rc;
}
