/* SPDX-License-Identifier: GPL-2.0 */
/*
 * machine.c - the actuators behind one door.  Glue: what is there, in which order it is opened, changed and put back.
 *
 * One step: freeze best effort that loses its last core, move CPUs, set speeds, thaw.  Every write goes through one
 * undo log, so a step that fails anywhere leaves nothing behind.  Opening has no undo of its own: what was done so far
 * is in the journal, and is undone from there just as a killed run is.
 */
#include "machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "describe.h"
#include "egress.h"
#include "lock.h"
#include "quotas.h"
#include "resctrl.h"
#include "restore.h"
#include "speed.h"
#include "subtree.h"

enum { MAX_GROUPS = POLICY_MAX_SERVICES + CONFIG_MAX_BATCHES, ERROR_SIZE = 256 };

struct machine {
	char root[KNOB_PATH_SIZE], state_dir[KNOB_PATH_SIZE], describe[320];
	bool dry;
	struct topology topology;
	struct lock lock;
	struct journal *journal;
	struct cgroup_mounts mounts;
	struct cores cores;
	struct resctrl cache;
	struct egress egress;
	struct speed speed;
	struct knob online, allowed; /* CPUs; `allowed` is closed where the kernel does not say */
	struct cpulist homeless;     /* online, and of no core: found so at the last look */
	struct cpulist usable;       /* at the last look */
	struct undo undo;
	uint64_t step;
	bool in_force; /* what the groups are to have is what they have */
	uint32_t nr_services, nr_groups; /* services first, then batches */
	struct group groups[MAX_GROUPS];
};

static int plan_groups(struct machine *m, const struct machine_opts *opts, char *error, size_t error_size)
{
	if (opts->nr_services > POLICY_MAX_SERVICES || opts->nr_batches > CONFIG_MAX_BATCHES)
		return -E2BIG;
	m->nr_services = opts->nr_services;
	for (uint32_t i = 0; i < opts->nr_services + opts->nr_batches; i++) {
		bool is_batch = i >= opts->nr_services;
		const struct machine_group *what = is_batch ? &opts->batches[i - opts->nr_services] :
							      &opts->services[i];
		int err;

		for (uint32_t other = 0; other < i; other++)
			if (!strcmp(m->groups[other].name, what->name)) {
				snprintf(error, error_size, "two things are named %s: their groups would be one",
					 what->name);
				return -EINVAL;
			}
		group_init(&m->groups[m->nr_groups++]);
		err = group_plan(&m->groups[i], m->root, what, is_batch, m->speed.ladder.kind == SPEED_BANDWIDTH, &m->mounts,
				 error, error_size);
		if (err)
			return err;
	}
	return 0;
}

static int take_quotas(struct machine *m, struct outcome *ret)
{
	return quotas_take(m->groups, m->nr_services, m->root, &m->mounts, m->journal, ret);
}

static int take_control(struct machine *m, char *error, size_t error_size)
{
	int err = journal_open(&m->journal, m->state_dir);
	struct outcome outcome;

	if (err) {
		snprintf(error, error_size, "cannot write %s/journal: %s", m->state_dir, strerror(-err));
		return err;
	}
	for (uint32_t i = 0; i < m->nr_groups; i++) {
		err = group_enter(&m->groups[i], m->root, &m->cores.sets, m->journal, error, error_size);
		if (!err)
			err = resctrl_enter(&m->cache, i, m->root, &m->groups[i].pids, m->journal, error, error_size);
		if (!err && i >= m->nr_services)
			err = egress_enter(&m->egress, i - m->nr_services, m->groups[i].places[CGROUP_SOCKETS].dir, error, error_size);
		if (err)
			return err;
	}
	err = speed_start(&m->speed, m->journal, &m->undo, error, error_size);
	if (err || !m->speed.gone)
		return err;
	m->speed.ladder = bandwidth_ladder;
	err = take_quotas(m, &outcome);
	if (err)
		snprintf(error, error_size, "%s", outcome.where);
	return err;
}

