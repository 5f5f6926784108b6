/* SPDX-License-Identifier: GPL-2.0 */
/* test_allocation.c - counts of cores become core ids: conservation, stickiness, locality. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "allocation.h"

/* `nr` cores of two siblings (n and n + nr), `per_l3` of them to an L3 domain. */
static struct topology make_topology(uint32_t nr, uint32_t per_l3)
{
	static struct topology topo;

	memset(&topo, 0, sizeof(topo));
	topo.nr_cores = nr;
	for (uint32_t i = 0; i < nr; i++) {
		cpulist_add(&topo.cores[i].cpus, i);
		cpulist_add(&topo.cores[i].cpus, i + nr);
		topo.cores[i].first_cpu = (uint16_t)i;
		topo.cores[i].l3 = (uint16_t)(i / per_l3);
		cpulist_or(&topo.online, &topo.cores[i].cpus);
	}
	return topo;
}

static struct policy_decision make_decision(uint32_t nr, const uint32_t *cores, uint32_t be, uint32_t idle)
{
	static struct policy_decision d;

	memset(&d, 0, sizeof(d));
	for (uint32_t i = 0; i < nr; i++)
		d.shares[i].cores = cores[i];
	d.be_cores = be;
	d.idle_cores = idle;
	return d;
}

static void assert_counts(const struct allocation *a, const struct policy_decision *d)
{
	for (uint32_t i = 0; i < a->nr_services; i++) {
		assert_int_equal(allocation_count(a, (int)i), d->shares[i].cores);
		assert_int_equal(a->speed[i], d->shares[i].speed);
		assert_int_equal(a->ways[i], d->shares[i].ways);
	}
	assert_int_equal(allocation_count(a, ALLOCATION_BE), d->be_cores);
	assert_int_equal(allocation_count(a, ALLOCATION_IDLE), d->idle_cores);
}

static void plan(struct allocation *a, const struct topology *topo, uint32_t nr, const uint32_t *cores, uint32_t be,
		 uint32_t idle)
{
	struct policy_decision d = make_decision(nr, cores, be, idle);

	assert_int_equal(allocation_plan(a, topo, &d, a), 0);
	assert_counts(a, &d);
}

static void everything_is_idle_at_first(void **state)
{
	struct topology topo = make_topology(6, 3);
	struct allocation a;

	(void)state;
	allocation_init(&a, &topo, 2, 0);
	assert_int_equal(allocation_count(&a, ALLOCATION_IDLE), 6);
	assert_int_equal(allocation_count(&a, ALLOCATION_RESERVED), 0);
}

static void reserved_cpus_take_their_whole_cores_and_never_move(void **state)
{
	struct topology topo = make_topology(4, 4);
	struct allocation a;

	(void)state;
	allocation_init(&a, &topo, 1, 1);
	assert_int_equal(a.owner[0], ALLOCATION_RESERVED);
	assert_int_equal(allocation_count(&a, ALLOCATION_RESERVED), 1);
	for (uint32_t n = 1; n <= 3; n++) {
		plan(&a, &topo, 1, (uint32_t[]){ n }, 0, 3 - n);
		assert_int_equal(a.owner[0], ALLOCATION_RESERVED);
	}
	allocation_init(&a, &topo, 1, 4);
	assert_int_equal(allocation_count(&a, ALLOCATION_RESERVED), 4);
	allocation_init(&a, &topo, 1, 5);
	assert_int_equal(allocation_count(&a, ALLOCATION_RESERVED), 4);
}

static void a_cpu_without_a_core_is_not_counted_as_reserved(void **state)
{
	struct topology topo = make_topology(4, 4);
	struct allocation a;

	(void)state;
	cpulist_clear(&topo.cores[0].cpus);
	cpulist_add(&topo.cores[0].cpus, 40);
	allocation_init(&a, &topo, 1, 1);
	assert_int_equal(a.owner[0], ALLOCATION_IDLE);
	assert_int_equal(a.owner[1], ALLOCATION_RESERVED);
}

static void counts_that_do_not_add_up_are_refused(void **state)
{
	struct topology topo = make_topology(4, 4);
	struct policy_decision d;
	struct allocation a, before;

	(void)state;
	allocation_init(&a, &topo, 2, 0);
	before = a;
	d = make_decision(2, (uint32_t[]){ 2, 2 }, 1, 0);
	assert_int_equal(allocation_plan(&a, &topo, &d, &a), -EINVAL);
	d = make_decision(2, (uint32_t[]){ 1, 1 }, 0, 1);
	assert_int_equal(allocation_plan(&a, &topo, &d, &a), -EINVAL);
	d = make_decision(2, (uint32_t[]){ 4, 0 }, 0, 0);
	assert_int_equal(allocation_plan(&a, &topo, &d, &a), -EINVAL);
	d = make_decision(2, (uint32_t[]){ 1, 1 }, UINT32_MAX, 3);
	assert_int_equal(allocation_plan(&a, &topo, &d, &a), -EINVAL);
	assert_memory_equal(&a, &before, sizeof(a));
}

