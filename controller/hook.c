// SPDX-License-Identifier: GPL-2.0
/*
 * hook.c - port: spawns one program with the signals it would have had from a shell.
 */
#include "hook.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void hook_start(const char *program, const char *service)
{
	char *argv[] = { (char *)program, (char *)service, NULL };
	posix_spawnattr_t attr;
	sigset_t none, defaults;
	pid_t pid;
	int err;

	fprintf(stderr, "event=infeasible service=\"%s\" hook=\"%s\"\n", service, program);
	if (!program[0])
		return;
	sigemptyset(&none);
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	sigaddset(&defaults, SIGXFSZ);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	err = posix_spawn(&pid, argv[0], NULL, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	if (err)
		fprintf(stderr, "event=hook-failed hook=\"%s\" error=\"%s\"\n", argv[0], strerror(err));
}
