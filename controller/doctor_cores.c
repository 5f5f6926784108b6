// SPDX-License-Identifier: GPL-2.0
/*
 * doctor_cores.c - pure: topology, control groups, speed and what else belongs to CPUs, in words.  Measuring, other
 * programs and the verdict are doctor.c's.
 */
#include "doctor_knobs.h"

#include <errno.h>
#include <string.h>

#include "allocation.h"

static void list_cpus(const struct cpulist *cpus, char *text, size_t size)
{
	if (cpulist_format(cpus, text, size) < 0)
		snprintf(text, size, "%u of them", cpulist_count(cpus));
}

/* ---- cores ------------------------------------------------------------------------------------------------------- */

static uint32_t count_distinct(const struct topology *t, size_t offset)
{
	struct cpulist seen;

	cpulist_clear(&seen);
	for (uint32_t i = 0; i < t->nr_cores; i++) {
		uint16_t id;

		memcpy(&id, (const char *)&t->cores[i] + offset, sizeof(id));
		cpulist_add(&seen, id % CPULIST_MAX_CPUS);
	}
	return cpulist_count(&seen);
}

static void describe_cores(const struct topology *t, struct doctor_knob *k)
{
	uint32_t nr_packages = count_distinct(t, offsetof(struct topology_core, package));
	uint32_t nr_l3 = count_distinct(t, offsetof(struct topology_core, l3));
	uint32_t nr_nodes = count_distinct(t, offsetof(struct topology_core, node));
	uint32_t nr_cpus = 0;

	for (uint32_t i = 0; i < t->nr_cores; i++)
		nr_cpus += cpulist_count(&t->cores[i].cpus);
	doctor_say(k->found, "%u core%s of %u CPU%s, %u L3 domain%s, %u socket%s, %u NUMA node%s", t->nr_cores,
		   doctor_plural(t->nr_cores), nr_cpus, doctor_plural(nr_cpus), nr_l3, doctor_plural(nr_l3),
		   nr_packages, doctor_plural(nr_packages), nr_nodes, doctor_plural(nr_nodes));
}

/* "offline, used once online: CPUs 3", after whatever is said already. */
static void add_cpus(struct doctor_knob *k, const char *what, const struct cpulist *cpus)
{
	size_t len = strlen(k->reason);
	char text[96];

	if (cpulist_empty(cpus))
		return;
	list_cpus(cpus, text, sizeof(text));
	snprintf(k->reason + len, sizeof(k->reason) - len, "%s%s: CPUs %s", len ? "; " : "", what, text);
}

bool doctor_judge_topology(const struct doctor_facts *f, struct doctor_knob *k)
{
	struct cpulist reserved;
	struct allocation a;

	k->usable = !f->topology_err;
	if (!k->usable) {
		doctor_say(k->found, "no cores");
		doctor_say(k->reason, "/sys/devices/system/cpu: %s",
			   f->topology_err == -ENODEV ? "every CPU is isolated" : strerror(-f->topology_err));
		doctor_say(k->advice, "%s",
			   f->topology_err == -ENODEV  ? "take CPUs out of isolcpus= on the kernel's command line"
			   : f->topology_err == -E2BIG ? "none: this is more than 512 cores"
						       : "mount /sys where parties runs");
		return true;
	}
	describe_cores(&f->topology, k);
	allocation_init(&a, &f->topology, 0, f->config ? f->config->reserved_cpus : 0);
	allocation_cpus(&a, &f->topology, ALLOCATION_RESERVED, &reserved);
	add_cpus(k, "offline, used once online", &f->offline);
	add_cpus(k, "isolated, left alone", &f->topology.isolated);
	add_cpus(k, "reserved, in no service", &reserved);
	if (f->hybrid[0]) {
		size_t len = strlen(k->reason);

		snprintf(k->reason + len, sizeof(k->reason) - len, "%s%s, which no policy tells apart", len ? "; " : "",
			 f->hybrid);
	}
	return true;
}

