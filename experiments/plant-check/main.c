// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - plant-check: is the simulated machine what theory and the published services say, and how fast is it?  Glue:
 * it chooses what is checked; tables go to standard output, progress to standard error.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "options.h"

enum { LEAST_REQUESTS = 10000, MOST_REQUESTS = 1000000000 };

static const char help[] =
	"usage: plant-check [--requests N] [--only theory|services|speed] [SCENARIO]\n"
	"Compares the simulated machine with queueing theory and with the published services, and times it.\n"
	"With a scenario: only whether each of its services, alone on its machine, leaves slack to steer by.\n\n"
	"  --requests N   per row of theory's table; a tenth of it per cell of the services' (default 40000000)\n"
	"  --only PART    theory, services or speed (default: all three)\n"
	"  -h, --help     print this\n\n"
	"Exits with 1 when a row of theory is off by more than 2 %, or a service leaves no slack to steer by.\n";

/* 0, or the exit code plus one. */
static int parse(int argc, char **argv, uint64_t *nr_requests, const char **only, const char **scenario)
{
	static const struct option options[] = {
		{ "requests", required_argument, NULL, 'n' }, { "only", required_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' }, { NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			return 1;
		}
		if (c == '?')
			return 3; /* getopt has said why */
		if (c == 'o')
			*only = optarg;
		else if ( options_parse_u64(optarg, nr_requests) || *nr_requests < LEAST_REQUESTS ||
			 *nr_requests > MOST_REQUESTS) {
			fprintf(stderr, "plant-check: --requests: %d to %d; see plant-check --help\n", LEAST_REQUESTS,
				MOST_REQUESTS);
			return 3;
		}
	}
	if (*only && strcmp(*only, "theory") && strcmp(*only, "services") && strcmp(*only, "speed")) {
		fprintf(stderr, "plant-check: --only: '%s' is not known; see plant-check --help\n", *only);
		return 3;
	}
	if (argc - optind > 1 || (argc > optind && *only && strcmp(*only, "services"))) {
		fprintf(stderr, "plant-check: '%s' is too much; see plant-check --help\n", argv[argc - 1]);
		return 3;
	}
	if (argc > optind) {
		*scenario = argv[optind];
		*only = "services";
	}
	return 0;
}

static bool is_wanted(const char *only, const char *part)
{
	return !only || !strcmp(only, part);
}

int main(int argc, char **argv)
{
	uint64_t nr_requests = 40000000;
	const char *only = NULL, *scenario = NULL;
	int code = parse(argc, argv, &nr_requests, &only, &scenario), nr_theory = 0, nr_services = 0;

	if (code)
		return code - 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (is_wanted(only, "theory"))
		nr_theory = check_theory(nr_requests);
	if (is_wanted(only, "services"))
		nr_services = check_services(scenario, nr_requests / 10);
	if (is_wanted(only, "speed"))
		check_speed();
	if (nr_services < 0 && scenario)
		return 2;
	return nr_theory || nr_services;
}
