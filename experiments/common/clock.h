/* SPDX-License-Identifier: GPL-2.0 */
/*
 * clock.h - the monotonic clock as nanoseconds, and sleeping until an instant of it.  Port.
 */
#ifndef PARTIES_CLOCK_H
#define PARTIES_CLOCK_H

#include <stdint.h>
#include <sys/prctl.h>
#include <time.h>

#define NS_PER_US  1000ULL
#define NS_PER_MS  1000000ULL
#define NS_PER_SEC 1000000000ULL

static inline uint64_t clock_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

static inline struct timespec clock_timespec(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / NS_PER_SEC), .tv_nsec = (long)(ns % NS_PER_SEC) };
}

/* Returns early when a signal arrives. */
static inline void clock_sleep_until(uint64_t ns)
{
	struct timespec ts = clock_timespec(ns);

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

/* By default the kernel may end the waits of a thread and of those it creates 50 us late. */
static inline void clock_wake_promptly(void)
{
	prctl(PR_SET_TIMERSLACK, 1);
}

#endif
