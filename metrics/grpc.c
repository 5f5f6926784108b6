// SPDX-License-Identifier: GPL-2.0
/*
 * grpc.c - port: user-space probes on gRPC's C++ core, by file.  What they measure is in grpc.bpf.c.
 */
#include "grpc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "grpc.skel.h"
#include "programs.h"
#include "symbols.h"
#include "uprobes.h"

/* Of the mangled names only what all builds share: absl's namespace is in the rest. */
enum { MADE, MADE_BASE, CLOSED, WRITABLE, NR_PREFIXES };
static const char *const prefixes[NR_PREFIXES] = {
	[MADE] = "_ZN18grpc_chttp2_streamC1EP21grpc_chttp2_transport",
	[MADE_BASE] = "_ZN18grpc_chttp2_streamC2EP21grpc_chttp2_transport",
	[CLOSED] = "_Z30grpc_chttp2_mark_stream_closedP21grpc_chttp2_transport",
	[WRITABLE] = "_Z32grpc_chttp2_mark_stream_writableP21grpc_chttp2_transport",
};

enum { LINE_SIZE = 4096 + 128, NAME_SIZE = 256, TEXT_SIZE = 2 * NAME_SIZE };

/* A file that some process maps with the right to execute, looked at once. */
struct file {
	struct stat id;
	int fd;                         /* keeps the inode from being another file's; -1: not gRPC */
	uint64_t offsets[NR_PREFIXES];
	uint64_t services;              /* a bit for each that uses it */
	struct uprobe *made, *closed;   /* there while services is not 0 */
	struct uprobe *writable;        /* of those files, once somebody wants it */
};

struct grpc {
	struct grpc_bpf *skel;
	int processes_fd;
	uint64_t services, attached; /* a bit for each: measured here; has a probe */
	bool counts_writes;
	struct file *files;
	size_t nr_files;
};

/* An executable mapping of a file. */
struct mapping {
	char path[NAME_SIZE + 32]; /* opens the file */
	char name[NAME_SIZE];      /* for people */
	unsigned long long inode;
};

_Static_assert(EXCHANGE_MAX_SERVICES <= 64, "a set of services is 64 bits");

static uint64_t bit(unsigned int service)
{
	return 1ULL << service;
}

static int share(struct bpf_map *map, const struct bpf_map *with)
{
	return bpf_map__reuse_fd(map, bpf_map__fd(with));
}

int grpc_open(struct grpc **ret, struct exchange_bpf *exchange, char *error, size_t error_size)
{
	libbpf_print_fn_t print_before = programs_keep_warnings();
	struct grpc *g = calloc(1, sizeof(*g));
	int err = g ? 0 : -ENOMEM;

	if (!err) {
		g->skel = grpc_bpf__open();
		err = g->skel ? 0 : -errno;
	}
	if (!err)
		err = share(g->skel->maps.cells, exchange->maps.cells);
	if (!err)
		err = share(g->skel->maps.processes, exchange->maps.processes);
	if (!err)
		err = share(g->skel->maps.reads, exchange->maps.reads);
	if (!err) {
		g->skel->rodata->nr_slots = exchange->rodata->nr_slots;
		g->skel->bss->long_ns = exchange->data->long_ns;
		g->processes_fd = bpf_map__fd(exchange->maps.processes);
		uprobe_prepare(g->skel->progs.stream_made);
		uprobe_prepare(g->skel->progs.stream_closed);
		uprobe_prepare(g->skel->progs.stream_writable);
		err = grpc_bpf__load(g->skel);
	}
	if (!err) {
		union bpf_iter_link_info info = { .map.map_fd = (__u32)bpf_map__fd(g->skel->maps.calls) };
		LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &info, .link_info_len = sizeof(info));

		g->skel->links.sweep = bpf_program__attach_iter(g->skel->progs.sweep, &opts);
		err = g->skel->links.sweep ? 0 : -errno;
	}
	if (err) {
		snprintf(error, error_size, "programs for gRPC did not load: %s: %s", strerror(-err), programs_last_warning());
		grpc_close(g);
	} else {
		*ret = g;
	}
	libbpf_set_print(print_before);
	return err;
}

