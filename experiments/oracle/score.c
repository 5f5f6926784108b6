// SPDX-License-Identifier: GPL-2.0
/*
 * score.c - pure: sums and times of a simulated run beside its oracle.
 */
#include "score.h"

static const double LASTING_S = 10, NEVER_S = 60;

static struct record_change *last_change(struct score *s)
{
	return &s->result.changes[s->result.nr_changes - 1];
}

static void open_change(struct score *s, double t_s)
{
	if (s->result.nr_changes < RECORD_MAX_CHANGES)
		s->result.changes[s->result.nr_changes++] = (struct record_change){
			.t_s = t_s, .first_ok_s = RECORD_NEVER, .valid_s = RECORD_NEVER,
		};
}

void score_init(struct score *s)
{
	*s = (struct score){ .since_s = -1 };
	open_change(s, 0);
}

static void settle(struct score *s)
{
	struct record_change *c = last_change(s);

	if (s->since_s >= 0 && c->valid_s < 0)
		c->valid_s = s->since_s > c->t_s ? s->since_s - c->t_s : 0;
}

void score_change(struct score *s, double t_s)
{
	settle(s);
	s->since_s = -1;
	open_change(s, t_s);
}

static bool every_target_met(const struct tick *tick)
{
	const struct policy_view *view = &tick->report.view;

	for (uint32_t i = 0; i < view->nr_services; i++)
		if (!view->services[i].nr_completed || tick->report.slack_permille[i] < 0)
			return false;
	return true;
}

static void add_window(struct score *s, const struct totals *now, const struct oracle_answer *was)
{
	double window_s = now->span_s - s->before.span_s;

	if (!was->feasible || was->power_w <= 0)
		return;
	s->energy_j += now->energy_j - s->before.energy_j;
	s->least_energy_j += was->power_w * window_s;
	s->be_work += now->be_work - s->before.be_work;
	s->most_be_work += was->be_rate * window_s;
}

/* A change may lie ahead of the tick that announces it; what ended before it is its forerunner's. */
static void see_violation(struct score *s, const struct tick *tick, double now_s)
{
	struct record_change *c = last_change(s);
	uint64_t violated_ns = 0;

	for (uint32_t i = 0; i < tick->config->nr_services; i++)
		violated_ns += tick->totals.judges[i].violated_ns;
	if (c->t_s >= now_s && s->result.nr_changes > 1)
		c--;
	if (violated_ns > s->violated_ns)
		c->recover_s = now_s - c->t_s;
	s->violated_ns = violated_ns;
}

void score_tick(struct score *s, const struct tick *tick, const struct oracle_answer *was, bool feasible, bool valid)
{
	double now_s = (double)(tick->report.now_ns - tick->start_ns) / 1e9;
	double window_s = (double)tick->report.view.window_ns / 1e9;
	struct record_change *c = last_change(s);

	add_window(s, &tick->totals, was);
	see_violation(s, tick, now_s);
	s->before = tick->totals;
	if (feasible)
		s->feasible_s += (double)tick->config->interval_ns / 1e9;
	else
		c->infeasible = true;
	if (valid)
		s->valid_s += (double)tick->config->interval_ns / 1e9;
	s->since_s = !valid ? -1 : s->since_s < 0 ? now_s : s->since_s;
	if (s->since_s >= 0 && now_s - s->since_s >= LASTING_S)
		settle(s);
	if (c->first_ok_s < 0 && window_s > 0 && now_s - window_s >= c->t_s && every_target_met(tick))
		c->first_ok_s = now_s - c->t_s;
}

static void raise(double *worst, double t_s)
{
	double counted = t_s < 0 ? NEVER_S : t_s;

	if (counted > *worst)
		*worst = counted;
}

void score_finish(struct score *s, const struct tick *tick)
{
	struct record_oracle *r = &s->result;

	settle(s);
	r->in_v_pct = s->feasible_s > 0 ? 100 * s->valid_s / s->feasible_s : 0;
	r->energy_ratio = !tick->report.view.has_be && s->least_energy_j > 0 ? s->energy_j / s->least_energy_j : -1;
	r->be_work_ratio = tick->report.view.has_be && s->most_be_work > 0 ? s->be_work / s->most_be_work : -1;
	for (uint32_t i = 0; i < r->nr_changes; i++) {
		if (r->changes[i].infeasible)
			continue;
		raise(&r->first_ok_s, r->changes[i].first_ok_s);
		raise(&r->valid_s, r->changes[i].valid_s);
		raise(&r->recover_s, r->changes[i].recover_s);
	}
}
