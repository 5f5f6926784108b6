// SPDX-License-Identifier: GPL-2.0
/*
 * doctor.c - pure: what was found, in words, and whether a run could work.  It looks at nothing and prints nothing.
 *
 * A knob is a thing that a run reads or turns.  Each has one function here; their order is that of the output.
 */
#include "doctor.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "allocation.h"

__attribute__((format(printf, 2, 3)))
static void say(char text[DOCTOR_TEXT_SIZE], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(text, DOCTOR_TEXT_SIZE, format, args);
	va_end(args);
}

static void list_cpus(const struct cpulist *cpus, char *text, size_t size)
{
	if (cpulist_format(cpus, text, size) < 0)
		snprintf(text, size, "%u of them", cpulist_count(cpus));
}

static enum config_speed wanted_speed(const struct doctor_facts *f)
{
	return f->config ? f->config->speed : CONFIG_SPEED_AUTO;
}

/* What stands in for the frequency. */
static const char *slower_way(const struct doctor_facts *f)
{
	if (wanted_speed(f) == CONFIG_SPEED_CPUFREQ)
		return "";
	return f->groups[CGROUP_CPU].version ? "bandwidth: each service's CPU time, in ten steps" : "cores alone";
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

static bool judge_bpf(const struct doctor_facts *f, struct doctor_knob *k)
{
	const struct doctor_bpf *bpf = &f->bpf;

	k->usable = !bpf->err;
	if (bpf->err) {
		/* "what is wrong; what to do" */
		size_t len = strcspn(bpf->error, ";");

		say(k->found, "%s", bpf->tried ? "kernel programs do not load" : "kernel programs would not load");
		say(k->reason, "%.*s", (int)len, bpf->error);
		say(k->advice, "%s", bpf->error[len] ? bpf->error + len + 1 + (bpf->error[len + 1] == ' ') : "");
		return true;
	}
	if (!bpf->tried) {
		say(k->found, "type information (BTF)");
		say(k->reason, "only looked at: nothing of another machine can be tried");
		return true;
	}
	say(k->found, "%s http2=%s", bpf->features, bpf->has_http2 ? "yes" : "no");
	if (!bpf->has_http2) {
		say(k->reason, "this kernel shows no program the bytes that a request begins with; HTTP/2 cannot be followed by frames");
		say(k->fallback, "lifecycle grpc or connection for HTTP/2; every other protocol counts as unknown");
		say(k->advice, "Linux 6.16 or newer");
	}
	return true;
}

static bool judge_memory(const struct doctor_facts *f, struct doctor_knob *k)
{
	uint64_t needed = f->bpf.memory_bytes;

	k->usable = !f->available_bytes || needed <= f->available_bytes;
	if (needed)
		say(k->found, "%.1f MiB of histograms and maps for %u service%s; %.0f MiB available", needed / 1048576.0,
		    f->bpf.nr_services, f->bpf.nr_services == 1 ? "" : "s", f->available_bytes / 1048576.0);
	else
		say(k->found, "%.0f MiB available", f->available_bytes / 1048576.0);
	if (k->usable)
		return true;
	say(k->reason, "the histograms need more than there is");
	say(k->advice, "free memory, or configure fewer services");
	return true;
}

static bool judge_rights(const struct doctor_facts *f, struct doctor_knob *k)
{
	k->usable = !f->rights[0];
	say(k->found, "%s", f->is_tree ? "not asked: this is another machine" : k->usable ? "all that steering needs" : "too few");
	if (k->usable)
		return true;
	say(k->reason, "missing %s", f->rights);
	say(k->fallback, "`parties run --mode observe` and `parties observe` need no more than CAP_BPF and CAP_PERFMON");
	say(k->advice, "run as root");
	return true;
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

static const char *plural(uint32_t nr)
{
	return nr == 1 ? "" : "s";
}

static void describe_cores(const struct topology *t, struct doctor_knob *k)
{
	uint32_t nr_packages = count_distinct(t, offsetof(struct topology_core, package));
	uint32_t nr_l3 = count_distinct(t, offsetof(struct topology_core, l3));
	uint32_t nr_nodes = count_distinct(t, offsetof(struct topology_core, node));
	uint32_t nr_cpus = 0;

	for (uint32_t i = 0; i < t->nr_cores; i++)
		nr_cpus += cpulist_count(&t->cores[i].cpus);
	say(k->found, "%u core%s of %u CPU%s, %u L3 domain%s, %u socket%s, %u NUMA node%s", t->nr_cores, plural(t->nr_cores),
	    nr_cpus, plural(nr_cpus), nr_l3, plural(nr_l3), nr_packages, plural(nr_packages), nr_nodes, plural(nr_nodes));
}

static bool judge_topology(const struct doctor_facts *f, struct doctor_knob *k)
{
	const struct topology *t = &f->topology;
	char offline[96], isolated[96];
	size_t len = 0;

	k->usable = !f->topology_err;
	if (!k->usable) {
		say(k->found, "no cores");
		say(k->reason, "/sys/devices/system/cpu: %s", f->topology_err == -ENODEV ? "every CPU is isolated" : strerror(-f->topology_err));
		say(k->advice, "%s", f->topology_err == -ENODEV ? "take CPUs out of isolcpus= on the kernel's command line" :
		    f->topology_err == -E2BIG ? "none: this is more than 512 cores" : "mount /sys where parties runs");
		return true;
	}
	describe_cores(t, k);
	list_cpus(&f->offline, offline, sizeof(offline));
	list_cpus(&t->isolated, isolated, sizeof(isolated));
	if (offline[0])
		len = (size_t)snprintf(k->reason, sizeof(k->reason), "offline, left out: CPUs %s", offline);
	if (isolated[0])
		len += (size_t)snprintf(k->reason + len, sizeof(k->reason) - len, "%sisolated, left alone: CPUs %s", len ? "; " : "",
					isolated);
	if (f->hybrid[0])
		snprintf(k->reason + len, sizeof(k->reason) - len, "%s%s, which no policy tells apart", len ? "; " : "", f->hybrid);
	return true;
}

/* Where a controller is missing: why, and what to do. */
static void explain_absence(enum doctor_absence why, const char *name, struct doctor_knob *k)
{
	say(k->found, "no %s controller", name);
	switch (why) {
	case DOCTOR_NOT_MOUNTED:
		say(k->reason, "no hierarchy of control groups has it");
		say(k->advice, "mount -t cgroup2 none /sys/fs/cgroup, or mount -t cgroup -o %s none DIR", name);
		break;
	case DOCTOR_DISABLED:
		say(k->reason, "it is switched off");
		say(k->advice, "boot without cgroup_disable=%s", name);
		break;
	case DOCTOR_NOT_DELEGATED:
		say(k->reason, "cgroup.controllers of the group we see as the top lacks it: it was not delegated");
		say(k->advice, "run outside of the container, or give its group %s (systemd: Delegate=%s)", name, name);
		break;
	case DOCTOR_ELSEWHERE:
		say(k->reason, "a hierarchy of version 1 has it that is not mounted here");
		say(k->advice, "mount -t cgroup -o %s none DIR", name);
		break;
	case DOCTOR_NOT_BUILT:
		say(k->reason, "this kernel was built without it");
		say(k->advice, "a kernel with %s", !strcmp(name, "cpuset") ? "CONFIG_CPUSETS" : "CONFIG_CGROUP_SCHED and CONFIG_CFS_BANDWIDTH");
		break;
	}
}

/* What is the same for every controller that is there; false when it cannot be written. */
static bool describe_group(const struct doctor_cgroup *g, struct doctor_knob *k)
{
	say(k->found, "version %d at %.200s", g->version, g->dir);
	k->usable = !g->access_err;
	if (!k->usable) {
		say(k->reason, "%s", g->access_err == -EROFS ? "mounted read-only" : "we may not write there");
		say(k->advice, "%s", g->access_err == -EROFS ? "run outside of the container, or mount it read-write" : "run as root");
	} else if (!g->handed_out) {
		say(k->reason, "the top does not hand it to groups yet; a run switches it on, and off again at its end");
	}
	return k->usable;
}

static bool judge_cpuset(const struct doctor_facts *f, struct doctor_knob *k)
{
	const struct doctor_cgroup *g = &f->groups[CGROUP_CPUSET];
	struct cpulist missing = { 0 };
	char text[96];

	if (!g->version) {
		explain_absence(g->absence, "cpuset", k);
		say(k->fallback, "nothing moves cores without it; `parties run --mode observe` measures all the same");
		return true;
	}
	if (!describe_group(g, k) || f->allowed_err == -ENOENT || f->topology_err)
		return true;
	for (uint32_t i = 0; i < f->topology.nr_cores; i++)
		cpulist_or(&missing, &f->topology.cores[i].cpus);
	cpulist_andnot(&missing, &f->allowed);
	if (f->allowed_err || !cpulist_empty(&missing)) {
		k->usable = false;
		list_cpus(&missing, text, sizeof(text));
		say(k->reason, f->allowed_err ? "cannot read which CPUs this control group may use" :
		    "this control group may not use CPUs %s", text);
		say(k->advice, "run outside of the container, or give it all CPUs");
	}
	return true;
}

static bool judge_bandwidth(const struct doctor_facts *f, struct doctor_knob *k)
{
	const struct doctor_cgroup *g = &f->groups[CGROUP_CPU];

	if (g->version)
		describe_group(g, k);
	else
		explain_absence(g->absence, "cpu", k);
	if (!k->usable)
		say(k->fallback, "%s", wanted_speed(f) == CONFIG_SPEED_BANDWIDTH ? "" : "frequency where it can be set, else cores alone");
	return wanted_speed(f) == CONFIG_SPEED_BANDWIDTH;
}

static bool judge_freezer(const struct doctor_facts *f, struct doctor_knob *k)
{
	const struct doctor_cgroup *g = &f->groups[CGROUP_FREEZER];

	if (g->version) {
		describe_group(g, k);
	} else {
		explain_absence(g->absence == DOCTOR_NOT_BUILT ? DOCTOR_NOT_MOUNTED : g->absence, "freezer", k);
		say(k->fallback, "services alone: best effort without a core has to be frozen");
	}
	return f->config && f->config->nr_batches;
}

static bool judge_cpuacct(const struct doctor_facts *f, struct doctor_knob *k)
{
	const struct doctor_cgroup *g = &f->groups[CGROUP_CPUACCT];

	k->usable = g->version;
	if (g->version) {
		say(k->found, "version %d at %.200s", g->version, g->dir);
		return false;
	}
	explain_absence(g->absence, "cpuacct", k);
	say(k->fallback, "CPU time is added up over a service's threads (schedstat)");
	return false;
}

/* ---- speed ------------------------------------------------------------------------------------------------------- */

static void describe_frequency(const struct doctor_frequency *q, struct doctor_knob *k)
{
	struct speed_ladder ladder;

	frequency_fill_ladder(&ladder, &q->limits);
	say(k->found, "%.31s by %s, %u steps%s %.1f..%.1f GHz, %u domain%s, governor %.31s%s", q->driver,
	    q->exact ? "userspace" : "cap", ladder.nr_steps, q->limits.nr_listed ? "" : " (no list, so every 100 MHz)",
	    ladder.value[0] / 1e6, ladder.value[ladder.nr_steps - 1] / 1e6, q->nr_domains, plural(q->nr_domains), q->governor,
	    q->boost < 0 ? "" : q->boost ? ", boost on" : ", boost off");
}

/* Exact speeds need the governor userspace; who has it depends on the driver. */
static void explain_cap(const struct doctor_frequency *q, struct doctor_knob *k)
{
	say(k->reason, "no exact speed: the governor userspace is not offered (%.127s)", q->governors);
	say(k->fallback, "the highest speed is capped (scaling_max_freq)");
	if (!strncmp(q->driver, "amd-pstate", 10))
		say(k->advice, "nothing is needed; amd_pstate=passive on the kernel's command line gives exact speeds");
	else if (!strcmp(q->driver, "intel_pstate"))
		say(k->advice, "nothing is needed; intel_pstate=passive on the kernel's command line gives exact speeds");
	else
		say(k->advice, "nothing is needed; modprobe cpufreq_userspace gives exact speeds");
}

static bool judge_frequency(const struct doctor_facts *f, struct doctor_knob *k)
{
	const struct doctor_frequency *q = &f->frequency;
	uint32_t threads = f->topology.nr_cores ? cpulist_count(&f->topology.cores[0].cpus) : 1;

	k->usable = q->nr_with && q->nr_with == q->nr_cpus && !q->read_only;
	if (!q->nr_with) {
		say(k->found, "no cpufreq");
		say(k->reason, "no driver sets the speed of these CPUs: usual in virtual machines, else the firmware keeps it to itself");
		say(k->advice, "on hardware, let the firmware hand out P-states (CPPC, EIST); in a virtual machine nothing is needed");
	} else {
		describe_frequency(q, k);
		if (q->nr_with < q->nr_cpus)
			say(k->reason, "%u of %u CPUs have no cpufreq", q->nr_cpus - q->nr_with, q->nr_cpus);
		else if (q->read_only)
			say(k->reason, "/sys is mounted read-only");
		else if (!q->exact)
			explain_cap(q, k);
		if (k->usable && q->largest_domain > threads && !k->reason[0])
			say(k->reason, "up to %u CPUs are clocked together: they run at the fastest speed that one of them is to have",
			    q->largest_domain);
		if (q->read_only)
			say(k->advice, "run outside of the container");
	}
	if (!k->usable)
		say(k->fallback, "%s", slower_way(f));
	return wanted_speed(f) == CONFIG_SPEED_CPUFREQ;
}

static bool judge_epp(const struct doctor_facts *f, struct doctor_knob *k)
{
	const struct doctor_frequency *q = &f->frequency;

	if (q->epp[0]) {
		say(k->found, "%.31s, of: %.127s", q->epp, q->epps);
		say(k->reason, "parties sets no energy preference");
		say(k->fallback, "speeds are capped, whatever the preference");
	} else {
		say(k->found, "none");
		say(k->reason, "the frequency driver has no energy preference");
	}
	return false;
}

/* ---- what is found and not turned -------------------------------------------------------------------------------- */

static bool judge_cache(const struct doctor_facts *f, struct doctor_knob *k)
{
	const struct doctor_cache *c = &f->cache;

	if (c->nr_ways)
		say(k->found, "L3: %u ways, %u classes", c->nr_ways, c->nr_classes);
	else
		say(k->found, "%s", c->l3_flag ? c->in_kernel ? "L3 allocation, resctrl is not mounted" : "L3 allocation, and no resctrl in this kernel" :
		    "no L3 allocation");
	say(k->reason, "%s", c->nr_ways || c->l3_flag ? "parties does not divide caches" : "neither CPU nor kernel offer it");
	say(k->fallback, "cores of one L3 domain before those of the next");
	return false;
}

static bool judge_bus(const struct doctor_facts *f, struct doctor_knob *k)
{
	const struct doctor_cache *c = &f->cache;

	say(k->found, "%s", c->has_mba ? "MB in resctrl" : c->mba_flag ? "memory bandwidth allocation, resctrl is not mounted" :
	    "no memory bandwidth allocation");
	say(k->reason, "%s", c->has_mba || c->mba_flag ? "parties does not divide memory bandwidth" : "neither CPU nor kernel offer it");
	say(k->fallback, "none");
	return false;
}

static bool judge_energy(const struct doctor_facts *f, struct doctor_knob *k)
{
	say(k->found, "%s", !f->energy_err ? "RAPL" : f->energy_err == -EACCES ? "RAPL, only root may read it" : "no RAPL");
	say(k->reason, "%s", f->energy_err == -ENOENT ? "no /sys/class/powercap/intel-rapl:0" : "parties does not read energy meters");
	say(k->fallback, "energy is modelled, and says so");
	return false;
}

static bool judge_interrupts(const struct doctor_facts *f, struct doctor_knob *k)
{
	const struct doctor_interrupts *q = &f->interrupts;
	uint32_t reserved = f->config ? f->config->reserved_cpus : 0;
	struct allocation a;
	struct cpulist open, ours;
	char text[96], names[128];

	k->usable = true;
	list_cpus(&q->cpus, text, sizeof(text));
	say(k->found, "%u device interrupt%s, %u in use%s%s", q->nr, plural(q->nr), q->nr_used, text[0] ? ", on CPUs " : "", text);
	if (!q->nr_used || f->topology_err)
		return false;
	allocation_init(&a, &f->topology, 0, reserved);
	allocation_cpus(&a, &f->topology, ALLOCATION_IDLE, &open);
	ours = q->cpus;
	cpulist_and(&ours, &open);
	if (cpulist_empty(&ours))
		return false;
	list_cpus(&ours, text, sizeof(text));
	say(k->reason, "CPUs %s are services' too; CPU %u took %u %% of all since the start", text, q->busiest_cpu, q->busiest_percent);
	managers_print(&f->managers, MANAGER_INTERRUPTS, names, sizeof(names));
	say(k->advice, "reserved = N in [controller] keeps the lowest N CPUs from services; send interrupts there by "
	    "/proc/irq/*/smp_affinity_list%s%s%s", names[0] ? ", which " : "", names, names[0] ? " would undo" : "");
	return false;
}

/* ---- others ------------------------------------------------------------------------------------------------------ */

static bool judge_managers(const struct doctor_facts *f, struct doctor_knob *k)
{
	char speed[200], sets[200];
	size_t len = 0;

	managers_print(&f->managers, MANAGER_SPEED, speed, sizeof(speed));
	managers_print(&f->managers, MANAGER_CPUSET, sets, sizeof(sets));
	k->usable = !speed[0] && !sets[0];
	if (k->usable) {
		say(k->found, "none that is known");
		return false;
	}
	say(k->found, "%s%s%s", speed, speed[0] && sets[0] ? ", " : "", sets);
	say(k->reason, "%s%s%s on their own too", speed[0] ? "set speeds" : "", speed[0] && sets[0] ? " and " : "",
	    sets[0] ? "change CPU sets" : "");
	for (uint32_t i = 0; i < f->managers.nr && len < sizeof(k->advice); i++)
		if (f->managers.list[i].of != MANAGER_INTERRUPTS)
			len += (size_t)snprintf(k->advice + len, sizeof(k->advice) - len, "%s%s", len ? "; " : "",
						f->managers.list[i].remedy);
	return false;
}

static bool judge_state(const struct doctor_facts *f, struct doctor_knob *k)
{
	const struct doctor_state *s = &f->state;

	k->usable = !s->lock_err && !s->access_err;
	say(k->found, "%s", s->has_journal ? "what a killed run left" : "no other run");
	if (s->lock_err == -EBUSY) {
		say(k->found, "another instance is running, pid %s", s->holder);
		say(k->reason, "one machine has one controller");
		say(k->fallback, "`parties run --mode dry-run` and `--mode observe` work beside it");
		say(k->advice, "end it: kill %s puts everything back", s->holder);
	} else if (!k->usable) {
		say(k->found, "not known");
		say(k->reason, "/run/parties: %s", strerror(s->lock_err ? -s->lock_err : -s->access_err));
		say(k->advice, "%s", s->access_err == -ENOENT ? "make /run" : "run as root");
	} else if (s->has_journal) {
		say(k->reason, "a run was killed, and its changes are still in force");
		say(k->advice, "parties restore; the next run does it, too");
	}
	return true;
}

static bool judge_units(const struct doctor_facts *f, struct doctor_knob *k)
{
	k->usable = f->has_systemd;
	say(k->found, "%s", f->has_systemd ? "systemd" : "no systemd");
	if (f->has_systemd)
		return false;
	say(k->reason, "no service can be named by its unit");
	say(k->fallback, "name it by pid, port, cgroup or exe");
	return false;
}

static bool judge_services(const struct doctor_facts *f, struct doctor_knob *k)
{
	if (!f->config) {
		k->usable = true;
		say(k->found, "not asked; -c FILE looks at those of a configuration");
		return false;
	}
	k->usable = !f->config_error[0];
	say(k->found, "%u service%s, %u batch%s", f->config->nr_services, plural(f->config->nr_services), f->config->nr_batches,
	    f->config->nr_batches == 1 ? "" : "es");
	if (!k->usable) {
		size_t len = strcspn(f->config_error, ";");

		say(k->reason, "%.*s", (int)len, f->config_error);
		say(k->advice, "%s", f->config_error[len] ? f->config_error + len + 2 : "parties check");
	} else if (f->pinned[0]) {
		say(k->reason, "pinned by themselves: %.400s", f->pinned);
		say(k->advice, "let them run anywhere: cores that they are not pinned to do nothing for them");
	}
	return true;
}

static const struct {
	const char *name;
	bool (*judge)(const struct doctor_facts *f, struct doctor_knob *k); /* whether a run cannot do without it */
} knobs[] = {
	{ "bpf", judge_bpf },		{ "memory", judge_memory },	  { "rights", judge_rights },
	{ "topology", judge_topology }, { "cpuset", judge_cpuset },	  { "bandwidth", judge_bandwidth },
	{ "freezer", judge_freezer },	{ "cpu-time", judge_cpuacct },	  { "frequency", judge_frequency },
	{ "preference", judge_epp },	{ "cache", judge_cache },	  { "memory-bus", judge_bus },
	{ "energy", judge_energy },	{ "interrupts", judge_interrupts }, { "managers", judge_managers },
	{ "state", judge_state },	{ "units", judge_units },	  { "services", judge_services },
};
enum { NR_KNOBS = sizeof(knobs) / sizeof(knobs[0]) };
_Static_assert((int)NR_KNOBS <= (int)DOCTOR_MAX_KNOBS, "a report has room for all");

void doctor_judge(const struct doctor_facts *facts, struct doctor_report *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->nr = NR_KNOBS;
	ret->can_run = true;
	for (uint32_t i = 0; i < NR_KNOBS; i++) {
		struct doctor_knob *k = &ret->knobs[i];
		bool needed;

		k->name = knobs[i].name;
		needed = knobs[i].judge(facts, k);
		if (!needed || k->usable || !ret->can_run)
			continue;
		ret->can_run = false;
		say(ret->because, "%s: %.450s", k->name, k->reason);
	}
}