static void detach(struct file *file)
{
	uprobe_detach(file->made);
	uprobe_detach(file->closed);
	uprobe_detach(file->writable);
	file->made = file->closed = file->writable = NULL;
}

void grpc_close(struct grpc *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->nr_files; i++) {
		detach(&g->files[i]);
		if (g->files[i].fd >= 0)
			close(g->files[i].fd);
	}
	free(g->files);
	grpc_bpf__destroy(g->skel);
	free(g);
}

const struct bpf_object *grpc_object(const struct grpc *g)
{
	return g->skel->obj;
}

void grpc_add(struct grpc *g, unsigned int service)
{
	g->services |= bit(service);
	g->skel->bss->seen[service] = 0;
	g->skel->bss->observed[service] = 1;
}

bool grpc_remove(struct grpc *g, unsigned int service)
{
	g->skel->bss->observed[service] = 0;
	g->services &= ~bit(service);
	g->attached &= ~bit(service);
	for (struct file *file = g->files; file < g->files + g->nr_files; file++) {
		file->services &= ~bit(service);
		if (!file->services)
			detach(file);
	}
	programs_iterate(g->skel->links.sweep); /* drops the calls of services that are not observed */
	return g->services;
}

/* ---- which files ------------------------------------------------------------------------------------------------- */

static int attach_file(struct grpc *g, struct file *file)
{
	uint64_t made = file->offsets[MADE] ? file->offsets[MADE] : file->offsets[MADE_BASE];
	libbpf_print_fn_t print_before = programs_keep_warnings();
	int err = uprobe_attach(&file->made, g->skel->progs.stream_made, file->fd, made);

	if (!err)
		err = uprobe_attach(&file->closed, g->skel->progs.stream_closed, file->fd, file->offsets[CLOSED]);
	if (err)
		detach(file);
	libbpf_set_print(print_before);
	return err;
}

/* For calls that may be streams of messages.  Without the function they are requests. */
static void count_writes(struct grpc *g)
{
	libbpf_print_fn_t print_before = programs_keep_warnings();

	g->counts_writes = true;
	for (struct file *file = g->files; file < g->files + g->nr_files; file++)
		if (file->services && !file->writable && file->offsets[WRITABLE])
			uprobe_attach(&file->writable, g->skel->progs.stream_writable, file->fd, file->offsets[WRITABLE]);
	libbpf_set_print(print_before);
}

/* What it was when it was looked into: an inode of a file we do not hold open may come back as another. */
static bool is_as_known(const struct file *file, const struct stat *now)
{
	return file->fd >= 0 || (file->id.st_size == now->st_size && file->id.st_mtim.tv_sec == now->st_mtim.tv_sec &&
				 file->id.st_mtim.tv_nsec == now->st_mtim.tv_nsec);
}

static void look_into(struct file *file, const struct stat *id, const char *path)
{
	*file = (struct file){ .id = *id, .fd = -1 };
	symbols_find(path, prefixes, NR_PREFIXES, file->offsets); /* what cannot be read has no symbols */
	if ((file->offsets[MADE] || file->offsets[MADE_BASE]) && file->offsets[CLOSED])
		file->fd = open(path, O_RDONLY | O_CLOEXEC);
}

/*
 * By the mapping: right when the file was replaced since, but for CAP_CHECKPOINT_RESTORE alone.  Else by name, when
 * what has that name now is what is mapped.  -EPERM: the process is out of reach; -EACCES: the file; -ESTALE: replaced.
 */