/* ---- control groups ---------------------------------------------------------------------------------------------- */

/* Where a controller is missing: why, and what to do. */
static void explain_absence(enum doctor_absence why, const char *name, struct doctor_knob *k)
{
	doctor_say(k->found, "no %s controller", name);
	switch (why) {
	case DOCTOR_NOT_MOUNTED:
		doctor_say(k->reason, "no hierarchy of control groups has it");
		doctor_say(k->advice, "mount -t cgroup2 none /sys/fs/cgroup, or mount -t cgroup -o %s none DIR", name);
		break;
	case DOCTOR_DISABLED:
		doctor_say(k->reason, "it is switched off");
		doctor_say(k->advice, "boot without cgroup_disable=%s", name);
		break;
	case DOCTOR_NOT_DELEGATED:
		doctor_say(k->reason,
			   "cgroup.controllers of the group we see as the top lacks it: it was not delegated");
		doctor_say(k->advice, "run outside of the container, or give its group %s (systemd: Delegate=%s)", name,
			   name);
		break;
	case DOCTOR_ELSEWHERE:
		doctor_say(k->reason, "a hierarchy of version 1 has it that is not mounted here");
		doctor_say(k->advice, "mount -t cgroup -o %s none DIR", name);
		break;
	case DOCTOR_NOT_BUILT:
		doctor_say(k->reason, "this kernel was built without it");
		doctor_say(k->advice, "a kernel with %s",
			   !strcmp(name, "cpuset") ? "CONFIG_CPUSETS" : "CONFIG_CGROUP_SCHED and CONFIG_CFS_BANDWIDTH");
		break;
	}
}

/* What is the same for every controller that is there; false when it cannot be written. */
static bool describe_group(const struct doctor_cgroup *g, struct doctor_knob *k)
{
	doctor_say(k->found, "version %d at %.200s", g->version, g->dir);
	k->usable = !g->access_err;
	if (!k->usable) {
		doctor_say(k->reason, "%s", g->access_err == -EROFS ? "mounted read-only" : "we may not write there");
		doctor_say(k->advice, "%s", g->access_err == -EROFS ? "run outside of the container" : "run as root");
	} else if (!g->handed_out) {
		doctor_say(k->reason,
			   "the top does not hand it to groups yet; a run switches it on, and off again at its end");
	}
	return k->usable;
}

/* Whether a run needs cpusets: threads can be pinned one by one instead. */
static bool judge_affinity(const struct doctor_facts *f, struct doctor_knob *k)
{
	bool may = !f->config || f->config->affinity != CONFIG_AFFINITY_NO;

	doctor_say(k->fallback, "%s", may ? "threads are pinned to the cores of their service one by one, and looked at again in "
		   "every interval (affinity)" : "nothing moves cores without it and with affinity = no; `parties run --mode "
		   "observe` measures all the same");
	return !may;
}

bool doctor_judge_cpuset(const struct doctor_facts *f, struct doctor_knob *k)
{
	const struct doctor_cgroup *g = &f->groups[CGROUP_CPUSET];
	struct cpulist missing = { 0 };
	char text[96];

	if (!g->version) {
		explain_absence(g->absence, "cpuset", k);
		return judge_affinity(f, k);
	}
	if (!describe_group(g, k) && g->access_err == -EROFS)
		return judge_affinity(f, k);
	if (!k->usable || f->allowed_err == -ENOENT || f->topology_err)
		return true;
	for (uint32_t i = 0; i < f->topology.nr_cores; i++)
		cpulist_or(&missing, &f->topology.cores[i].cpus);
	cpulist_andnot(&missing, &f->allowed);
	if (f->allowed_err || !cpulist_empty(&missing)) {
		k->usable = false;
		list_cpus(&missing, text, sizeof(text));
		doctor_say(k->reason,
			   f->allowed_err ? "cannot read which CPUs this control group may use"
					  : "this control group may not use CPUs %s",
			   text);
		doctor_say(k->advice, "run outside of the container, or give it all CPUs");
	}
	return true;
}

