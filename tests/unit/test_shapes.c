/* SPDX-License-Identifier: GPL-2.0 */
/*
 * test_shapes.c - machines as they are sold: what topology.c reads of each, and how allocation.c shares them among up
 * to 64 services.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <time.h>

#include "allocation.h"
#include "fixtures/machines.h"

static char root[TREE_PATH_SIZE];
static struct topology topo;

static const struct shape {
	const char *name;
	uint32_t nr_cpus, nr_cores, nr_l3, nr_packages, nr_nodes;
	uint32_t l3_cores; /* of each domain */
} shapes[] = {
	{ "epyc-7302", 32, 16, 8, 1, 1, 2 },
	{ "epyc-7302-2s", 64, 32, 16, 2, 8, 2 },
	{ "epyc-7302-nosmt", 16, 16, 8, 1, 1, 2 },
	{ "epyc-7763", 128, 64, 8, 1, 1, 8 },
	{ "epyc-7763-2s isolated=64-71,192-199", 240, 120, 15, 2, 2, 8 },
	{ "epyc-9654", 192, 96, 12, 1, 1, 8 },
	{ "epyc-9654-2s", 384, 192, 24, 2, 8, 8 },
	{ "epyc-9754-2s", 512, 256, 32, 2, 2, 8 },
	{ "ryzen-5950x", 32, 16, 2, 1, 1, 8 },
	{ "xeon-6248-2s", 80, 40, 2, 2, 2, 20 },
	{ "i9-12900k", 24, 16, 1, 1, 1, 16 },
	{ "vm-odd", 4, 4, 1, 1, 1, 4 },
	{ "vm-2", 2, 2, 1, 1, 1, 2 },
	{ "cores-512", 512, 512, 64, 2, 2, 8 },
};
enum { NR_SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static int make_root(void **state)
{
	(void)state;
	machines_make_root(root);
	return 0;
}

static int remove_root(void **state)
{
	(void)state;
	tree_remove(root);
	return 0;
}

static struct topology read_topologies[NR_SHAPES];

/* Every tree is laid out once. */
static int read_all(void **state)
{
	char what[128];

	(void)state;
	for (int i = 0; i < NR_SHAPES; i++) {
		make_root(NULL);
		snprintf(what, sizeof(what), "%s cpufreq=none", shapes[i].name);
		machines_make(root, what);
		assert_int_equal(topology_read(root, &read_topologies[i]), 0);
		remove_root(NULL);
	}
	return 0;
}

static uint32_t count_ids(uint16_t (*id)(const struct topology_core *core))
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < topo.nr_cores; i++) {
		bool is_new = true;

		for (uint32_t other = 0; other < i; other++)
			is_new = is_new && id(&topo.cores[other]) != id(&topo.cores[i]);
		nr += is_new;
	}
	return nr;
}

static uint16_t l3_of(const struct topology_core *core)
{
	return core->l3;
}

static uint16_t package_of(const struct topology_core *core)
{
	return core->package;
}

static uint16_t node_of(const struct topology_core *core)
{
	return core->node;
}

static void every_machine_is_read_as_it_is(void **state)
{
	(void)state;
	for (int s = 0; s < NR_SHAPES; s++) {
		const struct shape *shape = &shapes[s];
		uint32_t nr_cpus = 0;
		struct cpulist seen = { 0 };

		topo = read_topologies[s];
		print_message("# %s\n", shape->name);
		assert_int_equal(topo.nr_cores, shape->nr_cores);
		assert_int_equal(count_ids(l3_of), shape->nr_l3);
		assert_int_equal(count_ids(package_of), shape->nr_packages);
		assert_int_equal(count_ids(node_of), shape->nr_nodes);
		for (uint32_t i = 0; i < topo.nr_cores; i++) {
			uint32_t in_l3 = 0;

			for (uint32_t other = 0; other < topo.nr_cores; other++)
				in_l3 += topo.cores[other].l3 == topo.cores[i].l3;
			assert_int_equal(in_l3, shape->l3_cores);
			nr_cpus += cpulist_count(&topo.cores[i].cpus);
			cpulist_or(&seen, &topo.cores[i].cpus);
		}
		assert_int_equal(nr_cpus, shape->nr_cpus);
		assert_int_equal(cpulist_count(&seen), nr_cpus); /* no CPU is of two cores */
		cpulist_or(&seen, &topo.isolated);
		assert_true(cpulist_subset(&topo.online, &seen));
	}
}

static void siblings_are_found_however_cpus_are_numbered(void **state)
{
	static const struct {
		int shape, core;
		const char *cpus;
	} all[] = { { 0, 0, "0,16" }, { 9, 0, "0,40" },	  { 9, 1, "2,42" }, { 9, 20, "1,41" },
		    { 10, 0, "0-1" }, { 10, 7, "14-15" }, { 10, 8, "16" },  { 11, 3, "1000" } };
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		cpulist_format(&read_topologies[all[i].shape].cores[all[i].core].cpus, text, sizeof(text));
		assert_string_equal(text, all[i].cpus);
	}
}

