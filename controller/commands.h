/* SPDX-License-Identifier: GPL-2.0 */
/*
 * commands.h - the subcommands of `parties`; each in cmd_<name>.c, argv[0] is the subcommand's name.
 */
#ifndef PARTIES_COMMANDS_H
#define PARTIES_COMMANDS_H

enum exit_code { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_UNABLE = 3, EXIT_RESTORED = 4 };

int cmd_run(int argc, char **argv);
int cmd_observe(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_restore(int argc, char **argv);
int cmd_sim(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_report(int argc, char **argv);

#endif
