// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_sim.c - `parties sim`: glue that runs the tick on the simulated machine, in virtual time and without any rights.
 * What is simulated is experiments/plant's business.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "experiments/oracle/score.h"
#include "experiments/plant/plant.h"
#include "feedback.h"
#include "options.h"
#include "params.h"
#include "record_file.h"
#include "status.h"
#include "tuning.h"

struct sim {
	const char *policy, *record_path, *oracle_dir;
	uint64_t seed;
	bool json;
	struct option_list set;

	struct plant *plant;
	struct feedback feedback;
	struct config config; /* the scenario's, with what the command line changes */
	struct record *record;
	struct tick tick;
	struct status status;
	struct oracle *oracle; /* NULL: nobody asked */
	struct oracle_answer answer; /* for the time until the next tick */
	struct score score;
};

/* One line, then the exit code. */
static int fail(enum exit_code code, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int fail(enum exit_code code, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "parties sim: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return code;
}

/* 0, or what options_exit takes. */
static int parse_options(struct sim *sim, int argc, char **argv)
{
	char policies[PARAM_REASON_SIZE] = "instead of the scenario's: ";
	const struct option_spec specs[] = {
		{ "policy", 0, "NAME", OPTION_STRING, &sim->policy, policies },
		{ "set", 0, "KEY=VALUE", OPTION_LIST, &sim->set,
		  "an option of the policy, or policy, interval, feedback or seed; may be given again" },
		{ "seed", 0, "N", OPTION_U64, &sim->seed, "of the loads and the policy; 0, the default: the scenario's" },
		{ "record", 0, "FILE", OPTION_STRING, &sim->record_path, "write the run as JSON lines" },
		{ "oracle", 0, "DIR", OPTION_STRING, &sim->oracle_dir,
		  "compare with what nobody who steers can know; DIR keeps what was found, which takes minutes at first" },
		{ "json", 0, NULL, OPTION_FLAG, &sim->json, "print the totals as one JSON object and nothing else" },
	};
	const struct option_table table = {
		"sim",
		"SCENARIO [--policy NAME] [--set KEY=VALUE]... [--seed N] [--record FILE] [--oracle DIR] [--json]",
		"Plays a scenario on a simulated machine with the controller in charge", specs,
		sizeof(specs) / sizeof(specs[0]), 1, 1,
	};
	size_t length = strlen(policies);
	int nr;

	param_list_policies(policies + length, sizeof(policies) - length);
	nr = options_parse(&table, argc, argv);

	return nr < 0 ? nr : 0;
}

static int change_config(struct sim *sim)
{
	/* What shapes the machine is the scenario's. */
	static const char *const keys[] = { "policy", "interval", "feedback", "seed", NULL };
	const struct tuning_rules rules = { keys, false };
	char reason[PARAM_REASON_SIZE];
	bool left_out;

	if (sim->seed)
		sim->config.seed = sim->seed;
	if (tuning_change(&sim->config, &rules, sim->policy, &sim->set, &left_out, reason))
		return fail(EXIT_USAGE, "%s", reason);
	if (left_out)
		fprintf(stderr, "parties sim: the scenario's [policy] is for another policy and left out\n");
	return EXIT_OK;
}

static int open_files(struct sim *sim, const char *scenario)
{
	char error[512];
	int err = plant_open(&sim->plant, scenario, sim->seed, error, sizeof(error));

	if (err) {
		fprintf(stderr, "%s\n", error);
		return EXIT_USAGE;
	}
	sim->config = *plant_config(sim->plant);
	err = change_config(sim);
	if (!err && sim->oracle_dir &&
	    oracle_open(&sim->oracle, sim->plant, scenario, sim->oracle_dir, error, sizeof(error)))
		return fail(EXIT_USAGE, "--oracle: %s", error);
	if (err || !sim->record_path)
		return err;
	err = record_open(&sim->record, sim->record_path);
	return err ? fail(EXIT_USAGE, "--record: %s: %s", sim->record_path, strerror(-err)) : EXIT_OK;
}

/* The tick has been made; the oracle is asked for the time until the next. */
static int compare(struct sim *sim, uint64_t now_ns)
{
	uint64_t half_ns = sim->config.interval_ns / 2;
	const struct allocation *a = &sim->tick.allocation;
	struct policy_share shares[POLICY_MAX_SERVICES];
	struct oracle_answer was = sim->answer;
	double jump_s = now_ns ? oracle_jump_s(sim->oracle, now_ns - half_ns, now_ns + half_ns) : -1;

	if (oracle_ask(sim->oracle, now_ns + half_ns, &sim->answer))
		return -ENOMEM;
	if (jump_s >= 0)
		score_change(&sim->score, jump_s);
	for (uint32_t i = 0; i < sim->config.nr_services; i++)
		shares[i] = (struct policy_share){ .cores = allocation_count(a, (int)i), .speed = a->speed[i] };
	score_tick(&sim->score, &sim->tick, &was, sim->answer.feasible,
		   oracle_is_valid(sim->oracle, &sim->answer, shares));
	sim->tick.totals.impossible = !sim->answer.feasible;
	return 0;
}

static int play(struct sim *sim)
{
	uint64_t interval_ns = sim->config.interval_ns, last_ns = 0;
	int err = 0;

	for (uint64_t now_ns = 0; now_ns <= plant_duration_ns(sim->plant) && !err; now_ns += interval_ns) {
		plant_advance(sim->plant, now_ns);
		err = tick_step(&sim->tick, now_ns, now_ns - last_ns);
		last_ns = now_ns;
		if (!err && sim->oracle)
			err = compare(sim, now_ns);
		if (sim->record)
			record_tick(sim->record, &sim->tick);
		status_tick(&sim->status, &sim->tick);
	}
	return err;
}

static int finish(struct sim *sim, int run_err)
{
	struct record_totals totals;
	int code = run_err ? fail(EXIT_FAILED, "%s: %s", strerror(-run_err), sim->tick.report.outcome.where) : EXIT_OK;
	int err;

	tick_totals(&sim->tick, &totals);
	if (sim->oracle) {
		score_finish(&sim->score, &sim->tick);
		totals.oracle = &sim->score.result;
	}
	if (sim->record)
		record_totals(sim->record, &totals);
	err = record_close(sim->record);
	sim->record = NULL;
	if (err)
		code = fail(EXIT_FAILED, "the record %s is incomplete: %s", sim->record_path, strerror(-err));
	if (sim->json)
		err = record_print_totals(&totals, stdout);
	else
		status_summary(&sim->tick, &totals, stdout);
	if (err && !ferror(stdout))
		code = fail(EXIT_FAILED, "%s", strerror(-err));
	return code;
}

static int run(struct sim *sim)
{
	int err;

	sim->feedback = (struct feedback){ .kind = sim->config.feedback, .kernel = plant_sensor(sim->plant),
					   .client = plant_client_sensor(sim->plant) };
	sim->tick = (struct tick){
		.config = &sim->config, .topology = plant_topology(sim->plant), .ladder = plant_ladder(sim->plant),
		.sensor = feedback_port(&sim->feedback), .actuator = plant_actuator(sim->plant),
		.policy = policy_find(sim->config.policy), .steer = true,
	};
	err = tick_init(&sim->tick, sim->config.nr_batches);
	if (err)
		return fail(EXIT_FAILED, "%s", strerror(-err));
	if (sim->record)
		record_header(sim->record, &sim->tick, "sim", "simulated");
	score_init(&sim->score);
	status_init(&sim->status, sim->json ? -1 : STDOUT_FILENO);
	return finish(sim, play(sim));
}

int cmd_sim(int argc, char **argv)
{
	struct sim *sim = calloc(1, sizeof(*sim));
	int code, err;

	if (!sim)
		return fail(EXIT_FAILED, "%s", strerror(ENOMEM));
	err = parse_options(sim, argc, argv);
	code = err ? options_exit(err) : open_files(sim, argv[1]);
	if (!code && !err)
		code = run(sim);
	tick_fini(&sim->tick);
	record_close(sim->record);
	oracle_close(sim->oracle);
	plant_close(sim->plant);
	free(sim);
	return code;
}
