// SPDX-License-Identifier: GPL-2.0
/*
 * around.c - what happened while a command ran: CPU time of processes, and of the kernel programs of one of them, net of
 * empty programs on the very same hooks.  Glue.
 *
 * An empty program is made for each hook that the process uses and runs beside it, so both are counted on the same events
 * under the same conditions.  What is subtracted is the mean time of the empty one, for each run.
 */
#include <getopt.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>

#include <bpf/btf.h>
#include <linux/filter.h>

#include "experiments/common/number.h"
#include "observer.h"

static const char usage[] =
	"usage: around --out FILE [--programs PID] [--cpu PID]... -- COMMAND...\n"
	"Runs COMMAND and writes, as lines of tab-separated fields:\n"
	"  elapsed_ns  N\n"
	"  cpu_ns      PID N                        for each --cpu: CPU time of its threads\n"
	"  program     NAME RUNS NS NS_EMPTY        for each kernel program of --programs: of a run, and of an empty one\n"
	"  net_ns      N                            all runs of all programs, less those of the empty ones\n"
	"Exits with COMMAND's status, or 3 when nothing could be measured.\n";

enum { MAX_CPU = 8 };

struct hook {
	char name[BPF_OBJ_NAME_LEN];
	int fd, empty_fd, link_fd;
	uint64_t runs, ns, empty_runs, empty_ns; /* before, then the difference */
};

struct options {
	const char *out;
	uint64_t programs_pid, cpu_pids[MAX_CPU], cpu_ns[MAX_CPU];
	unsigned int nr_cpu;
};

/* Threads that end meanwhile are missing. */
static uint64_t cpu_of(uint64_t pid)
{
	uint64_t sum = 0, ns;
	struct dirent *entry;
	char path[400];
	DIR *dir;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%u/task", (unsigned int)pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%u/task/%s/schedstat", (unsigned int)pid, entry->d_name);
		in = fopen(path, "re");
		if (in && fscanf(in, "%lu", &ns) == 1)
			sum += ns;
		if (in)
			fclose(in);
	}
	if (dir)
		closedir(dir);
	return sum;
}

/* An empty program where `info` is attached; -ENOTSUP: that is no hook (an iterator). */
static int attach_empty(const struct btf *btf, const struct bpf_prog_info *info, struct hook *h)
{
	const struct bpf_insn body[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	const struct btf_type *type = info->attach_btf_id ? btf__type_by_id(btf, info->attach_btf_id) : NULL;
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .attach_btf_id = info->attach_btf_id);

	if (!type || info->type != BPF_PROG_TYPE_TRACING ||
	    !strncmp(btf__name_by_offset(btf, type->name_off), "bpf_iter_", 9))
		return -ENOTSUP;
	opts.expected_attach_type = btf_is_typedef(type) ? BPF_TRACE_RAW_TP : BPF_TRACE_FENTRY;
	h->empty_fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "empty", "GPL", body, sizeof(body) / sizeof(body[0]), &opts);
	if (h->empty_fd < 0)
		return -errno;
	h->link_fd = bpf_raw_tracepoint_open(NULL, h->empty_fd);
	return h->link_fd < 0 ? -errno : 0;
}

static int open_hooks(const struct observer *o, struct hook *hooks, unsigned int *ret_nr)
{
	struct btf *btf = btf__load_vmlinux_btf();
	struct bpf_prog_info info;
	unsigned int nr = 0;
	int err = btf ? 0 : -errno;

	for (unsigned int i = 0; !err && i < o->nr; i++) {
		err = observer_info(o->fds[i], &info);
		if (!err)
			err = attach_empty(btf, &info, &hooks[nr]);
		if (err == -ENOTSUP) {
			err = 0;
		} else if (!err) {
			hooks[nr].fd = o->fds[i];
			memcpy(hooks[nr++].name, info.name, sizeof(info.name));
		}
	}
	btf__free(btf);
	*ret_nr = nr;
	return err;
}

/* The counters become what they counted since the last call. */
static int read_hooks(struct hook *hooks, unsigned int nr)
{
	struct bpf_prog_info info, empty;

	for (unsigned int i = 0; i < nr; i++) {
		struct hook *h = &hooks[i];

		if (observer_info(h->fd, &info) || observer_info(h->empty_fd, &empty))
			return -EIO;
		h->runs = info.run_cnt - h->runs;
		h->ns = info.run_time_ns - h->ns;
		h->empty_runs = empty.run_cnt - h->empty_runs;
		h->empty_ns = empty.run_time_ns - h->empty_ns;
	}
	return 0;
}

