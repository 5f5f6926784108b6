/* SPDX-License-Identifier: GPL-2.0 */
/*
 * group.c - makes, adopts, fills and reads the control groups of one service or batch.  Port.
 * What CPUs and time it gets is decided in machine.c and written by cpuset.c and bandwidth.c.
 */
#include "group.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "restore.h"
#include "subtree.h"
#include "tasks.h"

static bool is_v2(const struct group *g, enum cgroup_kind kind)
{
	return g->places[kind].mount && g->places[kind].mount->version == 2;
}

/* Version 1 says THAWED, FREEZING or FROZEN; version 2 says 0 or 1 and freezes a moment later. */
static bool same_freezer(const char *have, const char *want)
{
	return !strcmp(have, want) || (!strcmp(want, "FROZEN") && !strcmp(have, "FREEZING"));
}

static const struct knob_kind kind_freezer = { knob_write, same_freezer };

void group_init(struct group *g)
{
	memset(g, 0, sizeof(*g));
	limit_files_init(&g->limit_files);
	g->bandwidth.limit.fd = g->bandwidth.period.fd = g->freezer.fd = g->usage.fd = -1;
}

static int plan_place(struct group *g, const char *root, enum cgroup_kind kind, const struct cgroup_mounts *mounts)
{
	return group_place_find(&g->places[kind], root, &mounts->kinds[kind], g->name, g->match, &g->pids);
}

static bool is_needed(const struct group *g, enum cgroup_kind kind, const struct cgroup_mounts *mounts)
{
	if (!mounts->kinds[kind].version)
		return false;
	if (kind == CGROUP_CPUSET)
		return true;
	if (kind == CGROUP_FREEZER)
		return g->is_batch;
	if (kind == CGROUP_SOCKETS)
		return limits_have_egress(g->limits);
	return !g->is_batch && (kind == CGROUP_CPUACCT || g->has_bandwidth);
}

int group_plan(struct group *g, const char *root, const struct machine_group *what, bool is_batch, bool bandwidth,
	       const struct cgroup_mounts *mounts, char *error, size_t error_size)
{
	int err = 0;

	snprintf(g->name, sizeof(g->name), "%s", what->name);
	g->is_batch = is_batch;
	g->has_bandwidth = bandwidth && !is_batch;
	g->target_ns = what->target_ns;
	g->pids = *what->pids;
	g->limits = what->limits;
	g->match = what->match;
	if (!g->name[0] || g->name[0] == '.' || strpbrk(g->name, "/\t\n")) {
		snprintf(error, error_size, "\"%s\" cannot be the name of a control group", g->name);
		return -EINVAL;
	}
	if (is_batch && !mounts->kinds[CGROUP_FREEZER].version) {
		snprintf(error, error_size, "%s: best effort without a core must be frozen and there is no freezer: "
			 "mount the freezer controller or cgroup2", g->name);
		return -ENOTSUP;
	}
	for (enum cgroup_kind kind = 0; kind < CGROUP_NR_KINDS && !err; kind++)
		if (is_needed(g, kind, mounts))
			err = plan_place(g, root, kind, mounts);
	if (err)
		snprintf(error, error_size, "%s: the path of its control group is too long", g->name);
	else
		err = limit_files_check(g->limits, is_v2(g, CGROUP_FREEZER) ? g->places[CGROUP_FREEZER].mount->home : NULL,
					error, error_size);
	return err;
}

/* The first place with the same directory does the work for co-mounted controllers. */
static bool is_first(const struct group *g, enum cgroup_kind kind)
{
	for (enum cgroup_kind other = 0; other < kind; other++)
		if (g->places[other].mount && !strcmp(g->places[other].dir, g->places[kind].dir))
			return false;
	return g->places[kind].mount;
}

/*
 * At the top every thread weighs for itself, a group but once: moved into a group of common weight, a service would lose
 * CPU time to whatever else runs on its cores.  Ours get the most there is; they go away with their weight.
 */
static int raise_weight(const char *dir, int version)
{
	char path[KNOB_PATH_SIZE];
	int err;

	snprintf(path, sizeof(path), "%.480s/%s", dir, version == 1 ? "cpu.shares" : "cpu.weight");
	err = knob_write_path(path, version == 1 ? "262144" : "10000");
	return err == -ENOENT ? 0 : err; /* a kernel without group scheduling */
}

