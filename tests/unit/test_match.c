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

#include "fixtures/tree.h"
#include "match.h"

enum { PORT = 21000, PORT_NOBODY = 21099, KTHREAD = 0x00200000 };

static char root[TREE_PATH_SIZE];
static struct match_pids pids;
static char error[512];

/* --- a tree that stands in for "/" --- */

#define put(text, ...) tree_put(root, text, __VA_ARGS__)

static void put_link(const char *target, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put_link(const char *target, const char *format, ...)
{
	char path[512];
	va_list args;
	int length = snprintf(path, sizeof(path), "%s/", root);

	va_start(args, format);
	vsnprintf(path + length, sizeof(path) - length, format, args);
	va_end(args);
	assert_int_equal(symlink(target, path), 0);
}

static void process(int pid, int parent, const char *comm, char status, unsigned int flags)
{
	char text[256];

	snprintf(text, sizeof(text), "%d (%s) %c %d 1 1 0 -1 %u 0 0 0 0 0 0 0 0 20 0 1 0 99 0\n", pid, comm, status, parent, flags);
	put(text, "proc/%d/stat", pid);
	snprintf(text, sizeof(text), "%s\n", comm);
	put(text, "proc/%d/comm", pid);
}

static void descriptor(int pid, int number, const char *target)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/proc/%d/fd", root, pid);
	mkdir(path, 0755);
	put_link(target, "proc/%d/fd/%d", pid, number);
}

static int set_up(void **state)
{
	(void)state;
	tree_make(root);
	process(1, 0, "init", 'S', 0);
	process(2, 0, "kthreadd", 'S', KTHREAD);
	process(3, 2, "kworker/0:1", 'I', KTHREAD);
	process(50, 1, "bash", 'S', 0);
	process(60, 50, "parties", 'R', 0);
	put_link("60", "proc/self");
	process(100, 1, "master", 'S', 0);
	process(101, 100, "worker) R 7 (x", 'S', 0);
	process(90, 101, "late", 'S', 0); /* pids wrapped around: a child below its parent */
	process(102, 100, "defunct", 'Z', 0);
	process(200, 1, "memcached", 'S', 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	tree_remove(root);
	return 0;
}

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

static void listeners_on(int port, int inode4, int inode6)
{
	char text[1024];

	snprintf(text, sizeof(text), "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
		 "   0: 0100007F:%04X 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 %d 1 0 100 0 0 10 0\n"
		 "   1: 0100007F:%04X 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 777 1 0 20 4 30 10 -1\n",
		 port, inode4, port);
	put(text, "proc/net/tcp");
	snprintf(text, sizeof(text), "  sl  local_address                         remote_address                        st\n"
		 "   0: 00000000000000000000000000000000:%04X 00000000000000000000000000000000:0000 0A 00000000:00000000 "
		 "00:00000000 00000000     0        0 %d 1 0 100 0 0 10 0\n", port, inode6);
	if (inode6)
		put(text, "proc/net/tcp6");
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
	for (int i = 0; i < MATCH_MAX_PIDS - 1; i++)
		process(10000 + i, 200, "child", 'S', 0);
	assert_int_equal(resolve(MATCH_PID, 200, ""), 0);
	assert_int_equal(pids.nr, MATCH_MAX_PIDS);
	process(9999, 200, "child", 'S', 0);
	assert_int_equal(resolve(MATCH_PID, 200, ""), -E2BIG);
}

static void a_missing_proc_is_an_error_not_an_empty_machine(void **state)
{
	struct match match = { .kind = MATCH_PID, .number = 1 };

	(void)state;
	assert_int_equal(match_resolve("/nonexistent", &match, &pids), -ENOENT);
}

/* --- checking --- */

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
		"demo.conf:2: match: pid 4711 does not exist; start the service first or correct the pid");
	refuses("[service a]\nmatch = port:8083\n" TARGET,
		"demo.conf:1: match: nobody listens on port 8083; start the service first or correct the port");
	refuses("[service a]\nmatch = port:8082\n" TARGET,
		"demo.conf:1: match: port 8082 has a listener, but its process cannot be seen from here; "
		"run as root, or match by pid, cgroup or unit");
	refuses("[service a]\nmatch = exe:nginx\n" TARGET,
		"demo.conf:1: match: no process runs nginx; start the service first or correct the name");
	refuses("[service a]\nmatch = cgroup:/x\n" TARGET,
		"demo.conf:1: match: no process is in cgroup /x; start the work there first or correct the path");
	refuses("[service a]\nmatch = unit:x\n" TARGET,
		"demo.conf:1: match: this machine does not run systemd; match by pid, port, cgroup or exe");
	put("", "run/systemd/system/x");
	refuses("[service a]\nmatch = unit:x\n" TARGET,
		"demo.conf:1: match: unit x has no process; start it first or correct the name");
	refuses("[service a]\nmatch = pid:200\n" TARGET "[batch b]\nmatch = pid:4711\n",
		"demo.conf:4: match: pid 4711 does not exist; start the service first or correct the pid");
}

