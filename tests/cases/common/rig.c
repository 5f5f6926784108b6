// SPDX-License-Identifier: GPL-2.0
/*
 * rig.c - glue: processes and observers of the hard cases; see rig.h.  Knows no case and judges nothing.
 */
#include "rig.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net.h"

enum { CASE_SECONDS = 30 };

struct rig rig;

struct observer {
	pid_t pid;
	int out, err;
};

static struct observer ours, naive;
static char scratch[128];
static volatile sig_atomic_t interrupted;
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
	/* Programs may have something to put back first. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
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

const char *rig_wait_for(int fd, const char *words)
{
	static char text[8192];
	size_t used = 0;
	ssize_t n;

	while (used < sizeof(text) - 1 && (n = read(fd, text + used, sizeof(text) - 1 - used)) > 0) {
		used += (size_t)n;
		text[used] = '\0';
		if (strstr(text, words))
			return NULL;
	}
	text[used] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return text;
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

const char *rig_program(const char *name)
{
	const char *build = getenv("BUILD");
	char *path;

	if (asprintf(&path, "%s/%s", build ? build : "build", name) < 0 || access(path, X_OK))
		rig_broken("%s is missing; build first", name);
	return path;
}

const char *rig_scratch(void)
{
	if (mkdir(scratch, 0755) && errno != EEXIST)
		rig_broken("%s: %s", scratch, strerror(errno));
	return scratch;
}

void rig_watch(pid_t pid, unsigned int port, unsigned int interval_ms)
{
	const char *lifecycle = rig.current->lifecycle;
	char pid_text[16], port_text[16], interval[16];
	const char *const argv_ours[] = { rig_program("parties"), "observe", port ? "--port" : "--pid",
					  port ? port_text : pid_text, "--json", "--interval", interval,
					  lifecycle ? "--lifecycle" : NULL, lifecycle, NULL };
	const char *const argv_naive[] = { rig_program("naive"), "--json", "--pid", pid_text, NULL };
	const char *said;

	snprintf(pid_text, sizeof(pid_text), "%d", pid);
	snprintf(port_text, sizeof(port_text), "%u", port);
	snprintf(interval, sizeof(interval), "%ums", interval_ms ? interval_ms : 500);
	observer_start(&ours, argv_ours);
	observer_start(&naive, argv_naive);
	said = rig_wait_for(ours.err, "watching");
	if (!said)
		said = rig_wait_for(naive.err, "watching");
	if (said)
		rig_skip("%s", said);
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

const char *rig_family(void)
{
	const char *family = getenv("CASES_FAMILY");

	return family ? family : "tcp";
}

const char *rig_name(const struct rig_case *c)
{
	static char name[64];
	bool tcp = !strcmp(rig_family(), "tcp");

	snprintf(name, sizeof(name), "%s%s%s", tcp ? "" : rig_family(), tcp ? "" : ":", c->number);
	return name;
}

static bool chosen(const struct rig_case *c, char **names)
{
	if (c->only_tcp && strcmp(rig_family(), "tcp"))
		return false;
	if (!*names)
		return true;
	for (; *names; names++)
		if (!strcmp(*names, rig_name(c)))
			return true;
	return false;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
	(void)info;
	(void)type;
	(void)at;
	return remove(path);
}

static void interrupt(int signo)
{
	interrupted = signo;
}

/* What the case started ends with it; what it left in its scratch directory goes here, whatever happened. */
static int run_case(const struct rig_case *c)
{
	int status = 0;
	pid_t pid = rig_fork();

	if (pid == 0) {
		alarm(CASE_SECONDS);
		signal(SIGINT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
		signal(SIGPIPE, SIG_IGN);
		rig.current = c;
		(c->run ? c->run : run_usual)(c);
		rig_broken("no verdict");
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		kill(pid, SIGKILL);
	nftw(scratch, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	if (status && !interrupted)
		printf("%s\t%s\t-\t-\t-\tWRONG: the test broke: it %s\n", rig_name(c), c->pattern,
		       WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "hung" : "crashed");
	return status;
}

int rig_main(const struct rig_case *cases, size_t nr, char **argv)
{
	const struct sigaction action = { .sa_handler = interrupt };
	const char *temporary = getenv("TMPDIR");
	int bad = 0;

	snprintf(scratch, sizeof(scratch), "%s/parties-case-%d", temporary ? temporary : "/tmp", getpid());
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; i < nr && !interrupted; i++)
		if (chosen(&cases[i], argv + 1))
			bad |= run_case(&cases[i]);
	if (interrupted) {
		/* By the signal itself, so that whoever runs us knows. */
		signal(interrupted, SIG_DFL);
		raise(interrupted);
	}
	return bad != 0;
}
