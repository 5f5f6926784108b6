// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_status.c - `parties status` and `parties top`: glue that asks a run and shows its answer, once or again
 * and again.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "ask.h"
#include "commands.h"
#include "loop.h"
#include "options.h"
#include "overview.h"
#include "record.h"

/* The other screen of a terminal, without a cursor, and back. */
static const char ENTER[] = "\033[?1049h\033[?25l", LEAVE[] = "\033[?25h\033[?1049l", HOME[] = "\033[H",
		  REST[] = "\033[J";

enum { SIGNALS_MAX = 4 };
static const int end_signals[SIGNALS_MAX] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
static volatile sig_atomic_t end_signal, stop_signal;

static int fail(const char *command, int err, const char *error)
{
	fprintf(stderr, "parties %s: %s\n", command, error);
	return err == -EACCES ? EXIT_UNABLE : err == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

int cmd_status(int argc, char **argv)
{
	char error[512] = "";
	struct overview view = { 0 };
	const char *no_color = getenv("NO_COLOR");
	json_t *status = NULL;
	uint64_t wanted = 0;
	uint32_t pid = 0;
	bool json = false;
	const struct option_spec specs[] = {
		{ "json", 0, NULL, OPTION_FLAG, &json, "the whole answer, for programs" },
		{ "pid", 0, "N", OPTION_U64, &wanted, "the run with this pid, where there are several" },
	};
	const struct option_table table = {
		"status", "[--json] [--pid N]", "Shows what a run that is alive does", specs,
		sizeof(specs) / sizeof(specs[0]), 0, 0,
	};
	int err = options_parse(&table, argc, argv);

	if (err < 0)
		return options_exit(err);
	err = ask_find(wanted, &pid, error, sizeof(error));
	if (!err)
		err = ask_status(pid, &status, error, sizeof(error));
	if (err)
		return fail("status", err, error);
	view.color = isatty(STDOUT_FILENO) && (!no_color || !*no_color);
	if (json)
		json_dumpf(status, stdout, RECORD_DUMP_FLAGS);
	else
		overview_print(&view, status, stdout);
	if (json)
		putchar('\n');
	json_decref(status);
	return EXIT_OK;
}

static void on_signal(int signo)
{
	if (signo == SIGTSTP)
		stop_signal = signo;
	else if (signo != SIGWINCH)
		end_signal = signo;
}

/* They interrupt the wait between two pictures; how a terminal looks is put right outside of the handler. */
static void catch_signals(bool is_screen)
{
	struct sigaction action = { .sa_handler = on_signal };

	for (int i = 0; i < SIGNALS_MAX; i++)
		sigaction(end_signals[i], &action, NULL);
	if (!is_screen)
		return;
	sigaction(SIGTSTP, &action, NULL);
	sigaction(SIGWINCH, &action, NULL);
}

static void put(const char *text)
{
	fputs(text, stdout);
	fflush(stdout);
}

static void stand_still(void)
{
	stop_signal = 0;
	put(LEAVE);
	raise(SIGSTOP);
	put(ENTER);
}

static int show(uint32_t pid, struct overview *view, char *error, size_t error_size)
{
	struct winsize size = { 0 };
	json_t *status;
	int err = ask_status(pid, &status, error, error_size);

	if (err)
		return err;
	if (view->screen && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
		view->width = size.ws_col;
		view->rows = size.ws_row;
	}
	if (view->screen)
		fputs(HOME, stdout);
	overview_print(view, status, stdout);
	fputs(view->screen ? REST : "\n", stdout);
	json_decref(status);
	return fflush(stdout) || ferror(stdout) ? -EIO : 0;
}

/* Until somebody has enough, or the run is over. */
static int watch(uint32_t pid, struct overview *view, uint64_t interval_ns, uint64_t for_ns, char *error,
		 size_t error_size)
{
	const struct timespec wait = { (time_t)(interval_ns / 1000000000), (long)(interval_ns % 1000000000) };
	uint64_t start_ns = loop_now_ns();
	int err = 0;

	while (!err && !end_signal) {
		err = show(pid, view, error, error_size);
		if (err || (for_ns && loop_now_ns() - start_ns + interval_ns > for_ns))
			break;
		if (!end_signal && !stop_signal)
			nanosleep(&wait, NULL);
		if (stop_signal)
			stand_still();
	}
	return err;
}

int cmd_top(int argc, char **argv)
{
	char error[512] = "";
	struct overview view = { 0 };
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	uint64_t wanted = 0, interval_ns = 1000000000, for_ns = 0;
	uint32_t pid = 0;
	const struct option_spec specs[] = {
		{ "pid", 0, "N", OPTION_U64, &wanted, "the run with this pid, where there are several" },
		{ "interval", 0, "DUR", OPTION_DURATION, &interval_ns, "between two pictures; 1s" },
		{ "for", 0, "DUR", OPTION_DURATION, &for_ns, "end after this long" },
	};
	const struct option_table table = {
		"top", "[--pid N] [--interval DUR] [--for DUR]", "Shows what a run does, again and again", specs,
		sizeof(specs) / sizeof(specs[0]), 0, 0,
	};
	int err = options_parse(&table, argc, argv);

	if (err < 0)
		return options_exit(err);
	if (interval_ns < 100000000)
		return options_exit(options_error(&table, "--interval: 100ms or more"));
	err = ask_find(wanted, &pid, error, sizeof(error));
	if (err)
		return fail("top", err, error);
	view.screen = isatty(STDOUT_FILENO) && term && strcmp(term, "dumb");
	view.color = view.screen && (!no_color || !*no_color);
	catch_signals(view.screen);
	if (view.screen)
		put(ENTER);
	err = watch(pid, &view, interval_ns, for_ns, error, sizeof(error));
	if (view.screen)
		put(LEAVE);
	if (err == -ESRCH) {
		printf("%s\n", error);
		err = 0;
	}
	return err && err != -EIO ? fail("top", err, error) : EXIT_OK;
}
