// SPDX-License-Identifier: GPL-2.0
/*
 * test_isolation.c - who may load and who may look: refusals that take a filter or another view of the machine, and
 * that a service's numbers are its own.  tests/live/rights.sh has the capabilities.
 * waits: yes
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/handle.h"
#include "bpf/server.h"
#include "metrics/handle.h"

/* Runs fn in a child; its result is the exit status. */
static int in_child(int (*fn)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(fn());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

enum { FINE, OTHER_WORDS, NOT_REFUSED, CANNOT };

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

/* As a container's profile does. */
static bool forbid_bpf(int err)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned int)err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { .len = sizeof(filter) / sizeof(filter[0]), .filter = filter };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int opens_with(const char *words)
{
	struct ebee *handle;

	if (!ebee_open(&handle, NULL, error, sizeof(error)))
		return NOT_REFUSED;
	if (strstr(error, words))
		return FINE;
	print_message("# %s\n", error);
	return OTHER_WORDS;
}

static int under_a_filter(void)
{
	return forbid_bpf(EPERM) ? opens_with("a seccomp filter refuses the bpf system call") : CANNOT;
}

static int under_a_filter_that_hides(void)
{
	return forbid_bpf(ENOSYS) ? opens_with("a seccomp filter refuses the bpf system call") : CANNOT;
}

static void a_container_s_filter_is_named(void **state)
{
	(void)state;
	NEEDS_BPF();
	assert_int_equal(in_child(under_a_filter), FINE);
	assert_int_equal(in_child(under_a_filter_that_hides), FINE);
}

/* A machine that says it is locked down; the filter stands in for what it would refuse. */
static int under_lockdown(void)
{
	static const char path[] = "/sys/kernel/security/lockdown", text[] = "none integrity [confidentiality]\n";
	int fd;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", "/sys/kernel/security", "tmpfs", 0, NULL))
		return CANNOT;
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0444);
	if (fd < 0 || write(fd, text, sizeof(text) - 1) != sizeof(text) - 1 || close(fd) || !forbid_bpf(EPERM))
		return CANNOT;
	return opens_with("lockdown is at confidentiality");
}

static void lockdown_is_named(void **state)
{
	int result;

	(void)state;
	NEEDS_BPF();
	result = in_child(under_lockdown);
	if (result == CANNOT)
		skip();
	assert_int_equal(result, FINE);
}

/* ---- whose numbers ----------------------------------------------------------------------------------------------- */

/* The two capabilities that observing takes, and no other. */
static bool become_observer(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };
	struct __user_cap_data_struct *word = &data[CAP_TO_INDEX(CAP_BPF)];

	word->permitted = word->effective = CAP_TO_MASK(CAP_BPF) | CAP_TO_MASK(CAP_PERFMON);
	return !prctl(PR_SET_KEEPCAPS, 1) && !setresgid(65534, 65534, 65534) && !setresuid(65534, 65534, 65534) &&
	       !syscall(SYS_capset, &header, data);
}

static __u32 ids[64];
static unsigned int nr_ids;

static int opens_maps_of_another(void)
{
	if (!become_observer())
		return CANNOT;
	for (unsigned int i = 0; i < nr_ids; i++)
		if (bpf_map_get_fd_by_id(ids[i]) >= 0 || errno != EPERM)
			return NOT_REFUSED;
	return FINE;
}

/* Maps have no name in a file system; by number they are for CAP_SYS_ADMIN. */
static void another_process_with_the_rights_to_observe_cannot_open_a_handle_s_maps(void **state)
{
	struct bpf_map *map;

	(void)state;
	NEEDS_BPF();
	nr_ids = 0;
	bpf_object__for_each_map(map, ebee->skel->obj) {
		struct bpf_map_info info = { 0 };
		__u32 size = sizeof(info);
		int fd;

		if (bpf_map__fd(map) < 0)
			continue;
		assert_false(bpf_map__is_pinned(map));
		assert_int_equal(bpf_obj_get_info_by_fd(bpf_map__fd(map), &info, &size), 0);
		fd = bpf_map_get_fd_by_id(info.id);
		if (geteuid() == 0)
			assert_true(fd >= 0);
		close(fd);
		assert_true(nr_ids < 64);
		ids[nr_ids++] = info.id;
	}
	assert_true(nr_ids >= 8);
	assert_int_equal(in_child(opens_maps_of_another), FINE);
}

static void serve_at_once(int fd)
{
	char buf[MESSAGE];

	while (read_all(fd, buf, MESSAGE))
		write_all(fd, buf, MESSAGE);
}

static void exchange_many(uint16_t port, int n)
{
	int fd = connect_to(port);

	while (n--)
		assert_true(exchange_once(fd));
	close(fd);
}

