// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_replay.c - `parties replay`: glue that decides again from a record and says where that differs from what was
 * recorded.  How a tick is rebuilt is replay.c's business.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "options.h"
#include "record.h"
#include "replay.h"
#include "tuning.h"

struct compare {
	const char *policy;       /* options */
	struct option_list set;
	const char *name;         /* of the record, in messages */
	size_t line;              /* the one at hand, from 1 */
	uint64_t nr_same;         /* decisions before the first difference */
	bool differs, ended;
	struct replay replay;
};

/* One line, then the exit code. */
static int fail(enum exit_code code, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int fail(enum exit_code code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return code;
}

/* What decisions rest on beside the record's numbers: the policy, its options and seed, and a service's limits. */
static int change_config(struct compare *c)
{
	static const char *const keys[] = { "policy", "seed", NULL };
	const struct tuning_rules rules = { keys, true };
	char reason[PARAM_REASON_SIZE];
	bool left_out;

	if (tuning_change(&c->replay.config, &rules, c->policy, &c->set, &left_out, reason))
		return fail(EXIT_USAGE, "parties replay: %s", reason);
	if (left_out)
		fprintf(stderr, "parties replay: the recorded options are of another policy and left out\n");
	return EXIT_OK;
}

/* What the recorded tick left service `i` with is what it has now; nothing is recorded while nobody is confined. */
static bool same_share(const struct replay *r, const json_t *service, uint32_t i)
{
	const json_t *cores = json_object_get(service, "cores"), *speed = json_object_get(service, "speed");
	const struct allocation *a = &r->tick.allocation;

	return !cores || (json_integer_value(cores) == allocation_count(a, (int)i) &&
			  json_integer_value(speed) == a->speed[i] &&
			  json_integer_value(json_object_get(service, "ways")) == (r->tick.ways.nr ? a->ways[i] : 0));
}

static bool same_want(const struct replay *r, const json_t *action, uint32_t i)
{
	const json_t *want = json_object_get(action, "want");
	const struct policy_share *share = &r->tick.report.decision.shares[i];

	return json_integer_value(json_array_get(json_object_get(want, "cores"), i)) == share->cores &&
	       json_integer_value(json_array_get(json_object_get(want, "speed"), i)) == share->speed &&
	       json_integer_value(json_array_get(json_object_get(want, "ways"), i)) == (r->tick.ways.nr ? share->ways : 0);
}

/* The first service that fares otherwise; without one, whom the recorded or the new action is about. */
static const char *find_subject(const struct replay *r, const json_t *line)
{
	const json_t *services = json_object_get(line, "services"), *action = json_object_get(line, "action");
	const char *subject = json_string_value(json_object_get(action, "subject"));
	int32_t now = r->tick.report.decision.subject;

	for (uint32_t i = 0; i < r->config.nr_services; i++)
		if (!same_want(r, action, i) || !same_share(r, json_array_get(services, i), i))
			return r->config.services[i].name;
	if (subject)
		return subject;
	return now >= 0 ? r->config.services[now].name : "none";
}

static bool same_cores(const struct replay *r, const json_t *line)
{
	const json_t *services = json_object_get(line, "services"), *idle = json_object_get(line, "idle_cores");
	const json_t *be = json_object_get(json_object_get(line, "be"), "cores");
	const struct allocation *a = &r->tick.allocation;

	for (uint32_t i = 0; i < r->config.nr_services; i++)
		if (!same_share(r, json_array_get(services, i), i))
			return false;
	return (!be || json_integer_value(be) == allocation_count(a, ALLOCATION_BE)) &&
	       (!idle || json_integer_value(idle) == allocation_count(a, ALLOCATION_IDLE));
}

static void print_in_force(const struct replay *r, const json_t *line)
{
	const json_t *services = json_object_get(line, "services");

	for (uint32_t i = 0; i < r->config.nr_services; i++) {
		const json_t *service = json_array_get(services, i);

		printf("  %s: recorded %" JSON_INTEGER_FORMAT " cores at step %" JSON_INTEGER_FORMAT
		       ", now %u cores at step %u\n", r->config.services[i].name,
		       json_integer_value(json_object_get(service, "cores")),
		       json_integer_value(json_object_get(service, "speed")),
		       allocation_count(&r->tick.allocation, (int)i), r->tick.allocation.speed[i]);
	}
}

static int compare_tick(struct compare *c, const json_t *line)
{
	const struct replay *r = &c->replay;
	char *recorded = json_dumps(json_object_get(line, "action"), JSON_COMPACT), *now = record_action_text(&r->tick);
	double t_s = (double)(r->tick.report.now_ns - r->tick.start_ns) / 1e9;
	uint64_t nr = r->tick.totals.nr_ticks - 1;
	bool same_action = recorded && now && !strcmp(recorded, now), kept = same_action && same_cores(r, line);
	int code = recorded && now ? EXIT_OK : fail(EXIT_FAILED, "parties replay: %s", strerror(ENOMEM));

	if (!code && c->differs) {
		printf("%s:%zu: counterfactual: tick %" PRIu64 ", %.3f s: %s\n", c->name, c->line, nr, t_s, now);
	} else if (!code && !kept) {
		c->differs = true;
		printf("%s:%zu: first difference: tick %" PRIu64 ", %.3f s, service %s\n", c->name, c->line, nr, t_s,
		       find_subject(r, line));
		printf("  recorded: %s\n  now:      %s\n", recorded, now);
		if (same_action)
			print_in_force(r, line);
	}
	c->nr_same += !c->differs;
	free(recorded);
	free(now);
	return code;
}

static int take_line(struct compare *c, const json_t *line)
{
	const char *why;
	int code = EXIT_OK;

	if (c->line == 1) {
		why = replay_header(&c->replay, line);
		if (!why)
			code = change_config(c);
		if (!why && !code)
			why = replay_start(&c->replay);
	} else if (c->ended) {
		why = "a line after the totals";
	} else if (json_is_true(json_object_get(line, "totals"))) {
		c->ended = true;
		return EXIT_OK;
	} else {
		why = replay_tick(&c->replay, line);
		if (!why)
			code = compare_tick(c, line);
	}
	return why ? fail(EXIT_USAGE, "%s:%zu: %s", c->name, c->line, why) : code;
}

static int take_lines(struct compare *c, FILE *in)
{
	json_error_t error;
	char *text = NULL;
	size_t size = 0;
	ssize_t length;
	int code = EXIT_OK;

	while (!code && (length = getline(&text, &size, in)) > 0) {
		json_t *line = json_loadb(text, (size_t)length, JSON_REJECT_DUPLICATES, &error);

		c->line++;
		if (line)
			code = take_line(c, line);
		else
			code = fail(EXIT_USAGE, "%s:%zu: %s%s", c->name, c->line, c->line == 1 ? "not a record: " :
				    text[length - 1] == '\n' ? "" : "the line is cut off: ", error.text);
		json_decref(line);
	}
	free(text);
	if (!code && ferror(in))
		return fail(EXIT_USAGE, "%s: %s", c->name, strerror(errno));
	if (!code && c->replay.tick.totals.nr_ticks == 0)
		return fail(EXIT_USAGE, "%s:%zu: %s", c->name, c->line, c->line ? "no ticks" : "empty");
	return code;
}

static int finish(const struct compare *c)
{
	uint64_t nr = c->replay.tick.totals.nr_ticks;

	if (c->differs)
		printf("%s: %" PRIu64 " decisions as recorded, then one that differs; the %" PRIu64 " after it are "
		       "counterfactual: what they answer was measured under the recorded ones\n", c->name, c->nr_same,
		       nr - c->nr_same - 1);
	else
		printf("%s: %" PRIu64 " decisions, all as recorded\n", c->name, nr);
	return c->differs ? EXIT_FAILED : EXIT_OK;
}

static int compare_file(struct compare *c)
{
	FILE *in = fopen(c->name, "re");
	int code;

	if (!in)
		return fail(EXIT_USAGE, "parties replay: %s: %s", c->name, strerror(errno));
	code = take_lines(c, in);
	fclose(in);
	if (!code)
		code = finish(c);
	return code;
}

/* 0, or what options_exit takes. */
static int parse_options(struct compare *c, int argc, char **argv)
{
	char policies[PARAM_REASON_SIZE] = "instead of the recorded one: ";
	const struct option_spec specs[] = {
		{ "policy", 0, "NAME", OPTION_STRING, &c->policy, policies },
		{ "set", 0, "KEY=VALUE", OPTION_LIST, &c->set,
		  "an option of the policy, or policy, seed, SERVICE.target or SERVICE.cores; may be given again" },
	};
	const struct option_table table = {
		"replay", "RECORD [--policy NAME] [--set KEY=VALUE]...",
		"Decides again from a record and says where that differs", specs,
		sizeof(specs) / sizeof(specs[0]), 1, 1,
	};
	size_t length = strlen(policies);
	int nr;

	param_list_policies(policies + length, sizeof(policies) - length);
	nr = options_parse(&table, argc, argv);

	c->name = argv[1];
	return nr < 0 ? nr : 0;
}

int cmd_replay(int argc, char **argv)
{
	struct compare *c = calloc(1, sizeof(*c));
	int code, err;

	if (!c)
		return fail(EXIT_FAILED, "parties replay: %s", strerror(ENOMEM));
	err = parse_options(c, argc, argv);
	code = err ? options_exit(err) : compare_file(c);
	replay_end(&c->replay);
	free(c);
	return code;
}
