/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cpuset.c - moves CPUs between cpuset groups, in an order the kernel accepts.  Port.
 * It does not know services or cores, and freezes nobody.
 */
#include "cpuset.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Version 2 and version 1 names of what a group may really use. */
static const char *const effective_files[] = { "cpuset.cpus.effective", "cpuset.effective_cpus" };

int cpuset_open_effective(struct knob *k, const char *dir)
{
	int err = -ENOENT;

	for (int i = 0; i < 2 && err == -ENOENT; i++)
		err = knob_open(k, &knob_plain, dir, effective_files[i]);
	return err;
}

static int find_set(const struct cpusets *c, const char *dir)
{
	size_t len = strlen(dir);

	for (uint32_t i = 0; i < c->nr; i++)
		if (!strncmp(c->sets[i].cpus.path, dir, len) && !strcmp(c->sets[i].cpus.path + len, "/cpuset.cpus"))
			return (int)i;
	return -1;
}

static int read_set(const struct knob *k, struct cpulist *ret)
{
	char text[KNOB_TEXT_SIZE];
	int len = knob_read(k, text, sizeof(text));

	return len < 0 ? len : cpulist_parse(text, ret);
}

static void make_free(struct cpuset_set *s)
{
	memset(s, 0, sizeof(*s));
	s->cpus.fd = s->effective.fd = s->parent = -1;
}

/* The first that is free and comes after the parent's. */
static int find_free(const struct cpusets *c, int parent)
{
	int i = parent + 1;

	while (i < (int)c->nr && c->sets[i].cpus.fd >= 0)
		i++;
	return i < CPUSET_MAX_SETS ? i : -E2BIG;
}

static int add_set(struct cpusets *c, const char *dir, int parent, struct journal *j)
{
	int index = find_free(c, parent), err;
	struct cpuset_set *s = &c->sets[index];

	if (index < 0)
		return index;
	make_free(s);
	s->parent = parent;
	err = knob_open(&s->cpus, &knob_plain, dir, "cpuset.cpus");
	if (err)
		return err;
	if (cpuset_open_effective(&s->effective, dir))
		s->effective.fd = -1;
	err = read_set(&s->cpus, &s->base);
	if (!err)
		err = journal_add_knob(j, &s->cpus);
	if (err) {
		knob_close(&s->cpus);
		knob_close(&s->effective);
		return err;
	}
	if (index == (int)c->nr)
		c->nr++;
	return index;
}