static int run(char **command, uint64_t *ret_ns, int *ret_status)
{
	struct timespec start, end;
	int status;
	pid_t pid;

	clock_gettime(CLOCK_MONOTONIC, &start);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		execvp(command[0], command);
		perror(command[0]);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	clock_gettime(CLOCK_MONOTONIC, &end);
	*ret_ns = (uint64_t)(end.tv_sec - start.tv_sec) * 1000000000 + (uint64_t)end.tv_nsec - (uint64_t)start.tv_nsec;
	*ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	return 0;
}

static int print(const struct options *o, const struct hook *hooks, unsigned int nr_hooks, uint64_t elapsed_ns)
{
	FILE *out = fopen(o->out, "we");
	double net = 0;

	if (!out)
		return -errno;
	fprintf(out, "elapsed_ns\t%lu\n", elapsed_ns);
	for (unsigned int i = 0; i < o->nr_cpu; i++)
		fprintf(out, "cpu_ns\t%lu\t%lu\n", o->cpu_pids[i], o->cpu_ns[i]);
	for (unsigned int i = 0; i < nr_hooks; i++) {
		const struct hook *h = &hooks[i];
		double mean = h->runs ? (double)h->ns / (double)h->runs : 0;
		double empty = h->empty_runs ? (double)h->empty_ns / (double)h->empty_runs : 0;

		net += (mean - empty) * (double)h->runs;
		fprintf(out, "program\t%s\t%lu\t%.1f\t%.1f\n", h->name, h->runs, mean, empty);
	}
	if (o->programs_pid)
		fprintf(out, "net_ns\t%.0f\n", net);
	return fclose(out) ? -errno : 0;
}

static int measure(struct options *o, char **command, int *ret_status)
{
	static struct hook hooks[OBSERVER_MAX_PROGRAMS];
	struct observer observer = { 0 };
	uint64_t elapsed_ns = 0;
	unsigned int nr = 0;
	int err = 0;

	if (o->programs_pid) {
		err = bpf_enable_stats(BPF_STATS_RUN_TIME) < 0 ? -errno : 0; /* until we end */
		if (!err)
			err = observer_open(&observer, (int)o->programs_pid);
		if (!err)
			err = open_hooks(&observer, hooks, &nr);
	}
	for (unsigned int i = 0; i < o->nr_cpu; i++)
		o->cpu_ns[i] = cpu_of(o->cpu_pids[i]);
	if (!err)
		err = read_hooks(hooks, nr);
	if (!err)
		err = run(command, &elapsed_ns, ret_status);
	if (!err)
		err = read_hooks(hooks, nr);
	for (unsigned int i = 0; i < o->nr_cpu; i++)
		o->cpu_ns[i] = cpu_of(o->cpu_pids[i]) - o->cpu_ns[i];
	return err ? err : print(o, hooks, nr, elapsed_ns);
}

/* Returns nonzero when they are wrong. */
static int parse_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "out", required_argument, NULL, 'o' },
		{ "programs", required_argument, NULL, 'p' },
		{ "cpu", required_argument, NULL, 'c' },
		{ 0 },
	};
	int c, bad = 0;

	while (!bad && (c = getopt_long(argc, argv, "+", longs, NULL)) != -1) {
		if (c == 'o')
			o->out = optarg;
		else if (c == 'p')
			bad = number_parse(optarg, 1, 4194304, &o->programs_pid);
		else if (c == 'c' && o->nr_cpu < MAX_CPU)
			bad = number_parse(optarg, 1, 4194304, &o->cpu_pids[o->nr_cpu++]);
		else
			bad = 1;
	}
	return bad || !o->out || optind == argc;
}

int main(int argc, char **argv)
{
	struct options o = { 0 };
	int status = 0, err;

	if (parse_options(argc, argv, &o)) {
		fputs(usage, stderr);
		return 2;
	}
	err = measure(&o, argv + optind, &status);
	if (err) {
		fprintf(stderr, "around: %s%s\n", strerror(-err),
			err == -EPERM ? "; kernel programs are counted for root alone" :
			err == -ENOENT ? "; does that process hold kernel programs?" : "");
		return 3;
	}
	return status;
}