static int find_out(struct machine *m, const struct machine_opts *opts, char *error, size_t error_size)
{
	int err = cgroup_read_mounts(m->root, &m->mounts);
	char why[ERROR_SIZE];

	if (err && err != -ENOENT) {
		snprintf(error, error_size, "cannot read the mounts: %s", strerror(-err));
		return err;
	}
	err = subtree_find(m->root, opts->subtree, &m->mounts, why, sizeof(why));
	if (err) {
		snprintf(error, error_size, "subtree: %s", why);
		return err;
	}
	err = cores_find(&m->cores, &m->mounts, opts->affinity, &m->topology, error, error_size);
	if (!err)
		err = speed_find(&m->speed, opts, m->mounts.kinds[CGROUP_CPU].version, error, error_size);
	if (!err)
		err = plan_groups(m, opts, error, error_size);
	if (!err)
		err = resctrl_find(&m->cache, opts, error, error_size);
	if (!err)
		err = egress_find(&m->egress, opts, &m->mounts.kinds[CGROUP_SOCKETS], error, error_size);
	if (err)
		return err;
	for (uint32_t i = 0; i < m->nr_groups; i++)
		group_start_usage(&m->groups[i], m->root);
	return 0;
}

static struct machine *machine_new(const struct machine_opts *opts)
{
	struct machine *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->lock.fd = m->online.fd = m->allowed.fd = -1;
	knob_allow_many();
	m->dry = opts->dry;
	m->topology = *opts->topology;
	snprintf(m->root, sizeof(m->root), "%s", opts->root);
	restore_state_dir(opts->root, opts->state_dir, m->state_dir);
	return m;
}

static void close_files(struct machine *m)
{
	for (uint32_t i = 0; i < m->nr_groups; i++)
		group_close(&m->groups[i]);
	cpusets_close(&m->cores.sets);
	resctrl_close(&m->cache);
	egress_close(&m->egress);
	speed_close(&m->speed);
	knob_close(&m->online);
	knob_close(&m->allowed);
	journal_close(m->journal);
}

static int open_locked(struct machine *m, const struct machine_opts *opts, char *error, size_t error_size)
{
	int err = 0;

	/* What a killed run left is no original of ours. */
	if (!m->dry)
		err = restore_journal(m->root, m->state_dir, error, error_size);
	if (err >= 0)
		err = find_out(m, opts, error, error_size);
	if (err || m->dry)
		return err;
	err = knob_open(&m->online, &knob_plain, m->root, "sys/devices/system/cpu/online");
	if (cpuset_open_effective(&m->allowed, m->mounts.kinds[CGROUP_CPUSET].home))
		m->allowed.fd = -1;
	if (err)
		snprintf(error, error_size, "cannot read which CPUs are online: %s", strerror(-err));
	else
		err = take_control(m, error, error_size);
	return err;
}

static struct described described_of(const struct machine *m)
{
	return (struct described){ .mounts = &m->mounts, .cores = &m->cores, .cache = &m->cache, .egress = &m->egress,
				   .speed = &m->speed, .groups = m->groups, .nr_services = m->nr_services,
				   .nr_groups = m->nr_groups };
}

int machine_open(struct machine **ret, const struct machine_opts *opts, char *error, size_t error_size)
{
	struct described d;
	struct machine *m = machine_new(opts);
	char left[ERROR_SIZE];
	int err = m ? 0 : -ENOMEM;

	snprintf(error, error_size, "%s", err ? strerror(-err) : "");
	if (!err && !m->dry)
		err = lock_take(&m->lock, m->state_dir, true, error, error_size);
	if (!err)
		err = open_locked(m, opts, error, error_size);
	if (!err) {
		d = described_of(m);
		describe_knobs(&d, m->describe, sizeof(m->describe));
		*ret = m;
		return 0;
	}
	if (m) {
		/* Files first: want of descriptors may be why we fail, and putting back needs some. */
		close_files(m);
		if (m->lock.fd >= 0 && restore_journal(m->root, m->state_dir, left, sizeof(left)) < 0)
			snprintf(error + strlen(error), error_size - strlen(error), "; not everything could be put back: %s; see "
				 "`parties restore`", left);
		lock_release(&m->lock);
		free(m);
	}
	return err;
}

const struct speed_ladder *machine_ladder(const struct machine *m)
{
	return &m->speed.ladder;
}

const struct topology *machine_topology(const struct machine *m)
{
	return &m->topology;
}

struct cache_ways machine_ways(const struct machine *m)
{
	return m->cache.ways;
}

const char *machine_describe(const struct machine *m)
{
	return m->describe;
}

static int refuse(struct outcome *ret, int err, const char *what, const char *name)
{
	ret->error = err;
	snprintf(ret->where, sizeof(ret->where), "%.60s%.40s: %s", what, name, strerror(-err));
	return err;
}

static int read_online(const struct machine *m, struct cpulist *ret)
{
	char text[KNOB_TEXT_SIZE];
	int err = knob_read(&m->online, text, sizeof(text));

	return err < 0 ? err : cpulist_parse(text, ret);
}

