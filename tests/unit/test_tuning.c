// SPDX-License-Identifier: GPL-2.0
/*
 * test_tuning.c - options of policies: in a file, wherever they stand; on a command line, whatever came first; in a
 * record; and the words of every refusal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fixtures/config_text.h"
#include "tuning.h"

#define PAPER "[controller]\npolicy = parties-paper\n"

static uint32_t value_of(const char *name)
{
	const struct policy_ops *policy = policy_find(config.policy);

	for (uint32_t i = 0; i < policy->nr_options; i++)
		if (!strcmp(policy->options[i].name, name))
			return config.options[i];
	fail_msg("no option %s", name);
	return 0;
}

static void every_table_of_options_is_sound(void **state)
{
	char reason[PARAM_REASON_SIZE], text[32];
	const char *name;
	uint32_t value;

	(void)state;
	for (unsigned int p = 0; (name = policy_name(p)); p++) {
		const struct policy_ops *policy = policy_find(name);

		assert_in_range(policy->nr_options, 0, POLICY_MAX_OPTIONS);
		for (uint32_t i = 0; i < policy->nr_options; i++) {
			const struct policy_option *o = &policy->options[i];
			struct param param = tuning_param(o);

			assert_in_range(strlen(o->name), 1, CONFIG_NAME_SIZE - 1);
			assert_int_equal(strcspn(o->name, " =.;#["), strlen(o->name));
			assert_int_equal(param_find(PARAM_CONTROLLER, o->name), -1); /* --set tells them apart by name */
			assert_int_equal(o->help[strlen(o->help) - 1], '.');
			param_format(&param, &o->standard, text, sizeof(text));
			if (param_parse(&param, text, &value, reason))
				fail_msg("the default of %s: %s", o->name, reason);
			assert_int_equal(value, o->standard);
		}
	}
}

static void options_may_stand_above_or_below_the_policy(void **state)
{
	(void)state;
	accepts(SERVICE);
	assert_int_equal(value_of("overlap"), 0);
	accepts("[policy]\noverlap = yes\n" SERVICE);
	assert_int_equal(value_of("overlap"), 1);
	accepts("[policy]\noverlap = yes\n" PAPER SERVICE);
	assert_int_equal(value_of("overlap"), 1);
	accepts(PAPER SERVICE "[policy]\noverlap = yes\n");
	assert_int_equal(value_of("overlap"), 1);
	accepts(PAPER "[policy]\n" SERVICE);
	assert_int_equal(value_of("overlap"), 0);
}

static void what_the_policy_does_not_know_is_refused_where_it_stands(void **state)
{
	char text[1024], name[32];

	(void)state;
	refuses(SERVICE "[policy]\noverlep = yes\n",
		"t.conf:5: overlep: no option of parties-paper, did you mean 'overlap'?");
	refuses("[policy]\noverlap = yes\n[controller]\npolicy = static\n" SERVICE,
		"t.conf:2: overlap: static has no options");
	refuses(SERVICE "[policy]\noverlap = true\n", "t.conf:5: overlap: 'true' is not known: write no | yes");
	refuses("[policy]\noverlap = no\noverlap = yes\n" SERVICE,
		"t.conf:3: overlap: appears twice in [policy], first on line 2");
	refuses("[policy]\nabcdefghijklmnopqrstuvwxyz0123456789 = 1\n" SERVICE,
		"t.conf:2: abcdefghijklmnopqrstuvwxyz0123456789: no option has a name or a value longer than 31 bytes");
	strcpy(text, "[policy]\n");
	for (int i = 0; i <= POLICY_MAX_OPTIONS; i++) {
		snprintf(name, sizeof(name), "x%d = 1\n", i);
		strcat(text, name);
	}
	refuses(text, "t.conf:18: x16: no policy has more than 16 options");
	parse("[policy]\nxyzzy = 1\n" SERVICE);
	assert_non_null(strstr(error, "t.conf:2: xyzzy: no option of parties-paper; known: "));
	assert_non_null(strstr(error, "overlap"));
}

static void options_are_looked_at_when_the_rest_is_right(void **state)
{
	(void)state;
	refuses("[policy]\nxyzzy = 1\n[service a]\nmatch = nonsense:1\n",
		"t.conf:4: match: 'nonsense:1' says no kind: write pid:N, port:N, cgroup:PATH, unit:NAME or exe:NAME");
}

static void options_are_printed_and_load_to_the_same(void **state)
{
	char *text = NULL;
	size_t length;
	FILE *out;

	(void)state;
	accepts("[policy]\noverlap = yes\n" SERVICE);
	out = open_memstream(&text, &length);
	config_print(&config, out);
	fclose(out);
	assert_non_null(strstr(text, "\n[policy]\noverlap         = yes\n"));
	accepts(text);
	assert_int_equal(value_of("overlap"), 1);
	free(text);
}

static const char *const keys[] = { "policy", "seed", NULL };
static char reason[PARAM_REASON_SIZE];
static bool left_out;

static int change(bool limits, const char *policy, const char *first, const char *second)
{
	const struct tuning_rules rules = { keys, limits };
	const struct option_list set = { .nr = !!first + !!second, .values = { first, second } };

	return tuning_change(&config, &rules, policy, &set, &left_out, reason);
}

