// SPDX-License-Identifier: GPL-2.0
/*
 * library.c - port: user-space probes on the functions that one row of the table names, by file.  What they measure is
 * in library.bpf.c.
 */
#include "library.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/library.h"
#include "library.skel.h"
#include "mapping.h"
#include "meter.h"
#include "symbols.h"
#include "uprobes.h"

enum { BEGIN, BEGIN_OTHERWISE, END, END_OTHERWISE, WRITE, NR_PREFIXES };

/* A file that some process maps with the right to execute, looked at once. */
struct file {
	struct stat id;
	int fd;                       /* keeps the inode from being another file's; -1: not the library */
	uint64_t begin, end, write;   /* offsets; 0: none */
	uint64_t services;            /* a bit for each that uses it */
	struct uprobe *begins, *ends; /* there while services is not 0 */
	struct uprobe *writes;        /* of those files, once somebody wants it */
};

struct library {
	const struct ebee_library *row;
	struct exchange_bpf *exchange;
	struct library_bpf *skel;
	uint64_t services, attached; /* a bit for each: measured here; has a probe */
	bool counts_writes;
	struct file *files;
	size_t nr_files;
};

_Static_assert(EXCHANGE_MAX_SERVICES <= 64, "a set of services is 64 bits");

static uint64_t bit(unsigned int service)
{
	return 1ULL << service;
}

static struct library_event event_of(const struct ebee_event *e)
{
	return (struct library_event){ .id = e->id, .only_if = e->only_if, .status = e->status, .shifts = e->shifts };
}

static bool is_argument(unsigned int number, unsigned int shifts)
{
	return number + (shifts != 0) <= LIBRARY_MAX_ARGUMENT;
}

static bool is_event(const struct ebee_event *e)
{
	return e->symbol && e->symbol[0] && e->id && is_argument(e->id, e->shifts) && is_argument(e->only_if, e->shifts) &&
	       is_argument(e->status, e->shifts);
}

static int load(struct library *l)
{
	struct exchange_bpf *exchange = l->exchange;
	int err;

	l->skel = library_bpf__open();
	if (!l->skel)
		return -errno;
	err = meter_share(l->skel->maps.cells, exchange->maps.cells);
	if (!err)
		err = meter_share(l->skel->maps.processes, exchange->maps.processes);
	if (!err)
		err = meter_share(l->skel->maps.reads, exchange->maps.reads);
	if (!err)
		err = meter_share_ring(l->skel->maps.requests, exchange);
	if (err)
		return err;
	l->skel->rodata->nr_slots = exchange->rodata->nr_slots;
	l->skel->rodata->ring_wakeup = exchange->rodata->ring_wakeup;
	l->skel->rodata->begin_event = event_of(&l->row->begin);
	l->skel->rodata->end_event = event_of(&l->row->end);
	l->skel->rodata->write_event = event_of(&l->row->write);
	l->skel->rodata->max_writes = l->row->max_writes;
	l->skel->bss->long_ns = exchange->data->long_ns;
	uprobe_prepare(l->skel->progs.call_begins);
	uprobe_prepare(l->skel->progs.call_ends);
	uprobe_prepare(l->skel->progs.call_writes);
	err = library_bpf__load(l->skel);
	return err ? err : meter_attach_walk(&l->skel->links.sweep, l->skel->progs.sweep, l->skel->maps.calls);
}

int library_open(struct library **ret, const struct ebee_library *row, struct exchange_bpf *exchange, char *error,
		 size_t error_size)
{
	libbpf_print_fn_t print_before;
	struct library *l;
	int err;

	if (row->sz != sizeof(*row) || !row->name || !is_event(&row->begin) || !is_event(&row->end) ||
	    (row->write.symbol && !is_event(&row->write))) {
		snprintf(error, error_size, "a library is a name and two events, each a symbol and its argument from 1 to %d",
			 LIBRARY_MAX_ARGUMENT);
		return -EINVAL;
	}
	print_before = programs_keep_warnings();
	l = calloc(1, sizeof(*l));
	err = l ? 0 : -ENOMEM;
	if (!err) {
		l->row = row;
		l->exchange = exchange;
		err = load(l);
	}
	if (err) {
		err = programs_explain(err, row->name, error, error_size);
		library_close(l);
	} else {
		*ret = l;
	}
	libbpf_set_print(print_before);
	return err;
}

static void detach(struct file *file)
{
	uprobe_detach(file->begins);
	uprobe_detach(file->ends);
	uprobe_detach(file->writes);
	file->begins = file->ends = file->writes = NULL;
}

void library_close(struct library *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->nr_files; i++) {
		detach(&l->files[i]);
		if (l->files[i].fd >= 0)
			close(l->files[i].fd);
	}
	free(l->files);
	library_bpf__destroy(l->skel);
	free(l);
}