static uint64_t completed(struct ebee *e, struct ebee_window *window)
{
	struct ebee_window_info info;

	sleep_us(20000);
	ebee_set_settle(e, 0);
	assert_int_equal(ebee_sweep(e), 0);
	assert_int_equal(ebee_window_advance(window, &info), 0);
	return info.nr_completed;
}

/* In a network namespace of its own, a server on `port`; when told, its client makes requests there. */
static pid_t far_server(uint16_t port, int n, int told_fd, int ready_fd, int near_listener)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				       .sin_port = htons(port) };
	struct ifreq up = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	pid_t pid = fork();
	int fd;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(near_listener); /* who holds a listener is its service */
	fd = unshare(CLONE_NEWNET) ? -1 : socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &up) || bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(fd, 16))
		_exit(1);
	server_start(fd, serve_at_once);
	if (write(ready_fd, "r", 1) != 1 || read(told_fd, &fd, 1) != 1)
		_exit(1);
	fd = connect_to(port);
	while (n--)
		exchange_once(fd);
	if (write(ready_fd, "d", 1) != 1)
		_exit(1);
	pause();
	_exit(0);
}

static void the_same_port_in_two_network_namespaces_is_two_services(void **state)
{
	struct ebee_window *near_window, *far_window;
	int tell[2], hear[2], listener;
	pid_t near, far;
	uint16_t port;
	char word;

	(void)state;
	NEEDS_BPF();
	assert_int_equal(pipe2(tell, O_CLOEXEC) | pipe2(hear, O_CLOEXEC), 0);
	listener = listen_any(&port);
	near = server_start(listener, serve_at_once);
	far = far_server(port, 11, tell[0], hear[1], listener);
	close(hear[1]);
	if (read(hear[0], &word, 1) != 1) {
		server_stop(near);
		print_message("# no network namespace\n");
		skip();
	}
	assert_int_equal(ebee_add_port(ebee, 0, port), 0);
	assert_int_equal(ebee_add_pid(ebee, 1, far), 0);
	assert_int_equal(ebee_seed(ebee), 0);
	assert_int_equal(ebee_window_open(&near_window, ebee, 0), 0);
	assert_int_equal(ebee_window_open(&far_window, ebee, 1), 0);
	exchange_many(port, 7);
	assert_int_equal(write(tell[1], "g", 1), 1);
	assert_int_equal(read(hear[0], &word, 1), 1);
	assert_int_equal(completed(ebee, near_window), 7);
	assert_int_equal(completed(ebee, far_window), 11);
	ebee_window_close(near_window);
	ebee_window_close(far_window);
	server_stop(near);
	server_stop(far);
	close(tell[0]);
	close(tell[1]);
	close(hear[0]);
	close(listener);
}

/* Both servers have their connection under the same number, for both are copies of this process. */
static void two_handles_know_nothing_of_each_other_s_services(void **state)
{
	const struct ebee_opts opts = { .sz = sizeof(opts), .ring_size = EBEE_RING_SIZE, .settle_ns = 1 };
	struct ebee *handles[2] = { NULL, NULL };
	struct ebee_window *foreign;
	uint16_t ports[2];
	int listeners[2];
	pid_t pids[2];
	double rps;

	(void)state;
	NEEDS_BPF();
	for (int i = 0; i < 2; i++) {
		listeners[i] = listen_any(&ports[i]);
		pids[i] = server_start(listeners[i], serve_at_once);
		if (ebee_open(&handles[i], &opts, error, sizeof(error)))
			fail_msg("%s", error);
		assert_int_equal(ebee_start_tracing(handles[i], pids[i]), 0);
	}
	/* Of the first handle another place, which nobody has. */
	assert_int_equal(ebee_window_open(&foreign, handles[0], 1), 0);
	exchange_many(ports[0], 5);
	exchange_many(ports[1], 9);
	sleep_us(250000);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(ebee_get_rps(handles[i], pids[i], &rps), 0);
		assert_int_equal((int)(rps + 0.5), i ? 9 : 5);
		assert_int_equal(ebee_get_rps(handles[i], pids[!i], &rps), -ESRCH);
	}
	assert_int_equal(completed(handles[0], foreign), 0);
	ebee_window_close(foreign);
	for (int i = 0; i < 2; i++) {
		ebee_close(handles[i]);
		server_stop(pids[i]);
		close(listeners[i]);
	}
}

static int open_handle(void **state)
{
	(void)state;
	return open_handle_with(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_container_s_filter_is_named),
		cmocka_unit_test(lockdown_is_named),
		cmocka_unit_test(another_process_with_the_rights_to_observe_cannot_open_a_handle_s_maps),
		cmocka_unit_test(the_same_port_in_two_network_namespaces_is_two_services),
		cmocka_unit_test(two_handles_know_nothing_of_each_other_s_services),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, open_handle, close_handle);
}
