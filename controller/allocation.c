/* SPDX-License-Identifier: GPL-2.0 */
/*
 * allocation.c - turns counts of cores into core ids.  Pure.
 * It does not judge a decision (policy.c) and writes nothing to the machine (machine.c).
 *
 * One core moves at a time, from an owner that has too many to one that has too few.  First every core that its new
 * owner gave away earlier goes back, the latest first; only then locality decides.  Giving back first, for all owners,
 * keeps one service from taking the very core another one is about to be handed back.
 */
#include "allocation.h"

#include <errno.h>
#include <string.h>

/* Owners are -2 .. nr_services - 1; tables are indexed by owner + OFFSET. */
enum { OFFSET = 2, NR_OWNERS = POLICY_MAX_SERVICES + OFFSET };

struct plan {
	const struct topology *topo;
	struct allocation *a;
	int32_t missing[NR_OWNERS]; /* > 0: cores wanted, < 0: cores to give */
	uint16_t in_l3[NR_OWNERS][TOPOLOGY_MAX_CORES]; /* each owner's cores by L3 domain */
};

static int core_of_cpu(const struct topology *topo, unsigned int cpu)
{
	for (uint32_t i = 0; i < topo->nr_cores; i++)
		if (cpulist_has(&topo->cores[i].cpus, cpu))
			return (int)i;
	return -1;
}

void allocation_init(struct allocation *a, const struct topology *topo, uint32_t nr_services, uint32_t reserved_cpus)
{
	memset(a, 0, sizeof(*a));
	a->nr_cores = topo->nr_cores;
	a->nr_services = nr_services;
	for (uint32_t i = 0; i < topo->nr_cores; i++)
		a->owner[i] = a->previous[i] = ALLOCATION_IDLE;
	for (unsigned int cpu = 0; reserved_cpus && cpu < CPULIST_MAX_CPUS; cpu++) {
		int core = core_of_cpu(topo, cpu);

		if (core < 0)
			continue;
		a->owner[core] = a->previous[core] = ALLOCATION_RESERVED;
		reserved_cpus--;
	}
}

uint32_t allocation_count(const struct allocation *a, int owner)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < a->nr_cores; i++)
		nr += a->owner[i] == owner;
	return nr;
}

static void give_core(struct allocation *a, uint32_t core, int owner)
{
	a->owner[core] = (int16_t)owner;
	a->changed[core] = ++a->sequence;
}

void allocation_set_usable(struct allocation *a, const struct topology *topo, const struct cpulist *usable)
{
	for (; a->nr_cores < topo->nr_cores; a->nr_cores++)
		a->owner[a->nr_cores] = a->previous[a->nr_cores] = ALLOCATION_IDLE;
	for (uint32_t i = 0; i < a->nr_cores; i++) {
		struct cpulist cpus = topo->cores[i].cpus;
		bool offline;

		cpulist_and(&cpus, usable);
		offline = cpulist_empty(&cpus);
		if (a->owner[i] == ALLOCATION_RESERVED || offline == (a->owner[i] == ALLOCATION_OFFLINE))
			continue;
		if (offline)
			a->previous[i] = a->owner[i];
		give_core(a, i, offline ? ALLOCATION_OFFLINE : ALLOCATION_IDLE);
	}
}

uint32_t allocation_nr_assignable(const struct allocation *a)
{
	return a->nr_cores - allocation_count(a, ALLOCATION_RESERVED) - allocation_count(a, ALLOCATION_OFFLINE);
}

uint32_t allocation_assignable(const struct topology *topo, uint32_t reserved_cpus)
{
	struct allocation all;

	allocation_init(&all, topo, 0, reserved_cpus);
	return allocation_nr_assignable(&all);
}

static bool can_give(const struct plan *p, uint32_t core)
{
	int owner = p->a->owner[core];

	return owner > ALLOCATION_RESERVED && p->missing[owner + OFFSET] < 0;
}

/* The core `taker` gave away last, among those that are to be given; -1 for none. */
static int find_returning(const struct plan *p, int taker)
{
	int best = -1;

	for (uint32_t i = 0; i < p->a->nr_cores; i++)
		if (can_give(p, i) && p->a->changed[i] && p->a->previous[i] == taker &&
		    (best < 0 || p->a->changed[i] > p->a->changed[best]))
			best = (int)i;
	return best;
}

