// SPDX-License-Identifier: GPL-2.0
/*
 * speed.c - port: chooses what speed means, and gives up ways of setting it that do nothing.  How a way writes is
 * frequency.c's, what counts as nothing effective.c's.
 */
#include "speed.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bandwidth.h"
#include "managers.h"

int speed_find(struct speed *s, const struct machine_opts *opts, bool has_bandwidth, char *error, size_t error_size)
{
	struct cpulist cpus;
	int err = -ENODEV;

	topology_cpus(opts->topology, &cpus);
	if (clocks_open(&s->clocks, opts->root, &cpus))
		s->clocks = NULL;
	if (opts->speed == CONFIG_SPEED_AUTO || opts->speed == CONFIG_SPEED_CPUFREQ)
		err = frequency_open(&s->frequency, opts->root, &cpus);
	if (!err) {
		s->ladder = *frequency_ladder(s->frequency);
		s->may_be_quota = opts->speed == CONFIG_SPEED_AUTO && has_bandwidth;
		return opts->force ? 0 : managers_refuse(opts->root, error, error_size);
	}
	if (opts->speed == CONFIG_SPEED_CPUFREQ) {
		snprintf(error, error_size, "speed = cpufreq: this machine lets nobody set the speed of its CPUs (%s): "
			 "use bandwidth or auto", strerror(-err));
		return -ENOTSUP;
	}
	if (opts->speed != CONFIG_SPEED_NONE && has_bandwidth) {
		s->ladder = bandwidth_ladder;
	} else if (opts->speed == CONFIG_SPEED_BANDWIDTH) {
		snprintf(error, error_size, "speed = bandwidth: no cpu controller here: mount it, or use speed = none");
		return -ENOTSUP;
	}
	return 0;
}

int speed_start(struct speed *s, struct journal *j, struct undo *u, char *error, size_t error_size)
{
	struct outcome outcome;
	int err, way = 0;

	if (!s->frequency)
		return 0;
	error[0] = '\0';
	err = frequency_journal(s->frequency, j);
	if (!err)
		err = journal_sync(j);
	while (!err && way != LADDER_NOTHING) {
		outcome = (struct outcome){ 0 };
		undo_begin(u);
		if (!frequency_start(s->frequency, u, &outcome))
			return 0;
		undo_rollback(u);
		if (!error[0])
			snprintf(error, error_size, "cannot take over the speed of CPUs: %s; speed = bandwidth or none does "
				 "without", outcome.where);
		way = frequency_fall(s->frequency, j);
		err = way < 0 ? way : 0;
	}
	if (err)
		snprintf(error, error_size, "cannot note the speed of CPUs to put it back: %s", strerror(-err));
	s->gone = !err && s->may_be_quota;
	return s->gone ? 0 : err ? err : outcome.error;
}

int speed_add(struct speed *s, const struct cpulist *cpus, struct journal *j)
{
	if (s->clocks)
		clocks_add(s->clocks, cpus);
	return s->frequency && !s->gone ? frequency_add(s->frequency, cpus, j) : 0;
}

uint32_t speed_measure(struct speed *s, uint32_t service, const struct cpulist *cpus, const struct sample *sample)
{
	uint32_t measured_khz = clocks_read_khz(s->clocks, cpus), asked_khz;
	uint64_t time_ns = sample->window_ns * cpulist_count(cpus);

	if (!s->frequency || s->gone || s->left)
		return measured_khz;
	asked_khz = frequency_asked_khz(s->frequency, cpus);
	if (asked_khz == s->asked_khz[service] && time_ns && !s->useless) {
		struct effective_window w = { .asked_khz = asked_khz, .measured_khz = measured_khz,
					      .busy_permille = (uint32_t)(sample->cpu_ns * 1000 / time_ns) };

		s->useless = effective_judge(&s->judge, &s->ladder, frequency_way(s->frequency), &w);
	}
	s->asked_khz[service] = asked_khz;
	return measured_khz;
}

/* On to the next way. */
static int give_up(struct speed *s, struct journal *j, struct outcome *ret)
{
	const char *was = ladder_way_name(frequency_way(s->frequency));
	int way = frequency_fall(s->frequency, j);

	if (way < 0) {
		ret->error = way;
		snprintf(ret->where, sizeof(ret->where), "the journal, before setting speeds otherwise: %s", strerror(-way));
		return way;
	}
	snprintf(s->given_up + strlen(s->given_up), sizeof(s->given_up) - strlen(s->given_up), "%s%s", s->given_up[0] ? " " : "",
		 was);
	s->gone = way == LADDER_NOTHING;
	ret->speed = !s->gone ? OUTCOME_SPEED_OTHERWISE : s->may_be_quota ? OUTCOME_SPEED_BANDWIDTH : OUTCOME_SPEED_GONE;
	snprintf(ret->note, sizeof(ret->note), "by=%s does nothing: %s; %s%s", was, s->useless, !s->gone ?
		 "from now on by=" : s->may_be_quota ? "bandwidth takes its place" : "only cores are left",
		 s->gone ? "" : ladder_way_name((enum ladder_way)way));
	s->judge = (struct effective){ 0 };
	s->useless = NULL;
	s->nr_failed = 0;
	memset(s->asked_khz, 0, sizeof(s->asked_khz));
	return 0;
}

/* The pool is parked; best effort and housekeeping run at nominal.  Without a way, all are as fast as they can. */
static uint32_t khz_of(const struct speed *s, const struct allocation *want, int owner)
{
	uint32_t step = s->ladder.nominal;

	if (s->gone)
		return UINT32_MAX;
	if (owner >= 0)
		step = want->speed[owner] < s->ladder.nr_steps ? want->speed[owner] : s->ladder.nr_steps - 1;
	else if (owner == ALLOCATION_IDLE || owner == ALLOCATION_OFFLINE)
		step = 0;
	return s->ladder.value[step];
}

int speed_apply(struct speed *s, const struct allocation *want, const struct topology *topo,
		const struct cpulist *online, struct journal *j, struct undo *u, struct outcome *ret)
{
	uint32_t khz_by_cpu[CPULIST_MAX_CPUS] = { 0 }, nr_writes = ret->nr_writes;
	int err;

	if (!s->frequency || s->gone || s->left)
		return 0;
	if (s->useless) {
		err = give_up(s, j, ret);
		if (err)
			return err;
	}
	for (uint32_t core = 0; core < want->nr_cores; core++) {
		const struct cpulist *cpus = &topo->cores[core].cpus;

		for (int cpu = cpulist_next(cpus, 0); cpu >= 0; cpu = cpulist_next(cpus, (unsigned int)cpu + 1))
			khz_by_cpu[cpu] = khz_of(s, want, want->owner[core]);
	}
	err = frequency_apply(s->frequency, khz_by_cpu, online, u, ret);
	if (err)
		s->nr_failed++;
	else if (ret->nr_writes > nr_writes)
		s->nr_failed = 0;
	if (s->nr_failed >= SPEED_MAX_FAILURES)
		s->useless = "its files cannot be written";
	if (!err || !s->gone)
		return err;
	ret->where[0] = '\0'; /* nobody needs it to succeed */
	return ret->error = 0;
}

void speed_look_for_drift(struct speed *s, uint64_t step, struct outcome *ret)
{
	if (s->frequency && !s->gone && frequency_drifted(s->frequency))
		drift_note(&s->drift, step, "CPUs", "their speed", ret->note, sizeof(ret->note));
	s->left = drift_is_left(&s->drift, step + 1);
}

void speed_close(struct speed *s)
{
	frequency_close(s->frequency);
	clocks_close(s->clocks);
}
