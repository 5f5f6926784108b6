/* SPDX-License-Identifier: GPL-2.0 */
/*
 * feedback.h - what the kernel saw of a window and what the clients report of it, as one sample.  Pure.
 *
 * Latencies, completions and late requests are the steering side's, and the other side's latencies stand beside them.
 * Arrivals, requests in flight, listen drops and CPU time are the kernel's wherever it looks.  When the side that does not
 * steer is lost, only its part is missing; when the side that steers is lost, so is the window.
 */
#ifndef PARTIES_FEEDBACK_H
#define PARTIES_FEEDBACK_H

#include "config.h"
#include "ports.h"

struct feedback {
	enum config_feedback kind;
	struct sensor kernel, client; /* those that the kind asks for */
	bool kernel_failed;           /* its next window is longer than it should be */
	struct sample reported[POLICY_MAX_SERVICES];
};

static inline bool feedback_has_kernel(enum config_feedback kind)
{
	return kind != CONFIG_FEEDBACK_CLIENT;
}

static inline bool feedback_has_client(enum config_feedback kind)
{
	return kind != CONFIG_FEEDBACK_BPF;
}

/* Both, one of them beside the other. */
static inline bool feedback_has_other(enum config_feedback kind)
{
	return kind == CONFIG_FEEDBACK_BOTH || kind == CONFIG_FEEDBACK_CLIENT_FIRST;
}

/* The sensor of *f, which lives as long as it is used. */
struct sensor feedback_port(struct feedback *f);

#endif
