// SPDX-License-Identifier: GPL-2.0
/*
 * tick.c - glue: one interval, in a straight line.  It owns no clock, loop or output, and allocates only in tick_init.
 */
#include "tick.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bandwidth.h"
#include "qos.h"
#include "record.h"
#include "view.h"

int tick_init(struct tick *tick, uint32_t nr_batches)
{
	tick->policy_state = calloc(1, tick->policy->state_size + 1);
	if (!tick->policy_state)
		return -ENOMEM;
	rng_seed(&tick->rng, tick->config->seed);
	allocation_init(&tick->allocation, tick->topology, tick->config->nr_services, tick->config->reserved_cpus);
	tick->nr_first_cores = tick->allocation.nr_cores;
	view_init(&tick->report.view, tick->config, &tick->allocation, tick->ladder, &tick->ways,
		  &tick->be_units, nr_batches > 0);
	/* The configuration's are those of the policy it names. */
	if (!strcmp(tick->policy->name, tick->config->policy))
		memcpy(tick->report.view.options, tick->config->options, sizeof(tick->config->options));
	else
		policy_default_options(tick->policy, tick->report.view.options);
	return 0;
}

void tick_fini(struct tick *tick)
{
	free(tick->policy_state);
	tick->policy_state = NULL;
}

/* CPUs go offline and come back, and a container's limits change. */
static void look_for_cores(struct tick *tick)
{
	struct cpulist usable;

	if (tick->actuator.usable && tick->actuator.usable(tick->actuator.ctx, &usable) == 0)
		allocation_set_usable(&tick->allocation, tick->topology, &usable);
}

/* Unknown is none: then nothing is taken from anybody who needs it. */
static void look_for_memory(struct tick *tick)
{
	uint64_t bytes;
	bool known = tick->actuator.memory_slack && !tick->actuator.memory_slack(tick->actuator.ctx, &bytes);

	tick->report.view.memory_slack_bytes = known ? bytes : 0;
}

/*
 * Negative errno: the sensor gave nothing.  What it reads next covers the time that it missed as well, so that its
 * counts are too many for one window: that is not believed either.
 */
static int measure(struct tick *tick, uint64_t window_ns)
{
	struct tick_report *r = &tick->report;
	int err = tick->sensor.read(tick->sensor.ctx, r->now_ns, r->samples, r->view.nr_services);
	bool lost = err < 0 || tick->nr_lost > 0 || !qos_window_is_near(window_ns, tick->config->interval_ns);

	if (err < 0)
		memset(r->samples, 0, sizeof(r->samples));
	if (tick->be_units.memory || tick->be_units.disk)
		look_for_memory(tick);
	view_update(&r->view, tick->config, &tick->allocation, r->samples, window_ns, lost);
	for (uint32_t i = 0; i < r->view.nr_services; i++) {
		r->samples[i].signal = r->view.services[i].signal;
		r->slack_permille[i] = qos_slack_permille(&r->view.services[i]);
	}
	return err < 0 ? err : 0;
}

static void judge_benefit(struct tick *tick, uint64_t window_ns)
{
	const struct policy_view *view = &tick->report.view;

	for (uint32_t i = 0; i < view->nr_services && window_ns; i++) {
		const struct policy_service *s = &view->services[i];
		struct cpulist cpus;

		if (s->signal == POLICY_LOST || !tick->steer || !tick->started)
			continue;
		allocation_cpus(&tick->allocation, tick->topology, (int)i, &cpus);
		benefit_judge(&tick->benefits[i], s->have.cores, cpulist_count(&cpus), s->cpu_ns * 1000 / window_ns,
			      qos_has_slack(s) && tick->report.slack_permille[i] < 0);
	}
}

static int refuse(struct outcome *outcome, int err, const char *why)
{
	outcome->error = err;
	snprintf(outcome->where, sizeof(outcome->where), "decision refused: %s", why);
	return err;
}

/*
 * Speeds that cannot be had are nobody's to move: off the wheel, at the step that is nearest to the truth.  Where a quota
 * stands in for them, its ladder begins at the top.
 */
static void change_speeds(struct tick *tick, bool gone)
{
	struct policy_view *view = &tick->report.view;

	tick->speed_is_gone = gone;
	if (!gone) {
		tick->ladder = &bandwidth_ladder;
		view_set_ladder(view, tick->ladder);
		totals_change_ladder(&tick->totals);
	}
	for (uint32_t i = 0; i < view->nr_services; i++) {
		tick->allocation.speed[i] = view->nominal_speed;
		if (gone)
			view->services[i].min.speed = view->services[i].max.speed = view->nominal_speed;
	}
}

