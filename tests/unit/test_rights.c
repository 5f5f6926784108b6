// SPDX-License-Identifier: GPL-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
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
	assert_int_equal(rights_check(true, error, sizeof(error)), 0);
}

/* What nobody is told, looked at in a child that became nobody. */
static int checks_as_nobody(void)
{
	char error[1024] = "";

	if (setresuid(65534, 65534, 65534))
		return 1;
	if (rights_check(false, error, sizeof(error)) != -EPERM || !strstr(error, "CAP_BPF") ||
	    strstr(error, "CAP_SYS_NICE"))
		return 2;
	if (rights_check(true, error, sizeof(error)) != -EPERM || !strstr(error, "CAP_SYS_NICE"))
		return 3;
	return strstr(error, "make sim") ? 0 : 4;
}

static void nobody_is_told_what_is_missing_and_what_works_without(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	if (geteuid()) {
		print_message("# not root\n");
		skip();
	}
	pid = fork();
	if (pid == 0)
		_exit(checks_as_nobody());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_lacks_nothing),
		cmocka_unit_test(nobody_is_told_what_is_missing_and_what_works_without),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
