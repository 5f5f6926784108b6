/* SPDX-License-Identifier: GPL-2.0 */
/*
 * catalogue.h - the six services of the PARTIES paper (ASPLOS 2019, tables 2 and 3, figures 2 and 9) as queueing
 * models. Pure table.
 */
#ifndef PARTIES_CATALOGUE_H
#define PARTIES_CATALOGUE_H

#include "station.h"

/* What a service is, whatever machine and load it meets. */
struct catalogue_model {
	struct station_params station; /* seed and period_ns are the plant's */
	double memory_part;            /* share of the service time that speed does not change */
	double sigma;                  /* how much the neighbours' memory traffic slows it down */
	double bandwidth_gbs;          /* its own at 100 % load */
};

struct catalogue_service {
	const char *name;
	struct catalogue_model model;
};

/* NULL when there is none of that name. */
const struct catalogue_service *catalogue_find(const char *name);
/* In the order of the paper; NULL after the last. */
const struct catalogue_service *catalogue_at(unsigned int i);

#endif
