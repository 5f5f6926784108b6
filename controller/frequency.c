/* SPDX-License-Identifier: GPL-2.0 */
/*
 * frequency.c - the speed of CPUs through libcpupower.  Port.
 * It does not know whose CPU it is: machine.c says how fast each is to be.
 *
 * libcpupower folds every write error into -ENODEV, so errno is cleared before and looked at after, and what counts is
 * what the file says then.  It gives no access to scaling_setspeed's text, which is read through our own descriptor.
 */
#include "frequency.h"

#include <cpufreq.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GRID_KHZ = 100000, TOLERANCE_KHZ = GRID_KHZ / 2, TURBO_MARK_KHZ = 1000 };

struct domain {
	struct cpulist cpus;
	unsigned long min_khz, max_khz; /* of the hardware */
	struct knob governor, setspeed, min, max;
};

struct frequency {
	bool exact;
	struct speed_ladder ladder;
	uint32_t nr;
	struct domain *domains;
};

static int library_error(int code)
{
	return !code ? 0 : errno ? -errno : -EIO;
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

static bool has_governor(unsigned int cpu, const char *name)
{
	struct cpufreq_available_governors *list = cpufreq_get_available_governors(cpu);
	bool found = false;

	for (struct cpufreq_available_governors *g = list; g; g = g->next)
		found = found || !strcmp(g->governor, name);
	if (list)
		cpufreq_put_available_governors(list);
	return found;
}

static void find_cpus(unsigned int cpu, struct cpulist *ret)
{
	struct cpufreq_affected_cpus *list = cpufreq_get_affected_cpus(cpu);

	cpulist_clear(ret);
	cpulist_add(ret, cpu);
	for (struct cpufreq_affected_cpus *c = list; c; c = c->next)
		cpulist_add(ret, c->cpu);
	if (list)
		cpufreq_put_affected_cpus(list);
}

static int open_knob(struct knob *k, const struct knob_kind *kind, unsigned int cpu, const char *file)
{
	char dir[64];
	int err;

	snprintf(dir, sizeof(dir), "/sys/devices/system/cpu/cpu%u/cpufreq", cpu);
	err = knob_open(k, kind, dir, file);
	if (err)
		k->fd = -1;
	k->cpu = cpu;
	return err == -ENOENT ? -ENODEV : err;
}

static int open_domain(struct domain *d, unsigned int cpu)
{
	int err;

	d->governor.fd = d->setspeed.fd = d->min.fd = d->max.fd = -1;
	if (cpufreq_get_hardware_limits(cpu, &d->min_khz, &d->max_khz))
		return -ENODEV;
	find_cpus(cpu, &d->cpus);
	err = open_knob(&d->governor, &kind_governor, cpu, "scaling_governor");
	if (!err)
		err = open_knob(&d->min, &kind_min, cpu, "scaling_min_freq");
	if (!err)
		err = open_knob(&d->max, &kind_max, cpu, "scaling_max_freq");
	if (!err)
		open_knob(&d->setspeed, &kind_setspeed, cpu, "scaling_setspeed"); /* not every driver has it */
	if (!err && faccessat(AT_FDCWD, d->max.path, W_OK, AT_EACCESS) && errno == EROFS)
		err = -EROFS;
	return err;
}

static int compare_khz(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

static void add_step(struct speed_ladder *l, unsigned long khz)
{
	for (uint32_t i = 0; i < l->nr_steps; i++)
		if (l->value[i] == khz)
			return;
	if (l->nr_steps < SPEED_MAX_STEPS)
		l->value[l->nr_steps++] = (uint32_t)khz;
}

/* Old drivers mark turbo as the highest plain speed and 1 MHz. */
static void take_listed(struct speed_ladder *l, const struct frequency_limits *limits)
{
	for (uint32_t i = 0; i < limits->nr_listed; i++)
		add_step(l, limits->listed_khz[i]);
	qsort(l->value, l->nr_steps, sizeof(l->value[0]), compare_khz);
	l->nominal = l->nr_steps - 1;
	if (l->nr_steps > 1 && l->value[l->nominal] - l->value[l->nominal - 1] == TURBO_MARK_KHZ)
		l->nominal--;
}

/* Above the base speed is turbo, of which one step is used. */
static void take_grid(struct speed_ladder *l, const struct frequency_limits *limits)
{
	unsigned long base_khz = limits->base_khz;

	if (base_khz < limits->min_khz || base_khz > limits->max_khz)
		base_khz = limits->max_khz;
	for (unsigned long khz = limits->min_khz; khz < base_khz; khz += GRID_KHZ)
		add_step(l, khz);
	add_step(l, base_khz);
	l->nominal = l->nr_steps - 1;
	if (limits->max_khz > base_khz)
		add_step(l, limits->max_khz);
}

void frequency_fill_ladder(struct speed_ladder *ladder, const struct frequency_limits *limits)
{
	memset(ladder, 0, sizeof(*ladder));
	ladder->kind = SPEED_FREQ;
	if (limits->nr_listed)
		take_listed(ladder, limits);
	else
		take_grid(ladder, limits);
	if (limits->boost_khz > ladder->value[ladder->nr_steps - 1])
		add_step(ladder, limits->boost_khz);
}

static void list_khz(struct frequency_limits *limits, unsigned long khz)
{
	if (limits->nr_listed < SPEED_MAX_STEPS)
		limits->listed_khz[limits->nr_listed++] = (uint32_t)khz;
}

/* Drivers that list boost speeds apart can use them only while the switch is on. */
static void read_limits(const struct domain *d, struct frequency_limits *ret)
{
	unsigned int cpu = d->governor.cpu;
	struct cpufreq_available_frequencies *listed = cpufreq_get_available_frequencies(cpu);
	struct cpufreq_available_frequencies *boost = cpufreq_get_boost_frequencies(cpu);
	char path[96], text[32];

	memset(ret, 0, sizeof(*ret));
	ret->min_khz = d->min_khz;
	ret->max_khz = d->max_khz;
	for (struct cpufreq_available_frequencies *f = listed; f; f = f->next)
		list_khz(ret, f->frequency);
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/cpufreq/base_frequency", cpu);
	if (knob_read_path(path, text, sizeof(text)) > 0)
		ret->base_khz = strtoul(text, NULL, 10);
	if (knob_read_path("/sys/devices/system/cpu/cpufreq/boost", text, sizeof(text)) <= 0 || text[0] != '1')
		text[0] = '\0';
	for (struct cpufreq_available_frequencies *f = boost; f && text[0]; f = f->next)
		ret->boost_khz = f->frequency > ret->boost_khz ? f->frequency : ret->boost_khz;
	if (listed)
		cpufreq_put_available_frequencies(listed);
	if (boost)
		cpufreq_put_boost_frequencies(boost);
}

static int find_domains(struct frequency *f, const struct cpulist *cpus)
{
	struct cpulist left = *cpus;

	for (int cpu = cpulist_next(&left, 0); cpu >= 0; cpu = cpulist_next(&left, 0)) {
		int err = open_domain(&f->domains[f->nr++], (unsigned int)cpu);

		if (err)
			return err;
		f->exact = f->exact && f->domains[f->nr - 1].setspeed.fd >= 0 &&
			   has_governor((unsigned int)cpu, "userspace");
		cpulist_andnot(&left, &f->domains[f->nr - 1].cpus);
	}
	return f->nr ? 0 : -ENODEV;
}

int frequency_open(struct frequency **ret, const struct cpulist *cpus)
{
	struct frequency *f = calloc(1, sizeof(*f));
	struct frequency_limits limits;
	int err;

	if (!f)
		return -ENOMEM;
	f->domains = calloc(cpulist_count(cpus) + 1, sizeof(*f->domains));
	f->exact = true;
	err = f->domains ? find_domains(f, cpus) : -ENOMEM;
	if (err) {
		frequency_close(f);
		return err;
	}
	read_limits(&f->domains[0], &limits);
	frequency_fill_ladder(&f->ladder, &limits);
	*ret = f;
	return 0;
}

const struct speed_ladder *frequency_ladder(const struct frequency *f)
{
	return &f->ladder;
}

const char *frequency_method(const struct frequency *f)
{
	return f->exact ? "userspace" : "cap";
}

/* Undone from the last to the first: limits, governor, and the speed that only the governor userspace takes. */
int frequency_journal(const struct frequency *f, struct journal *j)
{
	char governor[64];
	int err = 0;

	for (uint32_t i = 0; i < f->nr && !err; i++) {
		const struct domain *d = &f->domains[i];

		err = knob_read(&d->governor, governor, sizeof(governor));
		if (err < 0)
			return err;
		err = 0;
		if (d->setspeed.fd >= 0 && !strcmp(governor, "userspace"))
			err = journal_add_knob(j, &d->setspeed);
		if (!err)
			err = journal_add_knob(j, &d->governor);
		if (!err)
			err = journal_add_knob(j, &d->max);
		if (!err)
			err = journal_add_knob(j, &d->min);
	}
	return err;
}

static int change_khz(struct undo *u, struct knob *k, unsigned long khz, struct outcome *ret)
{
	char text[24];

	snprintf(text, sizeof(text), "%lu", khz);
	return knob_change(u, k, text, ret);
}

/* The widest limits, and the governor: lost on suspend, on hotplug, with a driver, and by other managers of power. */
static int hold_domain(struct frequency *f, struct domain *d, struct undo *u, struct outcome *ret)
{
	int err = change_khz(u, &d->min, d->min_khz, ret);

	if (!err && f->exact)
		err = change_khz(u, &d->max, d->max_khz, ret);
	if (!err && f->exact)
		err = knob_change(u, &d->governor, "userspace", ret);
	return err;
}

int frequency_start(struct frequency *f, struct undo *u, struct outcome *ret)
{
	int err = 0;

	for (uint32_t i = 0; i < f->nr && !err; i++)
		err = hold_domain(f, &f->domains[i], u, ret);
	return err;
}

/* Nobody may read or write the speed of a domain without an online CPU; what it says afterwards is nobody's doing. */
static void let_go(struct domain *d)
{
	d->governor.ours = d->setspeed.ours = d->min.ours = d->max.ours = 0;
}

static bool is_away(const struct domain *d, const struct cpulist *online)
{
	struct cpulist cpus = d->cpus;

	cpulist_and(&cpus, online);
	return cpulist_empty(&cpus);
}

int frequency_apply(struct frequency *f, const uint32_t khz_by_cpu[CPULIST_MAX_CPUS], const struct cpulist *online,
		    struct undo *u, struct outcome *ret)
{
	int err = 0;

	for (uint32_t i = 0; i < f->nr && !err; i++) {
		struct domain *d = &f->domains[i];
		unsigned long khz = d->min_khz;

		if (is_away(d, online)) {
			let_go(d);
			continue;
		}
		for (int cpu = cpulist_next(&d->cpus, 0); cpu >= 0; cpu = cpulist_next(&d->cpus, (unsigned int)cpu + 1))
			khz = khz_by_cpu[cpu] > khz ? khz_by_cpu[cpu] : khz;
		khz = khz > d->max_khz ? d->max_khz : khz;
		err = hold_domain(f, d, u, ret);
		if (!err)
			err = change_khz(u, f->exact ? &d->setspeed : &d->max, khz, ret);
		if (err == -EBUSY) { /* it goes or comes at this very moment; the next step will see */
			let_go(d);
			err = ret->error = 0;
			ret->where[0] = '\0';
		}
	}
	return err;
}

bool frequency_drifted(struct frequency *f)
{
	bool drifted = false;

	for (uint32_t i = 0; i < f->nr; i++) {
		struct domain *d = &f->domains[i];

		drifted |= d->governor.drifted || d->min.drifted || d->max.drifted || (f->exact && d->setspeed.drifted);
		d->governor.drifted = d->min.drifted = d->max.drifted = d->setspeed.drifted = false;
	}
	return drifted;
}

void frequency_close(struct frequency *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; f->domains && i < f->nr; i++) {
		knob_close(&f->domains[i].governor);
		knob_close(&f->domains[i].setspeed);
		knob_close(&f->domains[i].min);
		knob_close(&f->domains[i].max);
	}
	free(f->domains);
	free(f);
}
