// SPDX-License-Identifier: GPL-2.0
/*
 * study.c - glue: command line, memos beside the program, worker processes.
 */
#include "study.h"

#include <errno.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "options.h"

enum { MAX_JOBS = 64, POLL_NS = 100000000, TELL_S = 10, MIN_SERVICES = 2 };

static const uint64_t find_ns = 60000000000;

/* --- command line ----------------------------------------------------------------------------------------------- */

static void die(const struct study *s, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4), noreturn));
static void die(const struct study *s, int code, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", s->program);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, code == EXIT_USAGE ? "; see %s --help\n" : "\n", s->program);
	exit(code);
}

static void help(const struct study *s)
{
	printf("usage: %s [OPTION...] [POLICY...]\n%s.\n\n", s->program, s->purpose);
	printf("  --%s %-*s %s; default: %llu\n", s->size_name, 17 - (int)strlen(s->size_name), "N", s->size_help,
	       (unsigned long long)s->size);
	if (!s->own_services)
		printf("  --%-18s how many services run together; default: %d to %u\n", "services N,N...", MIN_SERVICES,
		       trial_nr_known());
	for (uint32_t i = 0; i < STUDY_MAX_FLAGS && s->flags[i].name; i++)
		printf("  --%-18s %s\n", s->flags[i].name, s->flags[i].help);
	printf("  --%-18s of arrivals and policies, the same for every policy; default: %llu\n", "seed N",
	       (unsigned long long)s->seed);
	printf("  --%-18s processes; default: one per CPU\n", "jobs N");
	printf("  --%-18s where results are kept; default: beside the program\n", "cache DIR");
	printf("  -%-19s print this and exit\n\nPolicies:", "h, --help");
	for (unsigned int i = 0; policy_name(i); i++)
		printf(" %s", policy_name(i));
	printf(" (default: all).\nThe table goes to stdout, columns separated by tabs; progress to stderr.  A run that "
	       "was stopped goes on\nwhere it was.\n\n%s", s->details);
	exit(0);
}

static uint64_t take_number(const struct study *s, const char *option, const char *text, uint64_t min, uint64_t max)
{
	uint64_t value;

	if (options_parse_u64(text, &value) || value < min || value > max)
		die(s, EXIT_USAGE, "--%s: '%s' is not a number from %llu to %llu", option, text,
		    (unsigned long long)min, (unsigned long long)max);
	return value;
}

static void take_sizes(struct study *s, char *list)
{
	s->nr_sizes = 0;
	for (char *word = strtok(list, ","); word; word = strtok(NULL, ",")) {
		if (s->nr_sizes == TRIAL_MAX_SERVICES)
			die(s, EXIT_USAGE, "--services: more than %d numbers", TRIAL_MAX_SERVICES);
		s->sizes[s->nr_sizes++] = (uint32_t)take_number(s, "services", word, MIN_SERVICES, trial_nr_known());
	}
	if (!s->nr_sizes)
		die(s, EXIT_USAGE, "--services: no number");
}

static void take_policy(struct study *s, const char *name)
{
	if (!policy_find(name))
		die(s, EXIT_USAGE, "there is no policy '%s'", name);
	if (s->nr_policies == STUDY_MAX_POLICIES)
		die(s, EXIT_USAGE, "more than %d policies", STUDY_MAX_POLICIES);
	s->policies[s->nr_policies++] = name;
}

