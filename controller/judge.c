// SPDX-License-Identifier: GPL-2.0
/*
 * judge.c - pure: judged windows, raw windows and late requests of one service.  It steers nothing.
 */
#include "judge.h"
#include "qos.h"

static const uint64_t MERGE_MAX_NS = 10000000000;
static const double SIGNIFICANCE = 0.01;
static const double NEGLIGIBLE = 1e-18;

/*
 * Weights are relative to the most likely count and walked outwards until they no longer matter: 0.99^n itself
 * underflows for the counts of a busy window.
 */
bool judge_is_violated(uint64_t n, uint64_t nr_late, uint32_t allowed_permille)
{
	double p = allowed_permille / 1000.0, odds = p / (1 - p);
	uint64_t mode = (uint64_t)((n + 1) * p);
	double weight = 1, sum = 0, tail = 0;

	if (nr_late <= mode)
		return false;
	for (uint64_t k = mode; k <= n && weight > NEGLIGIBLE; k++) {
		sum += weight;
		if (k >= nr_late)
			tail += weight;
		weight *= (double)(n - k) / (k + 1) * odds;
	}
	weight = 1;
	for (uint64_t k = mode; k > 0 && weight > NEGLIGIBLE; k--) {
		weight *= k / (double)(n - k + 1) / odds;
		sum += weight;
	}
	return tail < SIGNIFICANCE * sum;
}

void judge_close_window(struct judge *j, uint32_t percentile_permille)
{
	if (j->nr > 0 || j->dropped) {
		j->judged_ns += j->span_ns;
		if (j->dropped || judge_is_violated(j->nr, j->nr_late, 1000 - percentile_permille))
			j->violated_ns += j->span_ns;
	}
	j->nr = j->nr_late = j->span_ns = 0;
	j->dropped = false;
}

/* Requests of this tick that have become late; those on time go to *ret_on_time. */
static uint64_t count(struct judge *j, const struct sample *s, uint64_t *ret_on_time)
{
	uint64_t late = s->nr_late + s->nr_over_target;
	uint64_t on_time = s->nr_completed > s->nr_late ? s->nr_completed - s->nr_late : 0;

	late = late > j->nr_over_target ? late - j->nr_over_target : 0;
	j->nr_over_target = s->nr_over_target;
	j->nr_requests += on_time + late;
	j->nr_late_requests += late;
	*ret_on_time = on_time;
	return late;
}

void judge_skip(struct judge *j, const struct sample *s)
{
	uint64_t on_time;

	count(j, s, &on_time);
}

void judge_add(struct judge *j, const struct sample *s, uint64_t target_ns, uint32_t percentile_permille,
	       uint64_t window_ns)
{
	uint64_t on_time, late = count(j, s, &on_time);

	if (s->nr_completed >= QOS_FRESH_COUNT) {
		j->nr_raw++;
		j->nr_raw_violated += s->steer_ns > target_ns;
	}

	j->nr += on_time + late;
	j->nr_late += late;
	j->span_ns += window_ns;
	j->dropped |= s->nr_listen_drops > 0;
	if (j->nr >= QOS_FRESH_COUNT || j->span_ns >= MERGE_MAX_NS)
		judge_close_window(j, percentile_permille);
}
