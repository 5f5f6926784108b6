// SPDX-License-Identifier: GPL-2.0
/*
 * test_runqueue.c - waiting for a CPU and who is to blame, in the running kernel: services that burn on one CPU, beside
 * burners of ours.  Weights keep everybody else's share small.  Skips without the rights or a cpu controller.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <sys/mman.h>

#include "bpf/burners.h"
#include "bpf/handle.h"

static unsigned int next_service;

#define NEEDS_GROUPS()                                                                                                 \
	do {                                                                                                           \
		NEEDS_BPF();                                                                                           \
		if (no_groups) {                                                                                       \
			print_message("# %s\n", no_groups);                                                            \
			skip();                                                                                        \
		}                                                                                                      \
	} while (0)

/* ---- measuring --------------------------------------------------------------------------------------------------- */

struct measured {
	struct ebee_window_info info;
	struct ebee_culprits culprits;
	uint64_t schedstat_ns, throttled_ns, cpu_ns, burner_cpu_ns; /* by files and clocks */
};

/* So long that a sweep walks the tasks again; on a slow machine a walk takes longer, and the next is due later. */
static unsigned int pause_us = 700000;

static void sweep_and_advance(struct ebee_window *window, struct ebee_window_info *ret)
{
	sleep_us(pause_us);
	assert_int_equal(ebee_sweep(ebee), 0);
	assert_int_equal(ebee_window_advance(window, ret), 0);
	if (!ret->has_run_delay && pause_us < 6000000)
		pause_us *= 2;
}

static uint64_t foreign_ns(const struct ebee_culprits *c)
{
	uint64_t sum = c->others_ns;

	for (unsigned int i = 0; i < c->nr; i++)
		sum += c->top[i].wait_ns;
	return sum;
}

static void read_truth(pid_t pid, pid_t burner, struct measured *m, int sign)
{
	m->schedstat_ns += (uint64_t)sign * schedstat_ns(pid);
	m->throttled_ns += (uint64_t)sign * throttled_ns();
	m->cpu_ns += (uint64_t)sign * cpu_ns(pid);
	m->burner_cpu_ns += (uint64_t)sign * cpu_ns(burner);
}

static void measure_once(pid_t pid, pid_t burner, struct measured *ret)
{
	const struct ebee_culprits *c = &ret->culprits;
	unsigned int service = next_service++;
	struct ebee_window *window;

	*ret = (struct measured){ 0 };
	assert_int_equal(ebee_add_pid(ebee, service, pid), 0);
	assert_int_equal(ebee_seed(ebee), 0);
	sleep_us(50000); /* it is where it shall be */
	assert_int_equal(ebee_trace_culprits(ebee, 1), 0); /* finds the threads */
	assert_int_equal(ebee_window_open(&window, ebee, service), 0);
	read_truth(pid, burner, ret, -1);
	sweep_and_advance(window, &ret->info);
	read_truth(pid, burner, ret, 1);
	assert_int_equal(ebee_get_culprits(ebee, service, &ret->culprits), 0);
	assert_int_equal(ebee_trace_culprits(ebee, 0), 0);
	ebee_window_close(window);
	assert_int_equal(ebee_remove(ebee, service), 0);
	print_message("# delay %.0f schedstat %.0f throttled %.0f cpu %.0f burner %.0f; charged: foreign %.0f self %.0f idle %.0f "
		      "throttled %.0f lost %.0f ms\n", ret->info.run_delay_ns / 1e6, ret->schedstat_ns / 1e6,
		      ret->throttled_ns / 1e6, ret->cpu_ns / 1e6, ret->burner_cpu_ns / 1e6, foreign_ns(c) / 1e6,
		      c->self_ns / 1e6, c->idle_ns / 1e6, c->throttled_ns / 1e6, c->lost_ns / 1e6);
}

/* Waits that begin before a window and end in it, and the other way round, may be a few time slices each. */
static void assert_near_ms(uint64_t got_ns, uint64_t want_ns, uint64_t slack_ms)
{
	if (got_ns > want_ns + slack_ms * MS || want_ns > got_ns + slack_ms * MS)
		fail_msg("%.1f ms, want %.1f", (double)got_ns / MS, (double)want_ns / MS);
}

static uint64_t charged_ns(const struct ebee_culprits *c)
{
	return foreign_ns(c) + c->self_ns + c->idle_ns + c->throttled_ns + c->lost_ns;
}

static bool all_is_charged(const struct measured *m)
{
	uint64_t slack_ns = 60 * MS + m->info.run_delay_ns / 10, ns = charged_ns(&m->culprits);

	return ns < m->info.run_delay_ns + slack_ns && m->info.run_delay_ns < ns + slack_ns;
}

/*
 * On a machine where others take the CPU for good, waits begin before the window and end after it, and quotas are not used
 * up: then once more, and in the end false.  Charges that never add up are an error.
 */
