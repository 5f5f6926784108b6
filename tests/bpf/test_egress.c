// SPDX-License-Identifier: GPL-2.0
/*
 * test_egress.c - how much a group may send, in the running kernel: senders of our own on the loopback interface, counted
 * where they arrive.  Skips without the rights or version 2 of control groups.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/server.h"
#include "controller/egress.h"

enum { MBIT = 1000000, RATE_MBIT = 20, MAX_CHILDREN = 8 };

static struct cgroup_mounts mounts;
static char dir[KNOB_PATH_SIZE], error[512];
static struct limits limits;
static struct machine_group batch = { .name = "egress", .limits = &limits };
static const struct network_link no_link;
static struct machine_opts opts = { .root = "", .nr_batches = 1, .batches = &batch, .link = &no_link };
static struct egress egress;
static pid_t children[MAX_CHILDREN];
static int nr_children;

static int start(void **state)
{
	(void)state;
	nr_children = 0;
	if (geteuid() || cgroup_read_mounts("", &mounts) || mounts.kinds[CGROUP_SOCKETS].version != 2)
		return 0;
	snprintf(dir, sizeof(dir), "%.400s/parties-test-%d", mounts.kinds[CGROUP_SOCKETS].dir, (int)getpid());
	limits = (struct limits){ .egress_bps = (uint64_t)RATE_MBIT * MBIT };
	return mkdir(dir, 0755);
}

static int finish(void **state)
{
	(void)state;
	egress_close(&egress);
	while (nr_children) {
		kill(children[--nr_children], SIGKILL);
		waitpid(children[nr_children], NULL, 0);
	}
	for (int i = 0; dir[0] && rmdir(dir) && errno == EBUSY && i < 100; i++)
		sleep_us(10000);
	return 0;
}

static void prepare(void)
{
	if (geteuid() || !dir[0]) {
		print_message("# skip: %s\n", geteuid() ? "not root" : "version 2 of control groups is not mounted");
		skip();
	}
}

static void limit(void)
{
	int err = egress_find(&egress, &opts, &mounts.kinds[CGROUP_SOCKETS], error, sizeof(error));

	if (!err)
		err = egress_enter(&egress, 0, dir, error, sizeof(error));
	if (err)
		fail_msg("%s", error);
}

static void join(const char *group)
{
	char path[KNOB_PATH_SIZE + 16];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		_exit(1);
	close(fd);
}

/* A process that sends for ever as fast as it can, and the end at which that arrives. */
static int spawn_sender(int type, bool limited)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, type | SOCK_CLOEXEC, 0), fd = listener;
	static char bytes[16384];
	pid_t pid;

	assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	if (type == SOCK_STREAM)
		assert_int_equal(listen(listener, 1), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		egress_close(&egress); /* its descriptors are no more the run's alone */
		if (limited)
			join(dir);
		fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
		if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
			_exit(1);
		for (;;)
			if (send(fd, bytes, sizeof(bytes), 0) < 0 && errno != ENOBUFS && errno != ECONNREFUSED)
				_exit(1);
	}
	children[nr_children++] = pid;
	if (type == SOCK_STREAM) {
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		close(listener);
	}
	assert_true(fd >= 0);
	assert_int_equal(poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 10000), 1); /* it is at it */
	return fd;
}

/* What arrives at each within that time, after the first, Mbit/s. */
static void receive(const int *fds, int nr, unsigned int first_ms, unsigned int ms, double *ret_mbit)
{
	static char bytes[1 << 18];
	uint64_t skip = clock_us() + first_ms * 1000, end = skip + ms * 1000, counted[4] = { 0 }, last = skip;

	for (uint64_t now = 0; now < end; now = clock_us())
		for (int i = 0; i < nr; i++) {
			ssize_t n = recv(fds[i], bytes, sizeof(bytes), MSG_DONTWAIT);

			if (n > 0 && now >= skip)
				counted[i] += (uint64_t)n;
			last = now > skip ? now : last;
		}
	for (int i = 0; i < nr; i++)
		ret_mbit[i] = (double)counted[i] * 8 / (double)(last - skip);
}

