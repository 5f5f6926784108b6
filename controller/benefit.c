// SPDX-License-Identifier: GPL-2.0
/*
 * benefit.c - pure: compares what a service uses with what it has.  It takes no core away (policies/) and says nothing
 * (changes.c).
 */
#include "benefit.h"

void benefit_judge(struct benefit *b, uint32_t cores, uint32_t nr_cpus, uint64_t used_permille, bool late)
{
	if (!late || !cores)
		return;
	/* A busy service leaves some of its second threads' time, so that a full core is one CPU's worth. */
	if (used_permille >= (uint64_t)cores * BENEFIT_FULL_PERMILLE || used_permille >= (uint64_t)nr_cpus * BENEFIT_FULL_PERMILLE) {
		*b = (struct benefit){ .full_cores = cores, .full_permille = used_permille };
		return;
	}
	if (!b->full_cores || cores <= b->full_cores)
		return;
	if (used_permille > b->full_permille + b->full_permille * BENEFIT_MORE_PERMILLE / 1000)
		b->nr_windows = 0;
	else if (b->nr_windows < BENEFIT_WINDOWS)
		b->nr_windows++;
	b->is_none = b->nr_windows >= BENEFIT_WINDOWS;
}
