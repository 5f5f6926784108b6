// SPDX-License-Identifier: GPL-2.0
/*
 * qos.c - pure: sample -> signal state, steering latency, slack.  It does not merge windows and decides nothing.
 */
#include "qos.h"

/* A dropped SYN is sent again after TCP's first retransmission timeout (RFC 6298), so its owner waits at least this. */
static const uint64_t SYN_RETRY_NS = 1000000000;

bool qos_window_is_near(uint64_t window_ns, uint64_t interval_ns)
{
	return window_ns >= interval_ns / 2 && window_ns <= interval_ns * 2;
}

/*
 * In flight and none completing is a stall only once something is overdue: a service with a target of seconds completes
 * nothing in most windows of half a second.  An age of 0 means that the sensor cannot tell.
 */
static bool is_stalled(const struct sample *s, uint64_t target_ns)
{
	return s->nr_completed == 0 && s->nr_in_flight > 0 &&
	       (s->nr_over_target > 0 || s->oldest_ns > target_ns || s->oldest_ns == 0);
}

static enum policy_signal signal_of(const struct sample *s, uint64_t target_ns)
{
	if (is_stalled(s, target_ns))
		return POLICY_STALLED;
	if (s->nr_listen_drops > 0 && s->nr_completed == 0)
		return POLICY_STALLED;
	if (s->nr_arrived == 0 && s->nr_completed == 0 && s->nr_in_flight == 0)
		return POLICY_IDLE;
	return s->nr_completed < QOS_FRESH_COUNT ? POLICY_THIN : POLICY_FRESH;
}

void qos_judge_window(const struct sample *s, uint64_t target_ns, bool lost, struct policy_service *ret)
{
	const struct sample nothing = { 0 };

	lost = lost || s->signal == POLICY_LOST;
	if (lost)
		s = &nothing;
	ret->target_ns = target_ns;
	ret->latency_ns = s->steer_ns;
	ret->nr_arrived = s->nr_arrived;
	ret->nr_completed = s->nr_completed;
	ret->nr_late = s->nr_late;
	ret->nr_in_flight = s->nr_in_flight;
	ret->nr_over_target = s->nr_over_target;
	ret->oldest_ns = s->oldest_ns;
	ret->cpu_ns = s->cpu_ns;
	ret->nr_listen_drops = s->nr_listen_drops;
	ret->signal = lost ? POLICY_LOST : signal_of(s, target_ns);
	if (s->nr_listen_drops > 0 && ret->latency_ns < target_ns + SYN_RETRY_NS)
		ret->latency_ns = target_ns + SYN_RETRY_NS;
}

bool qos_has_slack(const struct policy_service *service)
{
	return service->nr_completed > 0 || service->signal == POLICY_STALLED || service->signal == POLICY_IDLE;
}

int32_t qos_slack_permille(const struct policy_service *service)
{
	uint64_t latency_ns = service->latency_ns;

	if (!qos_has_slack(service))
		return 0;
	if (service->signal == POLICY_STALLED) {
		if (latency_ns < service->oldest_ns)
			latency_ns = service->oldest_ns;
		if (latency_ns <= service->target_ns)
			latency_ns = 2 * service->target_ns; /* age unknown: violated, by how much is not */
	}
	return policy_slack_permille(service->target_ns, latency_ns);
}

void qos_net_delay(struct sample *s, uint64_t *carried_ns)
{
	*carried_ns += s->throttled_ns;
	s->net_delay_ns = 0;
	if (!s->has_run_delay)
		return;
	if (s->run_delay_ns > *carried_ns)
		s->net_delay_ns = s->run_delay_ns - *carried_ns;
	*carried_ns = 0;
}

bool qos_look(struct qos_look *look, const struct policy_view *view)
{
	int32_t least = INT32_MAX;

	for (uint32_t i = 0; i < view->nr_services; i++)
		if (qos_has_slack(&view->services[i]) && qos_slack_permille(&view->services[i]) < least)
			least = qos_slack_permille(&view->services[i]);
	look->nr_calm = least < 2 * QOS_SMALL_SLACK ? 0 : look->nr_calm + 1;
	if (least < QOS_SMALL_SLACK)
		look->on = true;
	else if (look->nr_calm >= QOS_CALM_WINDOWS)
		look->on = false;
	return look->on;
}