static void a_command_line_sets_options_of_the_policy_it_chooses(void **state)
{
	(void)state;
	accepts("[controller]\npolicy = static\n" SERVICE);
	assert_int_equal(change(false, NULL, "overlap = yes", "policy=parties-paper"), 0);
	assert_string_equal(config.policy, "parties-paper");
	assert_int_equal(value_of("overlap"), 1);
	assert_false(left_out);
	accepts("[controller]\npolicy = static\n" SERVICE);
	assert_int_equal(change(false, "parties-paper", "overlap=no", "overlap=yes"), 0);
	assert_int_equal(value_of("overlap"), 1);
	assert_int_equal(change(false, NULL, "seed=9", NULL), 0);
	assert_int_equal(config.seed, 9);
	assert_int_equal(value_of("overlap"), 1);
}

static void an_interval_that_nobody_asks_for_is_the_policys(void **state)
{
	(void)state;
	accepts("[controller]\npolicy = adaptive\n" SERVICE);
	assert_int_equal(config.interval_ns, 100000000);
	assert_int_equal(change(false, "static", "seed=2", NULL), 0);
	assert_int_equal(config.interval_ns, 500000000);
	assert_int_equal(change(false, "parties-released", NULL, NULL), 0);
	assert_int_equal(config.interval_ns, 100000000);
	accepts("[controller]\ninterval = auto\npolicy = adaptive\n" SERVICE);
	assert_int_equal(config.interval_ns, 100000000);
	accepts("[controller]\ninterval = 500ms\npolicy = static\n" SERVICE);
	assert_int_equal(change(false, "adaptive", NULL, NULL), 0);
	assert_int_equal(config.interval_ns, 500000000);
}

static void options_of_another_policy_are_left_out_and_that_is_said(void **state)
{
	(void)state;
	accepts("[policy]\noverlap = yes\n" SERVICE);
	assert_int_equal(change(false, "parties-paper", NULL, NULL), 0);
	assert_int_equal(value_of("overlap"), 1);
	assert_false(left_out);
	assert_int_equal(change(false, "static", NULL, NULL), 0);
	assert_true(left_out);
	assert_int_equal(change(false, "parties-paper", NULL, NULL), 0);
	assert_int_equal(value_of("overlap"), 0);
	assert_false(left_out);
}

static void what_a_command_line_may_not_change_is_refused_with_what_it_may(void **state)
{
	(void)state;
	accepts("[controller]\npolicy = static\n" SERVICE);
	assert_int_equal(change(false, "nope", NULL, NULL), -EINVAL);
	assert_ptr_equal(strstr(reason, "--policy: unknown policy 'nope'; known: parties-paper"), reason);
	assert_int_equal(change(false, NULL, "interval=1s", NULL), -EINVAL);
	assert_string_equal(reason, "--set: interval: nothing depends on it; known: policy, seed");
	assert_int_equal(change(true, NULL, "a.match=pid:2", NULL), -EINVAL);
	assert_string_equal(reason,
			    "--set: a.match: nothing depends on it; known: policy, seed, SERVICE.target, SERVICE.cores");
	assert_int_equal(change(false, NULL, "a.cores=2", NULL), -EINVAL);
	assert_int_equal(change(true, NULL, "b.cores=2", NULL), -EINVAL);
	assert_int_equal(change(false, NULL, "overlap=yes", NULL), -EINVAL);
	assert_int_equal(change(false, NULL, "seed", NULL), -EINVAL);
	assert_string_equal(reason, "--set: 'seed' is not KEY=VALUE");
	assert_int_equal(change(false, NULL, "seed=x", NULL), -EINVAL);
	assert_string_equal(reason, "--set: seed: 'x' is not a whole number");
	assert_int_equal(change(false, NULL, "policy=x", NULL), -EINVAL);
	assert_int_equal(change(false, "parties-paper", "overlap=maybe", NULL), -EINVAL);
	assert_string_equal(reason, "--set: overlap: 'maybe' is not known: write no | yes");
}

static void limits_of_a_service_are_changed_but_its_percentile_is_not(void **state)
{
	(void)state;
	accepts(SERVICE);
	assert_int_equal(change(true, NULL, "a.cores=2..3", "a.target = p99 < 5ms"), 0);
	assert_int_equal(config.services[0].cores_max, 3);
	assert_int_equal(config.services[0].target_ns, 5000000);
	assert_int_equal(change(true, NULL, "a.target=p95 < 9ms", NULL), -EINVAL);
	assert_string_equal(reason, "--set: a.target: the record holds only the percentile p99");
	assert_int_equal(config.services[0].target_ns, 5000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_table_of_options_is_sound),
		cmocka_unit_test(options_may_stand_above_or_below_the_policy),
		cmocka_unit_test(what_the_policy_does_not_know_is_refused_where_it_stands),
		cmocka_unit_test(options_are_looked_at_when_the_rest_is_right),
		cmocka_unit_test(options_are_printed_and_load_to_the_same),
		cmocka_unit_test(a_command_line_sets_options_of_the_policy_it_chooses),
		cmocka_unit_test(an_interval_that_nobody_asks_for_is_the_policys),
		cmocka_unit_test(options_of_another_policy_are_left_out_and_that_is_said),
		cmocka_unit_test(what_a_command_line_may_not_change_is_refused_with_what_it_may),
		cmocka_unit_test(limits_of_a_service_are_changed_but_its_percentile_is_not),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
