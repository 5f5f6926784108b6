// SPDX-License-Identifier: GPL-2.0
/*
 * loop.c - port: timerfd and signalfd in one epoll.  It knows nothing of what a tick does.
 */
#include "loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

uint64_t loop_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int watch(int epoll_fd, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static void close_fds(struct loop *loop)
{
	if (loop->timer_fd >= 0)
		close(loop->timer_fd);
	if (loop->signal_fd >= 0)
		close(loop->signal_fd);
	if (loop->epoll_fd >= 0)
		close(loop->epoll_fd);
}

int loop_open(struct loop *ret, uint64_t interval_ns)
{
	struct loop loop = { .interval_ns = interval_ns, .served_fd = -1 };
	sigset_t mask;
	int err;

	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	sigaddset(&mask, SIGCHLD);
	loop.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	loop.timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	loop.signal_fd = signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC);
	err = watch(loop.epoll_fd, loop.timer_fd);
	if (!err)
		err = watch(loop.epoll_fd, loop.signal_fd);
	if (!err && sigprocmask(SIG_BLOCK, &mask, &loop.old_mask) < 0)
		err = -errno;
	if (err) {
		close_fds(&loop);
		return err;
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	*ret = loop;
	return 0;
}

int loop_watch(struct loop *loop, int fd, void (*serve)(void *ctx), void *ctx)
{
	int err = watch(loop->epoll_fd, fd);

	if (!err) {
		loop->served_fd = fd;
		loop->serve = serve;
		loop->serve_ctx = ctx;
	}
	return err;
}

/* The number of a signal that ends the run, or 0. */
static int take_signals(int fd)
{
	struct signalfd_siginfo info;
	int end = 0;

	while (read(fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGCHLD)
			end = (int)info.ssi_signo;
		else
			while (waitpid(-1, NULL, WNOHANG) > 0)
				;
	}
	return end;
}

static int start_timer(struct loop *loop, uint64_t start_ns)
{
	uint64_t first_ns = start_ns + loop->interval_ns;
	struct itimerspec when = {
		.it_value = { (time_t)(first_ns / 1000000000), (long)(first_ns % 1000000000) },
		.it_interval = { (time_t)(loop->interval_ns / 1000000000), (long)(loop->interval_ns % 1000000000) },
	};

	return timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &when, NULL) < 0 ? -errno : 0;
}

int loop_run(struct loop *loop, uint64_t for_ns, int (*tick)(void *ctx, uint64_t now_ns), void *ctx)
{
	uint64_t start_ns = loop_now_ns(), now_ns = start_ns, nr_expired;
	int err = start_timer(loop, start_ns);

	while (!err && (for_ns == 0 || now_ns - start_ns + loop->interval_ns / 2 < for_ns)) {
		struct epoll_event event;
		int nr = epoll_wait(loop->epoll_fd, &event, 1, -1), signo;

		if (nr < 0 && errno != EINTR)
			return -errno;
		if (nr <= 0)
			continue;
		if (event.data.fd == loop->signal_fd) {
			signo = take_signals(loop->signal_fd);
			if (signo)
				return signo;
		} else if (event.data.fd == loop->served_fd) {
			loop->serve(loop->serve_ctx);
		} else if (read(loop->timer_fd, &nr_expired, sizeof(nr_expired)) == sizeof(nr_expired)) {
			loop->nr_missed += nr_expired - 1;
			now_ns = loop_now_ns();
			err = tick(ctx, now_ns);
		}
	}
	return err;
}

void loop_close(struct loop *loop)
{
	sigset_t pending;
	struct timespec now = { 0, 0 };

	/* A second Ctrl-C during the clean-up must not end the process the moment the mask goes. */
	sigemptyset(&pending);
	sigaddset(&pending, SIGINT);
	sigaddset(&pending, SIGTERM);
	sigaddset(&pending, SIGHUP);
	while (sigtimedwait(&pending, NULL, &now) > 0)
		;
	close_fds(loop);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	sigprocmask(SIG_SETMASK, &loop->old_mask, NULL);
}
