/* SPDX-License-Identifier: GPL-2.0 */
/*
 * managers.h - other programs that set speeds, CPU sets or interrupts on their own.  Port: reads below `root`.
 */
#ifndef PARTIES_MANAGERS_H
#define PARTIES_MANAGERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum manager_of { MANAGER_SPEED, MANAGER_CPUSET, MANAGER_INTERRUPTS };

struct manager {
	const char *name, *remedy; /* "systemctl stop tuned" */
	enum manager_of of;
	pid_t pid; /* 0: it comes and goes, and left its mark */
};

enum { MANAGERS_MAX = 16 };
struct managers {
	uint32_t nr;
	struct manager list[MANAGERS_MAX];
};

/* Negative errno: /proc cannot be read. */
int managers_find(const char *root, struct managers *ret);
/* 0, or -ENOTSUP when one of them sets speeds: `error` names it and says what to do. */
int managers_refuse(const char *root, char *error, size_t error_size);
/* "tuned (pid 12), tlp" of one kind; "" for none. */
void managers_print(const struct managers *m, enum manager_of of, char *buf, size_t size);

#endif
