// SPDX-License-Identifier: GPL-2.0
/*
 * egress.c - loads, attaches and feeds the program that limits what batches send.  Port.
 * What it does to packets is bpf/egress.bpf.c's; by how much a limit moves is network.c's.
 */
#include "egress.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/egress.h"
#include "egress.skel.h"
#include "network.h"
#include "programs.h"
#include "rights.h"

/* Senders run ahead by up to EGRESS_BURST_NS, so that a shorter window says little about their rate. */
static const uint64_t least_window_ns = 400000000;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void set_limit(struct egress_bucket *b, uint64_t bps)
{
	b->limit_bps = bps;
	if (b->skel)
		b->skel->bss->byte_cost = (UINT64_C(8000000000) << EGRESS_COST_BITS) / bps;
}

static int load(struct egress_bpf **ret, char *error, size_t error_size)
{
	libbpf_print_fn_t print_before;
	struct egress_bpf *skel;
	char missing[160];
	int err = rights_check(RIGHTS_EGRESS, missing, sizeof(missing));

	if (err) {
		snprintf(error, error_size, "egress: missing %s; run as root", missing);
		return err;
	}
	print_before = programs_keep_warnings();
	skel = egress_bpf__open_and_load();
	err = skel ? 0 : -errno;

	if (err)
		err = programs_explain(err, "limits of what batches send", error, error_size);
	else
		*ret = skel;
	libbpf_set_print(print_before);
	return err;
}

int egress_try(char *error, size_t error_size)
{
	struct egress_bpf *skel = NULL;
	int err = load(&skel, error, error_size);

	egress_bpf__destroy(skel);
	return err;
}

static int start_bucket(struct egress *e, struct egress_bucket *b, uint64_t bps, char *error, size_t error_size)
{
	int err = e->is_dry || b->skel ? 0 : load(&b->skel, error, error_size);

	if (!err)
		set_limit(b, bps);
	return err;
}

/* The speed of the link, where the configuration leaves that to /sys: in Mbit/s, or -1, or an error on what has none. */
static int find_link(struct egress *e, const struct machine_opts *opts, char *error, size_t error_size)
{
	char path[KNOB_PATH_SIZE], dir[KNOB_PATH_SIZE], text[64];
	long mbit = 0;
	int err;

	e->link = *opts->link;
	snprintf(dir, sizeof(dir), "%.400s/sys/class/net/%s", opts->root, e->link.name);
	err = knob_open(&e->sent, &knob_plain, dir, "statistics/tx_bytes");
	if (err) {
		e->sent.fd = -1;
		snprintf(error, error_size, "link = %s: %s; `ip -br link` shows the network interfaces", e->link.name,
			 err == -ENOENT ? "there is no such interface" : strerror(-err));
		return err == -ENOENT ? -ENOTSUP : err;
	}
	snprintf(path, sizeof(path), "%.480s/speed", dir);
	if (!e->link.bps && knob_read_path(path, text, sizeof(text)) > 0)
		mbit = strtol(text, NULL, 10);
	if (mbit > 0)
		e->link.bps = (uint64_t)mbit * 1000000;
	if (e->link.bps)
		return 0;
	snprintf(error, error_size, "link = %s: the interface does not say how fast it is: write for example link = %s 10Gbit",
		 e->link.name, e->link.name);
	return -ENOTSUP;
}

int egress_find(struct egress *e, const struct machine_opts *opts, const struct cgroup_mount *mount, char *error,
		size_t error_size)
{
	int err = 0;

	memset(e, 0, sizeof(*e));
	e->sent.fd = -1;
	e->is_dry = opts->root[0] || opts->dry;
	e->nr_groups = opts->nr_batches;
	for (uint32_t i = 0; i < opts->nr_batches && !err; i++) {
		const struct limits *limits = opts->batches[i].limits;
		struct egress_group *g = &e->groups[i];

		snprintf(g->name, sizeof(g->name), "%s", opts->batches[i].name);
		if (!limits_have_egress(limits))
			continue;
		if (mount->version != 2) {
			snprintf(error, error_size, "%s: egress needs version 2 of control groups, empty if need be: "
				 "mount -t cgroup2 none /sys/fs/cgroup/unified, or leave the limit out", g->name);
			return -ENOTSUP;
		}
		g->bucket = limits->egress_auto ? &e->moved : &e->fixed[i];
		if (limits->egress_auto && e->sent.fd < 0)
			err = find_link(e, opts, error, error_size);
		if (!err)
			err = start_bucket(e, g->bucket, limits->egress_auto ? network_step_bps(e->link.bps) : limits->egress_bps,
					   error, error_size);
	}
	return err;
}

const char *egress_describe(const struct egress *e)
{
	for (uint32_t i = 0; i < e->nr_groups && !e->moved.limit_bps; i++)
		if (e->groups[i].bucket)
			return " egress=fixed";
	return e->moved.limit_bps ? " egress=auto" : "";
}

static void detach(struct egress_group *g)
{
	bpf_link__destroy(g->link);
	g->link = NULL;
	g->cgroup_id = 0;
}

