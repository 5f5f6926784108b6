// SPDX-License-Identifier: GPL-2.0
/*
 * static.c - the baseline: the even split at nominal speed, for ever.  Pure; it looks at no latency.
 */
#include "shares.h"

static void static_init(void *state, uint64_t now_ns, const struct policy_view *view, struct policy_decision *ret)
{
	(void)state;
	(void)now_ns;
	shares_split(view, ret);
	ret->reason = POLICY_REASON_START;
}

static void static_step(void *state, uint64_t now_ns, const struct policy_view *view, struct rng *rng,
			struct policy_decision *ret)
{
	(void)state;
	(void)now_ns;
	(void)rng;
	shares_keep(view, ret);
}

const struct policy_ops policy_static = {
	.name = "static",
	.help = "Keeps the even split.\n",
	.init = static_init,
	.step = static_step,
};
