/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ladder.h - from what a frequency driver says to the steps of speed, and to the way in which a step is set.  Pure.
 *
 * Ways, from the best to the last; who finds that one does nothing goes on with the next that is there:
 *
 *   userspace  the governor of that name runs at exactly the speed that is written
 *   cap        the highest speed is limited; below it the governor, or the hardware, is free
 *   epp        the hardware is only told what it is to prefer (energy performance preference)
 *   boost      the switch of the speeds above nominal, one for the whole machine; never on where it was off
 */
#ifndef PARTIES_LADDER_H
#define PARTIES_LADDER_H

#include "ports.h"

/* What a driver says of one domain. */
struct ladder_limits {
	uint32_t nr_listed; /* 0: no list */
	uint32_t listed_khz[SPEED_MAX_STEPS];
	unsigned long min_khz, max_khz;
	unsigned long base_khz;  /* what the vendor guarantees; 0: not said */
	unsigned long boost_khz; /* 0: no boost speeds apart, or they are switched off */
};

/* Listed speeds, else 100 MHz steps; a boost speed is one step above nominal. */
void ladder_fill(struct speed_ladder *ladder, const struct ladder_limits *limits);

/*
 * The speed of a domain with steps of its own that is nearest to `khz` of the machine's ladder: its lowest step that is not
 * slower, else its last.  What is nominal or less for the machine is so for the domain.
 */
uint32_t ladder_nearest_khz(const struct speed_ladder *machine, const struct speed_ladder *domain, uint32_t khz);

enum ladder_way { LADDER_USERSPACE, LADDER_CAP, LADDER_EPP, LADDER_BOOST, LADDER_NOTHING };

/* What every domain of the machine has. */
struct ladder_ways {
	bool has_userspace, has_cap, has_epp;
	bool boost_is_on; /* there is a switch, and it is on */
};

/* The best way that is there, from `first` on. */
enum ladder_way ladder_find_way(const struct ladder_ways *ways, enum ladder_way first);
/* "userspace", "cap", "epp", "boost", "nothing". */
const char *ladder_way_name(enum ladder_way way);
/* Whether the word is in the blank-separated list. */
bool ladder_lists(const char *list, const char *word);
/* Whether the preferences that are offered are enough to choose from. */
bool ladder_has_epp(const char *preferences);
/* The top step: performance; below it by thirds. */
const char *ladder_epp(const struct speed_ladder *ladder, uint32_t khz);
/* The governor to have for a way other than userspace in place of `now`; NULL: `now` is as good as any. */
const char *ladder_governor(enum ladder_way way, const char *now, const char *offered, bool has_epp);

#endif
