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
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "bpf/handle.h"
#include "bpf/server.h"
#include "cgroup.h"

#define MS 1000000ull

enum { SERVICE_GROUP, BURNER_GROUP, NR_GROUPS };
static char groups[NR_GROUPS][600];
static struct cgroup_mounts mounts;
static const char *no_groups; /* why */
static unsigned int next_service;
static int cpu;
static pid_t children[4]; /* of one test */
static pid_t cleaner;
static int alive = -1; /* inherited by all we start: the cleaner waits until nobody has it open any more */

/* ---- processes and groups ---------------------------------------------------------------------------------------- */

static void burn_for_us(uint64_t us)
{
	for (uint64_t end = clock_us() + us; clock_us() < end;)
		;
}

static void pin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void *burn(void *arg)
{
	for (;;)
		burn_for_us(1000000);
	return arg;
}

static bool put(const char *dir, const char *file, const char *text)
{
	char path[700];
	int fd;
	bool done;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_WRONLY);
	done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return done;
}

static void join(const char *dir)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	if (!put(dir, "cgroup.procs", pid))
		_exit(1);
}

static pid_t start_child(void)
{
	pid_t pid = fork();

	for (size_t i = 0; pid > 0; i++)
		if (!children[i]) {
			children[i] = pid;
			break;
		}
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/* A process of that name with as many burning threads, in a group of ours, on the one CPU. */
static pid_t start_burning(const char *name, int group, int nr_threads)
{
	pid_t pid = start_child();
	pthread_t thread;

	if (pid)
		return pid;
	prctl(PR_SET_NAME, name);
	pin();
	join(groups[group]);
	while (--nr_threads > 0)
		pthread_create(&thread, NULL, burn, NULL);
	burn(NULL);
	_exit(0);
}

static int stop_children(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(children) / sizeof(children[0]); i++)
		if (children[i])
			server_stop(children[i]);
	memset(children, 0, sizeof(children));
	return 0;
}

static bool is_v2(void)
{
	return mounts.kinds[CGROUP_CPU].version == 2;
}

/* In 1,024ths of what everybody has. */
static void weigh(int group, unsigned int shares)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", is_v2() ? shares * 100 / 1024 : shares);
	assert_true(put(groups[group], is_v2() ? "cpu.weight" : "cpu.shares", text));
}

/* 8 ms of every 20, or no limit. */
static void limit(bool limited)
{
	if (is_v2()) {
		assert_true(put(groups[SERVICE_GROUP], "cpu.max", limited ? "8000 20000" : "max 20000"));
	} else {
		assert_true(put(groups[SERVICE_GROUP], "cpu.cfs_period_us", "20000"));
		assert_true(put(groups[SERVICE_GROUP], "cpu.cfs_quota_us", limited ? "8000" : "-1"));
	}
}

static uint64_t throttled_ns(void)
{
	char path[700], line[128];
	unsigned long long value = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/cpu.stat", groups[SERVICE_GROUP]);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "throttled_time %llu", &value) != 1 && sscanf(line, "throttled_usec %llu", &value) == 1)
			value *= 1000;
	fclose(file);
	return value;
}

static uint64_t group_id(int group)
{
	struct stat st;

	assert_int_equal(stat(groups[group], &st), 0);
	return st.st_ino;
}

/* What schedstat says of a process's main thread. */
static uint64_t schedstat_ns(pid_t pid)
{
	unsigned long long delay = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%*u %llu", &delay), 1);
	fclose(file);
	return delay;
}

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
	uint64_t schedstat_ns, throttled_ns; /* by the files */
};

/* The next sweep walks the tasks, however long the last walk took. */
static void sweep(void)
{
	sleep_us(700000);
	assert_int_equal(ebee_sweep(ebee), 0);
}