/* Version 2: what the group uses has to be handed down to it. */
static int enable_controllers(const struct group *g, const struct group_place *place, const char *root, struct journal *j,
			      char *error, size_t error_size)
{
	char wanted[64], why[KNOB_PATH_SIZE + 128];
	int err;

	snprintf(wanted, sizeof(wanted), "%s%s%s", is_v2(g, CGROUP_CPUSET) ? "cpuset" : "",
		 is_v2(g, CGROUP_CPU) ? " cpu" : "", limit_files_controllers(g->limits));
	err = subtree_hand_out(place->mount, root, place->dir, wanted, j, why, sizeof(why));
	if (err)
		snprintf(error, error_size, "%s: %s", g->name, why);
	return err;
}

static int make_place(struct group *g, enum cgroup_kind kind, const char *root, struct journal *j, char *error,
		      size_t error_size)
{
	const struct group_place *place = &g->places[kind];
	bool fill = kind == CGROUP_CPUSET && place->mount->version == 1;
	char parent[KNOB_PATH_SIZE], name[KNOB_PATH_SIZE];
	int err = 0;

	snprintf(parent, sizeof(parent), "%.400s/" CGROUP_OWN, place->mount->home);
	snprintf(name, sizeof(name), CGROUP_OWN "/%s", g->name);
	if (place->own)
		err = subtree_make(place->mount, CGROUP_OWN, j);
	if (!err && place->own && fill)
		err = cpuset_fill(parent, place->mount->home);
	if (!err && place->mount->version == 2 && (kind <= CGROUP_CPU || *limit_files_controllers(g->limits))) {
		err = enable_controllers(g, place, root, j, error, error_size);
		if (err)
			return err;
	}
	if (!err && place->own)
		err = subtree_make(place->mount, name, j);
	if (!err && place->own && fill)
		err = cpuset_fill(place->dir, parent);
	if (!err && place->own && kind == CGROUP_CPU)
		err = raise_weight(parent, place->mount->version);
	if (!err && place->own && kind == CGROUP_CPU)
		err = raise_weight(place->dir, place->mount->version);
	if (err)
		snprintf(error, error_size, "%s: cannot make %s: %s", g->name, place->dir, strerror(-err));
	return err;
}

static uint64_t read_stat(const struct knob *k, const char *key, uint64_t scale)
{
	char text[KNOB_TEXT_SIZE];
	const char *at;

	if (k->fd < 0 || knob_read_all(k, text, sizeof(text)) < 0)
		return 0;
	at = key ? strstr(text, key) : text;
	return at ? strtoull(at + (key ? strlen(key) : 0), NULL, 10) * scale : 0;
}

static uint64_t read_usage(const struct group *g, const char *root)
{
	if (g->usage.fd < 0)
		return tasks_cpu_ns(root, &g->pids);
	return is_v2(g, CGROUP_CPUACCT) ? read_stat(&g->usage, "usage_usec ", 1000) : read_stat(&g->usage, NULL, 1);
}

static int open_knobs(struct group *g, struct cpusets *sets, struct journal *j)
{
	const struct group_place *p = g->places;
	int err;

	if (p[CGROUP_CPUSET].mount)
		g->set = cpusets_add(sets, p[CGROUP_CPUSET].mount->dir, p[CGROUP_CPUSET].dir, j);
	if (g->set < 0)
		return g->set;
	if (g->is_batch) {
		err = knob_open(&g->freezer, &kind_freezer, p[CGROUP_FREEZER].dir,
				is_v2(g, CGROUP_FREEZER) ? "cgroup.freeze" : "freezer.state");
		return err ? err : journal_add_knob(j, &g->freezer);
	}
	if (g->has_bandwidth) {
		err = bandwidth_open(&g->bandwidth, p[CGROUP_CPU].mount->version, p[CGROUP_CPU].dir, g->target_ns, j);
		if (err)
			return err;
	}
	if (!p[CGROUP_CPUACCT].mount)
		return 0;
	return knob_open(&g->usage, &knob_plain, p[CGROUP_CPUACCT].dir,
			 is_v2(g, CGROUP_CPUACCT) ? "cpu.stat" : "cpuacct.usage");
}