/* Everybody has one core and the rest is dealt out at random; best effort and the pool get something, too. */
static void random_decision(struct rng *rng, uint32_t nr_services, struct policy_decision *d)
{
	uint32_t left = topo.nr_cores - nr_services;

	memset(d, 0, sizeof(*d));
	for (uint32_t i = 0; i < nr_services; i++) {
		uint32_t more = (uint32_t)rng_below(rng, left * 2 / nr_services + 2);

		more = more > left ? left : more;
		d->shares[i].cores = 1 + more;
		left -= more;
	}
	d->be_cores = (uint32_t)rng_below(rng, left + 1);
	d->idle_cores = left - d->be_cores;
}

/* Whole cores, no CPU with two owners, and every owner keeps as many of its cores as it may. */
static void assert_planned(const struct allocation *before, const struct allocation *after)
{
	struct cpulist seen = { 0 }, cpus;
	uint32_t nr_cpus = 0;

	for (int owner = ALLOCATION_BE; owner < (int)after->nr_services; owner++) {
		uint32_t had = allocation_count(before, owner), has = allocation_count(after, owner), kept = 0;

		for (uint32_t i = 0; i < after->nr_cores; i++)
			kept += before->owner[i] == owner && after->owner[i] == owner;
		assert_int_equal(kept, had < has ? had : has);
		allocation_cpus(after, &topo, owner, &cpus);
		nr_cpus += cpulist_count(&cpus);
		cpulist_or(&seen, &cpus);
		for (uint32_t i = 0; i < after->nr_cores; i++)
			assert_int_equal(cpulist_subset(&topo.cores[i].cpus, &cpus), after->owner[i] == owner);
	}
	assert_int_equal(cpulist_count(&seen), nr_cpus);
}

static void cores_are_whole_sticky_and_never_given_twice(void **state)
{
	static const uint32_t counts[] = { 1, 2, 3, 7, 16, 31, 64 };
	static struct allocation a, before;
	struct policy_decision d;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 3);
	for (int s = 0; s < NR_SHAPES; s++) {
		topo = read_topologies[s];
		for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]) && counts[c] <= topo.nr_cores; c++) {
			allocation_init(&a, &topo, counts[c], 0);
			for (int step = 0; step < 8; step++) {
				before = a;
				random_decision(&rng, counts[c], &d);
				assert_int_equal(allocation_plan(&before, &topo, &d, &a), 0);
				assert_planned(&before, &a);
			}
		}
	}
}

static uint32_t count_domains(const struct allocation *a, int owner)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < a->nr_cores; i++) {
		bool is_new = a->owner[i] == owner;

		for (uint32_t other = 0; other < i; other++)
			is_new = is_new && !(a->owner[other] == owner && topo.cores[other].l3 == topo.cores[i].l3);
		nr += is_new;
	}
	return nr;
}

/* One service that grows core by core, and shrinks again. */
static void one_l3_domain_is_filled_before_the_next(void **state)
{
	static struct allocation a;

	(void)state;
	for (int s = 0; s < NR_SHAPES; s++) {
		uint32_t l3_cores = shapes[s].l3_cores;

		topo = read_topologies[s];
		if (topo.nr_cores > 128)
			continue; /* the same, and long */
		allocation_init(&a, &topo, 1, 0);
		for (uint32_t step = 1; step < 2 * topo.nr_cores; step++) {
			uint32_t cores = step <= topo.nr_cores ? step : 2 * topo.nr_cores - step;
			struct policy_decision d = { .shares[0].cores = cores, .idle_cores = topo.nr_cores - cores };

			assert_int_equal(allocation_plan(&a, &topo, &d, &a), 0);
			assert_int_equal(count_domains(&a, 0), (cores + l3_cores - 1) / l3_cores);
		}
	}
}

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

/* 64 services on 512 CPUs: half a domain each, then a core from one to another. */
static void sixty_four_services_share_512_cpus(void **state)
{
	static struct allocation a, before;
	struct policy_decision d = { 0 };
	double started, first_us, moves_us;

	(void)state;
	topo = read_topologies[7];
	assert_int_equal(topo.nr_cores, 256);
	allocation_init(&a, &topo, 64, 0);
	for (int i = 0; i < 64; i++)
		d.shares[i].cores = 4;
	started = now_us();
	assert_int_equal(allocation_plan(&a, &topo, &d, &a), 0);
	first_us = now_us() - started;
	for (int i = 0; i < 64; i++)
		assert_int_equal(count_domains(&a, i), 1);
	started = now_us();
	for (int step = 0; step < 100; step++) {
		before = a;
		d.shares[step % 64].cores--;
		d.shares[(step + 7) % 64].cores++;
		assert_int_equal(allocation_plan(&a, &topo, &d, &a), 0);
	}
	moves_us = (now_us() - started) / 100;
	assert_planned(&before, &a);
	print_message("# a plan for 64 services on 512 CPUs: %.0f us from nothing, %.0f us when a core moves\n",
		      first_us, moves_us);
	assert_true(moves_us < 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_machine_is_read_as_it_is),
		cmocka_unit_test(siblings_are_found_however_cpus_are_numbered),
		cmocka_unit_test(cores_are_whole_sticky_and_never_given_twice),
		cmocka_unit_test(one_l3_domain_is_filled_before_the_next),
		cmocka_unit_test(sixty_four_services_share_512_cpus),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("shapes", tests, read_all, NULL);
}
