// SPDX-License-Identifier: GPL-2.0
/*
 * cost.c - glue of libebee: what the kernel counts of the handle's programs, their CPU time and the runs it skipped.
 */
#include <errno.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "handle.h"

static void add_info(const struct bpf_object *object, void *ctx)
{
	struct bpf_prog_info *sum = ctx;
	struct bpf_program *program;

	bpf_object__for_each_program(program, object) {
		struct bpf_prog_info info = { 0 };
		__u32 len = sizeof(info);

		if (bpf_program__fd(program) < 0 || bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &len))
			continue;
		sum->run_time_ns += info.run_time_ns;
		sum->recursion_misses += info.recursion_misses;
	}
}

/* Kernel statistics added up over the handle's programs. */
static struct bpf_prog_info sum_info(const struct ebee *e)
{
	struct bpf_prog_info sum = { 0 };

	add_info(e->skel->obj, &sum);
	lifecycle_each_object(e, add_info, &sum);
	if (e->runqueue)
		add_info(runqueue_object(e->runqueue), &sum);
	return sum;
}

uint64_t ebee_cpu_ns(const struct ebee *e)
{
	return sum_info(e).run_time_ns;
}

int ebee_count_cpu(struct ebee *e, int on)
{
	if (on && e->stats_fd < 0) {
		e->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
		return e->stats_fd < 0 ? -errno : 0;
	}
	if (!on && e->stats_fd >= 0) {
		close(e->stats_fd);
		e->stats_fd = -1;
	}
	return 0;
}

uint64_t ebee_recursion_misses(const struct ebee *e)
{
	return sum_info(e).recursion_misses;
}
