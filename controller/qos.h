/* SPDX-License-Identifier: GPL-2.0 */
/*
 * qos.h - what one window says about one service: its signal state and its slack.  Pure.
 */
#ifndef PARTIES_QOS_H
#define PARTIES_QOS_H

#include "ports.h"

/* Below this count a p99 is little more than the maximum (METRICS: raw windows). */
enum { QOS_FRESH_COUNT = 200 };

/* A window far from its length (suspend, a stopped process) says nothing about the load: it is discarded. */
bool qos_window_is_near(uint64_t window_ns, uint64_t interval_ns);

/*
 * Fills the measured fields of *ret (target to signal) and leaves have, min and max alone.  `lost`: the window must not
 * be believed, every count becomes 0.  Listen drops make the window violated, whatever the requests that got in saw.
 */
void qos_judge_window(const struct sample *sample, uint64_t target_ns, bool lost, struct policy_service *ret);

/* The window shows a slack: something completed, or something is overdue, or nothing was asked. */
bool qos_has_slack(const struct policy_service *service);
/* That slack, or 0: an idle service has all of it, a stalled one the (negative) slack of its oldest request. */
int32_t qos_slack_permille(const struct policy_service *service);

/*
 * Sets s->net_delay_ns.  *carried_ns is the throttling seen since the last window that knew its run delay; 0 at first.  A
 * throttled CPU could have run one of the threads that wait for it; the others would have waited all the same.
 */
void qos_net_delay(struct sample *s, uint64_t *carried_ns);

/*
 * Whether to look who runs while services wait, which costs something on every switch and wake-up of the machine: from the
 * first window in which the slack of some service is below QOS_SMALL_SLACK until QOS_CALM_WINDOWS in a row in which none
 * is below twice that.
 */
enum { QOS_SMALL_SLACK = 50, QOS_CALM_WINDOWS = 20 };
struct qos_look {
	bool on;
	uint32_t nr_calm;
};
bool qos_look(struct qos_look *look, const struct policy_view *view);

#endif
