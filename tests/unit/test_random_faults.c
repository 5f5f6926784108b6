// SPDX-License-Identifier: GPL-2.0
/*
 * test_random_faults.c - whole runs of `parties --root TREE --inject RULES run` on random machines with random rules,
 * an interval after the other without a pause: no crash, no empty set, an exit code that is documented, and the tree as
 * before or a journal from which `restore` makes it so.  Run under the sanitizers, too.
 * shares: yes
 * wrap: loop_run loop_now_ns pwrite
 *
 *   test_random_faults                40 runs; 200 when all tests are wanted
 *   test_random_faults NUMBER SEED
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "commands.h"
#include "cpulist.h"
#include "fixtures/machines.h"
#include "inject.h"
#include "loop.h"
#include "rng.h"
#include "root.h"

enum { RUNS_PER_MACHINE = 10, MAX_RULES = 4, LIMIT_S = 60 };

static uint64_t nr_runs = 40, seed;
static struct rng dice;
static char base[TREE_PATH_SIZE], root[TREE_PATH_SIZE + 8], machine[256], config[1024];
static uint32_t nr_rules;
static char rules[MAX_RULES][128];
static bool lies, kills; /* the rules tell untruths, which may end up as originals; they kill */
static uint64_t now_ns;
static struct shared { /* of a run and the test */
	char wrong_write[512];
} *shared;

/* ---- a run without waiting, and a look at what it writes --------------------------------------------------------- */

int __wrap_loop_run(struct loop *loop, uint64_t for_ns, int (*tick)(void *ctx, uint64_t now_ns), void *ctx);
uint64_t __wrap_loop_now_ns(void);
ssize_t __real_pwrite(int fd, const void *buf, size_t len, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *buf, size_t len, off_t offset);

uint64_t __wrap_loop_now_ns(void)
{
	return now_ns;
}

int __wrap_loop_run(struct loop *loop, uint64_t for_ns, int (*tick)(void *ctx, uint64_t now_ns), void *ctx)
{
	int err = 0;

	for (uint64_t end_ns = now_ns + for_ns; !err && now_ns < end_ns;) {
		now_ns += loop->interval_ns;
		err = tick(ctx, now_ns);
	}
	return err;
}

ssize_t __wrap_pwrite(int fd, const void *buf, size_t len, off_t offset)
{
	char path[PATH_MAX], link[64], text[4096];
	ssize_t size;
	struct cpulist cpus;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = readlink(link, path, sizeof(path) - 1);
	path[size > 0 ? size : 0] = '\0';
	snprintf(text, sizeof(text), "%.*s", (int)(len < sizeof(text) ? len : sizeof(text) - 1), (const char *)buf);
	text[strcspn(text, "\n")] = '\0';
	if (strncmp(path, root, strlen(root)) ||
	    (strstr(path, "/cpuset.cpus") && !lies && (cpulist_parse(text, &cpus) || cpulist_empty(&cpus))))
		snprintf(shared->wrong_write, sizeof(shared->wrong_write), "%.300s: \"%.100s\"", path, text);
	return __real_pwrite(fd, buf, len, offset);
}

/* ---- what is random ---------------------------------------------------------------------------------------------- */

static uint32_t roll(uint32_t sides)
{
	return rng_below(&dice, sides);
}

#define ONE_OF(words) words[roll(sizeof(words) / sizeof(words[0]))]

static void make_machine(void)
{
	static const char *const shapes[] = { "epyc-7302", "epyc-7302-nosmt", "ryzen-5950x", "i9-12900k", "vm-odd" };
	static const char *const drivers[] = { "none", "none", "acpi", "acpi-nouser", "nolist", "amd-pstate-epp",
					       "intel_pstate" };
	static const char *const domains[] = { "cpu", "core", "l3" };
	static const char *const groups[] = { "search", "mail", "jobs" };
	char online[256];

	tree_remove(root);
	assert_int_equal(mkdir(root, 0755), 0);
	snprintf(machine, sizeof(machine), "%s cpufreq=%s domain=%s cgroup=v2 groups=search:101,mail:102,jobs:103",
		 ONE_OF(shapes), ONE_OF(drivers), ONE_OF(domains));
	machines_make(root, machine);
	snprintf(online, sizeof(online), "%s\n", tree_get(root, "sys/devices/system/cpu/online"));
	for (int i = 0; i < 3; i++)
		tree_put(root, online, "sys/fs/cgroup/%s/cpuset.cpus", groups[i]);
}

static void make_config(void)
{
	static const char *const policies[] = { "parties-paper", "parties-released", "adaptive" };
	static const char *const speeds[] = { "auto", "auto", "bandwidth", "none" };

	snprintf(config, sizeof(config), "[controller]\npolicy = %s\ninterval = 100ms\nspeed = %s\nseed = %u\n"
		 "[service search]\nmatch = cgroup:/search\ntarget = p99 < 25ms\n"
		 "[service mail]\nmatch = cgroup:/mail\ntarget = p99 < 60ms\n"
		 "[batch jobs]\nmatch = cgroup:/jobs\n", ONE_OF(policies), ONE_OF(speeds), roll(1000));
	tree_put(base, config, "conf");
}