const struct bpf_object *library_object(const struct library *l)
{
	return l->skel->obj;
}

const struct ebee_library *library_row(const struct library *l)
{
	return l->row;
}

void library_add(struct library *l, unsigned int service)
{
	l->services |= bit(service);
	l->skel->bss->seen[service] = 0;
	l->skel->bss->observed[service] = 1;
}

bool library_has(const struct library *l, unsigned int service)
{
	return l->services & bit(service);
}

void library_remove(struct library *l, unsigned int service)
{
	if (!library_has(l, service))
		return;
	l->skel->bss->observed[service] = 0;
	l->services &= ~bit(service);
	l->attached &= ~bit(service);
	for (struct file *file = l->files; file < l->files + l->nr_files; file++) {
		file->services &= ~bit(service);
		if (!file->services)
			detach(file);
	}
	programs_iterate(l->skel->links.sweep); /* drops the calls of services that are not observed */
}

/* ---- which files ------------------------------------------------------------------------------------------------- */

static int attach_file(struct library *l, struct file *file)
{
	libbpf_print_fn_t print_before = programs_keep_warnings();
	int err = uprobe_attach(&file->begins, l->skel->progs.call_begins, file->fd, file->begin);

	if (!err)
		err = uprobe_attach(&file->ends, l->skel->progs.call_ends, file->fd, file->end);
	if (err)
		detach(file);
	libbpf_set_print(print_before);
	return err;
}

/* For calls that may be streams of messages.  Without the function they are requests. */
static void count_writes(struct library *l)
{
	libbpf_print_fn_t print_before = programs_keep_warnings();

	l->counts_writes = true;
	for (struct file *file = l->files; file < l->files + l->nr_files; file++)
		if (file->services && !file->writes && file->write)
			uprobe_attach(&file->writes, l->skel->progs.call_writes, file->fd, file->write);
	libbpf_set_print(print_before);
}

/* What it was when it was looked into: an inode of a file we do not hold open may come back as another. */
static bool is_as_known(const struct file *file, const struct stat *now)
{
	return file->fd >= 0 || (file->id.st_size == now->st_size && file->id.st_mtim.tv_sec == now->st_mtim.tv_sec &&
				 file->id.st_mtim.tv_nsec == now->st_mtim.tv_nsec);
}

/* A name that nothing begins with stands for one that is not asked for. */
static const char *name_or_none(const char *symbol)
{
	return symbol ? symbol : "\1";
}

static void look_into(const struct library *l, struct file *file, const struct stat *id, const char *path)
{
	const char *const prefixes[NR_PREFIXES] = {
		[BEGIN] = l->row->begin.symbol,
		[BEGIN_OTHERWISE] = name_or_none(l->row->begin.otherwise),
		[END] = l->row->end.symbol,
		[END_OTHERWISE] = name_or_none(l->row->end.otherwise),
		[WRITE] = name_or_none(l->row->write.symbol),
	};
	uint64_t offsets[NR_PREFIXES] = { 0 };

	symbols_find(path, prefixes, NR_PREFIXES, offsets); /* what cannot be read has no symbols */
	*file = (struct file){
		.id = *id,
		.fd = -1,
		.begin = offsets[BEGIN] ? offsets[BEGIN] : offsets[BEGIN_OTHERWISE],
		.end = offsets[END] ? offsets[END] : offsets[END_OTHERWISE],
		.write = offsets[WRITE],
	};
	if (file->begin && file->end)
		file->fd = open(path, O_RDONLY | O_CLOEXEC);
}

static int file_of(struct library *l, struct mapping *m, __u32 pid, struct file **ret)
{
	struct file *file, *files;
	struct stat id;
	int err = mapping_locate(m, pid, &id);

	if (err)
		return err;
	for (file = l->files; file < l->files + l->nr_files; file++) {
		if (file->id.st_dev != id.st_dev || file->id.st_ino != id.st_ino)
			continue;
		if (!is_as_known(file, &id))
			look_into(l, file, &id, m->path);
		*ret = file;
		return 0;
	}
	files = realloc(l->files, (l->nr_files + 1) * sizeof(*files));
	if (!files)
		return -ENOMEM;
	l->files = files;
	file = *ret = &files[l->nr_files++];
	look_into(l, file, &id, m->path);
	return 0;
}