/* Masks as they are before we limit anybody. */
static int note_masks(struct group *g, const char *root, struct journal *j)
{
	const struct cgroup_mount *cpuset = g->places[CGROUP_CPUSET].mount;

	return cpuset ? tasks_note_affinity(root, cpuset, &g->pids, j) : pins_note(&g->pins, root, &g->pids, j);
}

static int move_in(struct group *g, const char *root, struct journal *j)
{
	int total = 0;

	for (enum cgroup_kind kind = 0; kind < CGROUP_NR_KINDS; kind++) {
		const struct group_place *place = &g->places[kind];
		int moved;

		if (!is_first(g, kind) || !place->own)
			continue;
		moved = tasks_move_in(root, place->mount, place->dir, &g->pids, j);
		if (moved < 0)
			return moved;
		total = moved > total ? moved : total;
	}
	return total;
}

int group_enter(struct group *g, const char *root, struct cpusets *sets, struct journal *j, char *error,
		size_t error_size)
{
	int err = 0;

	for (enum cgroup_kind kind = 0; kind < CGROUP_NR_KINDS && !err; kind++)
		if (is_first(g, kind))
			err = make_place(g, kind, root, j, error, error_size);
	if (err)
		return err;
	if (is_v2(g, CGROUP_FREEZER))
		err = limit_files_set(&g->limit_files, g->limits, g->places[CGROUP_FREEZER].dir, j, error, error_size);
	if (err)
		return err;
	err = open_knobs(g, sets, j);
	if (!err)
		err = note_masks(g, root, j);
	if (!err)
		err = journal_sync(j);
	if (err) {
		snprintf(error, error_size, "%s: cannot use its control groups: %s", g->name, strerror(-err));
		return err;
	}
	err = move_in(g, root, j);
	if (err < 0) {
		snprintf(error, error_size, "%s: cannot move its processes: %s", g->name, strerror(-err));
		return err;
	}
	group_start_usage(g, root);
	return 0;
}

int group_take_quota(struct group *g, const char *root, const struct cgroup_mounts *mounts, struct journal *j, char *error,
		     size_t error_size)
{
	int err = mounts->kinds[CGROUP_CPU].version ? plan_place(g, root, CGROUP_CPU, mounts) : -ENOTSUP;
	const struct group_place *place = &g->places[CGROUP_CPU];

	error[0] = '\0';
	if (!err)
		err = make_place(g, CGROUP_CPU, root, j, error, error_size);
	if (!err)
		err = bandwidth_open(&g->bandwidth, place->mount->version, place->dir, g->target_ns, j);
	if (!err)
		err = journal_sync(j);
	if (!err && place->own)
		err = tasks_move_in(root, place->mount, place->dir, &g->pids, j);
	g->has_bandwidth = err >= 0;
	if (err < 0 && !error[0])
		snprintf(error, error_size, "%s: no quota: %s", g->name, strerror(-err));
	return err < 0 ? err : 0;
}

/* Its processes came back in another group: a container gets a new name each time it starts. */
static bool has_moved(const struct group *g, const struct match_pids *pids, const char *root)
{
	for (enum cgroup_kind kind = 0; kind < CGROUP_NR_KINDS; kind++)
		if (pids->nr && is_first(g, kind) && !g->places[kind].own && !group_place_is_inhabited(&g->places[kind], root, pids))
			return true;
	return false;
}

static void give_back(const struct group_place *places, const char *root, const struct journal *j)
{
	for (enum cgroup_kind kind = 0; kind < CGROUP_NR_KINDS; kind++)
		if (places[kind].mount && !places[kind].own)
			restore_group(root, j, places[kind].dir);
}

/* Planned and entered like a new one.  Until that is done the old one stays, and is left alone. */
static int follow(struct group *g, const char *root, const struct cgroup_mounts *mounts, struct cpusets *sets,
		  struct journal *j)
{
	struct group next = *g, old = *g;
	char error[KNOB_PATH_SIZE];
	int err = 0;

