/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tuning.h - the options of policies as text: the section [policy] of a file, and what a command line changes with
 * --policy and --set.  Pure.  What options there are is each policy's own table (policy.h).
 */
#ifndef PARTIES_TUNING_H
#define PARTIES_TUNING_H

#include "options.h"
#include "params.h"

/* A section [policy], whose keys wait until the whole file has said which policy they are for.  Starts as zeros. */
struct tuning {
	uint32_t nr;
	struct tuning_line {
		char key[CONFIG_NAME_SIZE], value[CONFIG_NAME_SIZE];
		int line;
	} lines[POLICY_MAX_OPTIONS];
};

/* 0, or -EINVAL with a reason that blames this key. */
int tuning_add(struct tuning *t, const char *key, const char *value, int line, char reason[PARAM_REASON_SIZE]);
/*
 * Sets the options of config->policy: its defaults, then what the section says.  0, or -EINVAL with a reason that blames
 * *ret_bad; the configuration is then undefined.
 */
int tuning_apply(const struct tuning *t, struct config *config, const struct tuning_line **ret_bad,
		 char reason[PARAM_REASON_SIZE]);

/* One option of config->policy.  0, or -EINVAL with a reason; the configuration is then unchanged. */
int tuning_set(struct config *config, const char *key, const char *value, char reason[PARAM_REASON_SIZE]);

/* An option as the table of keys would have it: param_format and param_parse take it with the option's value. */
struct param tuning_param(const struct policy_option *option);

/* What a command line may change. */
struct tuning_rules {
	const char *const *keys; /* of [controller], "policy" among them; NULL after the last */
	bool limits;             /* also SERVICE.target and SERVICE.cores, a target only with the percentile it has */
};
/*
 * `policy` (NULL: not given) and KEY=VALUE, each a key of `rules` or an option of the policy that decides in the end.
 * Another policy than the configuration's starts with its own defaults; *ret_left_out says whether that left out values
 * the configuration had.  0, or -EINVAL with a reason that begins with "--policy: " or "--set: ".
 */
int tuning_change(struct config *config, const struct tuning_rules *rules, const char *policy,
		  const struct option_list *set, bool *ret_left_out, char reason[PARAM_REASON_SIZE]);

#endif
