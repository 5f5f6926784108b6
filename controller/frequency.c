// SPDX-License-Identifier: GPL-2.0
/*
 * frequency.c - the speed of CPUs, in the way that works.  Port; its files are frequency_domain.c's.
 * It does not know whose CPU it is: speed.c says how fast each is to be, and when a way does nothing.
 */
#include "frequency.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frequency_domain.h"

enum { MAX_TRIES = 20 };

struct frequency {
	char root[KNOB_PATH_SIZE];
	enum ladder_way way;
	struct ladder_ways ways;
	struct speed_ladder ladder;
	struct knob boost;
	const char *boost_on; /* what the switch says then */
	struct cpulist known;                 /* CPUs of the domains, and those given up */
	uint32_t nr_tries;                    /* to open domains of others */
	uint16_t domain_of[CPULIST_MAX_CPUS]; /* 1 and more; 0: none */
	uint32_t nr;
	struct domain *domains;               /* room for one of every CPU there can be; only what is used takes memory */
};

static struct ladder_ways ways_of(const struct domain *d)
{
	return (struct ladder_ways){ .has_userspace = d->setspeed.fd >= 0, .has_cap = d->max_khz > d->min_khz,
				     .has_epp = d->epp.fd >= 0 };
}

static void keep_domain(struct frequency *f, const struct domain *d)
{
	f->nr++;
	cpulist_or(&f->known, &d->cpus);
	for (int c = cpulist_next(&d->cpus, 0); c >= 0; c = cpulist_next(&d->cpus, (unsigned int)c + 1))
		f->domain_of[c] = (uint16_t)f->nr;
}

static uint32_t top_khz(const struct domain *d)
{
	return d->ladder.value[d->ladder.nr_steps - 1];
}

static int find_domains(struct frequency *f, const struct cpulist *cpus)
{
	struct cpulist left = *cpus;
	const struct domain *fastest = f->domains;

	for (int cpu = cpulist_next(&left, 0); cpu >= 0; cpu = cpulist_next(&left, 0)) {
		struct domain *d = &f->domains[f->nr];
		struct ladder_ways ways;
		int err = domain_open(d, f->root, (unsigned int)cpu);

		keep_domain(f, d);
		if (err)
			return err;
		ways = ways_of(d);
		f->ways.has_userspace &= ways.has_userspace;
		f->ways.has_cap &= ways.has_cap;
		f->ways.has_epp &= ways.has_epp;
		if (top_khz(d) > top_khz(fastest))
			fastest = d;
		cpulist_andnot(&left, &d->cpus);
	}
	f->ladder = fastest->ladder;
	return f->nr ? 0 : -ENODEV;
}

int frequency_open(struct frequency **ret, const char *root, const struct cpulist *cpus)
{
	struct frequency *f = calloc(1, sizeof(*f));
	char text[32];
	int err;

	if (!f)
		return -ENOMEM;
	f->boost.fd = -1;
	f->ways = (struct ladder_ways){ .has_userspace = true, .has_cap = true, .has_epp = true };
	snprintf(f->root, sizeof(f->root), "%s", root);
	f->domains = calloc(CPULIST_MAX_CPUS, sizeof(*f->domains));
	err = f->domains ? find_domains(f, cpus) : -ENOMEM;
	if (!err && !domain_open_boost(&f->boost, root, &f->boost_on))
		f->ways.boost_is_on = knob_read(&f->boost, text, sizeof(text)) > 0 && !strcmp(text, f->boost_on);
	f->way = ladder_find_way(&f->ways, LADDER_USERSPACE);
	if (!err && f->way == LADDER_NOTHING)
		err = -ENODEV;
	if (err) {
		frequency_close(f);
		return err;
	}
	*ret = f;
	return 0;
}

const struct speed_ladder *frequency_ladder(const struct frequency *f)
{
	return &f->ladder;
}

enum ladder_way frequency_way(const struct frequency *f)
{
	return f->way;
}

/* What only these ways touch, so that nobody else's choice is undone where they are not needed. */
static int journal_way(const struct frequency *f, struct journal *j)
{
	int err = 0;

	for (uint32_t i = 0; i < f->nr && f->way == LADDER_EPP && !err; i++)
		err = journal_add_knob(j, &f->domains[i].epp);
	return f->way == LADDER_BOOST ? journal_add_knob(j, &f->boost) : err;
}

/*
 * Undone from the last to the first: limits, governor, and the speed that only the governor userspace takes, and that the
 * kernel, unlike the files of a tree, forgets with it.
 */
