// SPDX-License-Identifier: GPL-2.0
/*
 * tuning.c - options of policies as text.  Pure: it reads no file and prints nothing.
 */
#include "tuning.h"

#include <errno.h>
#include <string.h>

#include "nearest.h"

#define REASON(...) (snprintf(reason, PARAM_REASON_SIZE, __VA_ARGS__), -EINVAL)

struct param tuning_param(const struct policy_option *option)
{
	return (struct param){
		.key = option->name, .type = option->words ? PARAM_CHOICE : PARAM_U32, .min = option->min,
		.max = option->max, .form = option->words ? option->words : "number", .help = option->help,
	};
}

int tuning_add(struct tuning *t, const char *key, const char *value, int line, char reason[PARAM_REASON_SIZE])
{
	struct tuning_line *new = &t->lines[t->nr];

	for (uint32_t i = 0; i < t->nr; i++)
		if (!strcmp(t->lines[i].key, key))
			return REASON("appears twice in [policy], first on line %d", t->lines[i].line);
	if (t->nr == POLICY_MAX_OPTIONS)
		return REASON("no policy has more than %d options", POLICY_MAX_OPTIONS);
	if (strlen(key) >= sizeof(new->key) || strlen(value) >= sizeof(new->value))
		return REASON("no option has a name or a value longer than %zu bytes", sizeof(new->key) - 1);
	snprintf(new->key, sizeof(new->key), "%s", key);
	snprintf(new->value, sizeof(new->value), "%s", value);
	new->line = line;
	t->nr++;
	return 0;
}

static int error_option(const struct policy_ops *policy, const char *key, char reason[PARAM_REASON_SIZE])
{
	struct nearest nearest = { .word = key };
	int length;

	if (!policy->nr_options)
		return REASON("%s has no options", policy->name);
	for (uint32_t i = 0; i < policy->nr_options; i++)
		nearest_offer(&nearest, policy->options[i].name);
	if (nearest.best)
		return REASON("no option of %s, did you mean '%s'?", policy->name, nearest.best);
	length = snprintf(reason, PARAM_REASON_SIZE, "no option of %s; known:", policy->name);
	for (uint32_t i = 0; i < policy->nr_options && length < PARAM_REASON_SIZE; i++)
		length += snprintf(reason + length, PARAM_REASON_SIZE - length, "%s %s", i ? "," : "",
				   policy->options[i].name);
	return -EINVAL;
}

int tuning_set(struct config *config, const char *key, const char *value, char reason[PARAM_REASON_SIZE])
{
	const struct policy_ops *policy = policy_find(config->policy);

	for (uint32_t i = 0; i < policy->nr_options; i++) {
		struct param param = tuning_param(&policy->options[i]);

		if (!strcmp(param.key, key))
			return param_parse(&param, value, &config->options[i], reason);
	}
	return error_option(policy, key, reason);
}

/* An interval that nobody asks for is the policy's. */
static void settle_interval(struct config *config)
{
	config->interval_is_policys = !config->interval_ns;
	if (!config->interval_ns)
		config->interval_ns = policy_interval_ns(policy_find(config->policy));
}

int tuning_apply(const struct tuning *t, struct config *config, const struct tuning_line **ret_bad,
		 char reason[PARAM_REASON_SIZE])
{
	policy_default_options(policy_find(config->policy), config->options);
	for (uint32_t i = 0; i < t->nr; i++) {
		if (tuning_set(config, t->lines[i].key, t->lines[i].value, reason)) {
			*ret_bad = &t->lines[i];
			return -EINVAL;
		}
	}
	settle_interval(config);
	return 0;
}

static int choose_policy(struct config *config, const char *name, bool *ret_left_out, char reason[PARAM_REASON_SIZE])
{
	const struct policy_ops *before = policy_find(config->policy), *now;
	uint32_t standard[POLICY_MAX_OPTIONS];

	if (param_parse(&params[param_find(PARAM_CONTROLLER, "policy")], name, config, reason))
		return -EINVAL;
	now = policy_find(name);
	if (now == before)
		return 0;
	policy_default_options(before, standard);
	*ret_left_out |= memcmp(standard, config->options, sizeof(standard)) != 0;
	policy_default_options(now, config->options);
	return 0;
}

