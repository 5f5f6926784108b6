// SPDX-License-Identifier: GPL-2.0
/*
 * rapl.c - port: energy meters of packages.  What part of it is whose nobody knows: it is shown beside the modelled
 * energy of the cores that we steer, and never stands for it.
 */
#include "rapl.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POWERCAP "sys/class/powercap"

static int read_uj(const struct knob *k, uint64_t *ret)
{
	char text[32], *end;
	int err = knob_read(k, text, sizeof(text));

	if (err < 0)
		return err;
	*ret = strtoull(text, &end, 10);
	return end == text ? -EINVAL : 0;
}

/* Parts of packages have two colons, the same meters by another way are "intel-rapl-mmio", and psys is the whole board. */
static bool is_package(const char *root, const char *name)
{
	char path[KNOB_PATH_SIZE], text[32];

	if (strncmp(name, "intel-rapl:", 11) || strchr(name + 11, ':'))
		return false;
	snprintf(path, sizeof(path), "%.300s/" POWERCAP "/%.100s/name", root, name);
	return knob_read_path(path, text, sizeof(text)) > 0 && !strncmp(text, "package", 7);
}

static int open_package(struct rapl_package *p, const char *root, const char *name)
{
	char dir[KNOB_PATH_SIZE], path[KNOB_PATH_SIZE + 32], text[32];
	int err;

	snprintf(dir, sizeof(dir), "%.300s/" POWERCAP "/%.100s", root, name);
	err = knob_open(&p->energy, &knob_plain, dir, "energy_uj");
	if (err)
		return err;
	snprintf(path, sizeof(path), "%s/max_energy_range_uj", dir);
	p->range_uj = knob_read_path(path, text, sizeof(text)) > 0 ? strtoull(text, NULL, 10) : 0;
	err = read_uj(&p->energy, &p->last_uj);
	if (err)
		knob_close(&p->energy);
	return err;
}

int rapl_open(struct rapl *ret, const char *root)
{
	char path[KNOB_PATH_SIZE];
	struct rapl r = { 0 };
	struct dirent *entry;
	int err = -ENOENT;
	DIR *dir;

	snprintf(path, sizeof(path), "%.400s/" POWERCAP, root);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)) && r.nr < RAPL_MAX_PACKAGES) {
		if (!is_package(root, entry->d_name))
			continue;
		err = open_package(&r.packages[r.nr], root, entry->d_name);
		if (err)
			break;
		r.nr++;
	}
	if (dir)
		closedir(dir);
	if (err)
		rapl_close(&r); /* the sum over some would be taken for all */
	else
		*ret = r;
	return err;
}

void rapl_read(struct rapl *r)
{
	for (uint32_t i = 0; i < r->nr; i++) {
		struct rapl_package *p = &r->packages[i];
		uint64_t now_uj;

		if (read_uj(&p->energy, &now_uj))
			continue;
		if (now_uj >= p->last_uj)
			r->joules += (now_uj - p->last_uj) / 1e6;
		else if (p->range_uj >= p->last_uj)
			r->joules += (p->range_uj - p->last_uj + now_uj) / 1e6;
		p->last_uj = now_uj;
	}
}

void rapl_close(struct rapl *r)
{
	for (uint32_t i = 0; i < r->nr; i++)
		knob_close(&r->packages[i].energy);
	r->nr = 0;
}
