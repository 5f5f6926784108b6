// SPDX-License-Identifier: GPL-2.0
/*
 * test_match_check.c - what `check` finds wrong with the machine, and its words.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixtures/process_tree.h"
#include "match.h"

static char error[512];

static int check(const char *text, uint32_t nr_cores)
{
	static struct config config;

	error[0] = '\0';
	if (config_parse("demo.conf", text, strlen(text), &config, error, sizeof(error)))
		fail_msg("%s", error);
	return match_check(root, &config, nr_cores, error, sizeof(error));
}

static void refuses(const char *text, const char *message)
{
	assert_int_equal(check(text, 8), -EINVAL);
	assert_string_equal(error, message);
}
#define TARGET "target = p99 < 25ms\n"

static void a_configuration_that_fits_passes(void **state)
{
	(void)state;
	assert_int_equal(check("[service a]\nmatch = pid:100\n" TARGET "[service b]\nmatch = pid:200\n" TARGET, 2), 0);
	assert_string_equal(error, "");
}

static void a_service_that_is_not_there_is_named_with_a_remedy(void **state)
{
	(void)state;
	listeners_on(8082, 4242, 0);
	refuses("\n[service a]\n" TARGET "match = pid:4711\n",
		"demo.conf:4: match: pid 4711 does not exist; start the service first or correct the pid");
	refuses("[service a]\nmatch = port:8083\n" TARGET,
		"demo.conf:2: match: nobody listens on port 8083; start the service first or correct the port");
	/* Whether rights are missing or another namespace hides it, it is the machine that cannot. */
	assert_int_equal(check("[service a]\nmatch = port:8082\n" TARGET, 8), -EPERM);
	assert_non_null(strstr(error, "demo.conf:2: match: port 8082 has a listener, but "));
	refuses("[service a]\nmatch = exe:nginx\n" TARGET,
		"demo.conf:2: match: no process runs nginx; start the service first or correct the name (not that of a link: ls -l /proc/PID/exe shows it)");
	refuses("[service a]\nmatch = cgroup:/x\n" TARGET,
		"demo.conf:2: match: no process is in cgroup /x; start the work there first or correct the path");
	refuses("[service a]\nmatch = unit:x\n" TARGET,
		"demo.conf:2: match: this machine does not run systemd; match by pid, port, cgroup or exe");
	put("", "run/systemd/system/x");
	refuses("[service a]\nmatch = unit:x\n" TARGET,
		"demo.conf:2: match: unit x has no process; start it first or correct the name");
	refuses("[service a]\nmatch = pid:200\n" TARGET "[batch b]\nmatch = pid:4711\n",
		"demo.conf:5: match: pid 4711 does not exist; start the service first or correct the pid");
}

static void pids_that_cannot_serve_are_told_apart(void **state)
{
	(void)state;
	put("", "proc/4242/stat");
	refuses("[service a]\nmatch = pid:3\n" TARGET, "demo.conf:2: match: pid 3 is a kernel thread; name a process");
	refuses("[service a]\nmatch = pid:102\n" TARGET,
		"demo.conf:2: match: pid 102 has ended and waits for its parent; start the service again");
	refuses("[service a]\nmatch = pid:4242\n" TARGET, "demo.conf:2: match: 4242 is a thread; name its process");
}

static void two_groups_may_not_claim_one_process(void **state)
{
	(void)state;
	refuses("[service a]\nmatch = pid:200\n" TARGET "[service b]\nmatch = pid:200\n" TARGET,
		"demo.conf:5: match: service 'a' and service 'b' both claim pid 200 (memcached); give each its own "
		"processes");
	refuses("[service a]\nmatch = pid:100\n" TARGET "[batch b]\nmatch = pid:90\n",
		"demo.conf:5: match: service 'a' and batch 'b' both claim pid 90 (late); give each its own processes");
}

static void parties_does_not_steer_itself_or_what_it_runs_under(void **state)
{
	(void)state;
	refuses("[service a]\nmatch = pid:60\n" TARGET, "demo.conf:2: match: service 'a' claims parties itself (pid "
							"60) or what it was started from; match more narrowly");
	refuses("[service a]\nmatch = pid:200\n" TARGET "[batch b]\nmatch = pid:50\n",
		"demo.conf:5: match: batch 'b' claims parties itself (pid 60) or what it was started from; match more "
		"narrowly");
	refuses("[service a]\nmatch = pid:1\n" TARGET, "demo.conf:2: match: service 'a' claims parties itself (pid 60) "
						       "or what it was started from; match more narrowly");
	put("0::/user\n", "proc/50/cgroup");
	process(60, 2, "parties", 'R', 0); /* started by something else: 50 is no ancestor now */
	assert_int_equal(check("[service a]\nmatch = cgroup:/user\n" TARGET, 8), 0);
}

static void a_proxy_on_the_port_is_named(void **state)
{
	(void)state;
	listeners_on(8082, 4242, 0);
	process(300, 1, "docker-proxy", 'S', 0);
	descriptor(300, 4, "socket:[4242]");
	refuses("[service a]\nmatch = port:8082\n" TARGET,
		"demo.conf:2: match: port 8082 is held by pid 300 (docker-proxy), which only forwards; "
		"match the process behind it by pid or cgroup");
}

static void floors_must_fit_the_machine(void **state)
{
	const char *text =
		"[service a]\nmatch = pid:100\n" TARGET "cores = 2..4\n[service b]\nmatch = pid:200\n" TARGET;

	(void)state;
	assert_int_equal(check(text, 3), 0);
	assert_int_equal(check(text, 2), -EINVAL);
	assert_string_equal(error, "demo.conf:5: cores: floors need 3 cores, this machine has 2 to give; "
				   "lower a floor or take a service away");
	assert_int_equal(check(text, 1), -EINVAL);
	assert_string_equal(error, "demo.conf:1: cores: floors need 3 cores, this machine has 1 to give; "
				   "lower a floor or take a service away");
}

static void without_proc_the_check_says_so(void **state)
{
	static struct config config;
	const char *text = "[service a]\nmatch = pid:1\n" TARGET;

	(void)state;
	assert_int_equal(config_parse("demo.conf", text, strlen(text), &config, error, sizeof(error)), 0);
	assert_int_equal(match_check("/nonexistent", &config, 1, error, sizeof(error)), -EPERM);
	assert_string_equal(error, "/nonexistent/proc: cannot be read: No such file or directory; is it mounted?");
}

static void the_check_refuses_our_parent_here(void **state)
{
	static struct config config;
	char text[128], start[128];

	(void)state;
	if (getppid() < 2)
		skip(); /* nobody started us */
	snprintf(text, sizeof(text), "[service a]\nmatch = pid:%d\n" TARGET, getppid());
	assert_int_equal(config_parse("demo.conf", text, strlen(text), &config, error, sizeof(error)), 0);
	assert_int_equal(match_check("", &config, 1, error, sizeof(error)), -EINVAL);
	snprintf(start, sizeof(start), "demo.conf:2: match: service 'a' claims parties itself (pid %d)", getpid());
	assert_memory_equal(error, start, strlen(start));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE(a_configuration_that_fits_passes),
		FAKE(a_service_that_is_not_there_is_named_with_a_remedy),
		FAKE(pids_that_cannot_serve_are_told_apart),
		FAKE(two_groups_may_not_claim_one_process),
		FAKE(parties_does_not_steer_itself_or_what_it_runs_under),
		FAKE(a_proxy_on_the_port_is_named),
		FAKE(floors_must_fit_the_machine),
		FAKE(without_proc_the_check_says_so),
		cmocka_unit_test(the_check_refuses_our_parent_here),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
