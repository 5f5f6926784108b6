/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uprobes.h - a program at a function of a file, in every process that maps it.  Port over bpf(2) and libbpf.
 *
 * Linux 6.6 and newer: a link that CAP_BPF and CAP_PERFMON may make.  Before: a perf event, for CAP_SYS_ADMIN alone.
 */
#ifndef EBEE_UPROBES_H
#define EBEE_UPROBES_H

#include <stdint.h>

struct bpf_program;
struct uprobe;

/* Before the program is loaded. */
void uprobe_prepare(struct bpf_program *program);
/* file_fd stays the caller's and need not stay open; offset: in the file.  The caller gives *ret to uprobe_detach. */
int uprobe_attach(struct uprobe **ret, const struct bpf_program *program, int file_fd, uint64_t offset);
void uprobe_detach(struct uprobe *probe); /* NULL is fine */

#endif
