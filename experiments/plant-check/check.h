/* SPDX-License-Identifier: GPL-2.0 */
/*
 * check.h - the parts of plant-check: each prints its table on standard output and what it is at on standard error.
 */
#ifndef PARTIES_CHECK_H
#define PARTIES_CHECK_H

#include <stdint.h>

/* How many rows are out of bounds; negative: it could not be done, and said why. */
int check_theory(uint64_t nr_requests);
int check_services(const char *scenario, uint64_t nr_requests); /* NULL: the catalogue's */
/* Nothing is out of bounds here: machines differ. */
void check_speed(void);

#endif
