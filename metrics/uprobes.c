// SPDX-License-Identifier: GPL-2.0
/*
 * uprobes.c - port: the two ways to place a program at a function in user space, the one with fewer rights first.
 * Knows neither symbols nor processes.
 */
#include "uprobes.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/libbpf.h>

/* Of linux/bpf.h since Linux 6.6; headers and libbpf may be older than the kernel. */
enum { TRACE_UPROBE_MULTI = 48 };
struct uprobe_multi_attr {
	__u32 prog_fd, target_fd, attach_type, flags;
	__aligned_u64 path, offsets, ref_ctr_offsets, cookies;
	__u32 nr, probe_flags, pid, padding;
};

struct uprobe {
	int fd;               /* of the link, or -1 and */
	struct bpf_link *perf;
};

/* Kernels that do not know the type load the program as any other. */
void uprobe_prepare(struct bpf_program *program)
{
	bpf_program__set_expected_attach_type(program, (enum bpf_attach_type)TRACE_UPROBE_MULTI);
}

static int link_multi(const struct bpf_program *program, const char *path, uint64_t offset)
{
	struct uprobe_multi_attr attr = {
		.prog_fd = (__u32)bpf_program__fd(program),
		.attach_type = TRACE_UPROBE_MULTI,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)&offset,
		.nr = 1,
	};
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : fd;
}

int uprobe_attach(struct uprobe **ret, const struct bpf_program *program, int file_fd, uint64_t offset)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts);
	struct uprobe *probe = calloc(1, sizeof(*probe));
	char path[32];
	int err = 0;

	if (!probe)
		return -ENOMEM;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file_fd);
	probe->fd = link_multi(program, path, offset);
	if (probe->fd == -EINVAL || probe->fd == -EOPNOTSUPP) { /* this kernel has no such link */
		probe->perf = bpf_program__attach_uprobe_opts(program, -1, path, offset, &opts);
		err = probe->perf ? 0 : -errno;
	} else if (probe->fd < 0) {
		err = probe->fd;
	}
	if (err)
		uprobe_detach(probe);
	else
		*ret = probe;
	return err;
}

void uprobe_detach(struct uprobe *probe)
{
	if (!probe)
		return;
	if (probe->fd >= 0)
		close(probe->fd);
	bpf_link__destroy(probe->perf);
	free(probe);
}