/* The place of SERVICE.target and SERVICE.cores; NULL when `key` is neither. */
static const struct param *find_limit(struct config *config, const char *key, struct config_service **ret)
{
	const char *dot = strrchr(key, '.');

	if (!dot || (strcmp(dot, ".target") && strcmp(dot, ".cores")))
		return NULL;
	for (uint32_t i = 0; i < config->nr_services; i++) {
		struct config_service *s = &config->services[i];

		if (strlen(s->name) == (size_t)(dot - key) && !strncmp(s->name, key, strlen(s->name))) {
			*ret = s;
			return &params[param_find(PARAM_SERVICE, dot + 1)];
		}
	}
	return NULL;
}

static int set_limit(const struct param *param, struct config_service *service, const char *value,
		     char reason[PARAM_REASON_SIZE])
{
	struct config_service changed = *service;

	if (param_parse(param, value, &changed, reason))
		return -EINVAL;
	if (changed.percentile_permille != service->percentile_permille)
		return REASON("the record holds only the percentile p%g", service->percentile_permille / 10.0);
	*service = changed;
	return 0;
}

static int error_key(const struct config *config, const struct tuning_rules *rules, char reason[PARAM_REASON_SIZE])
{
	const struct policy_ops *policy = policy_find(config->policy);
	int length = snprintf(reason, PARAM_REASON_SIZE, "nothing depends on it; known:");

	for (int i = 0; rules->keys[i] && length < PARAM_REASON_SIZE; i++)
		length += snprintf(reason + length, PARAM_REASON_SIZE - length, "%s %s", i ? "," : "", rules->keys[i]);
	if (rules->limits && length < PARAM_REASON_SIZE)
		length += snprintf(reason + length, PARAM_REASON_SIZE - length, ", SERVICE.target, SERVICE.cores");
	for (uint32_t i = 0; i < policy->nr_options && length < PARAM_REASON_SIZE; i++)
		length += snprintf(reason + length, PARAM_REASON_SIZE - length, ", %s", policy->options[i].name);
	return -EINVAL;
}

/* Every key but "policy". */
static int set_one(struct config *config, const struct tuning_rules *rules, const char *key, const char *value,
		   char reason[PARAM_REASON_SIZE])
{
	const struct policy_ops *policy = policy_find(config->policy);
	struct config_service *service = NULL;
	const struct param *param;

	for (int i = 0; rules->keys[i]; i++)
		if (!strcmp(rules->keys[i], key))
			return param_parse(&params[param_find(PARAM_CONTROLLER, key)], value, config, reason);
	for (uint32_t i = 0; i < policy->nr_options; i++)
		if (!strcmp(policy->options[i].name, key))
			return tuning_set(config, key, value, reason);
	param = rules->limits ? find_limit(config, key, &service) : NULL;
	return param ? set_limit(param, service, value, reason) : error_key(config, rules, reason);
}

int tuning_change(struct config *config, const struct tuning_rules *rules, const char *policy,
		  const struct option_list *set, bool *ret_left_out, char reason[PARAM_REASON_SIZE])
{
	char why[PARAM_REASON_SIZE], key[2 * CONFIG_NAME_SIZE];

	*ret_left_out = false;
	if (config->interval_is_policys)
		config->interval_ns = 0;
	if (policy && choose_policy(config, policy, ret_left_out, why))
		return REASON("--policy: %.200s", why);
	/* First the policy, wherever it stands: other keys may be options of it. */
	for (uint32_t i = 0; i < 2 * set->nr; i++) {
		const char *text = set->values[i % set->nr], *equals = strchr(text, '=');
		bool is_policy;
		int err = 0;

		if (!equals)
			return REASON("--set: '%.60s' is not KEY=VALUE", text);
		snprintf(key, sizeof(key), "%.*s", (int)strcspn(text, " ="), text);
		is_policy = !strcmp(key, "policy");
		equals += 1 + strspn(equals + 1, " ");
		if (is_policy && i < set->nr)
			err = choose_policy(config, equals, ret_left_out, why);
		else if (!is_policy && i >= set->nr)
			err = set_one(config, rules, key, equals, why);
		if (err)
			return REASON("--set: %.60s: %.180s", key, why);
	}
	settle_interval(config);
	return 0;
}
