// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - `parties COMMAND ...`.  Glue: finds the command and hands over; it does none of their work.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "inject.h"
#include "nearest.h"
#include "root.h"

static const struct command {
	const char *name, *purpose;
	int (*run)(int argc, char **argv);
	bool on_tree; /* works on a tree that stands in for "/" */
} commands[] = {
	{ "run", "steer the services of a configuration", cmd_run, true },
	{ "observe", "measure one service, change nothing", cmd_observe, false },
	{ "check", "show the effective configuration, or what is wrong with it", cmd_check, true },
	{ "doctor", "show what this machine lets parties do, and what not", cmd_doctor, true },
	{ "status", "show what a run that is alive does", cmd_status, false },
	{ "top", "the same, again and again", cmd_top, false },
	{ "explain", "say why a service has what it has", cmd_explain, false },
	{ "restore", "undo what a killed run left behind", cmd_restore, true },
	{ "sim", "run the controller on a simulated machine", cmd_sim, false },
	{ "replay", "decide again from a record", cmd_replay, false },
	{ "report", "draw records as figures and tables", cmd_report, false },
};
enum { NR_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static int print_help(void)
{
	printf("usage: parties [--root DIR [--inject FILE]] COMMAND [OPTION]...\n"
	       "Meets the tail latency targets of one machine's services by moving cores and speed between them.\n\n");
	for (int i = 0; i < NR_COMMANDS; i++)
		printf("  %-10s %s\n", commands[i].name, commands[i].purpose);
	printf("\n  --root DIR     a tree that stands in for /: run, check, doctor and restore look and write there\n"
	       "  --inject FILE  faults of that tree's files\n");
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

/* The argument of option `name` when it stands at argv[1], as the next word or after "="; *ret_nr words are used up. */
static const char *take_option(const char *name, int argc, char **argv, int *ret_nr)
{
	size_t len = strlen(name);

	*ret_nr = 2;
	if (argc > 2 && !strcmp(argv[1], name))
		return argv[2];
	*ret_nr = 1;
	return argc > 1 && !strncmp(argv[1], name, len) && argv[1][len] == '=' ? argv[1] + len + 1 : NULL;
}

/* What stands before the command.  0 or an exit code. */
static int take_tree(int *argc, char ***argv)
{
	char error[512] = "";
	const char *word;
	int nr, err;

	word = take_option("--root", *argc, *argv, &nr);
	if (!word)
		return EXIT_OK;
	err = root_set(word);
	if (err)
		snprintf(error, sizeof(error), "--root: %.300s: %s", word, strerror(-err));
	*argc -= nr;
	*argv += nr;
	while (!err && (word = take_option("--inject", *argc, *argv, &nr))) {
		err = inject_load(word, root_dir(), error, sizeof(error));
		*argc -= nr;
		*argv += nr;
	}
	if (!err && inject_nr_rules() && !root_dir()[0])
		err = snprintf(error, sizeof(error), "--inject: only below a tree, not on the machine itself");
	if (err)
		fprintf(stderr, "parties: %s\n", error);
	return err ? EXIT_USAGE : EXIT_OK;
}

static int run_command(const struct command *command, int argc, char **argv)
{
	if (command->on_tree || !root_dir()[0]) {
		int code = command->run(argc, argv);

		for (size_t i = 0; i < inject_nr_rules(); i++)
			if (inject_unused(i))
				fprintf(stderr, "parties: %s: nothing was done that this rule names\n", inject_unused(i));
		return code;
	}
	fprintf(stderr, "parties: %s does not work on a tree: leave --root out\n", command->name);
	return EXIT_USAGE;
}

/*
 * Who closes a standard stream would find it again as the first file that we open, and our messages in it.  Opened the wrong
 * way round, so that using it fails.
 */
static void open_streams(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDONLY);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/* What a command says is part of its work. */
static int close_output(const char *command, int code)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	fprintf(stderr, "parties %s: the output cannot be written%s%s\n", command, errno ? ": " : "",
		errno ? strerror(errno) : "");
	return code ? code : EXIT_FAILED;
}

static int take_command(int argc, char **argv)
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
			return run_command(&commands[i], argc - 1, argv + 1);
	return error_unknown(argv[1]);
}

int main(int argc, char **argv)
{
	int code;

	open_streams();
	code = take_tree(&argc, &argv);
	return code ? code : close_output(argc > 1 ? argv[1] : "", take_command(argc, argv));
}
