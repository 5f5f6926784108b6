// SPDX-License-Identifier: GPL-2.0
/*
 * rig.c - glue: processes, observers, verdicts of the hard cases; see rig.h.  Knows no case.
 */
#include "rig.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "net.h"

enum { MAX_SEEN = 65536, CASE_SECONDS = 30 };

struct rig rig;

struct observer {
	pid_t pid;
	int out, err;
};

static struct observer ours, naive;
static uint64_t seen[RIG_NR_SERIES][MAX_SEEN];
static unsigned int nr_seen[RIG_NR_SERIES];

/* ---- time -------------------------------------------------------------------------------------------------------- */

uint64_t rig_clock_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

void rig_sleep_us(uint64_t us)
{
	struct timespec t = { (time_t)(us / 1000000), (long)(us % 1000000) * 1000 };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

void rig_saw(enum rig_series series, uint64_t us)
{
	unsigned int i = __atomic_fetch_add(&nr_seen[series], 1, __ATOMIC_RELAXED);

	if (i < MAX_SEEN)
		seen[series][i] = us;
}

static int by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

uint64_t rig_seen_us(enum rig_series series, unsigned int percent)
{
	unsigned int nr = nr_seen[series] < MAX_SEEN ? nr_seen[series] : MAX_SEEN;

	qsort(seen[series], nr, sizeof(seen[series][0]), by_time);
	return nr ? seen[series][(nr * percent + 99) / 100 - 1] : 0;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void naive_text(char *text, size_t size)
{
	const json_t *close_ = json_object_get(rig.naive, "accept_close"), *send_ = json_object_get(rig.naive, "read_send");

	if (!rig.naive) {
		snprintf(text, size, "-");
		return;
	}
	snprintf(text, size, "%.0f x %.1f, %.0f x %.1f ms", rig_number(close_, "requests"), rig_number(close_, "p99_us") / 1e3,
		 rig_number(send_, "requests"), rig_number(send_, "p99_us") / 1e3);
}

static _Noreturn void row(const char *expected, const char *measured, const char *verdict, va_list args)
{
	char naive_words[128], verdict_words[256];

	naive_text(naive_words, sizeof(naive_words));
	vsnprintf(verdict_words, sizeof(verdict_words), verdict, args);
	printf("%s\t%s\t%s\t%s\t%s\t%s\n", rig.current->number, rig.current->pattern, expected, naive_words, measured, verdict_words);
	fflush(stdout);
	_exit(0);
}

void rig_row(const char *expected, const char *measured, const char *verdict, ...)
{
	va_list args;

	va_start(args, verdict);
	row(expected, measured, verdict, args);
}

void rig_skip(const char *why, ...)
{
	char words[256] = "skipped: ";
	va_list args;

	va_start(args, why);
	vsnprintf(words + strlen(words), sizeof(words) - strlen(words), why, args);
	rig_row("-", "-", "%s", words);
}

void rig_broken(const char *why, ...)
{
	char words[256] = "WRONG: the test broke: ";
	va_list args;

	va_start(args, why);
	vsnprintf(words + strlen(words), sizeof(words) - strlen(words), why, args);
	rig_row("-", "-", "%s", words);
}

/* ---- verdicts ---------------------------------------------------------------------------------------------------- */

double rig_number(const json_t *line, const char *key)
{
	const json_t *value = json_object_get(line, key);

	if (!value)
		value = json_object_get(json_object_get(line, "coverage"), key);
	return json_is_number(value) ? json_number_value(value) : -1;
}

/* Half a bucket to either side. */
static bool between(double got_us, uint64_t asked_us, uint64_t client_us)
{
	return got_us >= (double)asked_us * 0.992 && got_us <= (double)client_us * 1.008 + 1;
}

/* What is wrong with the percentiles, or an empty text. */
static void judge_latency(const struct rig_expect *e, char *wrong, size_t size)
{
	const struct {
		const char *key;
		uint64_t asked_us;
		enum rig_series series;
		unsigned int percent;
	} rules[] = {
		{ "p50_us", e->us, RIG_SEEN, 50 },
		{ "p99_us", e->p99_us ? e->p99_us : e->us, RIG_SEEN, 99 },
		{ "total_p50_us", e->total_us, RIG_SEEN_TOTAL, 50 },
		{ "total_p99_us", e->total_us, RIG_SEEN_TOTAL, 99 },
	};

	wrong[0] = '\0';
	for (size_t i = 0; i < (e->total_us ? 4 : 2); i++) {
		double got = rig_number(rig.summary, rules[i].key);
		uint64_t most = rig_seen_us(rules[i].series, rules[i].percent);

		if (!between(got, rules[i].asked_us, most)) {
			snprintf(wrong, size, "%s %.1f ms, not %.1f..%.1f", rules[i].key, got / 1e3, (double)rules[i].asked_us / 1e3,
				 (double)most / 1e3);
			return;
		}
	}
}

/* The first of the counters, a list with commas, that went up; NULL: none did. */
static const char *declaring(const char *list, char *name, size_t size)
{
	while (list && *list) {
		size_t length = strcspn(list, ",");

		snprintf(name, size, "%.*s", (int)length, list);
		if (rig_number(rig.summary, name) > 0)
			return name;
		list += length + (list[length] == ',');
	}
	return NULL;
}

/* The counter that belongs to the right result, in words, or what is wrong with it. */
static bool judge_counter(const struct rig_expect *e, char *words, size_t size)
{
	double got;

	words[0] = '\0';
	if (!e->must_declare)
		return true;
	got = rig_number(rig.summary, e->must_declare);
	if (got > 0 && (!e->must_nr || got == e->must_nr)) {
		snprintf(words, size, ", %s=%.0f", e->must_declare, got);
		return true;
	}
	snprintf(words, size, got < 0 ? "there is no %s" : "%s=%.0f", e->must_declare, got);
	return false;
}

void rig_judge(const struct rig_case *c)
{
	const struct rig_expect *e = &c->expect;
	double got = rig_number(rig.summary, "requests");
	unsigned int least = e->nr_least ? e->nr_least : e->nr;
	char expected[64], measured[64], latency[160], counter[64], name[32];
	bool counted = judge_counter(e, counter, sizeof(counter));
	const char *by = declaring(e->may_declare, name, sizeof(name));

	snprintf(expected, sizeof(expected), "%u x %.1f/%.1f ms", e->nr, (double)e->us / 1e3, (double)(e->p99_us ? e->p99_us : e->us) / 1e3);
	snprintf(measured, sizeof(measured), "%.0f x %.1f/%.1f ms", got, rig_number(rig.summary, "p50_us") / 1e3,
		 rig_number(rig.summary, "p99_us") / 1e3);
	judge_latency(e, latency, sizeof(latency));
	if (got > e->nr)
		rig_row(expected, measured, "WRONG: %.0f too many%s%s", got - e->nr, *latency ? "; " : "", latency);
	if (got < least && !by)
		rig_row(expected, measured, "WRONG: %.0f missing%s%s", e->nr - got, *latency && got > 0 ? "; " : "", got > 0 ? latency : "");
	/* Nothing completed has no latency that could be wrong. */
	if (*latency && got > 0)
		rig_row(expected, measured, "WRONG: %s", latency);
	if (!counted)
		rig_row(expected, measured, "WRONG: %s", counter);
	if (got < least)
		rig_row(expected, measured, "declared: %s=%.0f", by, rig_number(rig.summary, by));
	rig_row(expected, measured, "right%s", counter);
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

pid_t rig_fork(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		rig_broken("fork: %s", strerror(errno));
	if (pid == 0) {
		alarm(0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
	}
	return pid;
}

pid_t rig_spawn(const char *const *argv, int out)
{
	pid_t pid = rig_fork();

	if (pid)
		return pid;
	if (out < 0)
		out = open("/dev/null", O_WRONLY);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	execvp(argv[0], (char *const *)argv);
	_exit(127);
}

struct connection {
	void (*serve)(int);
	int fd;
};

static void *serve_one(void *arg)
{
	struct connection c = *(struct connection *)arg;

	free(arg);
	c.serve(c.fd);
	close(c.fd);
	return NULL;
}

static void serve_all(int listener, void (*serve)(int))
{
	for (;;) {
		struct connection *c = malloc(sizeof(*c));
		pthread_t thread;

		c->serve = serve;
		c->fd = accept(listener, NULL, NULL);
		if (c->fd < 0 || pthread_create(&thread, NULL, serve_one, c))
			_exit(1);
		pthread_detach(thread);
	}
}

pid_t rig_serve(int listener, const struct rig_case *c)
{
	pid_t pid = rig_fork();

	if (pid == 0) {
		if (c->server)
			c->server(listener);
		else
			serve_all(listener, c->serve);
		_exit(0);
	}
	close(listener);
	return pid;
}

bool rig_wait_for(int fd, const char *words)
{
	static char text[8192];
	size_t used = 0;
	ssize_t n;

	while (used < sizeof(text) - 1 && (n = read(fd, text + used, sizeof(text) - 1 - used)) > 0) {
		used += (size_t)n;
		text[used] = '\0';
		if (strstr(text, words))
			return true;
	}
	text[used] = '\0';
	text[strcspn(text, "\n")] = '\0';
	fprintf(stderr, "%s\n", text);
	return false;
}

static void observer_start(struct observer *o, const char *const *argv)
{
	int out[2], err[2];

	if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		rig_broken("pipe: %s", strerror(errno));
	o->pid = rig_fork();
	if (o->pid == 0) {
		dup2(out[1], STDOUT_FILENO);
		dup2(err[1], STDERR_FILENO);
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	close(out[1]);
	close(err[1]);
	o->out = out[0];
	o->err = err[0];
}

/* All lines it printed; its summary is the last. */
static json_t *observer_stop(struct observer *o)
{
	json_t *lines = json_array();
	char *line = NULL;
	size_t size = 0;
	FILE *out;

	kill(o->pid, SIGINT);
	out = fdopen(o->out, "r");
	while (getline(&line, &size, out) > 0)
		json_array_append_new(lines, json_loads(line, 0, NULL));
	free(line);
	fclose(out);
	close(o->err);
	waitpid(o->pid, NULL, 0);
	return lines;
}

static const char *program(const char *name)
{
	const char *build = getenv("BUILD");
	char *path;

	if (asprintf(&path, "%s/%s", build ? build : "build", name) < 0 || access(path, X_OK))
		rig_broken("%s is missing; build first", name);
	return path;
}

void rig_watch(pid_t pid, unsigned int port, unsigned int interval_ms)
{
	char pid_text[16], port_text[16], interval[16];
	const char *const argv_ours[] = { program("parties"), "observe", port ? "--port" : "--pid", port ? port_text : pid_text,
					  "--json", "--interval", interval, NULL };
	const char *const argv_naive[] = { program("naive"), "--json", "--pid", pid_text, NULL };

	snprintf(pid_text, sizeof(pid_text), "%d", pid);
	snprintf(port_text, sizeof(port_text), "%u", port);
	snprintf(interval, sizeof(interval), "%ums", interval_ms ? interval_ms : 500);
	observer_start(&ours, argv_ours);
	observer_start(&naive, argv_naive);
	if (!rig_wait_for(ours.err, "watching"))
		rig_skip("parties observe does not start here");
	if (!rig_wait_for(naive.err, "watching"))
		rig_skip("the naive probes do not load here");
}

void rig_stop(void)
{
	/* A close or the hook of the last write may still be on its way. */
	rig_sleep_us(30000);
	rig.lines = observer_stop(&ours);
	rig.summary = json_array_get(rig.lines, json_array_size(rig.lines) - 1);
	rig.naive = json_array_get(observer_stop(&naive), 0);
	if (!json_is_true(json_object_get(rig.summary, "summary")))
		rig_broken("parties observe printed no summary");
}

/* ---- cases ------------------------------------------------------------------------------------------------------- */

static void run_usual(const struct rig_case *c)
{
	pid_t server = rig_serve(c->listen ? c->listen() : net_listen(), c);

	rig_watch(server, 0, 0);
	c->client();
	rig_stop();
	rig_judge(c);
}

static bool chosen(const struct rig_case *c, char **numbers)
{
	if (!*numbers)
		return true;
	for (; *numbers; numbers++)
		if (!strcmp(*numbers, c->number))
			return true;
	return false;
}

static int run_case(const struct rig_case *c)
{
	int status;
	pid_t pid = rig_fork();

	if (pid == 0) {
		alarm(CASE_SECONDS);
		signal(SIGPIPE, SIG_IGN);
		rig.current = c;
		(c->run ? c->run : run_usual)(c);
		rig_broken("no verdict");
	}
	waitpid(pid, &status, 0);
	if (status)
		printf("%s\t%s\t-\t-\t-\tWRONG: the test broke: it %s\n", c->number, c->pattern,
		       WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "hung" : "crashed");
	return status;
}

int rig_main(const struct rig_case *cases, size_t nr, char **argv)
{
	int bad = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; i < nr; i++)
		if (chosen(&cases[i], argv + 1))
			bad |= run_case(&cases[i]);
	return bad != 0;
}