static void measure(pid_t pid, struct measured *ret)
{
	unsigned int service = next_service++;
	struct ebee_window *window;

	assert_int_equal(ebee_add_pid(ebee, service, pid), 0);
	assert_int_equal(ebee_seed(ebee), 0);
	sleep_us(50000); /* it is where it shall be */
	assert_int_equal(ebee_trace_culprits(ebee, 1), 0); /* finds the threads */
	assert_int_equal(ebee_window_open(&window, ebee, service), 0);
	ret->schedstat_ns = schedstat_ns(pid);
	ret->throttled_ns = throttled_ns();
	sweep();
	assert_int_equal(ebee_window_advance(window, &ret->info), 0);
	ret->schedstat_ns = schedstat_ns(pid) - ret->schedstat_ns;
	ret->throttled_ns = throttled_ns() - ret->throttled_ns;
	assert_int_equal(ebee_get_culprits(ebee, service, &ret->culprits), 0);
	assert_int_equal(ebee_trace_culprits(ebee, 0), 0);
	ebee_window_close(window);
	assert_int_equal(ebee_remove(ebee, service), 0);
	assert_true(ret->info.has_run_delay);
}

static uint64_t foreign_ns(const struct ebee_culprits *c)
{
	uint64_t sum = c->others_ns;

	for (unsigned int i = 0; i < c->nr; i++)
		sum += c->top[i].wait_ns;
	return sum;
}

/* Waits that begin before a window and end in it, and the other way round, may be one time slice each. */
static void assert_near_ms(uint64_t got_ns, uint64_t want_ns, uint64_t slack_ms)
{
	if (got_ns > want_ns + slack_ms * MS || want_ns > got_ns + slack_ms * MS)
		fail_msg("%.1f ms, want %.1f", (double)got_ns / MS, (double)want_ns / MS);
}

static void a_neighbour_on_the_same_cpu_is_the_culprit_by_name_and_group(void **state)
{
	struct measured m;
	pid_t service;

	(void)state;
	NEEDS_GROUPS();
	weigh(SERVICE_GROUP, 102400);
	weigh(BURNER_GROUP, 102400);
	start_burning("rq-burner", BURNER_GROUP, 1);
	service = start_burning("rq-service", SERVICE_GROUP, 1);
	measure(service, &m);
	print_message("# delay %.0f schedstat %.0f throttled %.0f; charged: foreign %.0f self %.0f idle %.0f throttled %.0f lost %.0f ms\n",
		      m.info.run_delay_ns / 1e6, m.schedstat_ns / 1e6, m.throttled_ns / 1e6, foreign_ns(&m.culprits) / 1e6,
		      m.culprits.self_ns / 1e6, m.culprits.idle_ns / 1e6, m.culprits.throttled_ns / 1e6,
		      m.culprits.lost_ns / 1e6);
	assert_near_ms(m.info.run_delay_ns, m.schedstat_ns, 40);
	assert_true(m.info.run_delay_ns > 150 * MS); /* of 600, with half a CPU */
	assert_true(m.culprits.nr > 0);
	assert_string_equal(m.culprits.top[0].comm, "rq-burner");
	assert_int_equal(m.culprits.top[0].cgroup_id, group_id(BURNER_GROUP));
	assert_true(m.culprits.top[0].wait_ns * 10 > m.info.run_delay_ns * 8);
	assert_near_ms(foreign_ns(&m.culprits) + m.culprits.self_ns + m.culprits.idle_ns + m.culprits.throttled_ns +
		       m.culprits.lost_ns, m.info.run_delay_ns, 40);
}

static void a_service_held_back_by_its_quota_waits_for_nobody(void **state)
{
	struct measured m;
	pid_t service;

	(void)state;
	NEEDS_GROUPS();
	weigh(SERVICE_GROUP, 102400);
	weigh(BURNER_GROUP, 1024);
	limit(true);
	start_burning("rq-burner", BURNER_GROUP, 1); /* runs whenever the service may not */
	service = start_burning("rq-service", SERVICE_GROUP, 1);
	measure(service, &m);
	print_message("# delay %.0f schedstat %.0f throttled %.0f; charged: foreign %.0f self %.0f idle %.0f throttled %.0f lost %.0f ms\n",
		      m.info.run_delay_ns / 1e6, m.schedstat_ns / 1e6, m.throttled_ns / 1e6, foreign_ns(&m.culprits) / 1e6,
		      m.culprits.self_ns / 1e6, m.culprits.idle_ns / 1e6, m.culprits.throttled_ns / 1e6,
		      m.culprits.lost_ns / 1e6);
	limit(false);
	assert_true(m.throttled_ns > 150 * MS);
	assert_near_ms(m.culprits.throttled_ns, m.throttled_ns, 60);
	/* The rest is true waiting: when the quota is back, the burner stays on until the next tick. */
	assert_near_ms(foreign_ns(&m.culprits) + m.throttled_ns, m.info.run_delay_ns, 60);
	assert_true(foreign_ns(&m.culprits) < m.info.run_delay_ns / 2);
}

