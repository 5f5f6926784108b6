// SPDX-License-Identifier: GPL-2.0
/*
 * doctor_units.c - pure: systemd, in words: what it leaves to us, and what stays its own.
 */
#include "doctor_knobs.h"

#include <string.h>

bool doctor_judge_subtree(const struct doctor_facts *f, struct doctor_knob *k)
{
	k->usable = !f->subtree_err;
	doctor_say(k->found, "%.400s%s", f->subtree[0] ? f->subtree : "the top", f->subtree[0] ? ", delegated" : "");
	if (f->subtree_err) {
		size_t len = strcspn(f->subtree_why, ";");

		doctor_say(k->found, "none");
		doctor_say(k->reason, "%.*s", (int)len, f->subtree_why);
		doctor_say(k->advice, "%s", f->subtree_why[len] ? f->subtree_why + len + 2 : "subtree = auto in [controller]");
	} else if (f->subtree_why[0] && f->has_systemd) {
		doctor_say(k->reason, "%.*s, and systemd may switch controllers off elsewhere", (int)strcspn(f->subtree_why, ";"),
			   f->subtree_why);
		doctor_say(k->fallback, "they are switched on again");
		doctor_say(k->advice, "systemctl start parties; or systemd-run --scope -p Delegate=yes parties run -c FILE");
	}
	return true;
}

bool doctor_judge_units(const struct doctor_facts *f, struct doctor_knob *k)
{
	k->usable = f->has_systemd;
	if (!f->has_systemd) {
		doctor_say(k->found, "no systemd");
		doctor_say(k->reason, "no service can be named by its unit");
		doctor_say(k->fallback, "name it by pid, port, cgroup or exe");
		return false;
	}
	doctor_say(k->found, "systemd%s%.400s", f->units[0] ? ": " : "", f->units);
	if (f->limited[0]) {
		doctor_say(k->reason, "%.200s limits its CPUs itself: a run takes others, and each reload of systemd takes them "
			   "back until the run does", f->limited);
		doctor_say(k->advice, "systemctl set-property %.200s AllowedCPUs=", f->limited);
	} else if (f->units[0]) {
		doctor_say(k->reason, "these groups stay systemd's: what it writes there is put back, five times in sixty "
			   "intervals");
		doctor_say(k->advice, "leave AllowedCPUs= and CPUQuota= of these units alone during a run");
	}
	return false;
}