/*
 * The best core for `taker`: in an L3 domain where it has most; then where the idle pool has most (a domain of one's
 * own) or a giving service fewest (it keeps its own domain whole).
 */
static int find_nearest(const struct plan *p, int taker)
{
	uint32_t best_score = 0;
	int best = -1;

	for (uint32_t i = 0; i < p->a->nr_cores; i++) {
		uint16_t l3 = p->topo->cores[i].l3;
		int giver = p->a->owner[i];
		uint32_t givers, score;

		if (!can_give(p, i))
			continue;
		givers = p->in_l3[giver + OFFSET][l3];
		score = p->in_l3[taker + OFFSET][l3] * (TOPOLOGY_MAX_CORES + 1) +
			(giver == ALLOCATION_IDLE ? givers : TOPOLOGY_MAX_CORES - givers);
		if (best < 0 || score > best_score) {
			best = (int)i;
			best_score = score;
		}
	}
	return best;
}

static void move_core(struct plan *p, int core, int taker)
{
	int giver = p->a->owner[core];
	uint16_t l3 = p->topo->cores[core].l3;

	p->missing[giver + OFFSET]++;
	p->missing[taker + OFFSET]--;
	p->in_l3[giver + OFFSET][l3]--;
	p->in_l3[taker + OFFSET][l3]++;
	p->a->previous[core] = (int16_t)giver;
	give_core(p->a, (uint32_t)core, taker);
}

/* Services first, in configuration order, then the idle pool, then best effort. */
static int nth_owner(const struct allocation *a, uint32_t i)
{
	return i < a->nr_services ? (int)i : i == a->nr_services ? ALLOCATION_IDLE : ALLOCATION_BE;
}

static void move_all(struct plan *p, int (*find)(const struct plan *p, int taker))
{
	for (uint32_t i = 0; i < p->a->nr_services + OFFSET; i++) {
		int core, taker = nth_owner(p->a, i);

		while (p->missing[taker + OFFSET] > 0 && (core = find(p, taker)) >= 0)
			move_core(p, core, taker);
	}
}

int allocation_plan(const struct allocation *cur, const struct topology *topo, const struct policy_decision *d,
		    struct allocation *ret)
{
	uint64_t wanted = (uint64_t)d->be_cores + d->idle_cores;
	struct allocation next;
	struct plan p = { .topo = topo, .a = &next };

	if (cur->nr_cores != topo->nr_cores || cur->nr_services > POLICY_MAX_SERVICES)
		return -EINVAL;
	for (uint32_t i = 0; i < cur->nr_services; i++) {
		if (!d->shares[i].cores)
			return -EINVAL;
		wanted += d->shares[i].cores;
	}
	if (wanted != allocation_nr_assignable(cur))
		return -EINVAL;

	next = *cur;
	for (uint32_t i = 0; i < next.nr_services; i++) {
		p.missing[i + OFFSET] = (int32_t)d->shares[i].cores;
		next.speed[i] = d->shares[i].speed;
		next.ways[i] = d->shares[i].ways;
	}
	next.be_ways = d->be_ways;
	next.idle_ways = d->idle_ways;
	next.be_memory = d->be_memory;
	next.be_disk = d->be_disk;
	p.missing[ALLOCATION_BE + OFFSET] = (int32_t)d->be_cores;
	p.missing[ALLOCATION_IDLE + OFFSET] = (int32_t)d->idle_cores;
	for (uint32_t i = 0; i < next.nr_cores; i++)
		if (next.owner[i] > ALLOCATION_RESERVED) {
			p.missing[next.owner[i] + OFFSET]--;
			p.in_l3[next.owner[i] + OFFSET][topo->cores[i].l3]++;
		}
	move_all(&p, find_returning);
	move_all(&p, find_nearest);
	*ret = next;
	return 0;
}

void allocation_cpus(const struct allocation *a, const struct topology *topo, int owner, struct cpulist *ret)
{
	cpulist_clear(ret);
	for (uint32_t i = 0; i < a->nr_cores; i++)
		if (a->owner[i] == owner)
			cpulist_or(ret, &topo->cores[i].cpus);
}
