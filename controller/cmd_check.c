// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_check.c - `parties check`: glue; the effective configuration, or the first thing wrong with the file or with the
 * machine it speaks of.  It needs no rights and writes nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "allocation.h"
#include "commands.h"
#include "config.h"
#include "machine.h"
#include "match.h"
#include "options.h"
#include "root.h"

/* 0, or what options_exit takes. */
static int parse_options(const char **file, int argc, char **argv)
{
	const struct option_spec specs[] = {
		{ "config", 'c', "FILE", OPTION_STRING, file, "the configuration (required)" },
	};
	const struct option_table table = {
		"check", "-c FILE", "Prints the effective configuration, or what is wrong with it and where", specs, 1,
		0, 0,
	};
	int rc = options_parse(&table, argc, argv);

	if (rc < 0)
		return rc;
	return *file ? 0 : options_error(&table, "-c FILE is missing");
}

/* As a comment, so that what is printed can be loaded again. */
static void print_machine(const struct config *config, const struct topology *topology)
{
	struct machine_opts opts = {
		.root = root_dir(), .topology = topology, .speed = config->speed, .affinity = config->affinity, .cache = config->cache,
		.subtree = config->subtree, .dry = true, .force = true,
	};
	struct machine *machine;
	char error[512];

	if (machine_open(&machine, &opts, error, sizeof(error))) {
		printf("\n; a run cannot steer here: %s\n", error);
		return;
	}
	printf("\n; here: cores=%u %s\n", allocation_assignable(topology, config->reserved_cpus), machine_describe(machine));
	machine_close(machine);
}

int cmd_check(int argc, char **argv)
{
	const char *file = NULL;
	struct topology topology;
	struct config config;
	char error[512];
	int rc = parse_options(&file, argc, argv);

	if (rc)
		return options_exit(rc);
	if (config_load(file, &config, error, sizeof(error))) {
		fprintf(stderr, "%s\n", error);
		return EXIT_USAGE;
	}
	rc = topology_read(root_dir(), &topology);
	if (rc) {
		fprintf(stderr, "parties check: the topology below %s/sys/devices/system/cpu: %s; is /sys mounted?\n",
			root_dir(), strerror(-rc));
		return EXIT_UNABLE;
	}
	rc = match_check(root_dir(), &config, allocation_assignable(&topology, config.reserved_cpus), error, sizeof(error));
	if (rc) {
		fprintf(stderr, "%s\n", error);
		return rc == -EPERM ? EXIT_UNABLE : EXIT_USAGE;
	}
	config_print(&config, stdout);
	print_machine(&config, &topology);
	return EXIT_OK;
}
