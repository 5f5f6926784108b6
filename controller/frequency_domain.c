// SPDX-License-Identifier: GPL-2.0
/*
 * frequency_domain.c - port: opens, writes and compares the cpufreq files of one domain.  When to write what is
 * frequency.c's.
 *
 * libcpupower folds every write error into -ENODEV, so errno is cleared before and looked at after, and what counts is
 * what the file says then.  It gives no access to scaling_setspeed's text, nor to energy preferences, nor to the boost
 * switch: these are read through our own descriptors.
 */
#include "frequency_domain.h"

#include <cpufreq.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SYS_CPU "/sys/devices/system/cpu"

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

static const struct knob_kind kind_setspeed = { write_setspeed, same_khz };
static const struct knob_kind kind_min = { write_min, same_khz };
static const struct knob_kind kind_max = { write_max, same_khz };
static const struct knob_kind kind_governor = { write_governor, same_name };

static int open_knob(struct knob *k, const struct knob_kind *kind, unsigned int cpu, const char *file)
{
	char dir[64];
	int err;

	snprintf(dir, sizeof(dir), SYS_CPU "/cpu%u/cpufreq", cpu);
	err = knob_open(k, kind, dir, file);
	if (err)
		k->fd = -1;
	k->cpu = cpu;
	return err == -ENOENT ? -ENODEV : err;
}

/* "" when it cannot be read. */
static void read_text(unsigned int cpu, const char *file, char *text, size_t size)
{
	char path[96];

	snprintf(path, sizeof(path), SYS_CPU "/cpu%u/%s", cpu, file);
	if (knob_read_path(path, text, size) < 0)
		text[0] = '\0';
}

static void find_cpus(struct domain *d, unsigned int cpu)
{
	struct cpufreq_affected_cpus *list = cpufreq_get_affected_cpus(cpu);
	char text[KNOB_TEXT_SIZE], *at = text, *end;

	cpulist_clear(&d->cpus);
	cpulist_add(&d->cpus, cpu);
	for (struct cpufreq_affected_cpus *c = list; c; c = c->next)
		cpulist_add(&d->cpus, c->cpu);
	if (list)
		cpufreq_put_affected_cpus(list);
	d->clocked = d->cpus;
	/* acpi-cpufreq has files for every CPU also where the hardware clocks several together. */
	read_text(cpu, "cpufreq/freqdomain_cpus", text, sizeof(text));
	for (unsigned long other = strtoul(at, &end, 10); end != at; other = strtoul(at, &end, 10)) {
		if (other < CPULIST_MAX_CPUS)
			cpulist_add(&d->clocked, (unsigned int)other);
		at = end;
	}
}

int domain_open(struct domain *d, unsigned int cpu)
{
	char text[128];
	int err;

	d->governor.fd = d->setspeed.fd = d->min.fd = d->max.fd = d->epp.fd = -1;
	if (cpufreq_get_hardware_limits(cpu, &d->min_khz, &d->max_khz))
		return -ENODEV;
	find_cpus(d, cpu);
	read_text(cpu, "cpufreq/scaling_available_governors", d->governors, sizeof(d->governors));
	err = open_knob(&d->governor, &kind_governor, cpu, "scaling_governor");
	if (!err)
		err = open_knob(&d->min, &kind_min, cpu, "scaling_min_freq");
	if (!err)
		err = open_knob(&d->max, &kind_max, cpu, "scaling_max_freq");
	if (!err && ladder_lists(d->governors, "userspace"))
		open_knob(&d->setspeed, &kind_setspeed, cpu, "scaling_setspeed");
	read_text(cpu, "cpufreq/energy_performance_available_preferences", text, sizeof(text));
	if (!err && ladder_has_epp(text))
		open_knob(&d->epp, &knob_plain, cpu, "energy_performance_preference");
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

int domain_open_boost(struct knob *k, const char **ret_on)
{
	int err = knob_open(k, &knob_plain, SYS_CPU "/cpufreq", "boost");

	*ret_on = "1";
	if (err) {
		err = knob_open(k, &knob_plain, SYS_CPU "/intel_pstate", "no_turbo");
		*ret_on = "0";
	}
	if (err)
		k->fd = -1;
	return err;
}

static bool boost_is_on(void)
{
	struct knob boost;
	const char *on;
	char text[32];
	bool ret;

	if (domain_open_boost(&boost, &on))
		return false;
	ret = knob_read(&boost, text, sizeof(text)) > 0 && !strcmp(text, on);
	knob_close(&boost);
	return ret;
}

/* Drivers that list boost speeds apart can use them only while the switch is on. */
void domain_read_limits(const struct domain *d, struct ladder_limits *ret)
{
	unsigned int cpu = d->governor.cpu;
	struct cpufreq_available_frequencies *listed = cpufreq_get_available_frequencies(cpu);
	struct cpufreq_available_frequencies *boost = cpufreq_get_boost_frequencies(cpu);
	bool has_boost = boost && boost_is_on();
	char text[32];

	memset(ret, 0, sizeof(*ret));
	ret->min_khz = d->min_khz;
	ret->max_khz = d->max_khz;
	for (struct cpufreq_available_frequencies *f = listed; f && ret->nr_listed < SPEED_MAX_STEPS; f = f->next)
		ret->listed_khz[ret->nr_listed++] = (uint32_t)f->frequency;
	for (struct cpufreq_available_frequencies *f = boost; f && has_boost; f = f->next)
		ret->boost_khz = f->frequency > ret->boost_khz ? f->frequency : ret->boost_khz;
	read_text(cpu, "cpufreq/base_frequency", text, sizeof(text));
	ret->base_khz = strtoul(text, NULL, 10);
	if (!ret->base_khz) {
		read_text(cpu, "acpi_cppc/nominal_freq", text, sizeof(text));
		ret->base_khz = strtoul(text, NULL, 10) * KHZ_PER_MHZ;
	}
	if (listed)
		cpufreq_put_available_frequencies(listed);
	if (boost)
		cpufreq_put_boost_frequencies(boost);
}