static void an_undone_downsize_returns_the_same_core(void **state)
{
	struct topology topo = make_topology(8, 4);
	struct allocation a, before;

	(void)state;
	allocation_init(&a, &topo, 2, 0);
	plan(&a, &topo, 2, (uint32_t[]){ 3, 3 }, 2, 0);
	before = a;
	plan(&a, &topo, 2, (uint32_t[]){ 2, 3 }, 3, 0);
	assert_memory_not_equal(a.owner, before.owner, sizeof(a.owner));
	plan(&a, &topo, 2, (uint32_t[]){ 3, 3 }, 2, 0);
	assert_memory_equal(a.owner, before.owner, sizeof(a.owner));
}

static void two_services_that_grow_at_once_each_get_their_own_cores_back(void **state)
{
	struct topology topo = make_topology(8, 8);
	struct allocation a, before;

	(void)state;
	allocation_init(&a, &topo, 2, 0);
	plan(&a, &topo, 2, (uint32_t[]){ 4, 4 }, 0, 0);
	before = a;
	plan(&a, &topo, 2, (uint32_t[]){ 2, 4 }, 0, 2);
	plan(&a, &topo, 2, (uint32_t[]){ 2, 2 }, 0, 4);
	plan(&a, &topo, 2, (uint32_t[]){ 4, 4 }, 0, 0);
	assert_memory_equal(a.owner, before.owner, sizeof(a.owner));
}

static void a_service_grows_inside_its_l3_domain_first(void **state)
{
	struct topology topo = make_topology(8, 4);
	struct allocation a;

	(void)state;
	allocation_init(&a, &topo, 2, 0);
	plan(&a, &topo, 2, (uint32_t[]){ 2, 2 }, 0, 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_not_equal(a.owner[i], 1);
		assert_int_not_equal(a.owner[4 + i], 0);
	}
	plan(&a, &topo, 2, (uint32_t[]){ 4, 4 }, 0, 0);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(a.owner[i], 0);
		assert_int_equal(a.owner[4 + i], 1);
	}
}

static void a_victim_gives_the_core_that_lies_alone_in_its_domain(void **state)
{
	struct topology topo = make_topology(8, 4);
	struct allocation a;

	(void)state;
	allocation_init(&a, &topo, 1, 0);
	plan(&a, &topo, 1, (uint32_t[]){ 5 }, 0, 3);
	plan(&a, &topo, 1, (uint32_t[]){ 4 }, 0, 4);
	for (uint32_t i = 1; i < 4; i++)
		assert_int_equal(a.owner[i], a.owner[0]);
}

static void cpus_of_an_owner_are_both_siblings_of_each_core(void **state)
{
	struct topology topo = make_topology(4, 4);
	struct allocation a;
	struct cpulist cpus;
	char text[64];

	(void)state;
	allocation_init(&a, &topo, 1, 0);
	plan(&a, &topo, 1, (uint32_t[]){ 2 }, 0, 2);
	allocation_cpus(&a, &topo, 0, &cpus);
	cpulist_format(&cpus, text, sizeof(text));
	assert_string_equal(text, "0-1,4-5");
	allocation_cpus(&a, &topo, ALLOCATION_BE, &cpus);
	assert_true(cpulist_empty(&cpus));
}

/* Fewest moves there can be: the sum of what owners gain. */
static uint32_t least_moves(const struct allocation *from, const struct allocation *to)
{
	uint32_t nr = 0;

	for (int owner = ALLOCATION_BE; owner < (int)from->nr_services; owner++) {
		uint32_t had = allocation_count(from, owner), has = allocation_count(to, owner);

		nr += has > had ? has - had : 0;
	}
	return nr;
}

static struct policy_decision random_decision(struct rng *rng, uint32_t nr_services, uint32_t nr_cores)
{
	uint32_t cores[POLICY_MAX_SERVICES], left = nr_cores - nr_services, be;
	struct policy_decision d;

	for (uint32_t i = 0; i < nr_services; i++) {
		uint32_t more = (uint32_t)rng_below(rng, left + 1);

		cores[i] = 1 + more;
		left -= more;
	}
	be = (uint32_t)rng_below(rng, left + 1);
	d = make_decision(nr_services, cores, be, left - be);
	for (uint32_t i = 0; i < nr_services; i++)
		d.shares[i].speed = (uint32_t)rng_below(rng, 10);
	return d;
}

