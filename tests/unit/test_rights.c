// SPDX-License-Identifier: GPL-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rights.h"

static void root_lacks_nothing(void **state)
{
	char error[1024];

	(void)state;
	if (geteuid()) {
		print_message("# not root\n");
		skip();
	}
	assert_int_equal(rights_check(RIGHTS_MEASURE | RIGHTS_SEE_OTHERS | RIGHTS_STEER, error, sizeof(error)), 0);
}

/* Runs `check` in a child that became nobody. */
static void as_nobody(int (*check)(void))
{
	int status;
	pid_t pid;

	if (geteuid()) {
		print_message("# not root\n");
		skip();
	}
	pid = fork();
	if (pid == 0)
		_exit(setresuid(65534, 65534, 65534) ? 1 : check());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static bool lacks(unsigned int work, const char *named, const char *not_named)
{
	char missing[512] = "";

	return rights_check(work, missing, sizeof(missing)) == -EPERM && strstr(missing, named) && !strstr(missing, not_named);
}

static int each_work_lacks_its_own(void)
{
	if (!lacks(RIGHTS_MEASURE, "CAP_BPF (", "CAP_SYS_NICE") || !lacks(RIGHTS_MEASURE, ", CAP_PERFMON (", "CAP_SYS_PTRACE"))
		return 2;
	if (!lacks(RIGHTS_SEE_OTHERS, "CAP_SYS_PTRACE (", "CAP_BPF"))
		return 3;
	if (!lacks(RIGHTS_STEER, "CAP_SYS_NICE (", "CAP_BPF") || !lacks(RIGHTS_STEER | RIGHTS_MEASURE, "CAP_BPF (", "CAP_SYS_PTRACE"))
		return 4;
	return 0;
}

static void nobody_is_told_what_is_missing_for_the_work_at_hand(void **state)
{
	(void)state;
	as_nobody(each_work_lacks_its_own);
}

static int two_are_enough(void)
{
	char missing[512];

	return rights_check(RIGHTS_MEASURE, missing, sizeof(missing)) || !lacks(RIGHTS_STEER, "CAP_SYS_NICE (", "CAP_BPF");
}

/* The two capabilities alone, kept over the change of user. */
static int keeps_two(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	data[CAP_TO_INDEX(CAP_BPF)].permitted = CAP_TO_MASK(CAP_BPF) | CAP_TO_MASK(CAP_PERFMON);
	data[CAP_TO_INDEX(CAP_BPF)].effective = data[CAP_TO_INDEX(CAP_BPF)].permitted;
	return syscall(SYS_capset, &header, data) ? 2 : two_are_enough();
}

static void two_capabilities_are_enough_to_measure(void **state)
{
	(void)state;
	if (!geteuid())
		prctl(PR_SET_KEEPCAPS, 1);
	as_nobody(keeps_two);
	prctl(PR_SET_KEEPCAPS, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_lacks_nothing),
		cmocka_unit_test(nobody_is_told_what_is_missing_for_the_work_at_hand),
		cmocka_unit_test(two_capabilities_are_enough_to_measure),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