static void all_usable(const struct machine *m, struct cpulist *ret)
{
	topology_cpus(&m->topology, ret);
	cpulist_and(ret, &m->usable);
}

/*
 * Targets of all sets.  CPUs that went offline are left out.  A service of which nobody is there gets all CPUs: one that
 * starts in its group counts them, and makes its threads for so many.  A group that is gone is left alone, and so is one
 * that somebody else insists on; best effort without a CPU keeps its set and is frozen.
 */
static int aim(struct machine *m, const struct allocation *want, const struct cpulist *online, struct outcome *ret)
{
	for (uint32_t i = 0; i < m->nr_groups; i++) {
		struct cpulist *target = cores_target(&m->cores, &m->groups[i]);

		allocation_cpus(want, &m->topology, i < m->nr_services ? (int)i : ALLOCATION_BE, target);
		if (i < m->nr_services && !m->groups[i].pids.nr)
			all_usable(m, target);
		cpulist_and(target, online);
		if (i < m->nr_services && cpulist_empty(target))
			return refuse(ret, -ENXIO, "no CPU is online for ", m->groups[i].name);
		m->groups[i].left_alone = group_is_gone(&m->groups[i]) || drift_is_left(&m->groups[i].drift, m->step) ||
					  group_keep_controllers(&m->groups[i], m->root, m->journal, ret->note,
								 sizeof(ret->note));
		if (m->groups[i].left_alone)
			cpulist_clear(target);
	}
	return 0;
}

/* Before CPUs move those freeze that lose their last one; afterwards those thaw that have one. */
static int freeze_batches(struct machine *m, bool frozen, struct outcome *ret)
{
	int err = 0;

	for (uint32_t i = m->nr_services; i < m->nr_groups && !err; i++)
		if (!m->groups[i].left_alone && cpulist_empty(cores_target(&m->cores, &m->groups[i])) == frozen)
			err = group_freeze(&m->groups[i], frozen, &m->undo, ret);
	return err;
}

/* Speeds turned out to do nothing: quotas stand in from the next step on. */
static void stand_in(struct machine *m, struct outcome *ret)
{
	struct outcome tried = { 0 };

	if (!take_quotas(m, &tried)) {
		m->speed.ladder = bandwidth_ladder;
		return;
	}
	snprintf(ret->note, sizeof(ret->note), "only cores are left: speeds do nothing, and %.100s", tried.where);
	ret->speed = OUTCOME_SPEED_GONE;
}

static int apply_all(struct machine *m, const struct allocation *want, const struct cpulist *online, struct outcome *ret)
{
	int err = aim(m, want, online, ret);

	if (!err)
		err = freeze_batches(m, true, ret);
	if (!err)
		err = cores_apply(&m->cores, m->groups, m->nr_groups, m->root, m->journal, &m->undo, ret);
	if (!err)
		err = resctrl_apply(&m->cache, want, m->step, &m->undo, ret);
	if (!err)
		err = speed_apply(&m->speed, want, &m->topology, online, m->journal, &m->undo, ret);
	if (!err && m->speed.ladder.kind == SPEED_BANDWIDTH)
		err = take_quotas(m, ret) ? ret->error : quotas_apply(m->groups, m->nr_services, &m->cores, want, &m->undo, ret);
	if (!err)
		err = quotas_limit(m->groups + m->nr_services, m->nr_groups - m->nr_services, want, &m->undo, ret);
	if (!err)
		err = freeze_batches(m, false, ret);
	return err;
}

static void look_for_drift(struct machine *m, struct outcome *ret)
{
	cores_look(&m->cores, m->groups, m->nr_services, m->nr_groups, m->root, m->step, ret);
	resctrl_look_for_drift(&m->cache, m->step, ret);
	speed_look_for_drift(&m->speed, m->step, ret);
}

/* Once more when a CPU came or went meanwhile: that is why it failed. */
static int apply_step(struct machine *m, const struct allocation *want, struct outcome *ret)
{
	struct cpulist online, now;
	int err = read_online(m, &online);

	if (err)
		return refuse(ret, err, m->online.path, "");
	m->step++;
	egress_apply(&m->egress, m->step, ret);
	for (int tries = 0; ; tries++) {
		ret->error = 0; /* what became of the way to set speeds stays */
		ret->where[0] = '\0';
		undo_begin(&m->undo);
		err = apply_all(m, want, &online, ret);
		look_for_drift(m, ret);
		m->in_force = !err;
		if (!err)
			return 0;
		undo_rollback(&m->undo);
		cores_rollback(&m->cores, m->groups, m->nr_groups);
		ret->nr_writes = 0;
		if (tries || read_online(m, &now) || cpulist_equal(&now, &online))
			return err;
		online = now;
	}
}

