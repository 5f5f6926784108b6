// SPDX-License-Identifier: GPL-2.0
/*
 * states.c - hard cases about what no completed request can show: load that stops, a service that hangs, a full accept
 * queue, a quota that throttles.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/net.h"
#include "common/rig.h"

enum { INTERVAL_MS = 100 };

/* The line of an interval, counted from the end; the summary is line 0. */
static const json_t *line_from_end(size_t i)
{
	size_t nr = json_array_size(rig.lines);

	if (i >= nr)
		rig_broken("parties observe printed %zu lines only", nr);
	return json_array_get(rig.lines, nr - 1 - i);
}

static const char *state_of(const json_t *line)
{
	const char *state = json_string_value(json_object_get(line, "state"));

	return state ? state : "none";
}

/* ---- 34 ---------------------------------------------------------------------------------------------------------- */

static void serve_3ms(int fd)
{
	net_serve(fd, 3000);
}

static void run_load_stops(const struct rig_case *c)
{
	pid_t server = rig_serve(net_listen(), c);
	char measured[64];

	rig_watch(server, 0, INTERVAL_MS);
	net_keep_alive(20);
	rig_sleep_us(500000);
	rig_stop();
	for (size_t i = 1; i <= 3; i++) {
		const json_t *line = line_from_end(i);
		const json_t *p99 = json_object_get(line, "p99_us");

		snprintf(measured, sizeof(measured), "%.1f/s, p99 %.1f", rig_number(line, "rps"),
			 rig_number(line, "p99_us"));
		if (rig_number(line, "requests") > 0 || rig_number(line, "rps") > 0)
			rig_row("0/s, no p99", measured, "WRONG: the rate outlives the load");
		if (p99 && !json_is_null(p99))
			rig_row("0/s, no p99", measured, "WRONG: p99_us is a number without requests, not null");
	}
	if (rig_number(rig.summary, "requests") < 20)
		rig_broken("%.0f of 20 requests were counted", rig_number(rig.summary, "requests"));
	rig_row("0/s, no p99", measured, "right");
}

/* ---- 41 ---------------------------------------------------------------------------------------------------------- */

static void serve_never(int fd)
{
	char buf[NET_MESSAGE];

	net_read(fd, buf, NET_MESSAGE);
	pause();
}

static void server_that_does_not_accept(int listener)
{
	(void)listener;
	pause();
}

static void run_hung(const struct rig_case *c)
{
	pid_t server = rig_serve(net_listen(), c);
	char measured[64], buf[NET_MESSAGE] = { 0 };
	const json_t *line;
	uint64_t start, age;
	int fds[3];

	rig_watch(server, 0, INTERVAL_MS);
	start = rig_clock_us();
	for (int i = 0; i < 3; i++) {
		fds[i] = net_connect();
		net_write(fds[i], buf, NET_MESSAGE);
	}
	rig_sleep_us(600000);
	age = rig_clock_us() - start;
	rig_stop();
	line = line_from_end(1);
	snprintf(measured, sizeof(measured), "%.0f for %.0f ms, %s", rig_number(line, "in_flight"),
		 rig_number(line, "oldest_us") / 1e3, state_of(line));
	for (int i = 0; i < 3; i++)
		net_abort(fds[i]);
	if (rig_number(rig.summary, "requests") > 0 || rig_number(line, "in_flight") != 3 ||
	    strcmp(state_of(line), "stalled") || rig_number(line, "oldest_us") < 400000 ||
	    rig_number(line, "oldest_us") > (double)age + 50000)
		rig_row("3 for 600 ms, stalled", measured, "WRONG");
	rig_row("3 for 600 ms, stalled", measured, "right");
}

/* ---- 42 ---------------------------------------------------------------------------------------------------------- */

static int listen_narrow(void)
{
	return net_listen_with(AF_INET, 0, 1);
}