	limit_files_init(&next.limit_files);
	next.set = g->places[CGROUP_CPUSET].mount ? -1 : g->set;
	next.bandwidth.limit.fd = next.bandwidth.period.fd = next.freezer.fd = next.usage.fd = -1;
	for (enum cgroup_kind kind = 0; kind < CGROUP_NR_KINDS && !err; kind++)
		if (g->places[kind].mount)
			err = plan_place(&next, root, kind, mounts);
	if (!err)
		err = group_enter(&next, root, sets, j, error, sizeof(error));
	g->pins = next.pins; /* they are of threads, and stay */
	if (!err)
		*g = next;
	else
		old = next;
	old.pins = (struct pins){ 0 };
	group_close(&old);
	if (old.set >= 0 && old.set != g->set)
		cpusets_drop(sets, old.set);
	if (!err)
		give_back(old.places, root, j);
	return err;
}

int group_adopt(struct group *g, const char *root, const struct match_pids *pids, const struct cgroup_mounts *mounts,
		struct cpusets *sets, struct journal *j)
{
	int err = 0;

	g->pids.nr = pids->nr;
	memcpy(g->pids.pids, pids->pids, pids->nr * sizeof(pids->pids[0]));
	if (has_moved(g, pids, root))
		return follow(g, root, mounts, sets, j);
	/* Inside an adopted group masks are under our limits by now, and so no originals. */
	if (g->places[CGROUP_CPUSET].own || !g->places[CGROUP_CPUSET].mount)
		err = note_masks(g, root, j);
	return err ? err : move_in(g, root, j);
}

/* A file of each controller that is switched off with it. */
static bool has_lost(const struct group *g, enum cgroup_kind kind)
{
	char path[KNOB_PATH_SIZE + 16];

	if (!is_v2(g, kind) || (kind != CGROUP_CPUSET && kind != CGROUP_CPU))
		return false;
	snprintf(path, sizeof(path), "%s/%s", g->places[kind].dir, kind == CGROUP_CPUSET ? "cpuset.cpus" : "cpu.max");
	return access(path, F_OK);
}

int group_keep_controllers(const struct group *g, const char *root, struct journal *j, char *error, size_t error_size)
{
	int err = 0;

	for (enum cgroup_kind kind = 0; kind < CGROUP_NR_KINDS && !err; kind++)
		if (has_lost(g, kind))
			err = enable_controllers(g, &g->places[kind], root, j, error, error_size);
	return err;
}

bool group_is_gone(const struct group *g)
{
	return g->places[CGROUP_CPUSET].mount && access(g->places[CGROUP_CPUSET].dir, F_OK) != 0;
}

void group_start_usage(struct group *g, const char *root)
{
	g->last_usage_ns = read_usage(g, root);
}

uint64_t group_usage_ns(struct group *g, const char *root)
{
	uint64_t now_ns = read_usage(g, root);

	/* A counter that went back started anew: the group was made again, or a thread's share died with it. */
	if (now_ns > g->last_usage_ns)
		g->usage_ns += now_ns - g->last_usage_ns;
	g->last_usage_ns = now_ns;
	return g->usage_ns;
}

int group_freeze(struct group *g, bool frozen, struct undo *u, struct outcome *ret)
{
	const char *word = is_v2(g, CGROUP_FREEZER) ? frozen ? "1" : "0" : frozen ? "FROZEN" : "THAWED";

	return knob_change(u, &g->freezer, word, ret);
}

void group_look_for_drift(struct group *g, struct cpusets *sets, uint64_t step, struct outcome *ret)
{
	bool cpus = g->places[CGROUP_CPUSET].mount ? cpusets_drifted(sets, g->set) : pins_drifted(&g->pins);
	bool quota = g->has_bandwidth && bandwidth_drifted(&g->bandwidth);
	bool limits = limit_files_drifted(&g->limit_files);

	if (cpus || quota || limits)
		drift_note(&g->drift, step, g->name, cpus ? "its CPUs" : quota ? "its quota" : "its limits", ret->note, sizeof(ret->note));
}

void group_close(struct group *g)
{
	bandwidth_close(&g->bandwidth);
	limit_files_close(&g->limit_files);
	knob_close(&g->freezer);
	knob_close(&g->usage);
	pins_close(&g->pins);
}