static int machine_apply(void *ctx, const struct allocation *want, struct outcome *ret)
{
	struct machine *m = ctx;
	struct outcome outcome = { 0 };
	int err = 0;

	if (want->nr_services != m->nr_services || want->nr_cores != m->topology.nr_cores)
		err = refuse(&outcome, -EINVAL, "the allocation is not of this machine", "");
	else if (!m->dry)
		err = apply_step(m, want, &outcome);
	if (outcome.speed == OUTCOME_SPEED_BANDWIDTH)
		stand_in(m, &outcome);
	*ret = outcome;
	return err;
}

/* CPUs that were offline when we began, or not there at all, get cores and files of speeds. */
static int take_up(struct machine *m, const struct cpulist *online)
{
	struct cpulist cpus;

	topology_follow(&m->topology, m->root, online, &m->homeless);
	topology_cpus(&m->topology, &cpus);
	cpulist_and(&cpus, online);
	return speed_add(&m->speed, &cpus, m->journal);
}

/* Online, and kept neither from the control group that our groups are in nor from them. */
static int machine_usable(void *ctx, struct cpulist *ret)
{
	struct machine *m = ctx;
	char text[KNOB_TEXT_SIZE];
	struct cpulist allowed;
	int err = m->dry ? -ENOTSUP : read_online(m, ret);

	if (!err)
		err = take_up(m, ret);
	if (!err && m->allowed.fd >= 0 && knob_read(&m->allowed, text, sizeof(text)) >= 0 && !cpulist_parse(text, &allowed))
		cpulist_and(ret, &allowed);
	cpulist_andnot(ret, &m->cores.sets.denied);
	if (!err)
		m->usable = *ret;
	return err;
}

static void machine_trouble(void *ctx, struct trouble *ret)
{
	const struct machine *m = ctx;
	struct described d = described_of(m);

	describe_trouble(&d, ret);
	topology_cpus(&m->topology, &ret->avoided);
	cpulist_andnot(&ret->avoided, m->dry ? &ret->avoided : &m->usable);
}

static int machine_memory_slack(void *ctx, uint64_t *ret_bytes)
{
	const struct machine *m = ctx;

	return limit_files_available(m->root, ret_bytes);
}

struct actuator machine_actuator(struct machine *m)
{
	return (struct actuator){ .ctx = m, .apply = machine_apply, .usable = machine_usable,
				  .memory_slack = machine_memory_slack, .trouble = machine_trouble };
}

int machine_adopt(struct machine *m, bool is_batch, uint32_t index, const struct match_pids *pids)
{
	uint32_t i = is_batch ? m->nr_services + index : index;

	if (i >= m->nr_groups || is_batch != (i >= m->nr_services))
		return -EINVAL;
	if (!m->dry) {
		int moved = group_adopt(&m->groups[i], m->root, pids, &m->mounts, &m->cores.sets, m->journal);
		int err = resctrl_adopt(&m->cache, i, m->root, pids, m->journal);

		if (is_batch)
			egress_move(&m->egress, index, m->groups[i].places[CGROUP_SOCKETS].dir);
		return moved >= 0 && err < 0 ? err : moved;
	}
	m->groups[i].pids = *pids;
	return 0;
}

int machine_usage(struct machine *m, uint32_t service, uint64_t *ret_cpu_ns)
{
	if (service >= m->nr_services)
		return -EINVAL;
	*ret_cpu_ns = group_usage_ns(&m->groups[service], m->root);
	return 0;
}

void machine_measure(struct machine *m, struct sample *samples)
{
	if (!m->speed.clocks)
		return;
	clocks_end_window(m->speed.clocks);
	for (uint32_t i = 0; i < m->nr_services && m->in_force; i++)
		if (!m->groups[i].left_alone)
			samples[i].measured_khz = speed_measure(&m->speed, i, cores_target(&m->cores, &m->groups[i]), &samples[i]);
}

int machine_close(struct machine *m)
{
	char error[ERROR_SIZE];
	int err = 0;

	if (!m)
		return 0;
	close_files(m);
	if (!m->dry)
		err = restore_journal(m->root, m->state_dir, error, sizeof(error));
	lock_release(&m->lock);
	free(m);
	return err < 0 ? err : 0;
}
