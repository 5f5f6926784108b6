// SPDX-License-Identifier: GPL-2.0
/*
 * gnuplot.c - port: spawns gnuplot with files in memory as its standard input and output.  It knows no figure.
 */
#include "gnuplot.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static FILE *memory_file(void)
{
	int fd = memfd_create("gnuplot", MFD_CLOEXEC);
	FILE *ret = fd < 0 ? NULL : fdopen(fd, "w+");

	if (!ret && fd >= 0)
		close(fd);
	return ret;
}

FILE *gnuplot_script(void)
{
	return memory_file();
}

static int spawn_and_wait(int in, int out)
{
	char name[] = "gnuplot", *argv[] = { name, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	int err, status = 0;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	/* The caller may hold signals back; the child must not. */
	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attr, &none);
	err = posix_spawnp(&pid, argv[0], &actions, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	if (err)
		return -err;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

int gnuplot_run(FILE *script, FILE **ret)
{
	FILE *out = memory_file();
	int err = out ? 0 : -ENOMEM;

	if (!err && (fflush(script) == EOF || ferror(script)))
		err = -EIO;
	rewind(script);
	if (!err)
		err = spawn_and_wait(fileno(script), fileno(out));
	fclose(script);
	/* The child moved the offset they share. */
	if (!err && fseek(out, 0, SEEK_END) == 0 && ftell(out) == 0)
		err = -EIO;
	if (err) {
		if (out)
			fclose(out);
		return err;
	}
	rewind(out);
	*ret = out;
	return 0;
}