static void run_overflow(const struct rig_case *c)
{
	pid_t server = rig_serve(listen_narrow(), c);
	const json_t *worst = NULL;
	char measured[64];
	int fds[10];

	rig_watch(server, 0, INTERVAL_MS);
	for (int i = 0; i < 10; i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (connect(fds[i], (struct sockaddr *)&net_address, net_address_size) && errno != EINPROGRESS)
			rig_broken("connect: %s", strerror(errno));
		/* What is accepted in the kernel brings a request, so the service has one in flight. */
		rig_sleep_us(10000);
		send(fds[i], "waiting.........", NET_MESSAGE, MSG_NOSIGNAL);
	}
	rig_sleep_us(400000);
	rig_stop();
	for (int i = 0; i < 10; i++)
		net_abort(fds[i]);
	for (size_t i = json_array_size(rig.lines) - 1; i > 0; i--)
		if (rig_number(line_from_end(i), "listen_drops") > (worst ? rig_number(worst, "listen_drops") : 0))
			worst = line_from_end(i);
	if (!worst)
		rig_row("drops, violated", "no drops", "WRONG: listen_drops never rises");
	snprintf(measured, sizeof(measured), "%.0f drops, %s", rig_number(worst, "listen_drops"), state_of(worst));
	rig_row("drops, violated", measured,
		strcmp(state_of(worst), "stalled") ? "WRONG: the window does not count as violated" : "right");
}

/* ---- 46 ---------------------------------------------------------------------------------------------------------- */

static void serve_burning(int fd)
{
	char buf[NET_MESSAGE];

	while (net_read(fd, buf, NET_MESSAGE)) {
		for (uint64_t end = rig_clock_us() + 2000; rig_clock_us() < end;)
			;
		net_write(fd, buf, NET_MESSAGE);
	}
}

/* Sum of a field of the one service over a record. */
static double sum_of(FILE *record, const char *key)
{
	char *line = NULL;
	size_t size = 0;
	double sum = -1;

	while (getline(&line, &size, record) > 0) {
		json_t *tick = json_loads(line, 0, NULL);
		double value = rig_number(json_array_get(json_object_get(tick, "services"), 0), key);

		if (value >= 0)
			sum = (sum < 0 ? 0 : sum) + value;
		json_decref(tick);
	}
	free(line);
	return sum;
}

/*
 * Only a real run has a quota of its own to throttle by: a generous target makes it take bandwidth away, and the
 * clients keep one CPU busy meanwhile.
 */
static void run_throttled(const struct rig_case *c)
{
	char config[64], record[64], measured[64];
	int config_fd = memfd_create("config", 0), record_fd = memfd_create("record", 0),
	    words_fd = memfd_create("words", 0), status;
	pid_t server = rig_serve(net_listen(), c), run;
	double throttled;

	snprintf(config, sizeof(config), "/proc/self/fd/%d", config_fd);
	snprintf(record, sizeof(record), "/proc/self/fd/%d", record_fd);
	dprintf(config_fd, "[controller]\npolicy = parties-paper\ninterval = 100ms\nspeed = bandwidth\n"
		"[service burning]\nmatch = pid:%d\ntarget = p99 < 1s\ncores = 1..1\n", server);
	run = rig_spawn((const char *const[]) { rig_program("parties"), "run", "-c", config, "--for", "2500ms",
						"--record", record, "--quiet", NULL },
			words_fd);
	while (waitpid(run, &status, WNOHANG) == 0)
		net_keep_alive(20);
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		char words[128] = "";

		pread(words_fd, words, sizeof(words) - 1, 0);
		rig_skip("%.*s", (int)strcspn(words, "\n"), words);
	}
	lseek(record_fd, 0, SEEK_SET);
	throttled = sum_of(fdopen(record_fd, "r"), "throttled_s");
	snprintf(measured, sizeof(measured), "throttled %.0f ms", throttled * 1e3);
	if (throttled < 0)
		rig_row("throttled, apart", "-", "WRONG: the record has no throttled_s");
	rig_row("throttled, apart", measured,
		throttled > 0.05 && throttled < 5 ? "right" : "WRONG: the quota's throttling is not seen");
}

/* A group with a quota of 6 ms of every 20, heavy otherwise; it goes when everybody who could be in it is gone. */
static const char *limited_group(void)
{
	static char dir[128], path[192];
	const bool v1 = access("/sys/fs/cgroup/cpu/cgroup.procs", F_OK) == 0;
	const char *const files[][2] = {
		{ v1 ? "cpu.cfs_period_us" : "cpu.max", v1 ? "20000" : "6000 20000" },
		{ v1 ? "cpu.cfs_quota_us" : "cpu.weight", v1 ? "6000" : "10000" },
		{ v1 ? "cpu.shares" : "cpu.weight", v1 ? "102400" : "10000" },
	};
	int ends[2];

	snprintf(dir, sizeof(dir), "/sys/fs/cgroup/%sparties-case-%d", v1 ? "cpu/" : "", getpid());
	if (mkdir(dir, 0755) || pipe2(ends, O_CLOEXEC))
		rig_skip("no group can be made in /sys/fs/cgroup: %s", strerror(errno));
	if (fork() == 0) {
		setsid();
		alarm(0);
		close(ends[1]);
		while (read(ends[0], path, 1) > 0)
			;
		for (int tries = 0; rmdir(dir) && errno == EBUSY && tries < 100; tries++)
			rig_sleep_us(10000);
		_exit(0);
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/%s", dir, files[i][0]);
		fd = open(path, O_WRONLY);
		if (fd < 0 || write(fd, files[i][1], strlen(files[i][1])) < 0)
			rig_skip("%s: %s", path, strerror(errno));
		close(fd);
	}
	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	return path;
}