static void pids_that_cannot_serve_are_told_apart(void **state)
{
	(void)state;
	put("", "proc/4242/stat");
	refuses("[service a]\nmatch = pid:3\n" TARGET, "demo.conf:1: match: pid 3 is a kernel thread; name a process");
	refuses("[service a]\nmatch = pid:102\n" TARGET,
		"demo.conf:1: match: pid 102 has ended and waits for its parent; start the service again");
	refuses("[service a]\nmatch = pid:4242\n" TARGET, "demo.conf:1: match: 4242 is a thread; name its process");
}

static void two_groups_may_not_claim_one_process(void **state)
{
	(void)state;
	refuses("[service a]\nmatch = pid:200\n" TARGET "[service b]\nmatch = pid:200\n" TARGET,
		"demo.conf:4: match: service 'a' and service 'b' both claim pid 200 (memcached); give each its own processes");
	refuses("[service a]\nmatch = pid:100\n" TARGET "[batch b]\nmatch = pid:90\n",
		"demo.conf:4: match: service 'a' and batch 'b' both claim pid 90 (late); give each its own processes");
}

static void parties_does_not_steer_itself_or_what_it_runs_under(void **state)
{
	(void)state;
	refuses("[service a]\nmatch = pid:60\n" TARGET,
		"demo.conf:1: match: service 'a' claims parties itself (pid 60) or what it was started from; match more narrowly");
	refuses("[service a]\nmatch = pid:200\n" TARGET "[batch b]\nmatch = pid:50\n",
		"demo.conf:4: match: batch 'b' claims parties itself (pid 60) or what it was started from; match more narrowly");
	refuses("[service a]\nmatch = pid:1\n" TARGET,
		"demo.conf:1: match: service 'a' claims parties itself (pid 60) or what it was started from; match more narrowly");
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
		"demo.conf:1: match: port 8082 is held by pid 300 (docker-proxy), which only forwards; "
		"match the process behind it by pid or cgroup");
}

static void floors_must_fit_the_machine(void **state)
{
	const char *text = "[service a]\nmatch = pid:100\n" TARGET "cores = 2..4\n[service b]\nmatch = pid:200\n" TARGET;

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
	assert_int_equal(match_check("/nonexistent", &config, 1, error, sizeof(error)), -EINVAL);
	assert_string_equal(error, "/nonexistent/proc: cannot be read: No such file or directory; is it mounted?");
}

/* --- this machine --- */

/* A child that listens on [::1] or 127.0.0.1 and has a child of its own; both end with the test. */
struct server {
	pid_t pid, child;
	int pipe; /* closed by tear-down: the child reads end of file and leaves */
};

static int listen_on(int family, uint16_t port)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
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
	snprintf(start, sizeof(start), "demo.conf:1: match: service 'a' claims parties itself (pid %d)", getpid());
	assert_memory_equal(error, start, strlen(start));
}

#define FAKE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

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
		FAKE(a_unit_is_a_component_wherever_its_slice_puts_it),
		FAKE(an_executable_is_a_path_or_a_base_name),
		FAKE(an_executable_named_by_a_link_is_followed),
		FAKE(more_processes_than_a_service_may_have_are_refused),
		FAKE(a_missing_proc_is_an_error_not_an_empty_machine),
		FAKE(a_configuration_that_fits_passes),
		FAKE(a_service_that_is_not_there_is_named_with_a_remedy),
		FAKE(pids_that_cannot_serve_are_told_apart),
		FAKE(two_groups_may_not_claim_one_process),
		FAKE(parties_does_not_steer_itself_or_what_it_runs_under),
		FAKE(a_proxy_on_the_port_is_named),
		FAKE(floors_must_fit_the_machine),
		FAKE(without_proc_the_check_says_so),
		cmocka_unit_test(an_ipv4_listener_of_this_machine_is_found),
		cmocka_unit_test(an_ipv6_listener_of_this_machine_is_found),
		cmocka_unit_test(our_own_executable_and_pid_are_found_here),
		cmocka_unit_test(the_check_refuses_our_parent_here),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