static void random_plans_conserve_cores_and_move_no_more_than_needed(void **state)
{
	struct rng rng;

	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		uint32_t nr_cores = 4 + (uint32_t)(seed * 7 % 60), nr_services = 1 + (uint32_t)seed % 4;
		uint32_t reserved = (uint32_t)(nr_cores > nr_services + 1 ? seed % 2 : 0);
		struct topology topo = make_topology(nr_cores, 1 + (uint32_t)seed % 8);
		struct allocation a;

		rng_seed(&rng, seed);
		allocation_init(&a, &topo, nr_services, reserved);
		reserved = allocation_count(&a, ALLOCATION_RESERVED);
		for (int step = 0; step < 100; step++) {
			struct policy_decision d = random_decision(&rng, nr_services, nr_cores - reserved);
			struct allocation before = a;
			uint32_t moved = 0;

			assert_int_equal(allocation_plan(&before, &topo, &d, &a), 0);
			assert_counts(&a, &d);
			assert_int_equal(allocation_count(&a, ALLOCATION_RESERVED), reserved);
			for (uint32_t i = 0; i < nr_cores; i++)
				moved += a.owner[i] != before.owner[i];
			assert_int_equal(moved, least_moves(&before, &a));
		}
	}
}

/* From anywhere: taking one unit from a service and giving it back leaves every core where it was. */
static void random_downsizes_are_undone_exactly(void **state)
{
	struct topology topo = make_topology(24, 6);
	struct allocation a, before;
	struct policy_decision d, down;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 7);
	allocation_init(&a, &topo, 4, 0);
	for (int step = 0; step < 2000; step++) {
		uint32_t who = (uint32_t)rng_below(&rng, 4);

		d = random_decision(&rng, 4, 24);
		assert_int_equal(allocation_plan(&a, &topo, &d, &a), 0);
		if (d.shares[who].cores < 2)
			continue;
		before = a;
		down = d;
		down.shares[who].cores--;
		*(rng_below(&rng, 2) ? &down.be_cores : &down.idle_cores) += 1;
		assert_int_equal(allocation_plan(&a, &topo, &down, &a), 0);
		assert_int_equal(allocation_plan(&a, &topo, &d, &a), 0);
		assert_memory_equal(a.owner, before.owner, sizeof(a.owner));
	}
}

static void a_core_that_goes_offline_is_nobodys_and_returns_to_who_had_it(void **state)
{
	static const uint32_t split[] = { 2, 2 }, less[] = { 2, 1 };
	struct topology topo = make_topology(6, 3);
	struct cpulist usable = topo.online;
	struct allocation a, before;
	unsigned int core = 0;

	(void)state;
	allocation_init(&a, &topo, 2, 0);
	plan(&a, &topo, 2, split, 1, 1);
	before = a;
	while (a.owner[core] != 1)
		core++;
	cpulist_remove(&usable, core);
	allocation_set_usable(&a, &topo, &usable);
	assert_int_equal(allocation_count(&a, 1), 2); /* its sibling is still there */
	cpulist_remove(&usable, core + 6);
	allocation_set_usable(&a, &topo, &usable);
	assert_int_equal(a.owner[core], ALLOCATION_OFFLINE);
	assert_int_equal(allocation_count(&a, 1), 1);
	assert_int_equal(allocation_nr_assignable(&a), 5);
	plan(&a, &topo, 2, less, 1, 1);
	assert_int_equal(a.owner[core], ALLOCATION_OFFLINE);

	allocation_set_usable(&a, &topo, &topo.online);
	assert_int_equal(a.owner[core], ALLOCATION_IDLE);
	plan(&a, &topo, 2, split, 1, 1);
	assert_memory_equal(a.owner, before.owner, sizeof(a.owner));
}

static void a_reserved_core_stays_reserved_offline(void **state)
{
	struct topology topo = make_topology(4, 4);
	struct cpulist none = { 0 };
	struct allocation a;

	(void)state;
	allocation_init(&a, &topo, 1, 1);
	allocation_set_usable(&a, &topo, &none);
	assert_int_equal(allocation_count(&a, ALLOCATION_RESERVED), 1);
	assert_int_equal(allocation_nr_assignable(&a), 0);
	allocation_set_usable(&a, &topo, &topo.online);
	assert_int_equal(allocation_nr_assignable(&a), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_is_idle_at_first),
		cmocka_unit_test(reserved_cpus_take_their_whole_cores_and_never_move),
		cmocka_unit_test(a_cpu_without_a_core_is_not_counted_as_reserved),
		cmocka_unit_test(counts_that_do_not_add_up_are_refused),
		cmocka_unit_test(an_undone_downsize_returns_the_same_core),
		cmocka_unit_test(two_services_that_grow_at_once_each_get_their_own_cores_back),
		cmocka_unit_test(a_service_grows_inside_its_l3_domain_first),
		cmocka_unit_test(a_victim_gives_the_core_that_lies_alone_in_its_domain),
		cmocka_unit_test(cpus_of_an_owner_are_both_siblings_of_each_core),
		cmocka_unit_test(a_core_that_goes_offline_is_nobodys_and_returns_to_who_had_it),
		cmocka_unit_test(a_reserved_core_stays_reserved_offline),
		cmocka_unit_test(random_plans_conserve_cores_and_move_no_more_than_needed),
		cmocka_unit_test(random_downsizes_are_undone_exactly),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("allocation", tests, NULL, NULL);
}
