// SPDX-License-Identifier: GPL-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "loop.h"

#define MS 1000000ull

struct ticks {
	int nr, raise_at, fail_at;
	int signo;
	uint64_t sleep_ns, last_ns;
};

static int on_tick(void *ctx, uint64_t now_ns)
{
	struct ticks *t = ctx;
	struct timespec nap = { 0, (long)t->sleep_ns };

	assert_true(now_ns > t->last_ns);
	t->last_ns = now_ns;
	t->nr++;
	if (t->nr == t->raise_at)
		kill(getpid(), t->signo);
	if (t->nr == 1)
		nanosleep(&nap, NULL);
	return t->nr == t->fail_at ? -EIO : 0;
}

static void it_ends_when_the_time_is_up(void **state)
{
	struct ticks t = { 0 };
	struct loop loop;

	(void)state;
	assert_int_equal(loop_open(&loop, 10 * MS), 0);
	assert_int_equal(loop_run(&loop, 100 * MS, on_tick, &t), 0);
	loop_close(&loop);
	assert_in_range(t.nr + loop.nr_missed, 9, 12);
}

static void the_signals_that_end_a_run_are_returned(void **state)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	(void)state;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct ticks t = { .raise_at = 2, .signo = signals[i] };
		struct loop loop;

		assert_int_equal(loop_open(&loop, 5 * MS), 0);
		assert_int_equal(loop_run(&loop, 0, on_tick, &t), signals[i]);
		loop_close(&loop);
	}
}

static void a_signal_before_the_loop_waits_for_it(void **state)
{
	struct ticks t = { 0 };
	struct loop loop;

	(void)state;
	assert_int_equal(loop_open(&loop, 1000 * MS), 0);
	kill(getpid(), SIGTERM);
	assert_int_equal(loop_run(&loop, 0, on_tick, &t), SIGTERM);
	assert_int_equal(t.nr, 0);
	loop_close(&loop);
}

static void a_second_interrupt_during_the_clean_up_ends_nothing(void **state)
{
	struct loop loop;

	(void)state;
	assert_int_equal(loop_open(&loop, 1000 * MS), 0);
	kill(getpid(), SIGINT);
	loop_close(&loop);
}

static void a_broken_pipe_ends_nothing(void **state)
{
	struct loop loop;
	int ends[2];

	(void)state;
	assert_int_equal(loop_open(&loop, 1000 * MS), 0);
	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	assert_int_equal(write(ends[1], "x", 1), -1);
	assert_int_equal(errno, EPIPE);
	close(ends[1]);
	loop_close(&loop);
}

static void an_error_of_a_tick_ends_it(void **state)
{
	struct ticks t = { .fail_at = 3 };
	struct loop loop;

	(void)state;
	assert_int_equal(loop_open(&loop, 5 * MS), 0);
	assert_int_equal(loop_run(&loop, 0, on_tick, &t), -EIO);
	assert_int_equal(t.nr, 3);
	loop_close(&loop);
}

static void periods_that_pass_during_a_tick_are_counted_not_made_up_for(void **state)
{
	struct ticks t = { .sleep_ns = 55 * MS, .fail_at = 3 };
	struct loop loop;

	(void)state;
	assert_int_equal(loop_open(&loop, 10 * MS), 0);
	loop_run(&loop, 0, on_tick, &t);
	loop_close(&loop);
	assert_true(loop.nr_missed >= 4);
}

static void children_are_reaped_while_it_runs(void **state)
{
	struct ticks t = { 0 };
	struct loop loop;
	pid_t pid;

	(void)state;
	assert_int_equal(loop_open(&loop, 10 * MS), 0);
	pid = fork();
	if (pid == 0)
		_exit(0);
	assert_int_equal(loop_run(&loop, 200 * MS, on_tick, &t), 0);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	loop_close(&loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_ends_when_the_time_is_up),
		cmocka_unit_test(the_signals_that_end_a_run_are_returned),
		cmocka_unit_test(a_signal_before_the_loop_waits_for_it),
		cmocka_unit_test(a_second_interrupt_during_the_clean_up_ends_nothing),
		cmocka_unit_test(a_broken_pipe_ends_nothing),
		cmocka_unit_test(an_error_of_a_tick_ends_it),
		cmocka_unit_test(periods_that_pass_during_a_tick_are_counted_not_made_up_for),
		cmocka_unit_test(children_are_reaped_while_it_runs),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
