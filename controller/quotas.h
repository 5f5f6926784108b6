/* SPDX-License-Identifier: GPL-2.0 */
/*
 * quotas.h - CPU time of all services, where it stands in for speed, and the limits of batches.  Port: bandwidth.h and
 * limit_files.h for many groups.
 */
#ifndef PARTIES_QUOTAS_H
#define PARTIES_QUOTAS_H

#include "cores.h"

/*
 * Services that are there and have no quota yet, since speed did the work so far, get one that limits nothing.  On failure
 * *ret tells why.
 */
int quotas_take(struct group *services, uint32_t nr, const char *root, const struct cgroup_mounts *mounts, struct journal *j,
		struct outcome *ret);
/* The shares of an allocation, of the CPUs that each is to have.  On failure *ret tells why and the caller rolls `u` back. */
int quotas_apply(struct group *services, uint32_t nr, struct cores *cores, const struct allocation *want, struct undo *u,
		 struct outcome *ret);

/* Memory and disk that batches may use.  Errors as above. */
int quotas_limit(struct group *batches, uint32_t nr, const struct allocation *want, struct undo *u, struct outcome *ret);

#endif
