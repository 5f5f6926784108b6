// SPDX-License-Identifier: GPL-2.0
/*
 * throttle.c - port: cpu.stat of groups and of their ancestors.  It sets no quota (bandwidth.c).
 */
#include "throttle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LOOKS = 4 }; /* processes of a service are rarely spread out; a look takes some 15 us */

static uint64_t read_ns(const struct knob *stat)
{
	static const struct { const char *key; uint64_t scale; } keys[] = {
		{ "throttled_usec ", 1000 }, { "throttled_time ", 1 },
	};
	char text[KNOB_TEXT_SIZE];

	if (knob_read_all(stat, text, sizeof(text)) < 0)
		return 0;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *at = strstr(text, keys[i].key);

		if (at)
			return strtoull(at + strlen(keys[i].key), NULL, 10) * keys[i].scale;
	}
	return 0;
}

/* Whether the file of the group is there already, or could be opened. */
static bool keep(struct throttle *t, const char *dir, bool *wanted)
{
	struct throttle_group *group;
	size_t length = strlen(dir);

	for (uint32_t i = 0; i < t->nr; i++) {
		const char *path = t->groups[i].stat.path;

		if (!strncmp(path, dir, length) && !strcmp(path + length, "/cpu.stat"))
			return wanted[i] = true;
	}
	if (t->nr == THROTTLE_MAX_GROUPS)
		return false;
	group = &t->groups[t->nr];
	if (knob_open(&group->stat, &knob_plain, dir, "cpu.stat"))
		return false;
	group->last_ns = read_ns(&group->stat);
	return wanted[t->nr++] = true;
}

void throttle_follow(struct throttle *t, const struct cgroup_mount *mount, const char *root,
		     const struct match_pids *pids)
{
	bool wanted[THROTTLE_MAX_GROUPS] = { false };
	size_t top = strlen(mount->dir);
	char dir[KNOB_PATH_SIZE];
	uint32_t nr = 0;

	for (uint32_t i = 0; mount->version && i < pids->nr && i < MAX_LOOKS; i++) {
		if (cgroup_read_task(root, mount, pids->pids[i], dir, sizeof(dir)))
			continue;
		while (strlen(dir) >= top && keep(t, dir, wanted) && strlen(dir) > top)
			*strrchr(dir, '/') = '\0';
	}
	for (uint32_t i = 0; i < t->nr; i++) {
		if (!wanted[i])
			knob_close(&t->groups[i].stat);
		else if (nr++ != i)
			t->groups[nr - 1] = t->groups[i];
	}
	t->nr = nr;
}

uint64_t throttle_read_ns(struct throttle *t)
{
	uint64_t sum_ns = 0;

	for (uint32_t i = 0; i < t->nr; i++) {
		uint64_t now_ns = read_ns(&t->groups[i].stat);

		if (now_ns > t->groups[i].last_ns) /* a group that is gone reads 0, and so does one made again */
			sum_ns += now_ns - t->groups[i].last_ns;
		t->groups[i].last_ns = now_ns;
	}
	return sum_ns;
}

void throttle_close(struct throttle *t)
{
	for (uint32_t i = 0; i < t->nr; i++)
		knob_close(&t->groups[i].stat);
	t->nr = 0;
}