static enum config_speed wanted_speed(const struct doctor_facts *f)
{
	return f->config ? f->config->speed : CONFIG_SPEED_AUTO;
}

bool doctor_judge_bandwidth(const struct doctor_facts *f, struct doctor_knob *k)
{
	const struct doctor_cgroup *g = &f->groups[CGROUP_CPU];

	if (g->version)
		describe_group(g, k);
	else
		explain_absence(g->absence, "cpu", k);
	if (!k->usable)
		doctor_say(k->fallback, "%s",
			   wanted_speed(f) == CONFIG_SPEED_BANDWIDTH
				   ? ""
				   : "frequency where it can be set, else cores alone");
	return wanted_speed(f) == CONFIG_SPEED_BANDWIDTH;
}

bool doctor_judge_freezer(const struct doctor_facts *f, struct doctor_knob *k)
{
	const struct doctor_cgroup *g = &f->groups[CGROUP_FREEZER];

	if (g->version) {
		describe_group(g, k);
	} else {
		explain_absence(g->absence == DOCTOR_NOT_BUILT ? DOCTOR_NOT_MOUNTED : g->absence, "freezer", k);
		doctor_say(k->fallback, "services alone: best effort without a core has to be frozen");
	}
	return f->config && f->config->nr_batches;
}

bool doctor_judge_cpuacct(const struct doctor_facts *f, struct doctor_knob *k)
{
	const struct doctor_cgroup *g = &f->groups[CGROUP_CPUACCT];

	k->usable = g->version;
	if (g->version) {
		doctor_say(k->found, "version %d at %.200s", g->version, g->dir);
		return false;
	}
	explain_absence(g->absence, "cpuacct", k);
	doctor_say(k->fallback, "CPU time is added up over a service's threads (schedstat)");
	return false;
}

/* ---- speed ------------------------------------------------------------------------------------------------------- */

/* What stands in for the frequency. */
static const char *slower_way(const struct doctor_facts *f)
{
	if (wanted_speed(f) == CONFIG_SPEED_CPUFREQ)
		return "";
	return f->groups[CGROUP_CPU].version ? "bandwidth: each service's CPU time, in ten steps" : "cores alone";
}

static void describe_frequency(const struct doctor_frequency *q, struct doctor_knob *k)
{
	struct speed_ladder ladder;

	ladder_fill(&ladder, &q->limits);
	doctor_say(k->found, "%.31s by %s, %u steps%s %.1f..%.1f GHz, %u domain%s, governor %.31s%s", q->driver,
		   ladder_way_name(ladder_find_way(&q->ways, LADDER_USERSPACE)), ladder.nr_steps,
		   q->limits.nr_listed ? "" : " (no list, so every 100 MHz)", ladder.value[0] / 1e6,
		   ladder.value[ladder.nr_steps - 1] / 1e6, q->nr_domains, doctor_plural(q->nr_domains), q->governor,
		   q->boost < 0 ? ""
		   : q->boost	? ", boost on"
				: ", boost off");
}

/* Exact speeds need the governor userspace; who has it depends on the driver. */
static void explain_way(const struct doctor_frequency *q, struct doctor_knob *k)
{
	doctor_say(k->reason, "no exact speed: the governor userspace is not offered (%.127s)", q->governors);
	doctor_say(k->fallback, "%s",
		   q->ways.has_cap ? "the highest speed is capped (scaling_max_freq)"
		   : q->ways.has_epp ? "the hardware is told what to prefer"
				     : "boost is switched on and off, for all at once");
	if (!strncmp(q->driver, "amd-pstate", 10))
		doctor_say(k->advice,
			   "nothing is needed; amd_pstate=passive on the kernel's command line gives exact speeds");
	else if (!strcmp(q->driver, "intel_pstate"))
		doctor_say(k->advice,
			   "nothing is needed; intel_pstate=passive on the kernel's command line gives exact speeds");
	else
		doctor_say(k->advice, "nothing is needed; modprobe cpufreq_userspace gives exact speeds");
}

