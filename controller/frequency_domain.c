// SPDX-License-Identifier: GPL-2.0
/*
 * frequency_domain.c - port: opens, writes and compares the cpufreq files of one domain.  When to write what is
 * frequency.c's.
 *
 * libcpupower folds every write error into -ENODEV, so errno is cleared before and looked at after, and what counts is
 * what the file says then.  It knows the sysfs of "/" only, and gives no access to scaling_setspeed's text, nor to energy
 * preferences, nor to the boost switch: what is read is read through our own descriptors.
 */
#include "frequency_domain.h"

#include <cpufreq.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SYS_CPU "sys/devices/system/cpu"

enum { TOLERANCE_KHZ = 50000, KHZ_PER_MHZ = 1000 };

/* knob_change says -EIO of what reads back otherwise than it was written. */
static int library_error(int code)
{
	return !code ? 0 : errno && errno != EIO ? -errno : -EREMOTEIO;
}

static int write_setspeed(const struct knob *k, const char *text)
{
	errno = 0;
	return library_error(cpufreq_set_frequency(k->cpu, strtoul(text, NULL, 10)));
}

static int write_min(const struct knob *k, const char *text)
{
	errno = 0;
	return library_error(cpufreq_modify_policy_min(k->cpu, strtoul(text, NULL, 10)));
}

static int write_max(const struct knob *k, const char *text)
{
	errno = 0;
	return library_error(cpufreq_modify_policy_max(k->cpu, strtoul(text, NULL, 10)));
}

static int write_governor(const struct knob *k, const char *text)
{
	char name[32];

	snprintf(name, sizeof(name), "%s", text);
	errno = 0;
	return library_error(cpufreq_modify_policy_governor(k->cpu, name));
}

/* Hardware rounds to a multiple of its own: half a step away is still the step. */
static bool same_khz(const char *have, const char *want)
{
	char *end;
	long a = strtol(have, &end, 10), b = strtol(want, NULL, 10);

	return end != have && labs(a - b) < TOLERANCE_KHZ;
}

static bool same_name(const char *have, const char *want)
{
	return strcmp(have, want) == 0;
}

/* Of the machine, and of a tree, whose files are plain. */
static const struct knob_kind kind_setspeed[] = {
	{ write_setspeed, same_khz, .by_library = true }, { knob_write, same_khz }
};
static const struct knob_kind kind_min[] = { { write_min, same_khz, .by_library = true }, { knob_write, same_khz } };
static const struct knob_kind kind_max[] = { { write_max, same_khz, .by_library = true }, { knob_write, same_khz } };
static const struct knob_kind kind_governor[] = {
	{ write_governor, same_name, .by_library = true }, { knob_write, same_name }
};
static const struct knob_kind kind_epp[] = { { knob_write, same_name }, { knob_write, same_name } };

static int open_knob(struct knob *k, const struct knob_kind kinds[2], const char *root, unsigned int cpu, const char *file)
{
	char dir[KNOB_PATH_SIZE];
	int err;

	snprintf(dir, sizeof(dir), "%.400s/" SYS_CPU "/cpu%u/cpufreq", root, cpu);
	err = knob_open(k, &kinds[root[0] != '\0'], dir, file);
	if (err)
		k->fd = -1;
	k->cpu = cpu;
	return err == -ENOENT ? -ENODEV : err;
}

/* "" when it cannot be read. */
static void read_text(const char *root, unsigned int cpu, const char *file, char *text, size_t size)
{
	char path[KNOB_PATH_SIZE];

	snprintf(path, sizeof(path), "%.400s/" SYS_CPU "/cpu%u/%s", root, cpu, file);
	if (knob_read_path(path, text, size) < 0)
		text[0] = '\0';
}

/* 0 when it does not say. */
static unsigned long read_number(const char *root, unsigned int cpu, const char *file)
{
	char text[32];

	read_text(root, cpu, file, text, sizeof(text));
	return strtoul(text, NULL, 10);
}

/* Numbers with blanks in between, as cpufreq writes lists; none when there is no such file. */
static uint32_t read_numbers(const char *root, unsigned int cpu, const char *file, uint32_t *ret, uint32_t max)
{
	char text[2 * KNOB_TEXT_SIZE], *at = text, *end;
	uint32_t nr = 0;

	read_text(root, cpu, file, text, sizeof(text));
	for (unsigned long value = strtoul(at, &end, 10); end != at && nr < max; value = strtoul(at, &end, 10)) {
		ret[nr++] = (uint32_t)value;
		at = end;
	}
	return nr;
}

