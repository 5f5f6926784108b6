// SPDX-License-Identifier: GPL-2.0
/*
 * totals.c - pure: adds one tick to the sums of a run.
 */
#include "totals.h"

/* Without cpufreq the clock is unknown and a quota shows in the utilisation: the reference part's nominal speed. */
static const double REFERENCE_GHZ = 2.45;
static const double ALLOCATED_IDLE_W = 0.4, PARKED_W = 0.1;
/* Share of best-effort work that does not scale with cores. */
static const double BE_SERIAL = 0.05;

static double busy_w(double ghz)
{
	double volt = 0.584 + 0.2105 * ghz;

	return 0.92 * volt + 1.01 * ghz * volt * volt;
}

static void add_cores(struct totals *t, const struct speed_ladder *ladder, uint32_t nr_cores, uint32_t speed,
		      double cpu_s, double dt)
{
	double value = ladder->kind == SPEED_NONE ? 1000 : ladder->value[speed];
	double ghz = ladder->kind == SPEED_FREQ ? value / 1e6 : REFERENCE_GHZ;
	double core_s = nr_cores * dt;
	double busy_s = cpu_s < core_s ? cpu_s : core_s;

	t->core_seconds += core_s;
	t->speed_core_seconds += value * core_s;
	t->energy_j += busy_s * busy_w(ghz) + (core_s - busy_s) * ALLOCATED_IDLE_W;
}

void totals_add(struct totals *t, const struct config *config, const struct speed_ladder *ladder,
		const struct policy_view *view, const struct sample *samples, bool steered)
{
	double dt = view->window_ns / 1e9, cpu_s = 0;

	t->nr_ticks++;
	t->nr_impossible += t->impossible;
	t->span_s += dt;
	for (uint32_t i = 0; i < view->nr_services; i++) {
		const struct policy_service *s = &view->services[i];

		if (t->impossible)
			judge_skip(&t->judges[i], &samples[i]);
		else if (s->signal != POLICY_LOST)
			judge_add(&t->judges[i], &samples[i], s->target_ns, config->services[i].percentile_permille,
				  view->window_ns);
		if (steered)
			add_cores(t, ladder, s->have.cores, s->have.speed, s->cpu_ns / 1e9, dt);
		cpu_s += s->cpu_ns / 1e9;
	}
	if (!steered) {
		add_cores(t, ladder, view->nr_cores, view->nominal_speed, cpu_s, dt);
		return;
	}
	t->energy_j += view->idle_cores * PARKED_W * dt;
	t->be_core_seconds += view->be_cores * dt;
	if (view->be_cores > 0)
		t->be_work += dt / (BE_SERIAL + (1 - BE_SERIAL) / view->be_cores);
}

void totals_change_ladder(struct totals *t)
{
	t->speed_core_seconds = 0;
	t->other_core_seconds = t->core_seconds;
}