static void pin_to_last_cpu(pid_t pid)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)sysconf(_SC_NPROCESSORS_ONLN) - 1, &set);
	sched_setaffinity(pid, sizeof(set), &set);
}

static double cpu_ms(pid_t pid)
{
	struct timespec used = { 0 };
	clockid_t clock;

	if (!clock_getcpuclockid(pid, &clock))
		clock_gettime(clock, &used);
	return (double)used.tv_sec * 1e3 + (double)used.tv_nsec / 1e6;
}

static double foreign_ms(const json_t *line)
{
	double sum = rig_number(json_object_get(line, "waits_ms"), "others");
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(line, "culprits"), i, one)
		sum += rig_number(one, "wait_ms");
	return sum;
}

/* While the quota holds the service back, a neighbour has its CPU: he runs, and is not to blame. */
static void run_throttled_beside(const struct rig_case *c)
{
	double delay = 0, net = 0, throttled = 0, foreign = 0;
	int procs = open(limited_group(), O_WRONLY), out = memfd_create("lines", 0);
	pid_t server = rig_serve(net_listen(), c), neighbour = rig_fork(), observer;
	char pid[16], measured[96], words[256] = "", *line = NULL;
	unsigned int nr = 0;
	size_t size = 0;
	FILE *lines;

	if (neighbour == 0)
		for (;;)
			;
	snprintf(pid, sizeof(pid), "%d", server);
	if (procs < 0 || write(procs, pid, strlen(pid)) < 0)
		rig_skip("the server cannot be moved: %s", strerror(errno));
	pin_to_last_cpu(server);
	pin_to_last_cpu(neighbour);
	observer = rig_spawn((const char *const[]) { rig_program("parties"), "observe", "--pid", pid, "--culprits", "--json",
						     "--interval", "500ms", "--for", "2s", NULL }, out);
	while (waitpid(observer, NULL, WNOHANG) == 0)
		net_keep_alive(10);
	lseek(out, 0, SEEK_SET);
	lines = fdopen(out, "r");
	while (getline(&line, &size, lines) > 0) {
		json_t *object = json_loads(line, 0, NULL);

		if (!object)
			snprintf(words, sizeof(words), "%.*s", (int)strcspn(line, "\n"), line);
		if (json_object_get(object, "culprits")) {
			nr++;
			delay += rig_number(object, "run_delay_ms");
			net += rig_number(object, "net_delay_ms");
			throttled += rig_number(object, "throttled_ms");
			foreign += foreign_ms(object);
		}
		json_decref(object);
	}
	if (!nr)
		rig_broken("no line has culprits: %s", words);
	if (cpu_ms(server) < 300) /* of 630 that the quota gives */
		rig_skip("others take the CPU: the server does not come to use its quota up");
	snprintf(measured, sizeof(measured), "%.0f ms, %.0f apart, %.0f blamed", delay, throttled, foreign);
	if (throttled < 100 || delay < 100)
		rig_row("delay is throttling", measured, "WRONG: the quota's throttling is not seen");
	rig_row("delay is throttling", measured,
		foreign < throttled / 2 && net < throttled / 2 ? "right" : "WRONG: a neighbour is blamed");
}

static const struct rig_case cases[] = {
	{ "34", "the load stops", .serve = serve_3ms, .run = run_load_stops },
	{ "41a", "hung: read and never answered", .serve = serve_never, .run = run_hung },
	{ "41b", "hung: connections wait unaccepted", .server = server_that_does_not_accept, .run = run_hung },
	{ "42", "accept queue overflows", .server = server_that_does_not_accept, .run = run_overflow },
	{ "46a", "throttled by its own quota", .serve = serve_burning, .run = run_throttled },
	{ "46b", "the same beside a busy neighbour", .serve = serve_burning, .run = run_throttled_beside },
};

int main(int argc, char **argv)
{
	(void)argc;
	return rig_main(cases, sizeof(cases) / sizeof(cases[0]), argv);
}
