// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - `parties COMMAND ...`.  Glue: finds the command and hands over; it does none of their work.
 */
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "nearest.h"

static const struct command {
	const char *name, *purpose;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "run", "steer the services of a configuration", cmd_run },
	{ "observe", "measure one service, change nothing", cmd_observe },
	{ "check", "show the effective configuration, or what is wrong with it", cmd_check },
	{ "doctor", "show what this machine lets parties do, and what not", cmd_doctor },
	{ "restore", "undo what a killed run left behind", cmd_restore },
	{ "sim", "run the controller on a simulated machine", cmd_sim },
	{ "replay", "decide again from a record", cmd_replay },
	{ "report", "draw records as figures and tables", cmd_report },
};
enum { NR_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static int print_help(void)
{
	printf("usage: parties COMMAND [OPTION]...\n"
	       "Meets the tail latency targets of one machine's services by moving cores and speed between them.\n\n");
	for (int i = 0; i < NR_COMMANDS; i++)
		printf("  %-10s %s\n", commands[i].name, commands[i].purpose);
	printf("\n`parties COMMAND --help` lists a command's options; `parties --version` prints the version.\n"
	       "Exit codes: 0 ok, 1 ran and failed, 2 usage or configuration, 3 this machine cannot,\n"
	       "4 restored after an error.\n");
	return EXIT_OK;
}

static int error_unknown(const char *word)
{
	struct nearest nearest = { .word = word };

	for (int i = 0; i < NR_COMMANDS; i++)
		nearest_offer(&nearest, commands[i].name);
	fprintf(stderr, "parties: unknown command '%s'", word);
	if (nearest.best)
		fprintf(stderr, ", did you mean '%s'?", nearest.best);
	fprintf(stderr, "; see parties --help\n");
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "parties: a command is missing; see parties --help\n");
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return print_help();
	if (!strcmp(argv[1], "--version")) {
		printf("parties %s\n", PARTIES_VERSION);
		return EXIT_OK;
	}
	for (int i = 0; i < NR_COMMANDS; i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	return error_unknown(argv[1]);
}