int cpusets_add(struct cpusets *c, const char *mount_dir, const char *dir, struct journal *j)
{
	char path[KNOB_PATH_SIZE];
	int index = -1;

	if (snprintf(path, sizeof(path), "%s", dir) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	if (strncmp(dir, mount_dir, strlen(mount_dir)) || dir[strlen(mount_dir)] != '/')
		return -EINVAL;
	for (char *end = path + strlen(mount_dir); end; ) {
		int parent = index;

		end = strchr(end + 1, '/');
		if (end)
			*end = '\0';
		index = find_set(c, path);
		if (index < 0)
			index = add_set(c, path, parent, j);
		if (index < 0)
			return index;
		if (end)
			*end = '/';
	}
	c->sets[index].is_group = true;
	return index;
}

static bool is_needed(const struct cpusets *c, int index)
{
	bool needed = c->sets[index].is_group;

	for (uint32_t i = 0; i < c->nr && !needed; i++)
		needed = c->sets[i].parent == index;
	return needed;
}

void cpusets_drop(struct cpusets *c, int index)
{
	c->sets[index].is_group = false;
	while (index >= 0 && !is_needed(c, index)) {
		struct cpuset_set *s = &c->sets[index];

		index = s->parent;
		knob_close(&s->cpus);
		knob_close(&s->effective);
		make_free(s);
	}
}

int cpuset_fill(const char *dir, const char *parent_dir)
{
	static const char *const files[] = { "cpuset.mems", "cpuset.cpus" };
	int err = 0;

	for (int i = 0; i < 2 && !err; i++) {
		char path[KNOB_PATH_SIZE + 16], text[KNOB_TEXT_SIZE];

		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		err = knob_read_path(path, text, sizeof(text));
		if (err) /* an error, or it says something already */
			continue;
		snprintf(path, sizeof(path), "%s/%s", parent_dir, files[i]);
		err = knob_read_path(path, text, sizeof(text));
		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		if (err > 0)
			err = knob_write_path(path, text);
	}
	return err < 0 ? err : 0;
}

int cpuset_read_effective(const char *dir, struct cpulist *ret)
{
	char text[KNOB_TEXT_SIZE];
	struct knob k;
	int err = cpuset_open_effective(&k, dir);

	if (err)
		return err;
	err = knob_read(&k, text, sizeof(text));
	knob_close(&k);
	return err < 0 ? err : cpulist_parse(text, ret);
}

int cpuset_check_allowed(const char *dir, const struct cpulist *cpus, char *error, size_t error_size)
{
	struct cpulist missing = *cpus, allowed;
	char text[64], type[KNOB_PATH_SIZE + 16], cpus_file[KNOB_PATH_SIZE + 16];
	int err = cpuset_read_effective(dir, &allowed);

	if (err == -ENOENT)
		return 0; /* the root of version 2 may not say */
	if (err) {
		snprintf(error, error_size, "cannot read which CPUs this control group may use: %s", strerror(-err));
		return err;
	}
	cpulist_andnot(&missing, &allowed);
	if (cpulist_empty(&missing))
		return 0;
	if (cpulist_format(&missing, text, sizeof(text)) < 0)
		snprintf(text, sizeof(text), "some");
	snprintf(type, sizeof(type), "%s/cgroup.type", dir);
	snprintf(cpus_file, sizeof(cpus_file), "%s/cpuset.cpus", dir);
	if (access(type, F_OK) && access(cpus_file, F_OK)) /* the real root of version 2 */
		snprintf(error, error_size, "a partition of another control group has CPUs %s: grep . %s/*/cpuset.cpus.partition "
			 "shows which; echo member into that file gives them back", text, dir);
	else
		snprintf(error, error_size, "this control group may not use CPUs %s: run outside of the container, or give it all "
			 "CPUs", text);
	return -ENOTSUP;
}

static int write_set(struct cpuset_set *s, const struct cpulist *cpus, struct undo *u, struct outcome *ret)
{
	char text[KNOB_TEXT_SIZE];
	int len = cpulist_format(cpus, text, sizeof(text));

	if (len < 0) {
		ret->error = len;
		snprintf(ret->where, sizeof(ret->where), "%.100s: the list of CPUs is too long", s->cpus.path);
		return len;
	}
	return knob_change(u, &s->cpus, text, ret);
}

static int read_now(const struct cpuset_set *s, struct cpulist *now, struct outcome *ret)
{
	int err = read_set(&s->cpus, now);

	if (err) {
		ret->error = err;
		snprintf(ret->where, sizeof(ret->where), "%.100s: reading: %s", s->cpus.path, strerror(-err));
	}
	return err;
}

/* An ancestor that says nothing (version 2) limits nothing and stays so. */
static bool is_limit(const struct cpusets *c, uint32_t i)
{
	return !c->sets[i].is_group && !cpulist_empty(&c->sets[i].base);
}

static void aim_ancestors(struct cpusets *c)
{
	for (uint32_t i = 0; i < c->nr; i++)
		if (!c->sets[i].is_group)
			c->sets[i].target = c->sets[i].base;
	for (uint32_t i = 0; i < c->nr; i++)
		for (int up = c->sets[i].parent; c->sets[i].is_group && up >= 0; up = c->sets[up].parent)
			if (!c->sets[up].is_group)
				cpulist_or(&c->sets[up].target, &c->sets[i].target);
}

static int widen_ancestors(struct cpusets *c, struct undo *u, struct outcome *ret)
{
	struct cpulist cpus;
	int err = 0;

	for (uint32_t i = 0; i < c->nr && !err; i++) {
		if (!is_limit(c, i))
			continue;
		err = read_now(&c->sets[i], &cpus, ret);
		cpulist_or(&cpus, &c->sets[i].target);
		if (!err)
			err = write_set(&c->sets[i], &cpus, u, ret);
	}
	return err;
}

static int shrink_groups(struct cpusets *c, struct undo *u, struct outcome *ret)
{
	struct cpulist cpus;
	int err = 0;

	for (uint32_t i = 0; i < c->nr && !err; i++) {
		if (!c->sets[i].is_group || cpulist_empty(&c->sets[i].target))
			continue;
		err = read_now(&c->sets[i], &cpus, ret);
		cpulist_and(&cpus, &c->sets[i].target);
		/* Nothing in common: there is no way but straight to the new set. */
		if (!err && !cpulist_empty(&cpus))
			err = write_set(&c->sets[i], &cpus, u, ret);
	}
	return err;
}

static int grow_groups(struct cpusets *c, struct undo *u, struct outcome *ret)
{
	int err = 0;

	for (uint32_t i = 0; i < c->nr && !err; i++)
		if (c->sets[i].is_group && !cpulist_empty(&c->sets[i].target))
			err = write_set(&c->sets[i], &c->sets[i].target, u, ret);
	return err;
}

static int narrow_ancestors(struct cpusets *c, struct undo *u, struct outcome *ret)
{
	int err = 0;

	for (uint32_t i = c->nr; i-- && !err;)
		if (is_limit(c, i))
			err = write_set(&c->sets[i], &c->sets[i].target, u, ret);
	return err;
}

/* cpuset.cpus may read back right and still not be what tasks get (offline CPUs, a parent, a partition). */
static int check_effective(struct cpusets *c, struct outcome *ret)
{
	for (uint32_t i = 0; i < c->nr; i++) {
		const struct cpuset_set *s = &c->sets[i];
		struct cpulist cpus;
		char want[KNOB_TEXT_SIZE], have[KNOB_TEXT_SIZE];

		if (!s->is_group || s->effective.fd < 0 || cpulist_empty(&s->target))
			continue;
		cpulist_format(&s->target, want, sizeof(want));
		if (knob_read(&s->effective, have, sizeof(have)) >= 0 && !strcmp(have, want))
			continue;
		if (!cpulist_parse(have, &cpus)) {
			c->missing = s->target;
			cpulist_andnot(&c->missing, &cpus);
		}
		ret->error = -EIO;
		snprintf(ret->where, sizeof(ret->where), "%.80s: wanted %.20s, in effect is %.20s",
			 s->effective.path, want, have);
		return -EIO;
	}
	return 0;
}

/* What was missing before, too. */
static void deny(struct cpusets *c, const struct cpulist *missed_before)
{
	struct cpulist both = c->missing;

	cpulist_and(&both, missed_before);
	if (!cpulist_empty(&both)) {
		cpulist_or(&c->denied, &both);
		c->nr_denied = CPUSET_DENIED_STEPS;
	} else if (c->nr_denied && !--c->nr_denied) {
		cpulist_clear(&c->denied);
	}
}

int cpusets_apply(struct cpusets *c, struct undo *u, struct outcome *ret)
{
	struct cpulist missed_before = c->missing;
	int err;

	cpulist_clear(&c->missing);
	aim_ancestors(c);
	err = widen_ancestors(c, u, ret);
	if (!err)
		err = shrink_groups(c, u, ret);
	if (!err)
		err = grow_groups(c, u, ret);
	if (!err)
		err = narrow_ancestors(c, u, ret);
	if (!err)
		err = check_effective(c, ret);
	deny(c, &missed_before);
	return err;
}

bool cpusets_drifted(struct cpusets *c, int index)
{
	bool drifted = c->sets[index].cpus.drifted;

	c->sets[index].cpus.drifted = false;
	return drifted;
}

void cpusets_close(struct cpusets *c)
{
	for (uint32_t i = 0; i < c->nr; i++) {
		knob_close(&c->sets[i].cpus);
		knob_close(&c->sets[i].effective);
	}
	c->nr = 0;
}
