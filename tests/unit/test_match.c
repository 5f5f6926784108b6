// SPDX-License-Identifier: GPL-2.0
/*
 * test_match.c - from matches to processes: on made-up process trees for what is hard to bring about, on this machine
 * for what the kernel must really say.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixtures/process_tree.h"
#include "match.h"

enum { PORT = 21000, PORT_NOBODY = 21099 };

static struct match_pids pids;

static int resolve(enum match_kind kind, uint32_t number, const char *text)
{
	struct match match = { .kind = kind, .number = number };

	snprintf(match.text, sizeof(match.text), "%s", text);
	memset(&pids, 0xa5, sizeof(pids));
	return match_resolve(root, &match, &pids);
}

static void found(uint32_t nr, ...)
{
	va_list args;

	assert_int_equal(pids.nr, nr);
	va_start(args, nr);
	for (uint32_t i = 0; i < nr; i++)
		assert_int_equal(pids.pids[i], va_arg(args, int));
	va_end(args);
}

/* --- resolving --- */

static void a_pid_means_itself_and_its_descendants(void **state)
{
	(void)state;
	assert_int_equal(resolve(MATCH_PID, 100, ""), 0);
	found(3, 90, 100, 101);
	assert_int_equal(resolve(MATCH_PID, 200, ""), 0);
	found(1, 200);
}

static void what_is_gone_dead_or_the_kernels_matches_nothing(void **state)
{
	(void)state;
	assert_int_equal(resolve(MATCH_PID, 4711, ""), -ENOENT);
	assert_int_equal(resolve(MATCH_PID, 102, ""), -ENOENT);
	assert_int_equal(resolve(MATCH_PID, 2, ""), -ENOENT);
	assert_int_equal(resolve(MATCH_PID, 3, ""), -ENOENT);
	assert_true(pids.nr == 0xa5a5a5a5); /* untouched */
}

static void a_process_whose_first_thread_has_left_is_alive(void **state)
{
	(void)state;
	put("300 (server) Z 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 3 0 99 0\n", "proc/300/stat");
	assert_int_equal(resolve(MATCH_PID, 300, ""), 0);
	found(1, 300);
}

static void a_port_means_who_holds_its_listening_socket(void **state)
{
	(void)state;
	listeners_on(8082, 4242, 4343);
	descriptor(200, 3, "/dev/null");
	descriptor(200, 7, "socket:[4343]");
	descriptor(100, 4, "socket:[4242]");
	descriptor(50, 4, "socket:[777]"); /* a connection on that port is no listener */
	assert_int_equal(resolve(MATCH_PORT, 8082, ""), 0);
	found(4, 90, 100, 101, 200);
	assert_int_equal(resolve(MATCH_PORT, 8083, ""), -ENOENT);
}

static void a_kernel_without_ipv6_still_has_ports(void **state)
{
	(void)state;
	listeners_on(8082, 4242, 0);
	descriptor(200, 7, "socket:[4242]");
	assert_int_equal(resolve(MATCH_PORT, 8082, ""), 0);
	found(1, 200);
}

static void a_listener_nobody_is_seen_to_hold_is_not_nobody(void **state)
{
	(void)state;
	listeners_on(8082, 4242, 0);
	assert_int_equal(resolve(MATCH_PORT, 8082, ""), -EACCES);
}

static void socket_activation_does_not_make_pid_1_the_service(void **state)
{
	(void)state;
	listeners_on(8082, 4242, 0);
	descriptor(1, 30, "socket:[4242]");
	descriptor(200, 3, "socket:[4242]");
	assert_int_equal(resolve(MATCH_PORT, 8082, ""), 0);
	found(1, 200);
}

static void a_cgroup_is_found_in_any_hierarchy_with_what_is_below(void **state)
{
	(void)state;
	put("5:memory:/\n3:cpuset:/batch/deep\n0::/\n", "proc/100/cgroup");
	put("5:memory:/\n3:cpuset:/batchelor\n0::/\n", "proc/50/cgroup");
	put("0::/batch\n", "proc/200/cgroup");
	assert_int_equal(resolve(MATCH_CGROUP, 0, "/batch"), 0);
	found(4, 90, 100, 101, 200);
	assert_int_equal(resolve(MATCH_CGROUP, 0, "/batch/deep"), 0);
	found(3, 90, 100, 101);
	assert_int_equal(resolve(MATCH_CGROUP, 0, "/other"), -ENOENT);
}