static void threads_of_the_service_that_run_meanwhile_are_no_culprit(void **state)
{
	struct measured m;
	pid_t service;

	(void)state;
	NEEDS_GROUPS();
	weigh(SERVICE_GROUP, 102400);
	service = start_burning("rq-service", SERVICE_GROUP, 3);
	measure(service, &m);
	print_message("# delay %.0f schedstat %.0f throttled %.0f; charged: foreign %.0f self %.0f idle %.0f throttled %.0f lost %.0f ms\n",
		      m.info.run_delay_ns / 1e6, m.schedstat_ns / 1e6, m.throttled_ns / 1e6, foreign_ns(&m.culprits) / 1e6,
		      m.culprits.self_ns / 1e6, m.culprits.idle_ns / 1e6, m.culprits.throttled_ns / 1e6,
		      m.culprits.lost_ns / 1e6);
	assert_true(m.culprits.self_ns > 600 * MS); /* two of three wait, for 600 ms */
	assert_true(foreign_ns(&m.culprits) < m.culprits.self_ns / 5);
}

/* ---- threads that no walk sees ----------------------------------------------------------------------------------- */

static uint64_t *brief_delay_ns; /* shared: what threads of one burst read of themselves at their end */

static void *live_briefly(void *arg)
{
	unsigned long long delay = 0;
	FILE *file;

	burn_for_us(10000);
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
	sweep();
	assert_int_equal(ebee_window_advance(window, &info), 0);
	assert_true(brief_delay_ns[0] > 100 * MS); /* eight at once for 10 ms each */
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

static void make_groups(void)
{
	static const char *const names[] = { "rq-service", "rq-burner" };
	const struct cgroup_mount *mount = &mounts.kinds[CGROUP_CPU];

	if (cgroup_read_mounts("", &mounts) || !mount->version) {
		no_groups = "there is no cpu controller here";
		return;
	}
	for (int i = 0; i < NR_GROUPS; i++) {
		snprintf(groups[i], sizeof(groups[i]), "%s/%s-%d", mount->dir, names[i], (int)getpid());
		if (mkdir(groups[i], 0755)) {
			groups[i][0] = '\0';
			no_groups = "control groups cannot be made here";
		} else if (!no_groups && !put(groups[i], is_v2() ? "cpu.weight" : "cpu.shares", is_v2() ? "100" : "1024")) {
			no_groups = "the root of cgroup version 2 does not hand the cpu controller down";
		}
	}
}

static void remove_groups(void)
{
	for (int i = 0; i < NR_GROUPS; i++)
		for (int tries = 0; groups[i][0] && rmdir(groups[i]) && errno == EBUSY && tries < 100; tries++)
			sleep_us(10000); /* a process just killed is in it for a moment */
}

/* However this program ends: when the last of it is gone, so are its groups. */
static void start_cleaner(void)
{
	int ends[2];
	char byte;

	if (pipe(ends))
		abort();
	alive = ends[1];
	cleaner = fork();
	if (cleaner) {
		close(ends[0]);
		return;
	}
	setsid(); /* Ctrl-C is not for it */
	close(ends[1]);
	while (read(ends[0], &byte, 1) > 0)
		;
	remove_groups();
	_exit(0);
}

static int set_up(void **state)
{
	cpu_set_t allowed;

	(void)state;
	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &allowed))
			cpu = i; /* the last */
	make_groups();
	start_cleaner();
	return open_handle_with(NULL);
}

static int tear_down(void **state)
{
	close_handle(state);
	close(alive);
	waitpid(cleaner, NULL, 0);
	return 0;
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