/* Probes on one mapping of a process: 1 when it has them now, 0 when there are no symbols, or negative errno. */
static int attach_mapping(struct library *l, struct mapping *m, __u32 pid, unsigned int service,
			  char text[MAPPING_TEXT_SIZE])
{
	struct file *file;
	int err = file_of(l, m, pid, &file);

	if (err) {
		mapping_explain(err, m->name, pid, text);
		return text[0] ? err : 0;
	}
	if (file->fd < 0)
		return 0;
	if (!file->services)
		err = attach_file(l, file);
	if (err) {
		snprintf(text, MAPPING_TEXT_SIZE, "%s: probes were refused: %s%s", m->name, strerror(-err), err == -EACCES || err == -EPERM ?
			 "; before Linux 6.6 they need CAP_SYS_ADMIN, later CAP_BPF and CAP_PERFMON" : "");
		return err;
	}
	file->services |= bit(service);
	return 1;
}

/*
 * Puts probes on what a process has mapped.  1: there are some now; 0: nothing has the symbols, and `text` names the
 * file that should (the row has a part of its name, or else it is the program), "" when the process is over; negative
 * errno, and `text` is the message.
 */
static int attach_process(struct library *l, __u32 pid, unsigned int service, char text[MAPPING_TEXT_SIZE])
{
	char line[MAPPING_LINE_SIZE], blame[MAPPING_NAME_SIZE] = "";
	struct mapping m;
	int found = 0;
	FILE *f;

	text[0] = '\0';
	snprintf(line, sizeof(line), "/proc/%u/maps", pid);
	f = fopen(line, "re");
	if (!f) {
		if (errno != EACCES && errno != EPERM)
			return 0;
		mapping_explain(-EPERM, "", pid, text);
		return -EPERM;
	}
	while (fgets(line, sizeof(line), f)) {
		int rc;

		if (!mapping_parse(line, pid, &m))
			continue;
		if (!blame[0] || (l->row->file && strstr(m.name, l->row->file)))
			memcpy(blame, m.name, MAPPING_NAME_SIZE);
		rc = attach_mapping(l, &m, pid, service, text);
		if (rc > 0 || (rc < 0 && !found))
			found = rc; /* what is out of reach matters only when it could be the library */
	}
	fclose(f);
	if (!found)
		snprintf(text, MAPPING_TEXT_SIZE, "%s", blame);
	return found;
}

int library_attach(struct library *l, char *error, size_t error_size)
{
	int processes_fd = bpf_map__fd(l->exchange->maps.processes);
	char text[MAPPING_TEXT_SIZE], name[MAPPING_NAME_SIZE] = "";
	__u32 pid, service, blamed = 0;
	uint64_t lacking = 0;
	void *at = NULL;

	/* A process that ends meanwhile makes the walk start again, so it is the count that ends it. */
	for (int i = 0; i < 2 * EXCHANGE_MAX_PROCESSES && !bpf_map_get_next_key(processes_fd, at, &pid); i++, at = &pid) {
		int err;

		if (bpf_map_lookup_elem(processes_fd, &pid, &service) || !(l->services & bit(service)))
			continue;
		err = attach_process(l, pid, service, text);
		if (err < 0) {
			snprintf(error, error_size, "%s", text);
			return err == -EACCES || err == -ESTALE ? -EPERM : err;
		}
		if (err) {
			l->attached |= bit(service);
		} else if (text[0]) {
			lacking |= bit(service);
			blamed = pid;
			memcpy(name, text, sizeof(name));
		}
	}
	if (l->counts_writes)
		count_writes(l); /* of files that are new */
	if (!(lacking & ~l->attached))
		return 0;
	snprintf(error, error_size, "%s (process %u): no symbol of %s in it or its libraries; stripped, or not written with it",
		 name, blamed, l->row->name);
	return -ENOTSUP;
}

bool library_is_attached(const struct library *l, unsigned int service)
{
	return l->attached & bit(service);
}

bool library_is_waiting(const struct library *l)
{
	return l->services & ~l->attached;
}

/* ---- readings ---------------------------------------------------------------------------------------------------- */

bool library_is_pending(struct library *l)
{
	return __atomic_exchange_n(&l->skel->bss->pending, 0, __ATOMIC_RELAXED);
}

void library_refresh(struct library *l)
{
	memcpy(l->skel->bss->target_ns, l->exchange->bss->target_ns, sizeof(l->skel->bss->target_ns));
	memcpy(l->skel->bss->traced, l->exchange->bss->traced, sizeof(l->skel->bss->traced));
}

int library_sweep(struct library *l)
{
	int err;

	if (!l->services)
		return 0;
	library_refresh(l);
	memset(l->skel->bss->swept, 0, sizeof(l->skel->bss->swept));
	err = programs_iterate(l->skel->links.sweep);
	if (!err)
		meter_add_sweep(l->exchange->bss->swept, l->skel->bss->swept);
	if (l->skel->bss->wants_writes && !l->counts_writes)
		count_writes(l);
	return err;
}

bool library_was_hit(const struct library *l, unsigned int service)
{
	return l->skel->bss->seen[service];
}

uint64_t library_nr_missed(const struct library *l)
{
	return l->skel->bss->nr_missed;
}
