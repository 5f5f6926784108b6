// SPDX-License-Identifier: GPL-2.0
/*
 * run.c - plays one schedule: sends what is due, waits, ends intervals, and at the end waits for the last answers.
 * Glue: owns the clock; engines own the sockets.
 */
#include "run.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "report.h"
#include "schedule.h"
#include "experiments/common/clock.h"

/* Sends of one turn: a client that is behind must read answers in between. */
enum { BURST = 32 };

/* How long the last answers may take. */
static const uint64_t drain_ns = 10 * NS_PER_SEC;

static volatile sig_atomic_t stopped;

static void on_signal(int signal_number)
{
	(void)signal_number;
	stopped = 1;
}

void run_catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

bool run_stopped(void)
{
	return stopped;
}

struct player {
	const struct options *o;
	const struct run_limits *limits;
	struct schedule schedule;
	struct engine engine;
	struct meter *meter;
	struct report report;
	bool more;         /* due_ns is the instant of the next request */
	uint64_t due_ns;
	uint64_t end_ns;   /* when waiting for the last answers ends; 0 while sending */
};

static void next(struct player *p)
{
	uint64_t offset_ns;

	p->more = schedule_next(&p->schedule, &offset_ns);
	if (p->more)
		p->due_ns = p->meter->start_ns + offset_ns;
}

static int send_due(struct player *p)
{
	int i, err = 0;

	for (i = 0; i < BURST && p->more && !err; i++) {
		uint64_t now_ns = clock_now_ns();

		if (p->due_ns > now_ns)
			break;
		meter_sent(p->meter, p->due_ns, now_ns);
		err = p->engine.send(p->engine.ctx, p->due_ns);
		next(p);
	}
	return err;
}

static void stop_sending(struct player *p)
{
	p->more = false;
	p->meter->nr_outstanding -= p->engine.forget_unsent(p->engine.ctx);
}

static void end_interval(struct player *p, uint64_t now_ns, bool quiet)
{
	double asked_rps = p->more ? schedule_rate(&p->schedule, now_ns - p->meter->start_ns) : 0;

	meter_end_interval(p->meter, now_ns, asked_rps, quiet);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int play(struct player *p)
{
	struct meter *m = p->meter;
	uint64_t now_ns, wake_ns;
	int err = 0;

	while (!stopped && !err && (p->more || m->nr_outstanding)) {
		err = send_due(p);
		now_ns = clock_now_ns();
		if (m->interval.nr_late + m->total.nr_late > p->limits->nr_late_allowed)
			stop_sending(p);
		if (!p->more && !p->end_ns)
			p->end_ns = now_ns + drain_ns;
		if (p->end_ns && now_ns >= p->end_ns)
			break;
		wake_ns = m->interval_start_ns + p->o->interval_ns;
		if (now_ns >= wake_ns) {
			end_interval(p, now_ns, p->limits->quiet);
			continue;
		}
		if (now_ns >= p->report.due_ns)
			report_write(&p->report, m, p->engine.oldest(p->engine.ctx), now_ns);
		wake_ns = earlier(wake_ns, p->report.due_ns);
		p->engine.wait(p->engine.ctx, earlier(wake_ns, p->more ? p->due_ns : p->end_ns));
	}
	return err;
}

int run_play(const struct options *o, const struct run_limits *limits, struct meter *ret)
{
	struct player p = { .o = o, .limits = limits, .meter = ret };
	int err;

	memset(ret, 0, sizeof(*ret));
	ret->target_ns = o->target_ns;
	p.schedule = (struct schedule){
		.profile = o->has_profile ? &o->profile : NULL, .max_rps = limits->rps, .poisson = o->poisson,
		.duration_ns = limits->duration_ns, .nr_left = o->nr_requests,
		.rng = { 0x330e, (unsigned short)o->seed, (unsigned short)(o->seed >> 16) },
	};
	err = report_open(&p.report, o->report_path, clock_now_ns());
	if (err) {
		fprintf(stderr, "parties-load: --report: %s\n", o->report_path);
		return err;
	}
	err = o->protocol == LOAD_GRPC ? rpc_open(&p.engine, o, ret) : tcp_open(&p.engine, o, ret);
	if (err) {
		report_close(&p.report);
		return err;
	}
	ret->start_ns = ret->interval_start_ns = clock_now_ns();
	next(&p);
	err = play(&p);
	if (stopped)
		stop_sending(&p);
	while (!stopped && ret->nr_outstanding)
		meter_failed(ret, "no answer in time");
	/* The rest of an interval is too short for a line of its own when its rates would mean nothing. */
	end_interval(&p, clock_now_ns(), limits->quiet ||
		     clock_now_ns() - ret->interval_start_ns < o->interval_ns / 10);
	report_write(&p.report, ret, p.engine.oldest(p.engine.ctx), clock_now_ns());
	report_close(&p.report);
	p.engine.close(p.engine.ctx);
	return err;
}
