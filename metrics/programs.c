// SPDX-License-Identifier: GPL-2.0
/*
 * programs.c - port: which variant of each hook this kernel offers, load, attach.  No policy, no measuring.
 *
 * Variants are chosen by what the kernel's BTF names and then by loading them, never by version.
 */
#include "programs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "refusal.h"

enum { MAX_VARIANTS = 2, MAX_LOADS = 10 };

struct variant {
	struct bpf_program *program;
	const char *how;
	const char *btf_name;
	int btf_kind;
};

struct hook {
	const char *name;
	bool optional;
	const char *covered_by; /* a tracepoint that makes this hook needless, or NULL */
	struct variant variants[MAX_VARIANTS];
};

/* The most telling line libbpf printed while loading; libbpf has no other way to hand it over. */
static __thread char last_warning[256];

__attribute__((format(printf, 2, 0)))
static int keep_warning(enum libbpf_print_level level, const char *format, va_list args)
{
	if (getenv("EBEE_DEBUG")) {
		va_list again;

		va_copy(again, args);
		vfprintf(stderr, format, again);
		va_end(again);
	}
	if (level == LIBBPF_WARN) {
		char line[256];

		vsnprintf(line, sizeof(line), format, args);
		if (strstr(line, "load failed") || !last_warning[0])
			snprintf(last_warning, sizeof(last_warning), "%.*s", (int)strcspn(line, "\n"), line);
	}
	return 0;
}

libbpf_print_fn_t programs_keep_warnings(void)
{
	last_warning[0] = '\0';
	return libbpf_set_print(keep_warning);
}

const char *programs_last_warning(void)
{
	return last_warning;
}

/* ---- why it is refused ------------------------------------------------------------------------------------------- */

static void read_text(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, buf, size - 1);

	buf[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

/* A number of /proc/self/status; 0 when it is not there. */
static unsigned long long status_number(const char *status, const char *name, int base)
{
	const char *line = strstr(status, name);

	return line ? strtoull(line + strlen(name), NULL, base) : 0;
}

/* Looks at what can be the cause of `err` and says it.  What the caller shall return. */
static int explain(int err, bool has_btf, char *error, size_t error_size)
{
	char status[4096], lockdown[128], uid_map[64];
	unsigned long first, outside, nr;
	struct utsname name = { 0 };
	struct refusal_facts facts = {
		.err = err,
		.has_btf = has_btf,
		.lockdown = lockdown,
		.release = name.release,
		.detail = last_warning,
	};

	read_text("/proc/self/status", status, sizeof(status));
	read_text("/sys/kernel/security/lockdown", lockdown, sizeof(lockdown));
	read_text("/proc/self/uid_map", uid_map, sizeof(uid_map));
	uname(&name);
	facts.capabilities = status_number(status, "\nCapEff:", 16);
	facts.seccomp = status_number(status, "\nSeccomp:", 10) == 2; /* SECCOMP_MODE_FILTER */
	facts.user_namespace = sscanf(uid_map, "%lu %lu %lu", &first, &outside, &nr) == 3 && nr != UINT32_MAX;
	/* No such command: where there is the call, it says so. */
	facts.has_bpf = syscall(SYS_bpf, -1, NULL, 0) >= 0 || errno != ENOSYS;
	refusal_explain(&facts, error, error_size);
	return refusal_errno(&facts);
}

int programs_explain(int err, const char *what, char *error, size_t error_size)
{
	char cause[512];

	err = explain(err, true, cause, sizeof(cause));
	snprintf(error, error_size, "%s: %s", what, cause);
	return err;
}

/* ---- loading and attaching --------------------------------------------------------------------------------------- */

/* Leaves one variant of each hook loadable. */
static int choose_variants(struct exchange_bpf *skel, const struct btf *btf, const struct programs_opts *opts,
			   char *error, size_t error_size)
{
	const struct hook hooks[] = {
		{ "arrival", false, NULL, { { skel->progs.arrival_tp, "tp_btf", "btf_trace_sk_data_ready", BTF_KIND_TYPEDEF },
				      { skel->progs.arrival_fentry, "fentry", "sock_def_readable", BTF_KIND_FUNC } } },
		{ "read", false, NULL, { { skel->progs.read_tp, "tp_btf", "btf_trace_sock_recv_length", BTF_KIND_TYPEDEF },
				   { skel->progs.read_fexit, "fexit", "tcp_recvmsg", BTF_KIND_FUNC } } },
		{ "write", false, NULL, { { skel->progs.write_tp, "tp_btf", "btf_trace_sock_send_length", BTF_KIND_TYPEDEF },
				    { skel->progs.write_fexit, "fexit", "tcp_sendmsg", BTF_KIND_FUNC } } },
		{ "send_entry", true, NULL,
		  { { skel->progs.offer_tp, "tp_btf", "btf_trace_tcp_sendmsg_locked", BTF_KIND_TYPEDEF },
		    { skel->progs.send_entry_fentry, "fentry", "tcp_sendmsg", BTF_KIND_FUNC } } },
		{ "requests", true, NULL, { { skel->progs.bytes_tp, "tp_btf", "btf_trace_tcp_sendmsg_locked", BTF_KIND_TYPEDEF } } },
		{ "sendpage", true, "btf_trace_sock_send_length",
		  { { skel->progs.sendpage_fexit, "fexit", "tcp_sendpage", BTF_KIND_FUNC } } },
		{ "unix_read", true, "btf_trace_sock_recv_length",
		  { { skel->progs.unix_read_fexit, "fexit", "unix_stream_recvmsg", BTF_KIND_FUNC } } },
		{ "unix_write", true, "btf_trace_sock_send_length",
		  { { skel->progs.unix_write_fexit, "fexit", "unix_stream_sendmsg", BTF_KIND_FUNC } } },
	};
	size_t used = 0, i, v;

	for (i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
		bool covered = hooks[i].covered_by && btf__find_by_name_kind(btf, hooks[i].covered_by, BTF_KIND_TYPEDEF) > 0;
		const struct variant *chosen = NULL;

		for (v = 0; v < MAX_VARIANTS && hooks[i].variants[v].program; v++) {
			const struct variant *candidate = &hooks[i].variants[v];
			bool take = !chosen && !covered &&
				    btf__find_by_name_kind(btf, candidate->btf_name, candidate->btf_kind) > 0;

			bpf_program__set_autoload(candidate->program, take);
			if (take)
				chosen = candidate;
		}
		if (!chosen && !hooks[i].optional) {
			snprintf(error, error_size, "this kernel has neither of the hooks for %s (%s, %s); Linux 6.1 or newer is needed",
				 hooks[i].name, hooks[i].variants[0].btf_name, hooks[i].variants[1].btf_name);
			return -ENOTSUP;
		}
		if (chosen)
			used += snprintf(opts->features + used, opts->features_size - used, "%s%s=%s", used ? " " : "",
					 hooks[i].name, chosen->how);
	}
	return 0;
}

/* An iterator over a map needs to be told which; everything else attaches by its section name. */
static int attach_walk(const struct bpf_map *map, struct bpf_program *program, struct bpf_link **ret)
{
	union bpf_iter_link_info info = { .map.map_fd = (__u32)bpf_map__fd(map) };
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &info, .link_info_len = sizeof(info));

	bpf_program__set_autoattach(program, false);
	*ret = bpf_program__attach_iter(program, &opts);
	return *ret ? 0 : -errno;
}