/* Removal and untruths leave nothing to put back right, or nobody who could tell. */
static void make_rule(char text[128])
{
	static const char *const globs[] = {
		"*", "/sys/fs/cgroup/*", "*/cpuset.cpus", "*/cpu.max", "*/cgroup.freeze", "*/mail/*",
		"/sys/fs/cgroup/search*",
		"*/jobs/c*", "/run/*", "/run/parties/journal", "/run/parties/lock*", "/proc/*", "/proc/self/*",
		"/proc/10?/*",
		"/sys/devices/system/cpu/*", "*/cpufreq/*", "*/scaling_*", "*/scaling_setspeed", "*/topology/*",
		"*/cpuset.cpus.effective", "*/cgroup.procs", "*/cpu.stat", "*/online", "*/cgroup.controllers",
		"*/cpu[0-7]/*",
	};
	static const char *const operations[] = { "open", "read", "write", "write", "write", "stat", "opendir",
						  "readdir", "readlink", "mkdir", "rmdir", "unlink", "rename", "sync",
						  "any", "any" };
	static const char *const wrong_texts[] = { "text=", "text=0", "text=-1", "text=0-4095", "text=max", "text=abc",
						   "text=\"max 100000\"", "text=99999999999999999999", "short=1",
						   "short=3" };
	static const char *const usual[] = { "EBUSY", "EACCES", "EPERM", "ENOSPC", "EINVAL", "EIO", "EINTR", "EAGAIN",
					     "EROFS", "ENOMEM", "EMFILE", "E2BIG" };
	const char *glob = ONE_OF(globs), *operation = ONE_OF(operations), *fault = ONE_OF(usual), *name;
	bool reads = !strcmp(operation, "read") || !strcmp(operation, "readlink");

	switch (roll(12)) {
	case 0:
		name = strerrorname_np((int)(1 + roll(133)));
		fault = name ? name : fault;
		break;
	case 1: fault = "killed"; break;
	case 2: fault = "gone"; break;
	case 3: fault = "delay=1us"; break;
	case 4: fault = reads ? ONE_OF(wrong_texts) : !strcmp(operation, "write") ? "ignored" : fault; break;
	case 5: fault = !strcmp(operation, "write") ? "short=1" : fault; break;
	}
	kills |= !strcmp(fault, "killed");
	lies |= !strcmp(fault, "gone") || !strcmp(fault, "ignored") || !strncmp(fault, "text", 4) ||
		!strncmp(fault, "short", 5) || !strcmp(fault, "ENOENT") || !strcmp(fault, "ENODEV") ||
		!strcmp(fault, "ESRCH") || !strcmp(fault, "ENOTDIR");
	snprintf(text, 128, "%s %s %s %u %u", glob, operation, fault, roll(3) ? roll(6) : 0,
		 roll(4) ? roll(1 << roll(11)) : 0);
}

static void make_rules(void)
{
	lies = kills = false;
	nr_rules = 1 + roll(MAX_RULES);
	for (uint32_t i = 0; i < nr_rules; i++)
		make_rule(rules[i]);
}

/* ---- one run ----------------------------------------------------------------------------------------------------- */

/* Exits with the command's code.  The test's own files and messages stay out of it. */
static void be_parties(bool with_rules)
{
	static char conf[TREE_PATH_SIZE + 8], log[TREE_PATH_SIZE + 8], error[256];
	const char *run[] = { "run", "-c", conf, "--quiet", "--for", "3s", NULL }, *restore[] = { "restore", NULL };

	snprintf(conf, sizeof(conf), "%s/conf", base);
	snprintf(log, sizeof(log), "%s/log", base);
	if (!freopen(log, "w", stdout) || dup2(STDOUT_FILENO, STDERR_FILENO) < 0 || root_set(root))
		_exit(99);
	alarm(LIMIT_S);
	for (uint32_t i = 0; with_rules && i < nr_rules; i++)
		if (inject_add(rules[i], root_dir(), error, sizeof(error)))
			_exit(98);
	exit(with_rules ? cmd_run(6, (char **)run) : cmd_restore(1, (char **)restore));
}

/* The exit code, or 128 and the signal's number. */
static int parties(bool with_rules)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		be_parties(with_rules);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Every file that a run may change, with its first line. */
static FILE *picture_out;
static int add_to_picture(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	char line[1024] = "";
	FILE *file = type == FTW_F ? fopen(path, "re") : NULL;

	(void)st, (void)ftw;
	if (file && fgets(line, sizeof(line), file))
		line[strcspn(line, "\n")] = '\0';
	if (file)
		fclose(file);
	fprintf(picture_out, "%s: %s\n", path + strlen(root), line);
	return 0;
}

