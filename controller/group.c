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
#include <sys/stat.h>
#include <unistd.h>

#include "tasks.h"

/* Processes may be born while the top of a container is being emptied. */
enum { MAX_TRIES = 10 };

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

/* Limits of a parent bind its children on version 1, so only a group without children is adopted there. */
static bool can_adopt(const char *dir, int version)
{
	struct stat st;

	return stat(dir, &st) == 0 && S_ISDIR(st.st_mode) && (version == 2 || st.st_nlink <= 2);
}

static int plan_place(struct group *g, const char *root, enum cgroup_kind kind, const struct cgroup_mounts *mounts)
{
	const struct cgroup_mount *mount = &mounts->kinds[kind];
	struct group_place *place = &g->places[kind];
	size_t size = sizeof(place->dir);
	char name[CONFIG_NAME_SIZE];

	memcpy(name, g->name, sizeof(name));
	place->mount = mount;
	if (g->adopt && !cgroup_find(mount, g->adopt, place->dir, size) && can_adopt(place->dir, mount->version))
		return 0;
	if (mount->version == 2 && !tasks_find_group(root, mount, &g->pids, place->dir, size))
		return 0;
	place->own = true;
	return snprintf(place->dir, size, "%s/" CGROUP_OWN "/%s", mount->dir, name) < (int)size ? 0 : -ENAMETOOLONG;
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
	g->adopt = what->cgroup;
	if (!g->name[0] || g->name[0] == '.' || strpbrk(g->name, "/\t\n")) {
		snprintf(error, error_size, "\"%s\" cannot be the name of a control group", g->name);
		return -EINVAL;
	}
	if (what->cgroup && (what->cgroup[0] != '/' || !what->cgroup[1])) {
		snprintf(error, error_size, "%s: control group \"%s\" cannot be adopted: name one below the root",
			 g->name, what->cgroup);
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
		err = limit_files_check(g->limits, is_v2(g, CGROUP_FREEZER) ? g->places[CGROUP_FREEZER].mount->dir : NULL,
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

static int make_dir(const struct cgroup_mount *mount, const char *name, struct journal *j)
{
	struct journal_entry entry = { .kind = JOURNAL_GROUP };
	struct stat st;
	int err;

	snprintf(entry.path, sizeof(entry.path), "%.400s/%.80s", mount->dir, name);
	snprintf(entry.text, sizeof(entry.text), "%s", mount->dir);
	if (stat(entry.path, &st) == 0)
		return S_ISDIR(st.st_mode) ? 0 : -EEXIST;
	err = journal_add(j, &entry);
	if (!err)
		err = journal_sync(j);
	return err ? err : cgroup_make(mount, name);
}

/*
 * Version 2: only the real root may hold processes and hand out controllers.  (Given cpuset and cpu alone the kernel
 * would turn a populated group into the root of a threaded subtree, in which ours cannot live.)  The top of a container
 * looks like the root but is not: its processes move to a leaf of ours, ourselves included.
 */
static int make_room(const struct cgroup_mount *mount, const char *root, const char *dir, struct journal *j)
{
	char others[KNOB_PATH_SIZE], type[KNOB_PATH_SIZE];
	struct match_pids pids;
	int err = 0;

	snprintf(type, sizeof(type), "%.480s/cgroup.type", dir);
	snprintf(others, sizeof(others), "%.400s/" CGROUP_OWN "/.others", mount->dir);
	if (access(type, F_OK))
		return 0; /* the real root */
	for (int i = 0; !err && i < MAX_TRIES; i++) {
		err = tasks_read_processes(dir, &pids);
		if (err || !pids.nr)
			return err;
		if (strcmp(dir, mount->dir))
			return -EBUSY;
		err = make_dir(mount, CGROUP_OWN, j);
		if (!err)
			err = make_dir(mount, CGROUP_OWN "/.others", j);
		if (!err)
			err = tasks_move_in(root, mount, others, &pids, j);
		err = err < 0 ? err : 0;
	}
	return err ? err : -EBUSY;
}

/*
 * Has `dir` hand the controllers "+x +y" to its children.  What it takes to switch them off again is journalled after
 * whatever had to move for it, so that it is undone first.
 */
static int enable_in(const struct cgroup_mount *mount, const char *root, const char *dir, const char *missing,
		     struct journal *j)
{
	struct journal_entry entry = { .kind = JOURNAL_WRITE };
	int err = make_room(mount, root, dir, j);

	snprintf(entry.path, sizeof(entry.path), "%.480s/cgroup.subtree_control", dir);
	snprintf(entry.text, sizeof(entry.text), "%s", missing);
	for (char *plus = strchr(entry.text, '+'); plus; plus = strchr(plus, '+'))
		*plus = '-';
	if (!err)
		err = journal_add(j, &entry);
	if (!err)
		err = journal_sync(j);
	return err ? err : knob_write_path(entry.path, missing);
}

/* Version 2: every group from the mount point down to the parent of `dir` hands out what we use. */
static int enable_controllers(const struct group *g, const struct group_place *place, const char *root,
			      struct journal *j, char *error, size_t error_size)
{
	char dir[KNOB_PATH_SIZE], missing[64] = "", wanted[64];
	size_t at = strlen(place->mount->dir);
	int err = 0;

	snprintf(wanted, sizeof(wanted), "%s%s%s", is_v2(g, CGROUP_CPUSET) ? "cpuset" : "",
		 is_v2(g, CGROUP_CPU) ? " cpu" : "", limit_files_controllers(g->limits));
	while (!err && place->dir[at] == '/') {
		snprintf(dir, sizeof(dir), "%.*s", (int)at, place->dir);
		err = cgroup_missing_controllers(dir, wanted, missing, sizeof(missing));
		if (!err && missing[0])
			err = enable_in(place->mount, root, dir, missing, j);
		at += 1 + strcspn(place->dir + at + 1, "/");
	}
	if (err == -EBUSY)
		snprintf(error, error_size, "%s: %s holds processes itself and so cannot hand out \"%s\": move them to "
			 "a group below it", g->name, dir, missing);
	else if (err)
		snprintf(error, error_size, "%s: cannot enable \"%s\" in %s: %s", g->name, missing, dir,
			 strerror(-err));
	return err;
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

static int make_place(struct group *g, enum cgroup_kind kind, const char *root, struct journal *j, char *error,
		      size_t error_size)
{
	const struct group_place *place = &g->places[kind];
	bool fill = kind == CGROUP_CPUSET && place->mount->version == 1;
	char parent[KNOB_PATH_SIZE], name[KNOB_PATH_SIZE];
	int err = 0;

	snprintf(parent, sizeof(parent), "%.400s/" CGROUP_OWN, place->mount->dir);
	snprintf(name, sizeof(name), CGROUP_OWN "/%s", g->name);
	if (place->own)
		err = make_dir(place->mount, CGROUP_OWN, j);
	if (!err && place->own && fill)
		err = cpuset_fill(parent, place->mount->dir);
	if (!err && place->mount->version == 2 && (kind <= CGROUP_CPU || *limit_files_controllers(g->limits))) {
		err = enable_controllers(g, place, root, j, error, error_size);
		if (err)
			return err;
	}
	if (!err && place->own)
		err = make_dir(place->mount, name, j);
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

int group_adopt(struct group *g, const char *root, const struct match_pids *pids, struct journal *j)
{
	int err = 0;

	g->pids.nr = pids->nr;
	memcpy(g->pids.pids, pids->pids, pids->nr * sizeof(pids->pids[0]));
	/* Inside an adopted group masks are under our limits by now, and so no originals. */
	if (g->places[CGROUP_CPUSET].own || !g->places[CGROUP_CPUSET].mount)
		err = note_masks(g, root, j);
	return err ? err : move_in(g, root, j);
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
