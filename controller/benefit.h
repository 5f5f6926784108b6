/* SPDX-License-Identifier: GPL-2.0 */
/*
 * benefit.h - do the cores that a service is given do anything for it?  Pure.
 *
 * A pool of threads that is sized when the service starts, a lock, or somebody behind it can keep it from using more cores
 * than it once filled.  That is so when it is late, has more cores than the last time that it was late and filled them, and
 * uses no more CPU time than it did then, in several windows in a row.
 */
#ifndef PARTIES_BENEFIT_H
#define PARTIES_BENEFIT_H

#include <stdbool.h>
#include <stdint.h>

/* Windows that the verdict rests on; from which share of its CPUs' time on they count as full; how much more is more. */
enum { BENEFIT_WINDOWS = 8, BENEFIT_FULL_PERMILLE = 850, BENEFIT_MORE_PERMILLE = 100 };

/* Of one service; all zero at first.  Once it uses more, as after a new start, the verdict is gone. */
struct benefit {
	uint32_t full_cores;        /* that it filled when it was late last; 0: never yet */
	uint64_t full_permille;     /* of the time of a CPU, what it used then */
	uint32_t nr_windows;        /* in a row with more cores and no more use of them */
	bool is_none;               /* more cores than full_cores do nothing */
};

/*
 * One window with the same cores from its beginning to its end.  `used_permille`: of the time of one CPU; `nr_cpus` of
 * `cores`, siblings counted.
 */
void benefit_judge(struct benefit *b, uint32_t cores, uint32_t nr_cpus, uint64_t used_permille, bool late);

#endif