static char *picture(void)
{
	static const char *const dirs[] = { "sys/fs/cgroup", "sys/devices/system/cpu" };
	char path[TREE_PATH_SIZE + 64], *text;
	size_t size;

	picture_out = open_memstream(&text, &size);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", root, dirs[i]);
		nftw(path, add_to_picture, 16, FTW_PHYS);
	}
	fclose(picture_out);
	return text;
}

static void complain(const char *what, int code, const char *before, const char *after)
{
	while (before && *before && *before == *after)
		before++, after++;
	print_message("# machine %s\n%s", machine, config);
	for (uint32_t i = 0; i < nr_rules; i++)
		print_message("# rule %s\n", rules[i]);
	print_message("# said: %s\n", tree_get(base, "log"));
	fail_msg("%s (%d)%s%.200s%s%.200s", what, code, before ? ": was ..." : "", before ? before : "",
		 before ? "\nis ..." : "", before ? after : "");
}

static bool has_journal(void)
{
	return tree_get(root, "run/parties/journal")[0] || tree_get(root, "run/parties/later")[0];
}

/* A process that cannot be looked at counts as gone, and a group without one is an error of the configuration. */
static bool is_documented(int code)
{
	return code == EXIT_OK || code == EXIT_FAILED || code == EXIT_UNABLE || code == EXIT_RESTORED ||
	       (kills && code == 128 + SIGKILL) ||
	       (code == EXIT_USAGE && strstr(tree_get(base, "log"), "no process is in cgroup"));
}

/* Whether the machine is still fit for another run. */
static bool check_run(int code, const char *before)
{
	char *after = picture();
	bool same = !strcmp(before, after);

	if (shared->wrong_write[0])
		complain(shared->wrong_write, code, NULL, NULL);
	if (!is_documented(code))
		complain("an exit code that is none", code, NULL, NULL);
	if (!lies && !same && !has_journal())
		complain("the tree is not as before, and there is no journal", code, before, after);
	if (!lies && !same && code != 128 + SIGKILL && !strstr(tree_get(base, "log"), "parties restore"))
		complain("the tree is not as before, and nothing is said", code, before, after);
	free(after);
	code = parties(false);
	after = picture();
	if (code != EXIT_OK && !lies)
		complain("restore fails", code, NULL, NULL);
	if (code != EXIT_OK && code != EXIT_FAILED && code != EXIT_UNABLE)
		complain("restore has no such exit code", code, NULL, NULL);
	if (!lies && strcmp(before, after))
		complain("restore does not put everything back", code, before, after);
	if (!lies && has_journal())
		complain("restore leaves its journal", code, NULL, NULL);
	same = !strcmp(before, after);
	free(after);
	return same;
}

static void nothing_breaks_it_and_everything_is_put_back(void **state)
{
	uint32_t codes[256] = { 0 }, nr_lies = 0;
	bool fit = false;

	(void)state;
	for (uint64_t i = 0; i < nr_runs; i++) {
		char *before;
		int code;

		if (!fit || i % RUNS_PER_MACHINE == 0)
			make_machine();
		make_config();
		make_rules();
		memset(shared, 0, sizeof(*shared));
		before = picture();
		code = parties(true);
		codes[code & 255]++;
		nr_lies += lies;
		fit = check_run(code, before);
		free(before);
	}
	print_message("# %lu runs, %u of them with untruths: %u ok, %u failed, %u unable, %u restored, %u killed\n",
		      (unsigned long)nr_runs, nr_lies, codes[EXIT_OK], codes[EXIT_FAILED], codes[EXIT_UNABLE],
		      codes[EXIT_RESTORED], codes[128 + SIGKILL]);
}

static int begin(void **state)
{
	(void)state;
	rng_seed(&dice, seed);
	machines_make_root(base);
	snprintf(root, sizeof(root), "%s/tree", base);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return shared == MAP_FAILED;
}

static int end(void **state)
{
	(void)state;
	tree_remove(base);
	return munmap(shared, sizeof(*shared));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_breaks_it_and_everything_is_put_back, begin, end),
	};

	seed = (uint64_t)time(NULL);
	if (getenv("TEST_ALL") && *getenv("TEST_ALL"))
		nr_runs = 200;
	if (argc == 3) {
		nr_runs = strtoull(argv[1], NULL, 10);
		seed = strtoull(argv[2], NULL, 10);
	}
	cmocka_set_message_output(CM_OUTPUT_TAP);
	print_message("# test_random_faults %lu %lu\n", (unsigned long)nr_runs, (unsigned long)seed);
	return cmocka_run_group_tests_name("random_faults", tests, NULL, NULL);
}