static int attach(struct egress_group *g)
{
	libbpf_print_fn_t print_before = programs_keep_warnings();
	int fd = open(g->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;
	struct stat st;

	err = fd < 0 || fstat(fd, &st) ? -errno : 0;
	if (!err) {
		g->link = bpf_program__attach_cgroup(g->bucket->skel->progs.egress, fd);
		err = g->link ? 0 : -errno;
	}
	if (!err)
		g->cgroup_id = st.st_ino;
	if (fd >= 0)
		close(fd);
	libbpf_set_print(print_before);
	return err;
}

int egress_enter(struct egress *e, uint32_t i, const char *dir, char *error, size_t error_size)
{
	struct egress_group *g = &e->groups[i];
	int err = 0;

	if (!g->bucket)
		return 0;
	snprintf(g->dir, sizeof(g->dir), "%s", dir);
	if (!e->is_dry)
		err = attach(g);
	if (err)
		snprintf(error, error_size, "%s: egress: the program cannot be attached to %s: %s", g->name, dir, strerror(-err));
	return err;
}

void egress_move(struct egress *e, uint32_t i, const char *dir)
{
	if (e->groups[i].bucket)
		snprintf(e->groups[i].dir, sizeof(e->groups[i].dir), "%s", dir);
}

/* What the program is attached to now; 0: nothing. */
static uint64_t attached_to(const struct egress_group *g)
{
	struct bpf_link_info info = { 0 };
	__u32 size = sizeof(info);

	return g->link && !bpf_obj_get_info_by_fd(bpf_link__fd(g->link), &info, &size) ? info.cgroup.cgroup_id : 0;
}

/* The group may be gone, or be another of its name, to which the program does not belong; or somebody detached it. */
static void look_after(struct egress_group *g, uint64_t step, struct outcome *ret)
{
	struct stat st;
	bool taken;

	if (stat(g->dir, &st)) {
		detach(g);
		return;
	}
	taken = g->cgroup_id == st.st_ino && attached_to(g) != g->cgroup_id;
	if ((g->cgroup_id == st.st_ino && !taken) || drift_is_left(&g->drift, step))
		return;
	if (taken)
		drift_note(&g->drift, step, g->name, "what limits its egress", ret->note, sizeof(ret->note));
	detach(g);
	if (attach(g) && !ret->note[0])
		snprintf(ret->note, sizeof(ret->note), "%.40s: nothing limits its egress: the program cannot be attached", g->name);
}

static uint64_t bytes_of(const struct egress_bucket *b)
{
	return b->skel ? *(volatile __u64 *)&b->skel->bss->nr_bytes : 0;
}

static uint64_t rate_bps(uint64_t before, uint64_t now, uint64_t span_ns)
{
	return now > before && span_ns ? (uint64_t)((double)(now - before) * 8e9 / (double)span_ns) : 0;
}

static void end_window_of(struct egress_bucket *b, uint64_t span_ns, struct outcome_egress *ret)
{
	uint64_t bytes = bytes_of(b);

	if (!b->limit_bps)
		return;
	ret->limit_bps += b->limit_bps;
	ret->has_be = b->skel && span_ns;
	ret->be_bps += rate_bps(b->nr_bytes, bytes, span_ns);
	b->nr_bytes = bytes;
}

/* A counter that went back belongs to another interface of the same name. */
static void move_limit(struct egress *e, uint64_t span_ns, struct outcome *ret)
{
	char text[64];
	int err = knob_read(&e->sent, text, sizeof(text));
	bool was_lost = e->link_is_lost;
	uint64_t bytes = err < 0 ? 0 : strtoull(text, NULL, 10);

	if (err < 0 && !was_lost && !ret->note[0])
		snprintf(ret->note, sizeof(ret->note), "link %s: %s; the limit of egress stays", e->link.name, strerror(-err));
	e->link_is_lost = err < 0;
	if (err < 0)
		return;
	if (span_ns && !was_lost && bytes >= e->sent_bytes) {
		e->seen.has_link = true;
		e->seen.link_bps = rate_bps(e->sent_bytes, bytes, span_ns);
		set_limit(&e->moved, network_next_limit(e->link.bps, e->seen.link_bps, e->moved.limit_bps));
	}
	e->sent_bytes = bytes;
}

void egress_apply(struct egress *e, uint64_t step, struct outcome *ret)
{
	uint64_t now = now_ns(), span_ns = e->window_ns ? now - e->window_ns : 0;

	for (uint32_t i = 0; i < e->nr_groups && !e->is_dry; i++)
		if (e->groups[i].dir[0])
			look_after(&e->groups[i], step, ret);
	if (!e->window_ns || span_ns >= least_window_ns) {
		e->seen = (struct outcome_egress){ 0 };
		end_window_of(&e->moved, span_ns, &e->seen);
		for (uint32_t i = 0; i < e->nr_groups; i++)
			end_window_of(&e->fixed[i], span_ns, &e->seen);
		if (e->moved.limit_bps)
			move_limit(e, span_ns, ret);
		e->window_ns = now;
	}
	ret->egress = e->seen;
}

void egress_close(struct egress *e)
{
	for (uint32_t i = 0; i < e->nr_groups; i++) {
		detach(&e->groups[i]);
		egress_bpf__destroy(e->fixed[i].skel);
	}
	egress_bpf__destroy(e->moved.skel);
	if (e->nr_groups)
		knob_close(&e->sent);
	e->nr_groups = 0;
}