bool doctor_can_set_speed(const struct doctor_frequency *q)
{
	return q->nr_with && q->nr_with == q->nr_cpus && !q->read_only &&
	       ladder_find_way(&q->ways, LADDER_USERSPACE) != LADDER_NOTHING;
}

bool doctor_judge_frequency(const struct doctor_facts *f, struct doctor_knob *k)
{
	const struct doctor_frequency *q = &f->frequency;
	uint32_t threads = f->topology.nr_cores ? cpulist_count(&f->topology.cores[0].cpus) : 1;

	k->usable = doctor_can_set_speed(q);
	if (!q->nr_with) {
		doctor_say(k->found, "no cpufreq");
		doctor_say(k->reason, "no driver sets the speed of these CPUs");
		doctor_say(k->advice,
			   "usual in virtual machines; on hardware, let the firmware hand out P-states (CPPC, EIST)");
	} else {
		describe_frequency(q, k);
		if (q->nr_with < q->nr_cpus)
			doctor_say(k->reason, "%u of %u CPUs have no cpufreq", q->nr_cpus - q->nr_with, q->nr_cpus);
		else if (q->read_only)
			doctor_say(k->reason, "/sys is mounted read-only");
		else if (ladder_find_way(&q->ways, LADDER_USERSPACE) == LADDER_NOTHING)
			doctor_say(k->reason, "one speed, and nothing to choose it by");
		else if (!q->ways.has_userspace)
			explain_way(q, k);
		if (k->usable && q->largest_domain > threads && !k->reason[0])
			doctor_say(k->reason,
				   "up to %u CPUs are clocked together: they run at the fastest speed that one of them "
				   "is to have",
				   q->largest_domain);
		if (q->read_only)
			doctor_say(k->advice, "run outside of the container");
	}
	if (!k->usable)
		doctor_say(k->fallback, "%s", slower_way(f));
	return wanted_speed(f) == CONFIG_SPEED_CPUFREQ;
}

bool doctor_judge_epp(const struct doctor_facts *f, struct doctor_knob *k)
{
	const struct doctor_frequency *q = &f->frequency;

	k->usable = q->nr_with && q->ways.has_epp;
	if (k->usable) {
		doctor_say(k->found, "%.31s, of: %.127s", q->epp, q->epps);
		doctor_say(k->fallback, "set only where speeds and caps do nothing");
	} else if (q->epp[0]) {
		doctor_say(k->found, "%.31s, of: %.127s", q->epp, q->epps);
		doctor_say(k->reason, "not on every CPU, or too few to choose from");
	} else {
		doctor_say(k->found, "none");
		doctor_say(k->reason, "the frequency driver has no energy preference");
	}
	return false;
}

bool doctor_judge_clock(const struct doctor_facts *f, struct doctor_knob *k)
{
	k->usable = f->frequency.clock != CLOCKS_NONE;
	doctor_say(k->found, "%s", k->usable ? clocks_source_name(f->frequency.clock) : "nothing");
	if (k->usable)
		return false;
	doctor_say(k->reason, "neither the counters aperf and mperf nor cpuinfo_avg_freq are here");
	doctor_say(k->fallback, "the record has the speeds that were asked for, and that they do nothing is not found out");
	return false;
}

/* ---- what is found and not turned -------------------------------------------------------------------------------- */

/* "reason; remedy" */
static void split_why(const char *why, struct doctor_knob *k)
{
	size_t len = strcspn(why, ";");

	doctor_say(k->reason, "%.*s", (int)len, why);
	doctor_say(k->advice, "%s", why[len] ? why + len + 2 : "");
}

