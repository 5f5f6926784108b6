// SPDX-License-Identifier: GPL-2.0
/*
 * config_print.c - a configuration in the file's own format, and the table of keys and policies as manual text.  Port: it
 * writes to a stream and checks nothing.
 */
#include "config.h"

#include "params.h"
#include "tuning.h"

static void print_section(FILE *out, unsigned int section, const char *name, const void *object)
{
	char value[CONFIG_PATH_SIZE + 16];

	fprintf(out, "%s[%s%s%s]\n", section == PARAM_CONTROLLER ? "" : "\n", param_section_name(section),
		*name ? " " : "", name);
	for (int i = 0; i < PARAM_COUNT; i++) {
		if (params[i].section != section)
			continue;
		param_format(&params[i], object, value, sizeof(value));
		fprintf(out, "%-15s =%s%s\n", params[i].key, *value ? " " : "", value);
	}
}

static void print_options(FILE *out, const struct config *config)
{
	const struct policy_ops *policy = policy_find(config->policy);
	char value[CONFIG_NAME_SIZE];

	if (!policy || !policy->nr_options)
		return;
	fprintf(out, "\n[%s]\n", param_section_name(PARAM_POLICY_OPTIONS));
	for (uint32_t i = 0; i < policy->nr_options; i++) {
		struct param param = tuning_param(&policy->options[i]);

		param_format(&param, &config->options[i], value, sizeof(value));
		fprintf(out, "%-15s = %s\n", param.key, value);
	}
}

void config_print(const struct config *config, FILE *out)
{
	print_section(out, PARAM_CONTROLLER, "", config);
	print_options(out, config);
	for (uint32_t i = 0; i < config->nr_services; i++)
		print_section(out, PARAM_SERVICE, config->services[i].name, &config->services[i]);
	for (uint32_t i = 0; i < config->nr_batches; i++)
		print_section(out, PARAM_BATCH, config->batches[i].name, &config->batches[i]);
}

static void print_item(FILE *out, const struct param *param)
{
	char low[32], high[32], known[256];

	fprintf(out, ".It Ic %s No = Ar %s\n%s\n", param->key, param->form, param->help);
	if (param->type == PARAM_POLICY) {
		param_list_policies(known, sizeof(known));
		fprintf(out, "Known are: %s.\n", known);
	}
	if (param->type == PARAM_DURATION || param->type == PARAM_TARGET) {
		param_format_duration(param->min, low, sizeof(low));
		param_format_duration(param->max, high, sizeof(high));
		fprintf(out, "The duration is from %s to %s.\n", low, high);
	} else if (param->max && param->max < UINT64_MAX) {
		fprintf(out, "From %ju to %ju.\n", (uintmax_t)param->min, (uintmax_t)param->max);
	}
	if (!param->standard)
		fprintf(out, "This key must be given.\n");
	else if (*param->standard)
		fprintf(out, "The default is\n.Ql %s .\n", param->standard);
}

static void print_policy(FILE *out, const struct policy_ops *policy)
{
	char standard[CONFIG_NAME_SIZE];

	fprintf(out, ".It Cm %s\n%s", policy->name, policy->help);
	if (!policy->nr_options)
		return;
	fprintf(out, "Its options are:\n.Bl -tag -width Ds\n");
	for (uint32_t i = 0; i < policy->nr_options; i++) {
		struct param param = tuning_param(&policy->options[i]);

		param_format(&param, &policy->options[i].standard, standard, sizeof(standard));
		param.standard = standard;
		print_item(out, &param);
	}
	fprintf(out, ".El\n");
}

static void print_policies(FILE *out)
{
	const char *name;

	fprintf(out, ".Sh POLICIES\n"
		"Options of the policy that decides are keys of a section\n.Ql [policy] ,\n"
		"which may stand above or below the one that names it; options of another policy are errors.\n"
		".Bl -tag -width Ds\n");
	for (unsigned int i = 0; (name = policy_name(i)); i++)
		print_policy(out, policy_find(name));
	fprintf(out, ".El\n");
}

void config_print_reference(FILE *out)
{
	for (unsigned int section = 0; section < PARAM_NR_SECTIONS; section++) {
		if (section == PARAM_POLICY_OPTIONS)
			continue;
		fprintf(out, ".Ss [%s%s]\n.Bl -tag -width Ds\n", param_section_name(section),
			section == PARAM_CONTROLLER ? "" : " NAME");
		for (int i = 0; i < PARAM_COUNT; i++)
			if (params[i].section == section)
				print_item(out, &params[i]);
		fprintf(out, ".El\n");
	}
	print_policies(out);
}