static bool measure(pid_t pid, pid_t burner, uint64_t least_throttled_ns, struct measured *ret)
{
	bool enough = false;

	for (int tries = 0; tries < 4 && !(enough && all_is_charged(ret)); tries++) {
		measure_once(pid, burner, ret);
		enough = ret->info.has_run_delay && ret->cpu_ns > 100 * MS && ret->throttled_ns >= least_throttled_ns;
	}
	if (!enough)
		print_message("# skip: others take the CPU\n");
	else if (!all_is_charged(ret))
		fail_msg("%.1f ms of %.1f are charged", charged_ns(&ret->culprits) / 1e6, ret->info.run_delay_ns / 1e6);
	return enough;
}

/* The service waits whenever the burner runs. */
static void a_neighbour_on_the_same_cpu_is_the_culprit_by_name_and_group(void **state)
{
	const struct ebee_culprit *found = NULL;
	struct measured m;
	pid_t service, burner;

	(void)state;
	NEEDS_GROUPS();
	weigh(SERVICE_GROUP, 102400);
	weigh(BURNER_GROUP, 262144);
	burner = start_burning("rq-burner", BURNER_GROUP, 1);
	service = start_burning("rq-service", SERVICE_GROUP, 1);
	if (!measure(service, burner, 0, &m))
		skip();
	assert_near_ms(m.info.run_delay_ns, m.schedstat_ns, 60);
	for (unsigned int i = 0; i < m.culprits.nr; i++)
		if (!strcmp(m.culprits.top[i].comm, "rq-burner"))
			found = &m.culprits.top[i];
	assert_non_null(found);
	assert_int_equal(found->cgroup_id, group_id(BURNER_GROUP));
	assert_near_ms(found->wait_ns, m.burner_cpu_ns, 60 + m.culprits.lost_ns / MS);
}

static void a_service_held_back_by_its_quota_waits_for_nobody(void **state)
{
	struct measured m;
	pid_t service;
	bool enough;

	(void)state;
	NEEDS_GROUPS();
	weigh(SERVICE_GROUP, 262144);
	weigh(BURNER_GROUP, 1024);
	limit(true);
	start_burning("rq-burner", BURNER_GROUP, 1); /* runs whenever the service may not */
	service = start_burning("rq-service", SERVICE_GROUP, 1);
	enough = measure(service, 0, 150 * MS, &m);
	limit(false);
	if (!enough)
		skip();
	assert_near_ms(m.culprits.throttled_ns, m.throttled_ns, 60);
	/* The rest is true waiting: when the quota is back, the burner stays on until the next tick. */
	assert_near_ms(foreign_ns(&m.culprits) + m.throttled_ns, m.info.run_delay_ns, 60 + m.culprits.lost_ns / MS);
}

/* Of three, two wait whenever one runs. */
static void threads_of_the_service_that_run_meanwhile_are_no_culprit(void **state)
{
	struct measured m;
	pid_t service;

	(void)state;
	NEEDS_GROUPS();
	weigh(SERVICE_GROUP, 262144);
	service = start_burning("rq-service", SERVICE_GROUP, 3);
	if (!measure(service, 0, 0, &m))
		skip();
	assert_near_ms(m.culprits.self_ns, 2 * m.cpu_ns, 300 + m.culprits.lost_ns / MS); /* of about 1,400 */
	for (unsigned int i = 0; i < m.culprits.nr; i++)
		assert_string_not_equal(m.culprits.top[i].comm, "rq-service");
}

/* ---- threads that no walk sees ----------------------------------------------------------------------------------- */

static uint64_t *brief_delay_ns; /* shared: what threads of one burst read of themselves at their end */

static void *live_briefly(void *arg)
{
	unsigned long long delay = 0;
	struct timespec used;
	FILE *file;

	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	while (used.tv_nsec < 10000000);
	file = fopen("/proc/thread-self/schedstat", "r");
	if (file && fscanf(file, "%*u %llu", &delay) == 1)
		__sync_fetch_and_add(brief_delay_ns, delay);
	if (file)
		fclose(file);
	return arg;
}

static void serve_a_burst_when_told(int told)
{
	pthread_t threads[8];
	char byte;

	pin();
	while (read(told, &byte, 1) == 1) {
		for (int i = 0; i < 8; i++)
			pthread_create(&threads[i], NULL, live_briefly, NULL);
		for (int i = 0; i < 8; i++)
			pthread_join(threads[i], NULL);
		__sync_fetch_and_add(&brief_delay_ns[1], 1);
	}
	_exit(0);
}

static pid_t start_bursts(int *ret_tell)
{
	int told[2];
	pid_t pid;

	brief_delay_ns = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (brief_delay_ns == MAP_FAILED || pipe(told))
		abort();
	pid = start_child();
	if (!pid) {
		close(told[1]);
		serve_a_burst_when_told(told[0]);
	}
	close(told[0]);
	*ret_tell = told[1];
	return pid;
}