static void add_cpus(const char *root, unsigned int cpu, const char *file, struct cpulist *ret)
{
	uint32_t cpus[CPULIST_MAX_CPUS], nr = read_numbers(root, cpu, file, cpus, CPULIST_MAX_CPUS);

	for (uint32_t i = 0; i < nr; i++)
		if (cpus[i] < CPULIST_MAX_CPUS)
			cpulist_add(ret, cpus[i]);
}

/* Offline ones included.  acpi-cpufreq has files for every CPU also where the hardware clocks several together. */
static void find_cpus(struct domain *d, const char *root, unsigned int cpu)
{
	cpulist_clear(&d->cpus);
	cpulist_add(&d->cpus, cpu);
	add_cpus(root, cpu, "cpufreq/related_cpus", &d->cpus);
	d->clocked = d->cpus;
	add_cpus(root, cpu, "cpufreq/freqdomain_cpus", &d->clocked);
}

int domain_open_boost(struct knob *k, const char *root, const char **ret_on)
{
	char dir[KNOB_PATH_SIZE];
	int err;

	snprintf(dir, sizeof(dir), "%.400s/" SYS_CPU "/cpufreq", root);
	err = knob_open(k, &knob_plain, dir, "boost");
	*ret_on = "1";
	if (err) {
		snprintf(dir, sizeof(dir), "%.400s/" SYS_CPU "/intel_pstate", root);
		err = knob_open(k, &knob_plain, dir, "no_turbo");
		*ret_on = "0";
	}
	if (err)
		k->fd = -1;
	return err;
}

static bool boost_is_on(const char *root)
{
	struct knob boost;
	const char *on;
	char text[32];
	bool ret;

	if (domain_open_boost(&boost, root, &on))
		return false;
	ret = knob_read(&boost, text, sizeof(text)) > 0 && !strcmp(text, on);
	knob_close(&boost);
	return ret;
}

/* What the driver says of the speeds.  Those that list boost speeds apart can use them only while the switch is on. */
static void read_ladder(struct domain *d, const char *root, unsigned int cpu)
{
	struct ladder_limits limits = { .min_khz = d->min_khz, .max_khz = d->max_khz };
	uint32_t boost[SPEED_MAX_STEPS], nr_boost;

	limits.nr_listed = read_numbers(root, cpu, "cpufreq/scaling_available_frequencies", limits.listed_khz,
					SPEED_MAX_STEPS);
	nr_boost = read_numbers(root, cpu, "cpufreq/scaling_boost_frequencies", boost, SPEED_MAX_STEPS);
	if (nr_boost && !boost_is_on(root))
		nr_boost = 0;
	for (uint32_t i = 0; i < nr_boost; i++)
		limits.boost_khz = boost[i] > limits.boost_khz ? boost[i] : limits.boost_khz;
	limits.base_khz = read_number(root, cpu, "cpufreq/base_frequency");
	if (!limits.base_khz)
		limits.base_khz = read_number(root, cpu, "acpi_cppc/nominal_freq") * KHZ_PER_MHZ;
	ladder_fill(&d->ladder, &limits);
}

int domain_open(struct domain *d, const char *root, unsigned int cpu)
{
	char text[128];
	int err;

	d->governor.fd = d->setspeed.fd = d->min.fd = d->max.fd = d->epp.fd = -1;
	d->min_khz = read_number(root, cpu, "cpufreq/cpuinfo_min_freq");
	d->max_khz = read_number(root, cpu, "cpufreq/cpuinfo_max_freq");
	if (!d->max_khz)
		return -ENODEV;
	find_cpus(d, root, cpu);
	read_ladder(d, root, cpu);
	read_text(root, cpu, "cpufreq/scaling_available_governors", d->governors, sizeof(d->governors));
	err = open_knob(&d->governor, kind_governor, root, cpu, "scaling_governor");
	if (!err)
		err = open_knob(&d->min, kind_min, root, cpu, "scaling_min_freq");
	if (!err)
		err = open_knob(&d->max, kind_max, root, cpu, "scaling_max_freq");
	if (!err && ladder_lists(d->governors, "userspace"))
		open_knob(&d->setspeed, kind_setspeed, root, cpu, "scaling_setspeed");
	read_text(root, cpu, "cpufreq/energy_performance_available_preferences", text, sizeof(text));
	if (!err && ladder_has_epp(text))
		open_knob(&d->epp, kind_epp, root, cpu, "energy_performance_preference");
	if (!err && faccessat(AT_FDCWD, d->max.path, W_OK, AT_EACCESS) && errno == EROFS)
		err = -EROFS;
	return err;
}

void domain_close(struct domain *d)
{
	knob_close(&d->governor);
	knob_close(&d->setspeed);
	knob_close(&d->min);
	knob_close(&d->max);
	knob_close(&d->epp);
}
