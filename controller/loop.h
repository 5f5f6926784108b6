/* SPDX-License-Identifier: GPL-2.0 */
/*
 * loop.h - one thread, one epoll: a periodic timer, the signals that end a run, and somebody who asks how it goes.  Port.
 */
#ifndef PARTIES_LOOP_H
#define PARTIES_LOOP_H

#include <signal.h>
#include <stdint.h>

struct loop {
	int epoll_fd, timer_fd, signal_fd;
	uint64_t interval_ns;
	uint64_t nr_missed; /* periods that passed while a tick still ran */
	sigset_t old_mask;
	int served_fd;      /* of loop_watch; -1: none */
	void (*serve)(void *ctx);
	void *serve_ctx;
};

uint64_t loop_now_ns(void);

/*
 * From here on SIGINT, SIGTERM, SIGHUP and SIGCHLD wait for the loop, so that nothing is cut off half-way; a vanished
 * reader of our output ends nothing (SIGPIPE and SIGXFSZ are ignored).  Negative errno; on failure nothing is changed.
 */
int loop_open(struct loop *ret, uint64_t interval_ns);
/*
 * Calls `tick` once per interval until a signal asks for the end, `for_ns` have passed (0: never) or tick returns a
 * negative errno, which is returned; otherwise the signal's number, or 0 when the time was up.  Reaps children.
 */
int loop_run(struct loop *loop, uint64_t for_ns, int (*tick)(void *ctx, uint64_t now_ns), void *ctx);
/*
 * Between ticks `serve` is called whenever `fd`, which stays the caller's, is readable.  One at most.  Negative errno.
 */
int loop_watch(struct loop *loop, int fd, void (*serve)(void *ctx), void *ctx);
/* Signals are as before. */
void loop_close(struct loop *loop);

#endif