static int journal_domain(const struct frequency *f, const struct domain *d, struct journal *j)
{
	char governor[64];
	int err = knob_read(&d->governor, governor, sizeof(governor));

	if (err < 0)
		return err;
	err = 0;
	if (d->setspeed.fd >= 0 && (!strcmp(governor, "userspace") || f->root[0]))
		err = journal_add_knob(j, &d->setspeed);
	if (!err)
		err = journal_add_knob(j, &d->governor);
	if (!err)
		err = journal_add_knob(j, &d->max);
	return err ? err : journal_add_knob(j, &d->min);
}

int frequency_journal(const struct frequency *f, struct journal *j)
{
	int err = 0;

	for (uint32_t i = 0; i < f->nr && !err; i++)
		err = journal_domain(f, &f->domains[i], j);
	return err ? err : journal_way(f, j);
}

/* 1: not now, or not in the way that is used. */
static int add_domain(struct frequency *f, unsigned int cpu, struct journal *j)
{
	struct domain *d = &f->domains[f->nr];
	struct ladder_ways ways;
	int err = domain_open(d, f->root, cpu) ? 1 : 0;

	ways = ways_of(d);
	ways.boost_is_on = f->ways.boost_is_on;
	if (!err && ladder_find_way(&ways, f->way) != f->way)
		err = 1;
	if (!err)
		err = journal_domain(f, d, j);
	if (!err && f->way == LADDER_EPP)
		err = journal_add_knob(j, &d->epp);
	if (err)
		domain_close(d);
	else
		keep_domain(f, d);
	return err;
}

int frequency_add(struct frequency *f, const struct cpulist *cpus, struct journal *j)
{
	struct cpulist left = *cpus;
	uint32_t nr = f->nr;
	bool failed = false;

	cpulist_andnot(&left, &f->known);
	for (int cpu = cpulist_next(&left, 0); cpu >= 0; cpu = cpulist_next(&left, (unsigned int)cpu + 1)) {
		int err = cpulist_has(&f->known, (unsigned int)cpu) ? 0 : add_domain(f, (unsigned int)cpu, j);

		if (err < 0)
			return err;
		failed |= err > 0;
	}
	f->nr_tries = failed ? f->nr_tries + 1 : 0;
	if (f->nr_tries >= MAX_TRIES) {
		cpulist_or(&f->known, &left);
		f->nr_tries = 0;
	}
	return f->nr > nr ? journal_sync(j) : 0;
}

static int change_khz(struct undo *u, struct knob *k, unsigned long khz, struct outcome *ret)
{
	char text[24];

	snprintf(text, sizeof(text), "%lu", khz);
	return knob_change(u, k, text, ret);
}

/* Heat, power limits and firmware keep a CPU below what it is allowed: that is not for us to change. */
static int change_or_less(struct undo *u, struct domain *d, struct knob *k, unsigned long khz, struct outcome *ret)
{
	int err = change_khz(u, k, khz, ret);
	char text[32];
	unsigned long got;

	if (err != -EIO)
		return err;
	got = knob_read(k, text, sizeof(text)) > 0 ? strtoul(text, NULL, 10) : 0;
	if (!got || got > khz)
		return err;
	if (!d->was_held_back && !ret->note[0])
		snprintf(ret->note, sizeof(ret->note), "CPU %u: held at %lu kHz instead of %lu, by heat or firmware",
			 k->cpu, got, khz);
	d->held_back = true;
	k->ours = 0;
	ret->where[0] = '\0';
	return ret->error = 0;
}

/* Limits and governor: lost on suspend, on hotplug, with a driver, and by other managers of power. */
static int hold_domain(struct frequency *f, struct domain *d, struct undo *u, struct outcome *ret)
{
	int err = change_khz(u, &d->min, d->min_khz, ret);
	const char *want;
	char now[64];

	if (!err && f->way != LADDER_CAP)
		err = change_or_less(u, d, &d->max, d->max_khz, ret);
	if (err)
		return err;
	/* One read each: with hundreds of domains reads are what a step costs. */
	if (f->way == LADDER_USERSPACE)
		return knob_change(u, &d->governor, "userspace", ret);
	if (knob_read(&d->governor, now, sizeof(now)) < 0)
		now[0] = '\0';
	want = ladder_governor(f->way, now, d->governors, d->epp.fd >= 0);
	return want ? knob_change(u, &d->governor, want, ret) : 0;
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
	d->governor.ours = d->setspeed.ours = d->min.ours = d->max.ours = d->epp.ours = 0;
	d->asked_khz = 0;
}

static bool is_away(const struct domain *d, const struct cpulist *online)
{
	struct cpulist cpus = d->cpus;

	cpulist_and(&cpus, online);
	return cpulist_empty(&cpus);
}