static void a_pattern_means_all_groups_it_matches_and_what_is_below(void **state)
{
	(void)state;
	put("0::/kubepods/pod1/abc1/init\n", "proc/100/cgroup");
	put("0::/kubepods/pod2/abc2\n", "proc/200/cgroup");
	put("0::/kubepods/burstable/pod3/abc3\n", "proc/50/cgroup");
	assert_int_equal(resolve(MATCH_CGROUP, 0, "/kubepods/pod*/abc?"), 0);
	found(4, 90, 100, 101, 200);
	assert_int_equal(resolve(MATCH_CGROUP, 0, "/kubepods/pod[1]"), 0);
	found(3, 90, 100, 101);
	/* No star matches a slash, and a backslash is a letter (systemd writes them). */
	assert_int_equal(resolve(MATCH_CGROUP, 0, "/kube*/abc?"), -ENOENT);
	put("0::/system.slice/dev-a\\x2db.mount\n", "proc/200/cgroup");
	assert_int_equal(resolve(MATCH_CGROUP, 0, "/system.slice/dev-*\\x2d*"), 0);
	found(1, 200);
	put("0::/a[1]\n", "proc/200/cgroup");
	assert_int_equal(resolve(MATCH_CGROUP, 0, "/a[1]"), 0);
	found(1, 200);
}

static void a_unit_is_a_component_wherever_its_slice_puts_it(void **state)
{
	(void)state;
	put("0::/system.slice/web.service/inner\n", "proc/200/cgroup");
	put("0::/system.slice/myweb.service\n", "proc/50/cgroup");
	assert_int_equal(resolve(MATCH_UNIT, 0, "web.service"), -ENOSYS);
	put("", "run/systemd/system/x");
	assert_int_equal(resolve(MATCH_UNIT, 0, "web.service"), 0);
	found(1, 200);
	assert_int_equal(resolve(MATCH_UNIT, 0, "web"), 0);
	found(1, 200);
	assert_int_equal(resolve(MATCH_UNIT, 0, "eb.service"), -ENOENT);
}

static void an_executable_is_a_path_or_a_base_name(void **state)
{
	(void)state;
	put_link("/usr/bin/memcached", "proc/200/exe");
	put_link("/opt/memcached (deleted)", "proc/100/exe");
	put_link("/usr/bin/memcached-tool", "proc/50/exe");
	assert_int_equal(resolve(MATCH_EXE, 0, "memcached"), 0);
	found(4, 90, 100, 101, 200);
	assert_int_equal(resolve(MATCH_EXE, 0, "/usr/bin/memcached"), 0);
	found(1, 200);
	assert_int_equal(resolve(MATCH_EXE, 0, "memcache"), -ENOENT);
}

static void an_executable_named_by_a_link_is_followed(void **state)
{
	(void)state;
	put("", "opt/v2/server");
	put_link("v2/server", "opt/server");
	put_link("/opt/v2/server", "proc/200/exe");
	assert_int_equal(resolve(MATCH_EXE, 0, "/opt/server"), 0);
	found(1, 200);
}

static void more_processes_than_a_service_may_have_are_refused(void **state)
{
	(void)state;
	put("1 (child) S 200 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 99 0\n", "child/stat");
	for (int i = 0; i < MATCH_MAX_PIDS - 1; i++)
		put_link("../child", "proc/%d", 10000 + i);
	assert_int_equal(resolve(MATCH_PID, 200, ""), 0);
	assert_int_equal(pids.nr, MATCH_MAX_PIDS);
	put_link("../child", "proc/9999");
	assert_int_equal(resolve(MATCH_PID, 200, ""), -E2BIG);
}

static void a_missing_proc_is_an_error_not_an_empty_machine(void **state)
{
	struct match match = { .kind = MATCH_PID, .number = 1 };

	(void)state;
	assert_int_equal(match_resolve("/nonexistent", &match, &pids), -ENOENT);
}

/* --- this machine --- */

/* A child that listens on [::1] or 127.0.0.1 and has a child of its own; both end with the test. */
struct server {
	pid_t pid, child;
	int pipe; /* closed by tear-down: the child reads end of file and leaves */
};

