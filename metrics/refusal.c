// SPDX-License-Identifier: GPL-2.0
/*
 * refusal.c - pure: from an error and what is known of the machine to one cause and its remedy.  It looks at nothing.
 */
#include "refusal.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

enum { OLDEST_MAJOR = 6, OLDEST_MINOR = 1 }; /* the oldest kernel that tests run on */

static bool has(const struct refusal_facts *facts, unsigned int capability)
{
	return facts->capabilities >> capability & 1 || facts->capabilities >> CAP_SYS_ADMIN & 1;
}

static bool is_old(const char *release)
{
	unsigned int major, minor;

	return sscanf(release, "%u.%u", &major, &minor) == 2 &&
	       (major < OLDEST_MAJOR || (major == OLDEST_MAJOR && minor < OLDEST_MINOR));
}

/* Who may not, hears that; only for those who may is it somebody else who refuses. */
static enum refusal forbidden(const struct refusal_facts *facts)
{
	if (!has(facts, CAP_BPF) || !has(facts, CAP_PERFMON))
		return REFUSAL_CAPABILITY;
	if (facts->user_namespace)
		return REFUSAL_USER_NAMESPACE;
	if (strstr(facts->lockdown, "[confidentiality]"))
		return REFUSAL_LOCKDOWN;
	return facts->seccomp ? REFUSAL_SECCOMP : REFUSAL_SECURITY_MODULE;
}

enum refusal refusal_cause(const struct refusal_facts *facts)
{
	/* The types are there only where the system call is: then a filter hides it. */
	if (!facts->has_bpf || facts->err == -ENOSYS)
		return facts->has_btf && facts->seccomp ? REFUSAL_SECCOMP : REFUSAL_NO_BPF;
	if (!facts->has_btf)
		return REFUSAL_NO_BTF;
	if (facts->err == -EPERM)
		return forbidden(facts);
	/* The verifier's word, too, for what only CAP_PERFMON may do. */
	if (facts->err == -EACCES && forbidden(facts) == REFUSAL_CAPABILITY)
		return REFUSAL_CAPABILITY;
	if (facts->err == -ENOMEM)
		return REFUSAL_MEMORY;
	/* Seen with libbpf 1.1 on Linux 6.1; for those with fewer rights the first that is missing comes first. */
	if (strstr(facts->detail, "iterate BTF objects") && !(facts->capabilities >> CAP_SYS_ADMIN & 1))
		return forbidden(facts) == REFUSAL_CAPABILITY ? REFUSAL_CAPABILITY : REFUSAL_MODULES;
	if (strstr(facts->lockdown, "[confidentiality]"))
		return REFUSAL_LOCKDOWN; /* it takes helpers away, which the verifier then does not know */
	return is_old(facts->release) ? REFUSAL_OLD_KERNEL : REFUSAL_OTHER;
}

int refusal_errno(const struct refusal_facts *facts)
{
	switch (refusal_cause(facts)) {
	case REFUSAL_NO_BPF:
	case REFUSAL_NO_BTF:
	case REFUSAL_OLD_KERNEL:
		return -ENOTSUP;
	case REFUSAL_CAPABILITY:
	case REFUSAL_USER_NAMESPACE:
	case REFUSAL_LOCKDOWN:
	case REFUSAL_SECCOMP:
	case REFUSAL_SECURITY_MODULE:
	case REFUSAL_MODULES:
		return -EPERM;
	case REFUSAL_MEMORY:
	case REFUSAL_OTHER:
		break;
	}
	return facts->err;
}

void refusal_explain(const struct refusal_facts *facts, char *buf, size_t size)
{
	const char *detail = facts->detail[0] ? ": " : "";

	switch (refusal_cause(facts)) {
	case REFUSAL_NO_BPF:
		snprintf(buf, size, "this kernel has no BPF system call; it needs CONFIG_BPF_SYSCALL and CONFIG_DEBUG_INFO_BTF");
		break;
	case REFUSAL_NO_BTF:
		snprintf(buf, size, "this kernel has no type information, or it is hidden (/sys/kernel/btf/vmlinux); "
			 "it needs CONFIG_DEBUG_INFO_BTF, and /sys where we run");
		break;
	case REFUSAL_CAPABILITY:
		snprintf(buf, size, "missing %s%s%s; run as root, or give the process CAP_BPF and CAP_PERFMON",
			 has(facts, CAP_BPF) ? "" : "CAP_BPF (to load kernel programs)",
			 has(facts, CAP_BPF) || has(facts, CAP_PERFMON) ? "" : " and ",
			 has(facts, CAP_PERFMON) ? "" : "CAP_PERFMON (to attach kernel programs)");
		break;
	case REFUSAL_MODULES:
		snprintf(buf, size, "missing CAP_SYS_ADMIN (before Linux 6.4, to look in modules for functions that newer kernels have); "
			 "run as root, or give the process CAP_SYS_ADMIN");
		break;
	case REFUSAL_USER_NAMESPACE:
		snprintf(buf, size, "capabilities of a user namespace do not count for kernel programs; "
			 "run outside of it (as root, not in a rootless container)");
		break;
	case REFUSAL_LOCKDOWN:
		snprintf(buf, size, "kernel lockdown is at confidentiality (/sys/kernel/security/lockdown), which forbids kernel "
			 "programs to read any memory; boot with lockdown=integrity or none");
		break;
	case REFUSAL_SECCOMP:
		snprintf(buf, size, "a seccomp filter refuses the bpf system call; allow it in the container's profile, "
			 "or in the unit's SystemCallFilter=");
		break;
	case REFUSAL_SECURITY_MODULE:
		snprintf(buf, size, "refused in spite of CAP_BPF and CAP_PERFMON%s%s; a security module (AppArmor, SELinux) or the "
			 "kernel's own restrictions may say no: see the kernel log", detail, facts->detail);
		break;
	case REFUSAL_MEMORY:
		snprintf(buf, size, "no memory for BPF maps; raise memory.max of our cgroup, or before Linux 5.11 RLIMIT_MEMLOCK");
		break;
	case REFUSAL_OLD_KERNEL:
		snprintf(buf, size, "BPF programs did not load on Linux %s: %s; 6.1 or newer is needed", facts->release,
			 strerror(-facts->err));
		break;
	case REFUSAL_OTHER:
		snprintf(buf, size, "BPF programs did not load: %s%s%s", strerror(-facts->err), detail, facts->detail);
		break;
	}
}