/* Puts the decision in force as a whole, or leaves everything as it was and says why in the outcome. */
static int act(struct tick *tick)
{
	struct tick_report *r = &tick->report;
	struct allocation next;
	const char *why = "";
	int err;

	r->outcome = (struct outcome){ 0 };
	err = policy_decision_check(&r->view, &r->decision, &why);
	if (err)
		return refuse(&r->outcome, err, why);
	err = allocation_plan(&tick->allocation, tick->topology, &r->decision, &next);
	if (err)
		return refuse(&r->outcome, err, "the cores there are do not give this allocation");
	if (tick->steer) {
		err = tick->actuator.apply(tick->actuator.ctx, &next, &r->outcome);
		if (err)
			return r->outcome.error = err;
		tick->totals.nr_moves += tick->started && r->decision.direction != POLICY_HOLD;
	} else if (tick->started) {
		return 0;
	}
	tick->allocation = next;
	return 0;
}

int tick_step(struct tick *tick, uint64_t now_ns, uint64_t window_ns)
{
	struct tick_report *r = &tick->report;
	int lost, err;

	if (tick->totals.nr_ticks == 0)
		tick->start_ns = now_ns - window_ns;
	r->now_ns = now_ns;
	look_for_cores(tick);
	lost = measure(tick, window_ns);
	judge_benefit(tick, window_ns);
	tick->nr_lost = lost ? tick->nr_lost + 1 : 0;
	totals_add(&tick->totals, tick->config, tick->ladder, &r->view, r->samples, tick->steer);

	if (tick->started)
		tick->policy->step(tick->policy_state, now_ns, &r->view, &tick->rng, &r->decision);
	else
		tick->policy->init(tick->policy_state, now_ns, &r->view, &r->decision);
	tick->totals.nr_infeasible += r->decision.infeasible;

	err = act(tick);
	if (r->outcome.speed >= OUTCOME_SPEED_BANDWIDTH)
		change_speeds(tick, r->outcome.speed == OUTCOME_SPEED_GONE);
	tick->started |= !err;
	tick->nr_failed = err ? tick->nr_failed + 1 : 0;
	r->view.last_failed = err != 0;
	if (tick->nr_failed >= TICK_MAX_FAILURES)
		return err;
	return tick->nr_lost >= TICK_MAX_FAILURES ? lost : 0;
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static void totals_of_services(const struct tick *tick, struct record_totals *ret)
{
	uint64_t violated_ns = 0, judged_ns = 0, nr_raw = 0, nr_raw_violated = 0;

	ret->nr_services = tick->config->nr_services;
	for (uint32_t i = 0; i < ret->nr_services; i++) {
		const struct config_service *c = &tick->config->services[i];
		struct record_service_totals *s = &ret->services[i];
		struct judge j = tick->totals.judges[i];

		judge_close_window(&j, c->percentile_permille);
		*s = (struct record_service_totals){
			.name = c->name,
			.violated_windows_pct = percent(j.violated_ns, j.judged_ns),
			.late_requests_pct = percent(j.nr_late_requests, j.nr_requests),
			.nr_requests = j.nr_requests,
		};
		if (s->late_requests_pct > ret->late_requests_pct)
			ret->late_requests_pct = s->late_requests_pct;
		violated_ns += j.violated_ns;
		judged_ns += j.judged_ns;
		nr_raw += j.nr_raw;
		nr_raw_violated += j.nr_raw_violated;
	}
	ret->violated_windows_pct = percent(violated_ns, judged_ns);
	ret->raw_violated_pct = percent(nr_raw_violated, nr_raw);
	ret->nr_raw_windows = nr_raw;
}

void tick_totals(const struct tick *tick, struct record_totals *ret)
{
	const struct totals *t = &tick->totals;

	*ret = (struct record_totals){
		.core_seconds = t->core_seconds,
		.energy_j = t->energy_j,
		.energy_source = "modelled",
		.be_work = t->be_work,
		.be_core_seconds = t->be_core_seconds,
		.duration_s = t->span_s,
		.mean_speed = t->core_seconds > t->other_core_seconds ?
			      t->speed_core_seconds / (t->core_seconds - t->other_core_seconds) : 0,
		.nr_ticks = t->nr_ticks,
		.nr_moves = t->nr_moves,
		.nr_infeasible = t->nr_infeasible,
		.nr_infeasible_windows = t->nr_impossible,
	};
	totals_of_services(tick, ret);
}