static int locate(struct mapping *m, __u32 pid, struct stat *ret)
{
	char root[32];

	if (!stat(m->path, ret))
		return 0;
	if (errno != EPERM && errno != EACCES)
		return -errno;
	snprintf(root, sizeof(root), "/proc/%u/root", pid);
	if (stat(root, ret))
		return -EPERM;
	snprintf(m->path, sizeof(m->path), "%s%s", root, m->name);
	if (stat(m->path, ret))
		return errno == EACCES ? -EACCES : -ESTALE;
	return ret->st_ino == m->inode ? 0 : -ESTALE;
}

/* The words for what locate says; "" for what is no matter of rights. */
static void explain(int err, const char *name, __u32 pid, char text[TEXT_SIZE])
{
	text[0] = '\0';
	if (err == -EPERM)
		snprintf(text, TEXT_SIZE, "process %u is another user's: CAP_SYS_PTRACE is needed to see what it has mapped", pid);
	else if (err == -EACCES)
		snprintf(text, TEXT_SIZE, "%s: its directory is closed to us: CAP_DAC_READ_SEARCH is needed", name);
	else if (err == -ESTALE)
		snprintf(text, TEXT_SIZE, "%s was replaced since process %u mapped it: CAP_CHECKPOINT_RESTORE is needed to "
			 "reach what is mapped", name, pid);
}

static int file_of(struct grpc *g, struct mapping *m, __u32 pid, struct file **ret)
{
	struct file *file, *files;
	struct stat id;
	int err = locate(m, pid, &id);

	if (err)
		return err;
	for (file = g->files; file < g->files + g->nr_files; file++) {
		if (file->id.st_dev != id.st_dev || file->id.st_ino != id.st_ino)
			continue;
		if (!is_as_known(file, &id))
			look_into(file, &id, m->path);
		*ret = file;
		return 0;
	}
	files = realloc(g->files, (g->nr_files + 1) * sizeof(*files));
	if (!files)
		return -ENOMEM;
	g->files = files;
	file = *ret = &files[g->nr_files++];
	look_into(file, &id, m->path);
	return 0;
}

/* One line of /proc/PID/maps; true when it is executable and from a file. */
static bool parse_mapping(const char *line, __u32 pid, struct mapping *ret)
{
	unsigned long start, end;
	char rights[8];
	int at = 0;

	if (sscanf(line, "%lx-%lx %7s %*x %*s %llu %n", &start, &end, rights, &ret->inode, &at) != 4 ||
	    !at || rights[2] != 'x' || !ret->inode)
		return false;
	snprintf(ret->path, sizeof(ret->path), "/proc/%u/map_files/%lx-%lx", pid, start, end);
	snprintf(ret->name, sizeof(ret->name), "%.*s", (int)strcspn(line + at, "\n"), line + at);
	return true;
}

/* Probes on one mapping of a process: 1 when it has them now, 0 when there are no symbols, or negative errno. */
static int attach_mapping(struct grpc *g, struct mapping *m, __u32 pid, unsigned int service, char text[TEXT_SIZE])
{
	struct file *file;
	int err = file_of(g, m, pid, &file);

	if (err) {
		explain(err, m->name, pid, text);
		return text[0] ? err : 0;
	}
	if (file->fd < 0)
		return 0;
	if (!file->services)
		err = attach_file(g, file);
	if (err) {
		snprintf(text, TEXT_SIZE, "%s: probes were refused: %s%s", m->name, strerror(-err), err == -EACCES || err == -EPERM ?
			 "; before Linux 6.6 they need CAP_SYS_ADMIN, later CAP_BPF and CAP_PERFMON" : "");
		return err;
	}
	file->services |= bit(service);
	return 1;
}

/*
 * Puts probes on what a process has mapped.  1: there are some now; 0: nothing has the symbols, and `text` names the
 * file that should (gRPC is in its name, or else it is the program), "" when the process is over; negative errno, and
 * `text` is the message.
 */
