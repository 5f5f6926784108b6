/* SPDX-License-Identifier: GPL-2.0 */
/*
 * refusal.h - why the kernel did not take our programs, by what can be seen of the machine.  Pure: programs.c looks.
 */
#ifndef EBEE_REFUSAL_H
#define EBEE_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum refusal {
	REFUSAL_NO_BPF,          /* the kernel was built without the system call */
	REFUSAL_NO_BTF,          /* or without its types, or they are hidden from us */
	REFUSAL_CAPABILITY,
	REFUSAL_USER_NAMESPACE,  /* the capabilities we have are good only inside it */
	REFUSAL_LOCKDOWN,
	REFUSAL_SECCOMP,         /* a container's filter, or a unit's */
	REFUSAL_SECURITY_MODULE, /* or whoever else says no to those who may */
	REFUSAL_MODULES,         /* libbpf looks in modules for functions this kernel lacks, and may not */
	REFUSAL_MEMORY,
	REFUSAL_OLD_KERNEL,
	REFUSAL_OTHER,
};

struct refusal_facts {
	int err;               /* negative errno of the step that failed */
	bool has_bpf, has_btf;
	uint64_t capabilities; /* effective, a bit each */
	bool user_namespace;   /* not the first one */
	bool seccomp;          /* this process runs under a filter */
	const char *lockdown;  /* text of /sys/kernel/security/lockdown, "" when it cannot be read */
	const char *release;   /* of uname(2) */
	const char *detail;    /* the last word of libbpf, or "" */
};

enum refusal refusal_cause(const struct refusal_facts *facts);
/* One line: the cause and what to do. */
void refusal_explain(const struct refusal_facts *facts, char *buf, size_t size);
/* -ENOTSUP: this kernel cannot; -EPERM: it may not; or err itself. */
int refusal_errno(const struct refusal_facts *facts);

#endif