bool doctor_judge_cache(const struct doctor_facts *f, struct doctor_knob *k)
{
	enum config_cache wanted = f->config ? f->config->cache : CONFIG_CACHE_NO;
	const struct doctor_cache *c = &f->cache;

	if (c->nr_ways)
		doctor_say(k->found, "L3: %u ways, %u classes", c->nr_ways, c->nr_classes);
	else
		doctor_say(k->found, "%s",
			   c->l3_flag ? c->in_kernel ? "L3 allocation, resctrl is not mounted"
						     : "L3 allocation, and no resctrl in this kernel"
				      : "no L3 allocation");
	k->usable = !c->why[0];
	if (!k->usable) {
		split_why(c->why, k);
		doctor_say(k->fallback, "%s",
			   wanted == CONFIG_CACHE_RESCTRL ? "" : "cores of one L3 domain before those of the next");
	} else if (wanted == CONFIG_CACHE_NO) {
		doctor_say(k->reason, "divided only where the configuration asks for it");
		doctor_say(k->advice, "cache = auto in [controller]");
	}
	return wanted == CONFIG_CACHE_RESCTRL;
}

bool doctor_judge_bus(const struct doctor_facts *f, struct doctor_knob *k)
{
	const struct doctor_cache *c = &f->cache;

	k->usable = c->has_mba;
	doctor_say(k->found, "%s",
		   c->has_mba	 ? "MB in resctrl"
		   : c->mba_flag ? "memory bandwidth allocation, resctrl is not mounted"
				 : "no memory bandwidth allocation");
	if (c->has_mba)
		doctor_say(k->reason, "limited only for a batch that has memory_bandwidth");
	else if (!c->mba_flag)
		doctor_say(k->reason, "neither CPU nor kernel offer it");
	else
		split_why(c->why, k);
	return false;
}

bool doctor_judge_energy(const struct doctor_facts *f, struct doctor_knob *k)
{
	k->usable = !f->energy_err;
	doctor_say(k->found, "%s", f->energy_err == -ENOENT ? "no RAPL" : "RAPL");
	if (f->energy_err == -ENOENT)
		doctor_say(k->reason, "no package in /sys/class/powercap");
	else if (f->energy_err)
		doctor_say(k->reason, "%s", strerror(-f->energy_err));
	if (f->energy_err == -EACCES)
		doctor_say(k->advice, "run as root");
	doctor_say(k->fallback, "the energy of the cores that are steered is modelled%s",
		   k->usable ? "; what packages use is printed beside it" : ", and says so");
	return false;
}

bool doctor_judge_interrupts(const struct doctor_facts *f, struct doctor_knob *k)
{
	const struct doctor_interrupts *q = &f->interrupts;
	uint32_t reserved = f->config ? f->config->reserved_cpus : 0;
	struct allocation a;
	struct cpulist open, ours;
	char text[96], names[128];

	k->usable = true;
	list_cpus(&q->cpus, text, sizeof(text));
	doctor_say(k->found, "%u device interrupt%s, %u in use%s%s", q->nr, doctor_plural(q->nr), q->nr_used,
		   text[0] ? ", on CPUs " : "", text);
	if (!q->nr_used || f->topology_err)
		return false;
	allocation_init(&a, &f->topology, 0, reserved);
	allocation_cpus(&a, &f->topology, ALLOCATION_IDLE, &open);
	ours = q->cpus;
	cpulist_and(&ours, &open);
	if (cpulist_empty(&ours))
		return false;
	list_cpus(&ours, text, sizeof(text));
	doctor_say(k->reason, "CPUs %s are services' too; CPU %u took %u %% of all since the start", text,
		   q->busiest_cpu, q->busiest_percent);
	managers_print(&f->managers, MANAGER_INTERRUPTS, names, sizeof(names));
	doctor_say(k->advice,
		   "reserved = N in [controller] keeps the lowest N CPUs from services; send interrupts there by "
		   "/proc/irq/*/smp_affinity_list%s%s%s",
		   names[0] ? ", which " : "", names, names[0] ? " would undo" : "");
	return false;
}
