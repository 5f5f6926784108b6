/* SPDX-License-Identifier: GPL-2.0 */
/*
 * observed.h - one observed server and what is said of its latencies.  How it is observed is its test's.
 */
#ifndef TESTS_OBSERVED_H
#define TESTS_OBSERVED_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>

#include "bpf/handle.h"
#include "bpf/server.h"

struct observed {
	unsigned int service;
	int listener;
	uint16_t port;
	pid_t pid;
	struct ebee_window *window;
	struct ebee_window_info info;
};

static unsigned int next_service;

static inline uint64_t percentile_us(const struct observed *o, enum ebee_latency which, unsigned int permille)
{
	uint64_t ns;

	assert_int_equal(ebee_window_percentile(o->window, which, permille, &ns), 0);
	return ns / 1000;
}

/*
 * A server's sleep is never short, and late by the scheduler's whim; its client sees all of that and more.  So the
 * truth lies between what was asked of the server and what the client saw, on the noisiest machine.
 */
static inline void assert_between_us(uint64_t got, uint64_t asked, uint64_t client)
{
	if (got * 1000 < asked * 992 || got * 1000 > client * 1016)
		fail_msg("%llu us, asked for %llu us, the client saw %llu us", (unsigned long long)got,
			 (unsigned long long)asked, (unsigned long long)client);
}

#endif
