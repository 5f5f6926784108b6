// SPDX-License-Identifier: GPL-2.0
/*
 * doctor.c - pure: what was found, in words, and whether a run could work.  It looks at nothing and prints nothing.
 *
 * A knob is a thing that a run reads or turns.  Each has one function, here, in doctor_cores.c or in doctor_units.c; their order is that
 * of the output.
 */
#include "doctor_knobs.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "feedback.h"

void doctor_say(char text[DOCTOR_TEXT_SIZE], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(text, DOCTOR_TEXT_SIZE, format, args);
	va_end(args);
}

const char *doctor_plural(uint32_t nr)
{
	return nr == 1 ? "" : "s";
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

static bool judge_bpf(const struct doctor_facts *f, struct doctor_knob *k)
{
	const struct doctor_bpf *bpf = &f->bpf;
	bool needed = !f->config || feedback_has_kernel(f->config->feedback);

	k->usable = !bpf->err;
	if (bpf->err) {
		/* "what is wrong; what to do" */
		size_t len = strcspn(bpf->error, ";");

		doctor_say(k->found, "%s",
			   bpf->tried ? "kernel programs do not load" : "kernel programs would not load");
		doctor_say(k->reason, "%.*s", (int)len, bpf->error);
		doctor_say(k->advice, "%s", bpf->error[len] ? bpf->error + len + 1 + (bpf->error[len + 1] == ' ') : "");
		return needed;
	}
	if (!bpf->tried) {
		doctor_say(k->found, "type information (BTF)");
		doctor_say(k->reason, "only looked at: nothing of another machine can be tried");
		return needed;
	}
	doctor_say(k->found, "%s http2=%s", bpf->features, bpf->has_http2 ? "yes" : "no");
	if (bpf->is_locked) {
		doctor_say(k->reason, "kernel lockdown is at confidentiality: no probes in libraries (lifecycle grpc)");
		doctor_say(k->advice, "boot with lockdown=integrity or none");
	} else if (!bpf->has_http2) {
		doctor_say(k->reason, "this kernel shows no program the bytes that a request begins with; HTTP/2 "
				      "cannot be followed by frames");
		doctor_say(k->fallback,
			   "lifecycle grpc or connection for HTTP/2; every other protocol counts as unknown");
		doctor_say(k->advice, "Linux 6.16 or newer");
	}
	return needed;
}

static bool judge_memory(const struct doctor_facts *f, struct doctor_knob *k)
{
	uint64_t needed = f->bpf.memory_bytes;

	k->usable = !f->available_bytes || needed <= f->available_bytes;
	if (needed)
		doctor_say(k->found, "%.1f MiB of histograms and maps for %u service%s; %.0f MiB available",
			   needed / 1048576.0, f->bpf.nr_services, f->bpf.nr_services == 1 ? "" : "s",
			   f->available_bytes / 1048576.0);
	else
		doctor_say(k->found, "%.0f MiB available", f->available_bytes / 1048576.0);
	if (k->usable)
		return true;
	doctor_say(k->reason, "the histograms need more than there is");
	doctor_say(k->advice, "free memory, or configure fewer services");
	return true;
}

static bool judge_rights(const struct doctor_facts *f, struct doctor_knob *k)
{
	k->usable = !f->rights[0];
	doctor_say(k->found, "%s",
		   f->is_tree  ? "not asked: this is another machine"
		   : k->usable ? "all that steering needs"
			       : "too few");
	if (k->usable)
		return true;
	doctor_say(k->reason, "missing %s", f->rights);
	doctor_say(k->fallback,
		   "`parties run --mode observe` and `parties observe` need no more than CAP_BPF and CAP_PERFMON");
	doctor_say(k->advice, "run as root");
	return true;
}

/* ---- others ------------------------------------------------------------------------------------------------------ */

/* Whether a run would set speeds, and so be refused beside somebody who does. */
static bool sets_speeds(const struct doctor_facts *f)
{
	const struct doctor_frequency *q = &f->frequency;
	enum config_speed wanted = f->config ? f->config->speed : CONFIG_SPEED_AUTO;

	return doctor_can_set_speed(q) && (wanted == CONFIG_SPEED_AUTO || wanted == CONFIG_SPEED_CPUFREQ);
}

static bool judge_managers(const struct doctor_facts *f, struct doctor_knob *k)
{
	char speed[200], sets[200];
	size_t len = 0;

	managers_print(&f->managers, MANAGER_SPEED, speed, sizeof(speed));
	managers_print(&f->managers, MANAGER_CPUSET, sets, sizeof(sets));
	k->usable = !speed[0] && !sets[0];
	if (k->usable) {
		doctor_say(k->found, "none that is known");
		return false;
	}
	doctor_say(k->found, "%s%s%s", speed, speed[0] && sets[0] ? ", " : "", sets);
	doctor_say(k->reason, "%s%s%s on their own", speed[0] ? "set speeds" : "", speed[0] && sets[0] ? " and " : "",
		   sets[0] ? "change CPU sets" : "");
	if (speed[0] && sets_speeds(f))
		doctor_say(k->fallback, "speed = bandwidth, or `parties run --force` beside them");
	for (uint32_t i = 0; i < f->managers.nr && len < sizeof(k->advice); i++)
		if (f->managers.list[i].of != MANAGER_INTERRUPTS)
			len += (size_t)snprintf(k->advice + len, sizeof(k->advice) - len, "%s%s", len ? "; " : "",
						f->managers.list[i].remedy);
	return speed[0] && sets_speeds(f);
}

static bool judge_state(const struct doctor_facts *f, struct doctor_knob *k)
{
	const struct doctor_state *s = &f->state;

	k->usable = !s->lock_err && !s->access_err;
	doctor_say(k->found, "%s", s->has_journal ? "what a killed run left" : "no other run");
	if (s->lock_err == -EBUSY) {
		doctor_say(k->found, "another instance is running, pid %s", s->holder);
		doctor_say(k->reason, "pid %s steers this machine already", s->holder);
		doctor_say(k->fallback, "`parties run --mode dry-run` and `--mode observe` work beside it");
		doctor_say(k->advice, "end it: kill %s puts everything back", s->holder);
	} else if (!k->usable) {
		doctor_say(k->found, "not known");
		doctor_say(k->reason, "/run/parties: %s", strerror(s->lock_err ? -s->lock_err : -s->access_err));
		doctor_say(k->advice, "%s", s->access_err == -ENOENT ? "make /run" : "run as root");
	} else if (s->has_journal) {
		doctor_say(k->reason, "a run was killed, and its changes are still in force");
		doctor_say(k->advice, "parties restore; the next run does it, too");
	}
	return true;
}

static bool judge_services(const struct doctor_facts *f, struct doctor_knob *k)
{
	if (!f->config) {
		k->usable = true;
		doctor_say(k->found, "not asked; -c FILE looks at those of a configuration");
		return false;
	}
	k->usable = !f->config_error[0];
	doctor_say(k->found, "%u service%s, %u batch%s", f->config->nr_services, doctor_plural(f->config->nr_services),
		   f->config->nr_batches, f->config->nr_batches == 1 ? "" : "es");
	if (!k->usable) {
		size_t len = strcspn(f->config_error, ";");

		doctor_say(k->reason, "%.*s", (int)len, f->config_error);
		doctor_say(k->advice, "%s", f->config_error[len] ? f->config_error + len + 2 : "parties check");
	} else if (f->pinned[0]) {
		doctor_say(k->reason, "pinned by themselves: %.400s", f->pinned);
		doctor_say(k->advice, "let them run anywhere: cores that they are not pinned to do nothing for them");
	}
	return true;
}

static const struct {
	const char *name;
	bool (*judge)(const struct doctor_facts *f, struct doctor_knob *k); /* whether a run cannot do without it */
} knobs[] = {
	{ "bpf", judge_bpf },
	{ "memory", judge_memory },
	{ "rights", judge_rights },
	{ "topology", doctor_judge_topology },
	{ "cpuset", doctor_judge_cpuset },
	{ "bandwidth", doctor_judge_bandwidth },
	{ "freezer", doctor_judge_freezer },
	{ "cpu-time", doctor_judge_cpuacct },
	{ "subtree", doctor_judge_subtree },
	{ "frequency", doctor_judge_frequency },
	{ "preference", doctor_judge_epp },
	{ "clock", doctor_judge_clock },
	{ "cache", doctor_judge_cache },
	{ "memory-bus", doctor_judge_bus },
	{ "limits", doctor_judge_limits },
	{ "egress", doctor_judge_egress },
	{ "energy", doctor_judge_energy },
	{ "interrupts", doctor_judge_interrupts },
	{ "managers", judge_managers },
	{ "state", judge_state },
	{ "units", doctor_judge_units },
	{ "services", judge_services },
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
		doctor_say(ret->because, "%s: %.450s", k->name, k->reason);
	}
}