static void a_sender_has_the_rate_asked_for_until_it_is_over_and_others_have_theirs(void **state)
{
	struct outcome outcome = { 0 };
	double mbit[2], after;
	int fds[2];

	(void)state;
	prepare();
	limit();
	fds[0] = spawn_sender(SOCK_STREAM, true);
	fds[1] = spawn_sender(SOCK_STREAM, false);
	egress_apply(&egress, 1, &outcome);
	receive(fds, 2, 300, 900, mbit);
	egress_apply(&egress, 2, &outcome);
	egress_close(&egress);
	receive(fds, 1, 250, 200, &after);
	print_message("# asked for %d Mbit/s: %.0f, afterwards %.0f; who is not limited: %.0f\n", RATE_MBIT, mbit[0], after,
		      mbit[1]);
	/* One burst more or less within the time, and a busy machine sends less. */
	assert_true(mbit[0] > RATE_MBIT * 0.25 && mbit[0] < RATE_MBIT * 1.5);
	assert_true(mbit[1] > RATE_MBIT * 2 && after > RATE_MBIT * 2);
	assert_int_equal(outcome.egress.limit_bps, limits.egress_bps);
	assert_true(outcome.egress.be_bps > limits.egress_bps / 4 && outcome.egress.be_bps < limits.egress_bps / 2 * 3);
	assert_true(outcome.egress.has_be && !outcome.egress.has_link);
	assert_string_equal(outcome.note, "");
	close(fds[0]);
	close(fds[1]);
}

static void datagrams_are_held_back_too(void **state)
{
	struct outcome outcome = { 0 };
	double mbit;
	int fd;

	(void)state;
	prepare();
	limit();
	fd = spawn_sender(SOCK_DGRAM, true);
	receive(&fd, 1, 300, 0, &mbit);
	egress_apply(&egress, 1, &outcome);
	receive(&fd, 1, 0, 500, &mbit);
	egress_apply(&egress, 2, &outcome);
	print_message("# asked for %d Mbit/s: %.0f sent\n", RATE_MBIT, (double)outcome.egress.be_bps / MBIT);
	assert_true(outcome.egress.be_bps > limits.egress_bps / 4 && outcome.egress.be_bps < limits.egress_bps / 10 * 13);
	assert_true(mbit < RATE_MBIT * 1.3);
	close(fd);
}

/* How many programs the group has, and one of them. */
static uint32_t query(uint32_t *ret_id)
{
	uint32_t ids[8], nr = 8;
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(bpf_prog_query(fd, BPF_CGROUP_INET_EGRESS, 0, NULL, ids, &nr), 0);
	close(fd);
	if (nr)
		*ret_id = ids[0];
	return nr;
}

static uint32_t nr_attached(void)
{
	uint32_t id;

	return query(&id);
}