static int listen_on(int family, uint16_t port)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = in6addr_loopback };
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, rc;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (family == AF_INET)
		rc = bind(fd, (struct sockaddr *)&v4, sizeof(v4));
	else
		rc = bind(fd, (struct sockaddr *)&v6, sizeof(v6));
	if (rc || listen(fd, 8)) {
		close(fd);
		return -1;
	}
	return fd;
}

static void serve(int family, uint16_t port, int report, int life)
{
	pid_t child;
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (listen_on(family, port) < 0)
		_exit(1);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	if (write(report, &child, sizeof(child)) != sizeof(child))
		_exit(1);
	while (read(life, &byte, 1) > 0)
		;
	kill(child, SIGKILL);
	_exit(0);
}

static bool server_start(struct server *s, int family, uint16_t port)
{
	int report[2], life[2];
	ssize_t n;

	if (pipe(report) || pipe(life))
		return false;
	s->pid = fork();
	if (!s->pid) {
		close(report[0]);
		close(life[1]);
		serve(family, port, report[1], life[0]);
	}
	close(report[1]);
	close(life[0]);
	s->pipe = life[1];
	n = read(report[0], &s->child, sizeof(s->child));
	close(report[0]);
	return n == sizeof(s->child);
}

static void server_stop(struct server *s)
{
	close(s->pipe);
	waitpid(s->pid, NULL, 0);
}

static bool in_pids(pid_t pid)
{
	for (uint32_t i = 0; i < pids.nr; i++)
		if (pids.pids[i] == pid)
			return true;
	return false;
}

static void port_is_found_here(int family, uint16_t port)
{
	struct match match = { .kind = MATCH_PORT, .number = port };
	struct server s;
	bool started = server_start(&s, family, port);
	int rc = match_resolve("", &match, &pids);

	server_stop(&s);
	if (!started)
		skip(); /* no such address family, or the port is taken */
	assert_int_equal(rc, 0);
	assert_int_equal(pids.nr, 2);
	assert_true(in_pids(s.pid));
	assert_true(in_pids(s.child));
}

static void an_ipv4_listener_of_this_machine_is_found(void **state)
{
	(void)state;
	port_is_found_here(AF_INET, PORT);
}

static void an_ipv6_listener_of_this_machine_is_found(void **state)
{
	(void)state;
	port_is_found_here(AF_INET6, PORT + 1);
}

static void our_own_executable_and_pid_are_found_here(void **state)
{
	struct match exe = { .kind = MATCH_EXE }, pid = { .kind = MATCH_PID, .number = getpid() };
	struct match port = { .kind = MATCH_PORT, .number = PORT_NOBODY };
	ssize_t length = readlink("/proc/self/exe", exe.text, sizeof(exe.text) - 1);

	(void)state;
	assert_true(length > 0);
	assert_int_equal(match_resolve("", &exe, &pids), 0);
	assert_true(in_pids(getpid()));
	assert_int_equal(match_resolve("", &pid, &pids), 0);
	assert_true(in_pids(getpid()));
	assert_int_equal(match_resolve("", &port, &pids), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE(a_pid_means_itself_and_its_descendants),
		FAKE(what_is_gone_dead_or_the_kernels_matches_nothing),
		FAKE(a_process_whose_first_thread_has_left_is_alive),
		FAKE(a_port_means_who_holds_its_listening_socket),
		FAKE(a_kernel_without_ipv6_still_has_ports),
		FAKE(a_listener_nobody_is_seen_to_hold_is_not_nobody),
		FAKE(socket_activation_does_not_make_pid_1_the_service),
		FAKE(a_cgroup_is_found_in_any_hierarchy_with_what_is_below),
		FAKE(a_pattern_means_all_groups_it_matches_and_what_is_below),
		FAKE(a_unit_is_a_component_wherever_its_slice_puts_it),
		FAKE(an_executable_is_a_path_or_a_base_name),
		FAKE(an_executable_named_by_a_link_is_followed),
		FAKE(more_processes_than_a_service_may_have_are_refused),
		FAKE(a_missing_proc_is_an_error_not_an_empty_machine),
		cmocka_unit_test(an_ipv4_listener_of_this_machine_is_found),
		cmocka_unit_test(an_ipv6_listener_of_this_machine_is_found),
		cmocka_unit_test(our_own_executable_and_pid_are_found_here),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
