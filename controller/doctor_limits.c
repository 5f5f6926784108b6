// SPDX-License-Identifier: GPL-2.0
/*
 * doctor_limits.c - limits of best-effort work: what there is to set them with, and that in words.  Port: it reads below
 * `root`; the kernel program is loaded, for a moment, where `root` is "".
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "doctor_knobs.h"
#include "doctor_look.h"
#include "egress.h"

static bool has_controller(const char *root, const struct doctor_cgroup *v2, const char *name)
{
	char text[KNOB_TEXT_SIZE], padded[KNOB_TEXT_SIZE + 2], word[16];

	if (v2->version != 2 || doctor_read(root, text, sizeof(text), "%.400s/cgroup.controllers", v2->dir) < 0)
		return false;
	snprintf(padded, sizeof(padded), " %s ", text);
	snprintf(word, sizeof(word), " %s ", name);
	return strstr(padded, word);
}

/* All but the loopback interface, in the order of the directory. */
static void list_links(const char *root, char *ret, size_t size)
{
	char path[KNOB_PATH_SIZE], text[32], rate[24];
	size_t len = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%.480s/sys/class/net", root);
	dir = opendir(path);
	for (struct dirent *e; dir && (e = readdir(dir)) && len < size;) {
		long mbit;

		if (e->d_name[0] == '.' || !strcmp(e->d_name, "lo"))
			continue;
		mbit = doctor_read(root, text, sizeof(text), "sys/class/net/%s/speed", e->d_name) > 0 ? strtol(text, NULL, 10) : 0;
		network_format_rate(mbit > 0 ? (uint64_t)mbit * 1000000 : 0, rate, sizeof(rate));
		len += (size_t)snprintf(ret + len, size - len, "%s%s%s%s", len ? ", " : "", e->d_name, *rate ? " " : "", rate);
	}
	if (dir)
		closedir(dir);
}

void doctor_look_limits(const char *root, struct doctor_facts *ret)
{
	const struct doctor_cgroup *v2 = &ret->groups[CGROUP_SOCKETS];
	struct doctor_limits *limits = &ret->limits;

	limits->memory = has_controller(root, v2, "memory");
	limits->io = has_controller(root, v2, "io");
	list_links(root, limits->links, sizeof(limits->links));
	if (!root[0] && v2->version == 2)
		limits->egress_err = egress_try(limits->egress_error, sizeof(limits->egress_error));
}

/* Whether some batch of the configuration cannot do without. */
static bool is_asked_for(const struct doctor_facts *f, bool egress)
{
	for (uint32_t i = 0; f->config && i < f->config->nr_batches; i++) {
		const struct limits *limits = &f->config->batches[i].limits;

		if (egress ? limits_have_egress(limits) : limits->memory_high_bytes || limits->io_max[0])
			return true;
	}
	return false;
}

bool doctor_judge_limits(const struct doctor_facts *f, struct doctor_knob *k)
{
	const struct doctor_limits *limits = &f->limits;

	k->usable = limits->memory && limits->io;
	doctor_say(k->found, "%s", k->usable ? "memory and io, version 2" : limits->memory ? "memory, version 2" :
		   limits->io ? "io, version 2" : "neither memory nor io in version 2");
	if (!k->usable) {
		doctor_say(k->reason, "%s of a batch cannot be set", limits->memory ? "io_max" : limits->io ? "memory_high" :
			   "memory_high and io_max");
		doctor_say(k->fallback, "best effort without them");
		doctor_say(k->advice, "boot with cgroup_no_v1=all");
	}
	return is_asked_for(f, false);
}

bool doctor_judge_egress(const struct doctor_facts *f, struct doctor_knob *k)
{
	const struct doctor_limits *limits = &f->limits;
	const struct doctor_cgroup *v2 = &f->groups[CGROUP_SOCKETS];
	size_t len = strcspn(limits->egress_error, ";");

	k->usable = v2->version == 2 && !limits->egress_err;
	if (k->usable) {
		doctor_say(k->found, "version 2 at %.200s; links: %s", v2->dir, limits->links[0] ? limits->links : "none");
		return is_asked_for(f, true);
	}
	doctor_say(k->fallback, "best effort sends what it can");
	if (v2->version != 2) {
		doctor_say(k->found, "no control groups of version 2");
		doctor_say(k->reason, "sockets belong to these alone");
		doctor_say(k->advice, "mount -t cgroup2 none /sys/fs/cgroup/unified; no controller need be in it");
	} else {
		doctor_say(k->found, "the program does not load");
		doctor_say(k->reason, "%.*s", (int)len, limits->egress_error);
		doctor_say(k->advice, "%s", limits->egress_error[len] ? limits->egress_error + len + 2 : "");
	}
	return is_asked_for(f, true);
}