static void a_killed_run_leaves_nothing_attached(void **state)
{
	int ready[2];
	char byte;
	pid_t pid;

	(void)state;
	prepare();
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		limit();
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	children[nr_children++] = pid;
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(nr_attached(), 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	nr_children--;
	for (int i = 0; nr_attached() && i < 200; i++)
		sleep_us(10000);
	assert_int_equal(nr_attached(), 0);
	close(ready[0]);
	close(ready[1]);
}

static void what_somebody_took_away_is_put_back_and_told(void **state)
{
	struct outcome outcome = { 0 };

	(void)state;
	prepare();
	limit();
	assert_int_equal(bpf_link__detach(egress.groups[0].link), 0);
	assert_int_equal(nr_attached(), 0);
	egress_apply(&egress, 1, &outcome);
	assert_int_equal(nr_attached(), 1);
	assert_string_equal(outcome.note, "egress: somebody else changed what limits its egress; put back");
	outcome.note[0] = '\0';
	egress_apply(&egress, 2, &outcome);
	assert_string_equal(outcome.note, "");
}

static void a_group_that_is_made_anew_is_limited_anew(void **state)
{
	struct outcome outcome = { 0 };

	(void)state;
	prepare();
	limit();
	assert_int_equal(rmdir(dir), 0);
	egress_apply(&egress, 1, &outcome);
	assert_null(egress.groups[0].link);
	assert_int_equal(mkdir(dir, 0755), 0);
	egress_apply(&egress, 2, &outcome);
	assert_int_equal(nr_attached(), 1);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(mkdir(dir, 0755), 0);
	egress_apply(&egress, 3, &outcome);
	assert_int_equal(nr_attached(), 1);
	assert_string_equal(outcome.note, "");
}

static void what_one_packet_costs_is_printed(void **state)
{
	struct bpf_prog_info info = { 0 };
	__u32 size = sizeof(info);
	uint32_t id = 0;
	int stats, fd;
	double mbit;

	(void)state;
	prepare();
	limits.egress_bps = UINT64_C(500000000000);
	limit();
	stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (stats < 0)
		skip();
	fd = spawn_sender(SOCK_DGRAM, true);
	receive(&fd, 1, 0, 200, &mbit);
	close(fd);
	query(&id);
	fd = bpf_prog_get_fd_by_id(id);
	assert_int_equal(bpf_obj_get_info_by_fd(fd, &info, &size), 0);
	close(fd);
	close(stats);
	assert_true(info.run_cnt > 10);
	print_message("# %.0f ns a packet, of %llu\n", (double)info.run_time_ns / (double)info.run_cnt,
		      (unsigned long long)info.run_cnt);
	assert_true(info.run_time_ns / info.run_cnt < 20000);
}

/* What an emulated machine can send at all is soon less than the rate. */
static double free_mbit(void)
{
	double mbit;
	int fd = spawn_sender(SOCK_STREAM, false);

	receive(&fd, 1, 200, 1000, &mbit);
	close(fd);
	kill(children[--nr_children], SIGKILL);
	waitpid(children[nr_children], NULL, 0);
	return mbit;
}

/* Senders, rates: what they reach together over some seconds. */
static void rates_reached_are_printed_when_all_is_wanted(void **state)
{
	static const int rates[] = { 5, 50, 500 }, senders[] = { 1, 4 };
	const char *all = getenv("TEST_ALL");
	double most_mbit;

	(void)state;
	prepare();
	if (!all || !*all)
		skip();
	most_mbit = free_mbit();
	print_message("# without a limit: %.0f Mbit/s\n", most_mbit);
	for (size_t i = 0; i < 2 * sizeof(rates) / sizeof(rates[0]); i++) {
		int rate = rates[i / 2], nr = senders[i % 2], fds[4];
		double mbit[4], sum = 0;

		limits.egress_bps = (uint64_t)rate * MBIT;
		limit();
		for (int s = 0; s < nr; s++)
			fds[s] = spawn_sender(SOCK_STREAM, true);
		receive(fds, nr, 1000, 5000, mbit);
		for (int s = 0; s < nr; s++) {
			sum += mbit[s];
			close(fds[s]);
		}
		print_message("# asked for %d Mbit/s, %d sender%s: %.1f (%.1f %%)\n", rate, nr, nr > 1 ? "s" : "", sum,
			      100 * sum / rate);
		assert_true((sum > rate * 0.5 || rate > most_mbit / 2) && sum < rate * 1.1);
		finish(state);
		assert_int_equal(start(state), 0);
	}
}

int main(void)
{
#define EGRESS_TEST(f) cmocka_unit_test_setup_teardown(f, start, finish)
	const struct CMUnitTest tests[] = {
		EGRESS_TEST(a_sender_has_the_rate_asked_for_until_it_is_over_and_others_have_theirs),
		EGRESS_TEST(datagrams_are_held_back_too),
		EGRESS_TEST(a_killed_run_leaves_nothing_attached),
		EGRESS_TEST(what_somebody_took_away_is_put_back_and_told),
		EGRESS_TEST(a_group_that_is_made_anew_is_limited_anew),
		EGRESS_TEST(what_one_packet_costs_is_printed),
		EGRESS_TEST(rates_reached_are_printed_when_all_is_wanted),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("egress", tests, NULL, NULL);
}