/* Between two walks; `by_port`: the process is told of beside a port. */
static void delay_of_a_burst_counts(bool by_port)
{
	unsigned int service = next_service++;
	struct ebee_window_info info;
	struct ebee_window *window;
	int tell;
	pid_t pid = start_bursts(&tell);

	assert_int_equal(by_port ? ebee_add_server(ebee, service, pid) : ebee_add_pid(ebee, service, pid), 0);
	assert_int_equal(ebee_seed(ebee), 0);
	assert_int_equal(ebee_window_open(&window, ebee, service), 0);
	assert_int_equal(write(tell, "!", 1), 1);
	while (!__atomic_load_n(&brief_delay_ns[1], __ATOMIC_RELAXED))
		sleep_us(10000);
	do
		sweep_and_advance(window, &info);
	while (!info.has_run_delay);
	assert_true(brief_delay_ns[0] > 100 * MS); /* eight at once, each with 10 ms to do */
	assert_near_ms(info.run_delay_ns, brief_delay_ns[0], 20 + brief_delay_ns[0] / MS / 10);
	close(tell);
	ebee_window_close(window);
	assert_int_equal(ebee_remove(ebee, service), 0);
	munmap(brief_delay_ns, 4096);
}

static void threads_that_live_between_two_walks_count(void **state)
{
	(void)state;
	NEEDS_BPF();
	delay_of_a_burst_counts(false);
}

static void processes_behind_a_port_count(void **state)
{
	(void)state;
	NEEDS_BPF();
	delay_of_a_burst_counts(true);
}

/* ---- on and off -------------------------------------------------------------------------------------------------- */

/* Descriptors of ours that hold something attached. */
static unsigned int nr_links(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int nr = 0;
	struct dirent *entry;
	char target[64];

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

		target[n > 0 ? n : 0] = '\0';
		nr += !strcmp(target, "anon_inode:bpf_link") || !strcmp(target, "anon_inode:bpf-link");
	}
	closedir(dir);
	return nr;
}

static void hooks_on_switches_are_there_only_while_asked_for(void **state)
{
	struct ebee_culprits culprits;
	unsigned int before;

	(void)state;
	NEEDS_BPF();
	before = nr_links();
	assert_true(before > 0);
	assert_int_equal(ebee_get_culprits(ebee, 0, &culprits), -EINVAL);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(ebee_trace_culprits(ebee, 1), 0);
		assert_int_equal(ebee_trace_culprits(ebee, 1), 0);
		assert_int_equal(nr_links(), before + 3);
		assert_int_equal(ebee_sweep(ebee), 0);
		assert_int_equal(ebee_get_culprits(ebee, 0, &culprits), 0);
		assert_int_equal(ebee_get_culprits(ebee, EBEE_MAX_SERVICES, &culprits), -EINVAL);
		assert_int_equal(ebee_trace_culprits(ebee, 0), 0);
		assert_int_equal(nr_links(), before);
		assert_int_equal(ebee_get_culprits(ebee, 0, &culprits), -EINVAL);
	}
}

static void walks_take_a_thousandth_of_a_cpu_at_most(void **state)
{
	struct ebee_window_info info;
	struct ebee_window *window;
	unsigned int nr_walks = 0;

	(void)state;
	NEEDS_BPF();
	assert_int_equal(ebee_window_open(&window, ebee, 0), 0);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(ebee_sweep(ebee), 0);
		assert_int_equal(ebee_window_advance(window, &info), 0);
		nr_walks += info.has_run_delay;
	}
	ebee_window_close(window);
	assert_in_range(nr_walks, 0, 10); /* a walk of 10 us at least; sweeps without one take less than that */
}

static void a_handle_with_a_ring_has_none(void **state)
{
	const struct ebee_opts opts = { .sz = sizeof(opts), .nr_services = 1, .ring_size = EBEE_RING_SIZE };
	struct ebee *other = NULL;

	(void)state;
	NEEDS_BPF();
	assert_int_equal(ebee_open(&other, &opts, NULL, 0), 0);
	assert_int_equal(ebee_trace_culprits(other, 1), -EINVAL);
	assert_int_equal(ebee_add_server(other, 0, getpid()), -EINVAL);
	ebee_close(other);
}

/* ---- set up ------------------------------------------------------------------------------------------------------ */

static int set_up(void **state)
{
	(void)state;
	start_burners();
	return open_handle_with(NULL);
}

static int tear_down(void **state)
{
	close_handle(state);
	return end_burners();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_neighbour_on_the_same_cpu_is_the_culprit_by_name_and_group, stop_children),
		cmocka_unit_test_teardown(a_service_held_back_by_its_quota_waits_for_nobody, stop_children),
		cmocka_unit_test_teardown(threads_of_the_service_that_run_meanwhile_are_no_culprit, stop_children),
		cmocka_unit_test_teardown(threads_that_live_between_two_walks_count, stop_children),
		cmocka_unit_test_teardown(processes_behind_a_port_count, stop_children),
		cmocka_unit_test_teardown(hooks_on_switches_are_there_only_while_asked_for, stop_children),
		cmocka_unit_test_teardown(walks_take_a_thousandth_of_a_cpu_at_most, stop_children),
		cmocka_unit_test_teardown(a_handle_with_a_ring_has_none, stop_children),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
