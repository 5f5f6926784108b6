// SPDX-License-Identifier: GPL-2.0
/*
 * test_refusal.c - one cause and one remedy for each way the kernel can refuse our programs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <linux/capability.h>
#include <string.h>

#include "refusal.h"

#define BIT(capability) (1ULL << (capability))

static const uint64_t enough = BIT(CAP_BPF) | BIT(CAP_PERFMON), all = BIT(CAP_LAST_CAP + 1) - 1;
static const char integrity[] = "none [integrity] confidentiality\n";
static const char confidentiality[] = "none integrity [confidentiality]\n";

/* A machine on which all is well but for `err`. */
static struct refusal_facts facts_of(int err, uint64_t capabilities)
{
	return (struct refusal_facts){
		.err = err, .has_bpf = true, .has_btf = true, .capabilities = capabilities,
		.lockdown = "", .release = "6.1.0-18-amd64", .detail = "",
	};
}

static void assert_says(const struct refusal_facts *facts, enum refusal cause, int err, const char *word)
{
	char text[512];

	assert_int_equal(refusal_cause(facts), cause);
	assert_int_equal(refusal_errno(facts), err);
	refusal_explain(facts, text, sizeof(text));
	if (!strstr(text, word) || strchr(text, '\n') || strlen(text) > 240)
		fail_msg("'%s' should have '%s', in one line", text, word);
}

static void a_missing_capability_is_named_and_no_other(void **state)
{
	const struct {
		uint64_t capabilities;
		const char *missing, *present;
	} cases[] = {
		{ 0, "missing CAP_BPF (to load kernel programs) and CAP_PERFMON (", "\n" },
		{ BIT(CAP_BPF), "missing CAP_PERFMON (", "CAP_BPF (" },
		{ BIT(CAP_PERFMON), "missing CAP_BPF (", "CAP_PERFMON (" },
		{ all & ~enough & ~BIT(CAP_SYS_ADMIN), "missing CAP_BPF (", "\n" },
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const int errs[] = { -EPERM, -EACCES };

		for (size_t k = 0; k < 2; k++) {
			struct refusal_facts facts = facts_of(errs[k], cases[i].capabilities);

			facts.lockdown = confidentiality; /* who may not is told that first */
			facts.seccomp = facts.user_namespace = true;
			assert_says(&facts, REFUSAL_CAPABILITY, -EPERM, cases[i].missing);
			refusal_explain(&facts, text, sizeof(text));
			assert_null(strstr(text, cases[i].present));
		}
	}
}

static void those_who_may_are_told_who_refuses(void **state)
{
	const uint64_t sufficient[] = { enough, BIT(CAP_SYS_ADMIN), all };
	struct refusal_facts facts;

	(void)state;
	for (size_t i = 0; i < sizeof(sufficient) / sizeof(sufficient[0]); i++) {
		facts = facts_of(-EPERM, sufficient[i]);
		facts.lockdown = integrity;
		assert_says(&facts, REFUSAL_SECURITY_MODULE, -EPERM, "security module");
		facts.seccomp = true;
		assert_says(&facts, REFUSAL_SECCOMP, -EPERM, "seccomp");
		facts.lockdown = confidentiality;
		assert_says(&facts, REFUSAL_LOCKDOWN, -EPERM, "lockdown=integrity");
		facts.user_namespace = true;
		assert_says(&facts, REFUSAL_USER_NAMESPACE, -EPERM, "user namespace");
	}
}

static void who_may_not_look_in_modules_is_told_so(void **state)
{
	struct refusal_facts facts = facts_of(-EINVAL, enough);

	(void)state;
	facts.detail = "libbpf: failed to iterate BTF objects: -1";
	assert_says(&facts, REFUSAL_MODULES, -EPERM, "missing CAP_SYS_ADMIN (before Linux 6.4");
	facts.capabilities = BIT(CAP_BPF);
	assert_says(&facts, REFUSAL_CAPABILITY, -EPERM, "missing CAP_PERFMON");
	facts.capabilities = all;
	assert_says(&facts, REFUSAL_OTHER, -EINVAL, "iterate");
}

