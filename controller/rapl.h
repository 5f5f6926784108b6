/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rapl.h - the energy that the machine's packages used, as their meters say.  Port: powercap's intel-rapl, which AMD's
 * processors have as well.
 */
#ifndef PARTIES_RAPL_H
#define PARTIES_RAPL_H

#include <stdint.h>

#include "knob.h"

enum { RAPL_MAX_PACKAGES = 32 };

struct rapl {
	uint32_t nr;
	struct rapl_package {
		struct knob energy;
		uint64_t last_uj, range_uj; /* the counter starts again at 0 after range_uj */
	} packages[RAPL_MAX_PACKAGES];
	double joules; /* of all packages since rapl_open */
};

/* -ENOENT: no meters.  Another errno, as -EACCES: they are there and cannot be read.  The caller closes. */
int rapl_open(struct rapl *ret, const char *root);
/* Adds what was used since the last call: at least once a minute, since a meter's range is used up in minutes. */
void rapl_read(struct rapl *r);
/* One that was never opened, all zero, is fine. */
void rapl_close(struct rapl *r);

#endif