static int set_domain(struct frequency *f, struct domain *d, uint32_t khz, struct undo *u, struct outcome *ret)
{
	switch (f->way) {
	case LADDER_USERSPACE:
		return change_or_less(u, d, &d->setspeed, khz, ret);
	case LADDER_CAP:
		return change_or_less(u, d, &d->max, khz, ret);
	case LADDER_EPP:
		return knob_change(u, &d->epp, ladder_epp(&d->ladder, khz), ret);
	case LADDER_BOOST:
	case LADDER_NOTHING:
		break;
	}
	return 0;
}

static uint32_t fastest_of(const struct frequency *f, const struct domain *d, const uint32_t khz_by_cpu[CPULIST_MAX_CPUS])
{
	uint32_t khz = 0;

	for (int cpu = cpulist_next(&d->clocked, 0); cpu >= 0; cpu = cpulist_next(&d->clocked, (unsigned int)cpu + 1))
		khz = khz_by_cpu[cpu] > khz ? khz_by_cpu[cpu] : khz;
	return ladder_nearest_khz(&f->ladder, &d->ladder, khz);
}

/* One switch for all: on while somebody is to be faster than nominal, or at the top where nominal is the top. */
static int set_boost(struct frequency *f, uint32_t fastest_khz, struct undo *u, struct outcome *ret)
{
	const struct speed_ladder *l = &f->ladder;
	bool on = fastest_khz > l->value[l->nominal] || fastest_khz >= l->value[l->nr_steps - 1];

	if (!f->ways.boost_is_on || (f->way != LADDER_BOOST && f->way != LADDER_NOTHING))
		return 0;
	on = on || f->way == LADDER_NOTHING;
	return knob_change(u, &f->boost, on ? f->boost_on : f->boost_on[0] == '1' ? "0" : "1", ret);
}

int frequency_apply(struct frequency *f, const uint32_t khz_by_cpu[CPULIST_MAX_CPUS], const struct cpulist *online,
		    struct undo *u, struct outcome *ret)
{
	uint32_t fastest_khz = 0;
	int err = 0;

	for (uint32_t i = 0; i < f->nr && !err; i++) {
		struct domain *d = &f->domains[i];
		uint32_t khz = fastest_of(f, d, khz_by_cpu);

		if (is_away(d, online)) {
			let_go(d);
			continue;
		}
		fastest_khz = khz > fastest_khz ? khz : fastest_khz;
		d->was_held_back = d->held_back;
		d->held_back = false;
		err = hold_domain(f, d, u, ret);
		if (!err)
			err = set_domain(f, d, khz, u, ret);
		d->asked_khz = err ? 0 : khz;
		if (err == -EBUSY) { /* it goes or comes, or its governor changes, just now; the next step will see */
			let_go(d);
			err = ret->error = 0;
			ret->where[0] = '\0';
		}
	}
	return err ? err : set_boost(f, fastest_khz, u, ret);
}

int frequency_fall(struct frequency *f, struct journal *j)
{
	enum ladder_way was = f->way;
	int err;

	f->way = ladder_find_way(&f->ways, was < LADDER_NOTHING ? was + 1 : LADDER_NOTHING);
	err = journal_way(f, j);
	if (!err)
		err = journal_sync(j);
	if (err) {
		f->way = was;
		return err;
	}
	for (uint32_t i = 0; i < f->nr; i++)
		let_go(&f->domains[i]);
	return (int)f->way;
}

uint32_t frequency_asked_khz(const struct frequency *f, const struct cpulist *cpus)
{
	uint32_t khz = 0;

	for (int cpu = cpulist_next(cpus, 0); cpu >= 0; cpu = cpulist_next(cpus, (unsigned int)cpu + 1)) {
		uint32_t domain = f->domain_of[cpu];

		if (domain && f->domains[domain - 1].asked_khz > khz)
			khz = f->domains[domain - 1].asked_khz;
	}
	return khz;
}

bool frequency_drifted(struct frequency *f)
{
	bool drifted = f->boost.drifted;

	f->boost.drifted = false;
	for (uint32_t i = 0; i < f->nr; i++) {
		struct domain *d = &f->domains[i];

		drifted |= d->governor.drifted || d->min.drifted || d->max.drifted || d->epp.drifted ||
			   (f->way == LADDER_USERSPACE && d->setspeed.drifted);
		d->governor.drifted = d->min.drifted = d->max.drifted = d->setspeed.drifted = d->epp.drifted = false;
	}
	return drifted;
}

void frequency_close(struct frequency *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; f->domains && i < f->nr; i++)
		domain_close(&f->domains[i]);
	knob_close(&f->boost);
	free(f->domains);
	free(f);
}