static void lockdown_is_seen_behind_a_verifier_that_lacks_helpers(void **state)
{
	struct refusal_facts facts = facts_of(-EINVAL, all);

	(void)state;
	facts.lockdown = confidentiality;
	assert_says(&facts, REFUSAL_LOCKDOWN, -EPERM, "/sys/kernel/security/lockdown");
	facts.lockdown = integrity;
	assert_says(&facts, REFUSAL_OTHER, -EINVAL, "Invalid argument");
}

static void a_kernel_without_types_or_system_call_is_said_so(void **state)
{
	struct refusal_facts facts = facts_of(-ENOTSUP, 0);

	(void)state;
	facts.has_btf = false;
	assert_says(&facts, REFUSAL_NO_BTF, -ENOTSUP, "/sys/kernel/btf/vmlinux");
	facts.has_bpf = false;
	assert_says(&facts, REFUSAL_NO_BPF, -ENOTSUP, "CONFIG_BPF_SYSCALL");
	/* A filter may hide the call; then the types show that the kernel has it. */
	facts.has_btf = facts.seccomp = true;
	assert_says(&facts, REFUSAL_SECCOMP, -EPERM, "SystemCallFilter=");
	facts = facts_of(-ENOSYS, all);
	assert_says(&facts, REFUSAL_NO_BPF, -ENOTSUP, "no BPF system call");
}

static void no_memory_is_not_a_right(void **state)
{
	struct refusal_facts facts = facts_of(-ENOMEM, all);

	(void)state;
	assert_says(&facts, REFUSAL_MEMORY, -ENOMEM, "RLIMIT_MEMLOCK");
}

static void an_old_kernel_is_named_by_its_number(void **state)
{
	const struct {
		const char *release;
		enum refusal cause;
	} cases[] = {
		{ "5.10.0-28-amd64", REFUSAL_OLD_KERNEL }, { "6.0.19", REFUSAL_OLD_KERNEL }, { "4.19", REFUSAL_OLD_KERNEL },
		{ "6.1.0", REFUSAL_OTHER }, { "6.10.3", REFUSAL_OTHER }, { "10.0", REFUSAL_OTHER }, { "", REFUSAL_OTHER },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct refusal_facts facts = facts_of(-EINVAL, all);

		facts.release = cases[i].release;
		if (cases[i].cause == REFUSAL_OTHER)
			assert_says(&facts, REFUSAL_OTHER, -EINVAL, "Invalid argument");
		else
			assert_says(&facts, REFUSAL_OLD_KERNEL, -ENOTSUP, cases[i].release);
	}
}

static void anything_else_keeps_its_error_and_what_libbpf_said(void **state)
{
	struct refusal_facts facts = facts_of(-EACCES, all);

	(void)state;
	facts.detail = "prog 'read_tp': BPF program load failed";
	assert_says(&facts, REFUSAL_OTHER, -EACCES, "prog 'read_tp'");
	facts.err = -EAGAIN;
	assert_says(&facts, REFUSAL_OTHER, -EAGAIN, "prog 'read_tp'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_missing_capability_is_named_and_no_other),
		cmocka_unit_test(those_who_may_are_told_who_refuses),
		cmocka_unit_test(who_may_not_look_in_modules_is_told_so),
		cmocka_unit_test(lockdown_is_seen_behind_a_verifier_that_lacks_helpers),
		cmocka_unit_test(a_kernel_without_types_or_system_call_is_said_so),
		cmocka_unit_test(no_memory_is_not_a_right),
		cmocka_unit_test(an_old_kernel_is_named_by_its_number),
		cmocka_unit_test(anything_else_keeps_its_error_and_what_libbpf_said),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