/* Returns the directory for results, or NULL for the usual one. */
static const char *parse(struct study *s, int argc, char **argv)
{
	const struct option options[] = {
		{ s->size_name, required_argument, NULL, 'n' }, { "seed", required_argument, NULL, 's' },
		{ "jobs", required_argument, NULL, 'j' },       { "cache", required_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ "services", required_argument, NULL, 'm' },
		{ s->flags[0].name, no_argument, NULL, '0' }, { s->flags[1].name, no_argument, NULL, '1' },
		{ s->flags[1].name ? s->flags[2].name : NULL, no_argument, NULL, '2' }, { NULL, 0, NULL, 0 },
	};
	const char *cache = NULL;
	int letter;

	argv[0] = (char *)(uintptr_t)s->program; /* getopt's messages begin with it */
	while ((letter = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (letter) {
		case 'n':
			s->size = take_number(s, s->size_name, optarg, 1, s->size_max);
			break;
		case 's':
			s->seed = take_number(s, "seed", optarg, 1, UINT32_MAX);
			break;
		case 'j':
			s->nr_jobs = (uint32_t)take_number(s, "jobs", optarg, 1, MAX_JOBS);
			break;
		case 'c':
			cache = optarg;
			break;
		case 'm':
			if (s->own_services)
				die(s, EXIT_USAGE, "--services: they are given");
			take_sizes(s, optarg);
			break;
		case '0' ... '2':
			s->flags[letter - '0'].given = true;
			break;
		case 'h':
			help(s);
			break;
		default:
			exit(EXIT_USAGE);
		}
	}
	for (unsigned int i = 0; optind == argc && policy_name(i); i++)
		take_policy(s, policy_name(i));
	for (; optind < argc; optind++)
		take_policy(s, argv[optind]);
	return cache;
}

/* --- results that are kept -------------------------------------------------------------------------------------- */

static uint64_t hash_program(const struct study *s)
{
	FILE *file = fopen("/proc/self/exe", "re");
	uint64_t hash = MEMO_HASH_START;
	char buffer[1 << 16];
	size_t nr;

	if (!file)
		die(s, 1, "/proc/self/exe: %s", strerror(errno));
	while ((nr = fread(buffer, 1, sizeof(buffer), file)))
		hash = memo_hash(hash, buffer, nr);
	fclose(file);
	return hash;
}

static struct memo *open_memo(const struct study *s, const char *directory, const char *name, uint64_t hash)
{
	char path[PATH_MAX + 64];
	struct memo *memo;
	int err;

	snprintf(path, sizeof(path), "%s/%s-%016llx.memo", directory, name, (unsigned long long)hash);
	err = memo_open(&memo, path);
	if (err)
		die(s, 1, "%s: %s; --cache names another directory", path, strerror(-err));
	return memo;
}

void study_open(struct study *s, int argc, char **argv)
{
	const char *directory;
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	for (uint32_t nr = MIN_SERVICES; nr <= trial_nr_known(); nr++)
		s->sizes[s->nr_sizes++] = nr;
	directory = parse(s, argc, argv);
	if (length < 0)
		die(s, 1, "/proc/self/exe: %s", strerror(errno));
	self[length] = '\0';
	if (!directory)
		directory = dirname(self);
	s->plays = open_memo(s, directory, "valid", strtoull(VALID_SOURCES, NULL, 10));
	s->results = open_memo(s, directory, s->program, hash_program(s));
}

void study_close(struct study *s)
{
	memo_close(s->plays);
	memo_close(s->results);
}

struct valid *study_valid(struct study *s, const struct mix *mix)
{
	int fd = trial_scenario(mix, false, policy_interval_ns(NULL));
	char path[32], error[512];
	struct valid *valid;

	if (fd < 0)
		die(s, 1, "%s", strerror(-fd));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (valid_open(&valid, path, s->plays, error, sizeof(error)))
		die(s, 1, "%s", error);
	close(fd);
	return valid;
}

void study_draw_services(struct rng *dice, uint32_t nr, struct mix *mix)
{
	bool chosen[TRIAL_MAX_SERVICES] = { false };
	uint32_t nr_known = trial_nr_known(), nr_chosen = 0;

	while (nr_chosen < nr) {
		uint32_t i = (uint32_t)rng_below(dice, nr_known);

		nr_chosen += !chosen[i];
		chosen[i] = true;
	}
	mix->nr = 0;
	for (uint32_t i = 0; i < nr_known; i++)
		if (chosen[i])
			mix->services[mix->nr++] = i;
}

uint64_t study_key(const struct mix *mix, const char *policy, uint64_t seed)
{
	uint64_t key = memo_hash(MEMO_HASH_START, policy, strlen(policy) + 1);

	key = memo_hash(key, &seed, sizeof(seed));
	key = memo_hash(key, mix->services, sizeof(mix->services[0]) * mix->nr);
	return memo_hash(key, mix->loads, sizeof(mix->loads[0]) * mix->nr);
}

void study_keep(struct study *s, uint64_t key, const char *text)
{
	int err = memo_put(s->results, key, text);

	if (err)
		die(s, 1, "a result cannot be kept: %s", strerror(-err));
}

/* -1: not known. */
static int known_verdict(const struct study *s, uint64_t key)
{
	const char *text = memo_get(s->results, key);

	return text ? *text == 'y' : -1;
}

bool study_holds(struct study *s, const struct mix *mix, const char *policy, uint64_t seed)
{
	uint64_t key = study_key(mix, policy, seed);
	int verdict = known_verdict(s, key);

	if (verdict < 0) {
		verdict = trial_holds(mix, policy, seed);
		study_keep(s, key, verdict ? "yes" : "no");
	}
	return verdict;
}

bool study_is_valid(struct valid *valid, const struct tick *tick)
{
	for (uint32_t i = 0; i < tick->config->nr_services; i++)
		if (allocation_count(&tick->allocation, (int)i) < valid_fewest(valid, i, tick->allocation.speed[i]))
			return false;
	return true;
}

struct finding {
	struct valid *valid;
	bool found;
};

static bool look(void *ctx, const struct tick *tick, uint64_t now_ns)
{
	struct finding *f = ctx;

	(void)now_ns;
	f->found = study_is_valid(f->valid, tick);
	return !f->found;
}

bool study_finds(struct study *s, const struct mix *mix, const char *policy, uint64_t seed, struct valid *valid)
{
	uint64_t key = memo_hash(study_key(mix, policy, seed), "finds", 5);
	struct finding finding = { .valid = valid };
	int verdict = known_verdict(s, key);

	if (verdict >= 0)
		return verdict;
	valid_set_loads(valid, mix->loads);
	trial_play(mix, policy, seed, find_ns, look, &finding);
	study_keep(s, key, finding.found ? "yes" : "no");
	return finding.found;
}

/* --- work ------------------------------------------------------------------------------------------------------- */

struct progress {
	atomic_uint next, nr_done;
};

/* A child: takes items until there are none left. */
static void work(struct progress *progress, uint32_t nr_items, void (*item)(void *ctx, uint32_t i), void *ctx)
{
	uint32_t i;

	while ((i = atomic_fetch_add(&progress->next, 1)) < nr_items) {
		item(ctx, i);
		atomic_fetch_add(&progress->nr_done, 1);
	}
}

/* On a terminal a line that is written anew; elsewhere one line in TELL_S. */
static void tell(const struct study *s, uint32_t nr_done, uint32_t nr_items, time_t begun)
{
	static time_t told;
	time_t now = time(NULL);
	bool terminal = isatty(STDERR_FILENO);
	double took_s = difftime(now, begun);

	if (difftime(now, told ? told : begun) < (terminal ? 1 : TELL_S))
		return;
	told = now;
	fprintf(stderr, "%s%s: %u of %u", terminal ? "\r" : "", s->program, nr_done, nr_items);
	if (nr_done)
		fprintf(stderr, ", about %.0f s left", took_s * (nr_items - nr_done) / nr_done);
	fputs(terminal ? "    " : "\n", stderr);
}

static void start(const struct study *s, struct progress *progress, uint32_t nr_items,
		  void (*item)(void *ctx, uint32_t i), void *ctx)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		die(s, 1, "no process: %s", strerror(errno)); /* those that run end with this one */
	if (pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() == parent)
		work(progress, nr_items, item, ctx);
	_exit(0);
}

void study_work(struct study *s, uint32_t nr_items, void (*item)(void *ctx, uint32_t i), void *ctx)
{
	struct progress *progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
					 -1, 0);
	uint32_t nr_jobs = s->nr_jobs ? s->nr_jobs : (uint32_t)sysconf(_SC_NPROCESSORS_ONLN), nr_running;
	const struct timespec pause = { .tv_nsec = POLL_NS };
	time_t begun = time(NULL);
	pid_t pid;
	int status;

	if (progress == MAP_FAILED)
		die(s, 1, "not enough memory");
	nr_running = nr_jobs = nr_jobs < MAX_JOBS ? nr_jobs : MAX_JOBS;
	fflush(stdout);
	for (uint32_t i = 0; i < nr_jobs; i++)
		start(s, progress, nr_items, item, ctx);
	while (nr_running) {
		pid = waitpid(-1, &status, WNOHANG);

		if (pid > 0 && status)
			die(s, 1, "a process ended before its time");
		nr_running -= pid > 0;
		if (!pid) {
			tell(s, progress->nr_done, nr_items, begun);
			nanosleep(&pause, NULL);
		}
	}
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%60s\r", "");
	munmap(progress, sizeof(*progress));
}