static int attach_all(struct exchange_bpf *skel)
{
	struct bpf_program *program;
	int err;

	err = attach_walk(skel->maps.exchanges, skel->progs.sweep, &skel->links.sweep);
	if (!err)
		err = attach_walk(skel->maps.exchanges, skel->progs.forget, &skel->links.forget);
	if (!err)
		err = attach_walk(skel->maps.unix_exchanges, skel->progs.sweep_unix, &skel->links.sweep_unix);
	if (!err)
		err = attach_walk(skel->maps.unix_exchanges, skel->progs.forget_unix, &skel->links.forget_unix);
	if (err)
		return err;
	bpf_object__for_each_program(program, skel->obj)
		if (!bpf_program__autoload(program))
			bpf_program__set_autoattach(program, false);
	return exchange_bpf__attach(skel);
}

static int load_once(struct exchange_bpf **ret, const struct btf *btf, const struct programs_opts *opts, char *error,
		     size_t error_size)
{
	struct exchange_bpf *skel = exchange_bpf__open();
	int err;

	if (!skel)
		return explain(-errno, true, error, error_size);
	err = choose_variants(skel, btf, opts, error, error_size);
	if (!err) {
		skel->rodata->nr_slots = opts->nr_slots;
		skel->rodata->under_socket_lock = bpf_program__autoload(skel->progs.bytes_tp);
		bpf_map__set_max_entries(skel->maps.cells, opts->nr_services * opts->nr_slots);
		skel->rodata->ring_wakeup = opts->ring_size / 2;
		bpf_map__set_autocreate(skel->maps.requests, opts->ring_size > 0);
		if (opts->ring_size)
			bpf_map__set_max_entries(skel->maps.requests, opts->ring_size);
		err = exchange_bpf__load(skel);
		if (!err)
			err = attach_all(skel);
		if (err)
			err = explain(err, true, error, error_size);
	}
	if (err)
		exchange_bpf__destroy(skel);
	else
		*ret = skel;
	return err;
}

int programs_load(struct exchange_bpf **ret, const struct programs_opts *opts, char *error, size_t error_size)
{
	libbpf_print_fn_t print_before = programs_keep_warnings();
	struct btf *btf = btf__load_vmlinux_btf();
	int err = -ENOTSUP, tries = 0;

	if (!btf)
		err = explain(-ENOTSUP, false, error, error_size);
	/* The verifier gives up when a signal arrives, a stop and continue too, and libbpf after five such tries of its own. */
	while (btf && tries++ < MAX_LOADS) {
		err = load_once(ret, btf, opts, error, error_size);
		if (err != -EAGAIN)
			break;
	}
	btf__free(btf);
	libbpf_set_print(print_before);
	return err;
}

int programs_iterate(struct bpf_link *link)
{
	char buf[64];
	int fd, err = 0;
	ssize_t n;

	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0)
		return -errno;
	do {
		n = read(fd, buf, sizeof(buf));
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			err = -errno;
	} while (n > 0 || (n < 0 && !err));
	close(fd);
	return err;
}
