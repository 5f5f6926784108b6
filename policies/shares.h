/* SPDX-License-Identifier: GPL-2.0 */
/*
 * shares.h - what every policy does with units: count them, split them evenly, and leave them as they are.  Pure.
 */
#ifndef PARTIES_SHARES_H
#define PARTIES_SHARES_H

#include "policy.h"

/* Units of a resource the machine has (of speed: ladder steps); 0 when it lacks the resource. */
uint32_t shares_total(const struct policy_view *view, enum policy_resource resource);

/* One service's units, the idle pool's and BE's.  Speed has no pool; of memory and disk only BE has units. */
uint32_t *shares_of(struct policy_share *share, enum policy_resource resource);
uint32_t shares_count(const struct policy_share *share, enum policy_resource resource);
uint32_t *shares_idle(struct policy_decision *d, enum policy_resource resource);
uint32_t *shares_be(struct policy_decision *d, enum policy_resource resource);

/*
 * The start of PARTIES: cores and ways split evenly within the limits, remainders in configuration order, nominal
 * speed, nothing of these for BE (decisions 10 and 11), and all of its limits.
 */
void shares_split(const struct policy_view *view, struct policy_decision *ret);

/*
 * The allocation in force, as a decision that moves nothing.  Where the view is not whole any more (a core went away, a
 * limit changed) it is repaired: limits first, then what is missing comes from the idle pool, BE, and the service
 * furthest above its floor.
 */
void shares_keep(const struct policy_view *view, struct policy_decision *ret);

#endif
