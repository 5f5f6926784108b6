// SPDX-License-Identifier: GPL-2.0
/*
 * effective.c - pure: compares speeds asked for with speeds measured.  It measures nothing (clocks.c) and changes nothing
 * (speed.c).
 */
#include "effective.h"

/* The lowest step that is not slower. */
static uint32_t step_of(const struct speed_ladder *l, uint32_t khz)
{
	uint32_t step = 0;

	while (step + 1 < l->nr_steps && l->value[step] < khz)
		step++;
	return step;
}

/* Counters and clocks are not exact to the last per cent. */
static bool is_faster(uint32_t khz, uint32_t than_khz)
{
	return khz > than_khz + than_khz / 100;
}

/* At the two highest steps nothing is a step too fast. */
static void compare_with_cap(struct effective *e, const struct speed_ladder *l, const struct effective_window *w)
{
	uint32_t step = step_of(l, w->asked_khz);

	if (step + 1 >= l->nr_steps)
		return;
	if (is_faster(w->measured_khz, l->value[step + 1]))
		e->nr_faster++;
	else if (step + 2 < l->nr_steps)
		e->nr_faster = 0;
}

static void add(struct effective_speed *s, const struct effective_window *w)
{
	if (s->asked_khz != w->asked_khz)
		*s = (struct effective_speed){ .asked_khz = w->asked_khz };
	s->nr++;
	s->measured_khz += ((int32_t)w->measured_khz - (int32_t)s->measured_khz) / (int32_t)s->nr;
}

static bool is_frozen(const struct effective *e, const struct speed_ladder *l, bool is_limit)
{
	const struct effective_speed *slow = &e->slowest, *fast = &e->fastest;
	uint32_t low = step_of(l, slow->asked_khz), high = step_of(l, fast->asked_khz);
	uint32_t half_step_khz;

	if (slow->nr < EFFECTIVE_WINDOWS || fast->nr < EFFECTIVE_WINDOWS || high < low + 2)
		return false;
	half_step_khz = (l->value[low + 1] - l->value[low]) / 2;
	/* Below both: something else limits it. */
	if (is_limit && slow->measured_khz + half_step_khz < slow->asked_khz)
		return false;
	return fast->measured_khz < slow->measured_khz + half_step_khz;
}

const char *effective_judge(struct effective *e, const struct speed_ladder *ladder, enum ladder_way way,
			    const struct effective_window *w)
{
	bool is_limit = way == LADDER_USERSPACE || way == LADDER_CAP;

	if (!w->measured_khz || !w->asked_khz || w->busy_permille < EFFECTIVE_BUSY)
		return NULL;
	if (is_limit)
		compare_with_cap(e, ladder, w);
	/* Below a cap, governors follow the load: only with much of it do they go up to the cap. */
	if (way == LADDER_USERSPACE || w->busy_permille >= EFFECTIVE_FULL) {
		if (!e->slowest.nr || w->asked_khz <= e->slowest.asked_khz)
			add(&e->slowest, w);
		if (!e->fastest.nr || w->asked_khz >= e->fastest.asked_khz)
			add(&e->fastest, w);
	}
	if (e->nr_faster >= EFFECTIVE_WINDOWS)
		return "cores run faster than they may";
	return is_frozen(e, ladder, is_limit) ? "cores run as fast whatever is asked" : NULL;
}
