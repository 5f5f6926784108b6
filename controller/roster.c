// SPDX-License-Identifier: GPL-2.0
/*
 * roster.c - glue between match, sensor and machine.  It decides nothing about who belongs to a service; match.c does.
 */
#include "roster.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "root.h"

static const uint64_t PERIOD_NS = 1000000000, SEARCH_NS = 5000000000;

static bool is_batch(const struct roster *roster, uint32_t group)
{
	return group >= roster->config->nr_services;
}

static uint32_t index_of(const struct roster *roster, uint32_t group)
{
	return is_batch(roster, group) ? group - roster->config->nr_services : group;
}

static uint32_t nr_groups(const struct roster *roster)
{
	return roster->config->nr_services + roster->config->nr_batches;
}

static const struct match *match_of(const struct roster *roster, uint32_t group)
{
	uint32_t i = index_of(roster, group);

	return is_batch(roster, group) ? &roster->config->batches[i].match : &roster->config->services[i].match;
}

static const char *name_of(const struct roster *roster, uint32_t group)
{
	uint32_t i = index_of(roster, group);

	return is_batch(roster, group) ? roster->config->batches[i].name : roster->config->services[i].name;
}

const char *roster_explain(const struct roster *roster, int err)
{
	const char *reason = roster->sensor ? sensor_ebee_error(roster->sensor) : "";

	return reason[0] ? reason : strerror(-err);
}

static int hand_over(struct roster *roster, uint32_t group)
{
	uint32_t i = index_of(roster, group);
	int err = 0;

	if (!is_batch(roster, group) && roster->sensor)
		err = sensor_ebee_adopt(roster->sensor, i, &roster->pids[group]);
	if (err >= 0 && roster->machine)
		err = machine_adopt(roster->machine, is_batch(roster, group), i, &roster->pids[group]);
	return err < 0 ? err : 0;
}

void roster_resolve(struct roster *roster, uint64_t now_ns)
{
	for (uint32_t g = 0; g < nr_groups(roster); g++) {
		roster->looked_ns[g] = now_ns;
		if (match_resolve(root_dir(), match_of(roster, g), &roster->pids[g]) < 0)
			roster->pids[g].nr = 0;
	}
}

int roster_hand_over(struct roster *roster)
{
	int err = 0;

	for (uint32_t g = 0; g < nr_groups(roster) && !err; g++)
		err = hand_over(roster, g);
	return err;
}

static bool same(const struct match_pids *a, const struct match_pids *b)
{
	return a->nr == b->nr && memcmp(a->pids, b->pids, a->nr * sizeof(a->pids[0])) == 0;
}

static void refresh(struct roster *roster, uint32_t group)
{
	struct match_pids *known = &roster->pids[group];
	int err = match_resolve(root_dir(), match_of(roster, group), &roster->fresh);

	if (err == -ENOENT)
		roster->fresh.nr = 0;
	else if (err < 0)
		return; /* transient: what is known stays true until the next look */
	if (same(known, &roster->fresh))
		return;
	fprintf(stderr, "event=%s name=%s processes=%u before=%u\n", roster->fresh.nr ? "adopted" : "gone",
		name_of(roster, group), roster->fresh.nr, known->nr);
	known->nr = roster->fresh.nr;
	memcpy(known->pids, roster->fresh.pids, known->nr * sizeof(known->pids[0]));
	err = hand_over(roster, group);
	if (err) {
		known->nr = 0; /* tried again at the next look */
		fprintf(stderr, "event=adopt-failed name=%s error=\"%s\"\n", name_of(roster, group),
			roster_explain(roster, err));
	}
}

void roster_refresh(struct roster *roster, uint64_t now_ns, uint64_t interval_ns)
{
	uint32_t groups = nr_groups(roster);
	uint64_t share = (groups * interval_ns + PERIOD_NS - 1) / PERIOD_NS;

	for (uint64_t k = 0; k < share && k < groups; k++) {
		uint32_t group = roster->next;

		roster->next = (group + 1) % groups;
		if (match_all_alive(&roster->pids[group]) && now_ns - roster->looked_ns[group] < SEARCH_NS)
			continue;
		roster->looked_ns[group] = now_ns;
		refresh(roster, group);
	}
}

uint64_t roster_cpu_ns(const struct roster *roster, uint32_t service)
{
	const struct match_pids *pids = &roster->pids[service];
	struct timespec used;
	uint64_t sum_ns = 0;
	clockid_t clock;

	for (uint32_t i = 0; i < pids->nr; i++)
		if (clock_getcpuclockid(pids->pids[i], &clock) == 0 && clock_gettime(clock, &used) == 0)
			sum_ns += (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
	return sum_ns;
}