static int attach_process(struct grpc *g, __u32 pid, unsigned int service, char text[TEXT_SIZE])
{
	char line[LINE_SIZE], blame[NAME_SIZE] = "";
	struct mapping m;
	int found = 0;
	FILE *f;

	text[0] = '\0';
	snprintf(line, sizeof(line), "/proc/%u/maps", pid);
	f = fopen(line, "re");
	if (!f) {
		if (errno != EACCES && errno != EPERM)
			return 0;
		explain(-EPERM, "", pid, text);
		return -EPERM;
	}
	while (fgets(line, sizeof(line), f)) {
		int rc;

		if (!parse_mapping(line, pid, &m))
			continue;
		if (!blame[0] || strstr(m.name, "grpc"))
			memcpy(blame, m.name, NAME_SIZE);
		rc = attach_mapping(g, &m, pid, service, text);
		if (rc > 0 || (rc < 0 && !found))
			found = rc; /* what is out of reach matters only when it could be the library */
	}
	fclose(f);
	if (!found)
		snprintf(text, TEXT_SIZE, "%s", blame);
	return found;
}

int grpc_attach(struct grpc *g, char *error, size_t error_size)
{
	char text[TEXT_SIZE], name[NAME_SIZE] = "";
	__u32 pid, service, blamed = 0;
	uint64_t lacking = 0;
	void *at = NULL;

	/* A process that ends meanwhile makes the walk start again, so it is the count that ends it. */
	for (int i = 0; i < 2 * EXCHANGE_MAX_PROCESSES && !bpf_map_get_next_key(g->processes_fd, at, &pid); i++, at = &pid) {
		int err;

		if (bpf_map_lookup_elem(g->processes_fd, &pid, &service) || !(g->services & bit(service)))
			continue;
		err = attach_process(g, pid, service, text);
		if (err < 0) {
			snprintf(error, error_size, "%s", text);
			return err == -EACCES || err == -ESTALE ? -EPERM : err;
		}
		if (err) {
			g->attached |= bit(service);
		} else if (text[0]) {
			lacking |= bit(service);
			blamed = pid;
			memcpy(name, text, sizeof(name));
		}
	}
	if (g->counts_writes)
		count_writes(g); /* of files that are new */
	if (!(lacking & ~g->attached))
		return 0;
	snprintf(error, error_size, "%s (process %u): no symbol of gRPC's C++ core in it or its libraries; "
		 "stripped, or not written with it", name, blamed);
	return -ENOTSUP;
}

bool grpc_is_waiting(const struct grpc *g)
{
	return g->services & ~g->attached;
}

/* ---- readings ---------------------------------------------------------------------------------------------------- */

bool grpc_is_pending(struct grpc *g)
{
	return __atomic_exchange_n(&g->skel->bss->pending, 0, __ATOMIC_RELAXED);
}

int grpc_sweep(struct grpc *g, const __u64 *target_ns, struct exchange_sweep *swept)
{
	struct exchange_sweep *mine = g->skel->bss->swept;
	int err;

	memset(mine, 0, sizeof(g->skel->bss->swept));
	memcpy(g->skel->bss->target_ns, target_ns, sizeof(g->skel->bss->target_ns));
	err = programs_iterate(g->skel->links.sweep);
	if (g->skel->bss->wants_writes && !g->counts_writes)
		count_writes(g);
	for (unsigned int i = 0; i < EXCHANGE_MAX_SERVICES; i++) {
		swept[i].nr_open += mine[i].nr_open;
		swept[i].nr_over_target += mine[i].nr_over_target;
		if (swept[i].oldest_ns < mine[i].oldest_ns)
			swept[i].oldest_ns = mine[i].oldest_ns;
	}
	return err;
}

bool grpc_was_hit(const struct grpc *g, unsigned int service)
{
	return g->skel->bss->seen[service];
}

uint64_t grpc_nr_missed(const struct grpc *g)
{
	return g->skel->bss->nr_missed;
}
