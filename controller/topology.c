/* SPDX-License-Identifier: GPL-2.0 */
/*
 * topology.c - reads the physical cores of a machine from sysfs.  Port.
 * It decides nothing about who gets which core, and keeps nothing open.
 */
#include "topology.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "knob.h"

enum { TEXT_SIZE = 4096, MAX_CACHES = 16 };

/* First line of <root>/sys/devices/system/<path>; its length or negative errno. */
__attribute__((format(printf, 3, 4)))
static int read_text(const char *root, char text[TEXT_SIZE], const char *path_format, ...)
{
	char path[PATH_MAX], name[128];
	va_list args;

	va_start(args, path_format);
	vsnprintf(name, sizeof(name), path_format, args);
	va_end(args);
	if (snprintf(path, sizeof(path), "%s/sys/devices/system/%s", root, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	return knob_read_path(path, text, TEXT_SIZE);
}

static int read_cpus(const char *root, const char *path, struct cpulist *ret)
{
	char text[TEXT_SIZE];
	int len = read_text(root, text, "%s", path);

	return len < 0 ? len : cpulist_parse(text, ret);
}

/* A small number of one CPU's topology; `absent` where the file is missing or says -1 (unknown). */
static long read_id(const char *root, unsigned int cpu, const char *file, long absent)
{
	char text[TEXT_SIZE];
	long value;

	if (read_text(root, text, "cpu/cpu%u/topology/%s", cpu, file) <= 0)
		return absent;
	value = strtol(text, NULL, 10);
	return value >= 0 && value <= UINT16_MAX ? value : absent;
}

/* Online siblings of `cpu`.  core_cpus_list is the name since 5.2, thread_siblings_list before. */
static int read_siblings(const char *root, unsigned int cpu, const struct cpulist *usable, struct cpulist *ret)
{
	static const char *const files[] = { "core_cpus_list", "thread_siblings_list" };
	char text[TEXT_SIZE];
	struct cpulist cpus;
	int len = -ENOENT;

	for (unsigned int i = 0; i < 2 && len == -ENOENT; i++)
		len = read_text(root, text, "cpu/cpu%u/topology/%s", cpu, files[i]);
	if (len == -ENOENT) { /* a machine without topology information: every CPU is a core */
		cpulist_clear(&cpus);
	} else {
		int err = len < 0 ? len : cpulist_parse(text, &cpus);

		if (err)
			return err;
	}
	cpulist_add(&cpus, cpu);
	cpulist_and(&cpus, usable);
	*ret = cpus;
	return 0;
}

/* The lowest CPU that shares the L3 cache names the domain; -1 without L3 information. */
static int read_l3(const char *root, unsigned int cpu)
{
	char text[TEXT_SIZE];
	struct cpulist sharers;

	for (int i = 0; i < MAX_CACHES; i++) {
		int len = read_text(root, text, "cpu/cpu%u/cache/index%d/level", cpu, i);

		if (len < 0)
			return -1;
		if (strtol(text, NULL, 10) != 3)
			continue;
		len = read_text(root, text, "cpu/cpu%u/cache/index%d/shared_cpu_list", cpu, i);
		return len < 0 || cpulist_parse(text, &sharers) ? -1 : cpulist_next(&sharers, 0);
	}
	return -1;
}

static void read_nodes(const char *root, struct topology *topo)
{
	char text[TEXT_SIZE], path[64];
	struct cpulist nodes, cpus;

	if (read_cpus(root, "node/online", &nodes))
		return; /* no NUMA: node 0 */
	for (int node = cpulist_next(&nodes, 0); node >= 0; node = cpulist_next(&nodes, (unsigned int)node + 1)) {
		snprintf(path, sizeof(path), "node/node%d/cpulist", node);
		if (read_text(root, text, "%s", path) < 0 || cpulist_parse(text, &cpus))
			continue;
		for (uint32_t i = 0; i < topo->nr_cores; i++)
			if (cpulist_has(&cpus, topo->cores[i].first_cpu))
				topo->cores[i].node = (uint16_t)node;
	}
}

static int compare_cores(const void *left, const void *right)
{
	const struct topology_core *a = left, *b = right;

	if (a->package != b->package)
		return a->package < b->package ? -1 : 1;
	if (a->l3 != b->l3)
		return a->l3 < b->l3 ? -1 : 1;
	return a->first_cpu < b->first_cpu ? -1 : 1;
}

/*
 * Cores are sorted with the domain named by its lowest CPU + 1 (0: unknown).  The names become dense numbers
 * afterwards, in that order; cores without L3 information share 0.
 */
static void sort_cores(struct topology *topo)
{
	uint16_t name = 0;
	int dense = -1;

	qsort(topo->cores, topo->nr_cores, sizeof(topo->cores[0]), compare_cores);
	for (uint32_t i = 0; i < topo->nr_cores; i++)
		if (!topo->cores[i].l3)
			dense = 0;
	for (uint32_t i = 0; i < topo->nr_cores; i++) {
		struct topology_core *core = &topo->cores[i];

		if (!core->l3)
			continue;
		if (core->l3 != name)
			dense++;
		name = core->l3;
		core->l3 = (uint16_t)dense;
	}
}

static int add_core(const char *root, unsigned int cpu, const struct cpulist *usable, struct topology *topo)
{
	struct topology_core *core = &topo->cores[topo->nr_cores];
	int err;

	if (topo->nr_cores == TOPOLOGY_MAX_CORES)
		return -E2BIG;
	err = read_siblings(root, cpu, usable, &core->cpus);
	if (err)
		return err;
	core->first_cpu = (uint16_t)cpu;
	core->package = (uint16_t)read_id(root, cpu, "physical_package_id", 0);
	core->l3 = (uint16_t)(read_l3(root, cpu) + 1);
	core->node = 0;
	topo->nr_cores++;
	return 0;
}

int topology_read(const char *root, struct topology *ret)
{
	struct topology *topo = calloc(1, sizeof(*topo));
	struct cpulist usable, left;
	int err;

	if (!topo)
		return -ENOMEM;
	err = read_cpus(root, "cpu/online", &topo->online);
	if (err)
		goto out;
	err = read_cpus(root, "cpu/isolated", &topo->isolated);
	if (err == -ENOENT) /* before 4.2 */
		cpulist_clear(&topo->isolated);
	else if (err)
		goto out;
	usable = topo->online;
	cpulist_andnot(&usable, &topo->isolated);
	left = usable;
	for (int cpu = cpulist_next(&left, 0); cpu >= 0; cpu = cpulist_next(&left, 0)) {
		err = add_core(root, (unsigned int)cpu, &usable, topo);
		if (err)
			goto out;
		cpulist_andnot(&left, &topo->cores[topo->nr_cores - 1].cpus);
	}
	err = topo->nr_cores ? 0 : -ENODEV;
	if (err)
		goto out;
	sort_cores(topo);
	read_nodes(root, topo);
	*ret = *topo;
out:
	free(topo);
	return err;
}

static struct topology_core *find_core(struct topology *topo, const struct cpulist *cpus)
{
	for (uint32_t i = 0; i < topo->nr_cores; i++) {
		struct cpulist both = topo->cores[i].cpus;

		cpulist_and(&both, cpus);
		if (!cpulist_empty(&both))
			return &topo->cores[i];
	}
	return NULL;
}

/* The number that `topo` has for an L3 domain of `now`: that of a core in it, or a new one. */
static uint16_t find_l3(struct topology *topo, const struct topology *now, uint16_t l3)
{
	uint16_t free = 0;

	for (uint32_t i = 0; i < now->nr_cores; i++) {
		const struct topology_core *core = now->cores[i].l3 == l3 ? find_core(topo, &now->cores[i].cpus) : NULL;

		if (core)
			return core->l3;
	}
	for (uint32_t i = 0; i < topo->nr_cores; i++)
		if (topo->cores[i].l3 >= free)
			free = (uint16_t)(topo->cores[i].l3 + 1);
	return free;
}

void topology_grow(struct topology *topo, const struct topology *now)
{
	for (uint32_t i = 0; i < now->nr_cores; i++) {
		struct topology_core *core = find_core(topo, &now->cores[i].cpus), new = now->cores[i];
		struct cpulist cpus;

		topology_cpus(topo, &cpus);
		if (core) { /* siblings that came one without the other are cores of their own already, and stay so */
			cpulist_andnot(&new.cpus, &cpus);
			cpulist_or(&core->cpus, &new.cpus);
		} else if (topo->nr_cores < TOPOLOGY_MAX_CORES) {
			new.l3 = find_l3(topo, now, new.l3);
			topo->cores[topo->nr_cores++] = new;
		}
	}
	topo->online = now->online;
	topo->isolated = now->isolated;
}

void topology_cpus(const struct topology *topo, struct cpulist *ret)
{
	cpulist_clear(ret);
	for (uint32_t i = 0; i < topo->nr_cores; i++)
		cpulist_or(ret, &topo->cores[i].cpus);
}

void topology_follow(struct topology *topo, const char *root, const struct cpulist *online, struct cpulist *homeless)
{
	struct cpulist left = *online, cpus;
	struct topology now;

	topology_cpus(topo, &cpus);
	cpulist_andnot(&left, &cpus);
	cpulist_andnot(&left, &topo->isolated);
	if (cpulist_equal(&left, homeless) || topology_read(root, &now))
		return;
	topology_grow(topo, &now);
	topology_cpus(topo, &cpus);
	cpulist_andnot(&left, &cpus);
	*homeless = left;
}
