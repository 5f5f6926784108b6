// SPDX-License-Identifier: GPL-2.0
/*
 * Who belongs to a service, with scripted searches.
 * wrap: match_resolve machine_adopt sensor_ebee_adopt sensor_ebee_error
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "roster.h"

#define SECOND 1000000000ull

static struct config config;
static struct roster roster;
static pid_t found[2]; /* what a search finds for the service and the batch; 0: nothing, negative: an error */
static int nr_searches, nr_machine, nr_sensor, adopt_error;
static uint32_t machine_nr, sensor_nr; /* processes in the last hand-over */

int __wrap_match_resolve(const char *root, const struct match *match, struct match_pids *ret);
int __wrap_machine_adopt(struct machine *m, bool is_batch, uint32_t index, const struct match_pids *pids);
int __wrap_sensor_ebee_adopt(struct sensor_ebee *s, uint32_t service, const struct match_pids *pids);
const char *__wrap_sensor_ebee_error(const struct sensor_ebee *s);

int __wrap_match_resolve(const char *root, const struct match *match, struct match_pids *ret)
{
	pid_t pid = found[match == &config.batches[0].match];

	(void)root;
	nr_searches++;
	if (pid <= 0)
		return pid ? pid : -ENOENT;
	ret->nr = 1;
	ret->pids[0] = pid;
	return 0;
}

int __wrap_machine_adopt(struct machine *m, bool is_batch, uint32_t index, const struct match_pids *pids)
{
	(void)m;
	(void)is_batch;
	assert_int_equal(index, 0);
	nr_machine++;
	machine_nr = pids->nr;
	return adopt_error;
}

int __wrap_sensor_ebee_adopt(struct sensor_ebee *s, uint32_t service, const struct match_pids *pids)
{
	(void)s;
	assert_int_equal(service, 0);
	nr_sensor++;
	sensor_nr = pids->nr;
	return 0;
}

const char *__wrap_sensor_ebee_error(const struct sensor_ebee *s)
{
	(void)s;
	return "";
}

static pid_t child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Log lines are not this test's business. */
static void refresh(uint64_t now_ns)
{
	int err = dup(2), null = open("/dev/null", O_WRONLY);

	dup2(null, 2);
	roster_refresh(&roster, now_ns, SECOND);
	dup2(err, 2);
	close(err);
	close(null);
}

static int set_up(void **state)
{
	(void)state;
	config = (struct config){ .nr_services = 1, .nr_batches = 1 };
	memset(&roster, 0, sizeof(roster));
	roster.config = &config;
	roster.machine = (struct machine *)&config; /* only compared with NULL */
	roster.sensor = (struct sensor_ebee *)&config; /* likewise */
	found[0] = child();
	found[1] = child();
	roster_resolve(&roster, SECOND);
	nr_searches = nr_machine = nr_sensor = adopt_error = 0;
	return roster_hand_over(&roster);
}

static int tear_down(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++)
		if (found[i] > 0)
			end(found[i]);
	return 0;
}

static void every_group_is_handed_over_at_the_start(void **state)
{
	(void)state;
	assert_int_equal(nr_machine, 2);
	assert_int_equal(nr_sensor, 1);
}

static void without_feedback_from_the_kernel_only_the_machine_is_told(void **state)
{
	(void)state;
	roster.sensor = NULL;
	nr_machine = nr_sensor = 0;
	assert_int_equal(roster_hand_over(&roster), 0);
	assert_int_equal(nr_machine, 2);
	assert_int_equal(nr_sensor, 0);
	assert_string_equal(roster_explain(&roster, -ENOENT), strerror(ENOENT));
}

static void nothing_is_searched_while_everybody_lives(void **state)
{
	(void)state;
	for (uint64_t t = 2; t < 6; t++)
		refresh(t * SECOND);
	assert_int_equal(nr_searches, 0);
	refresh(6 * SECOND);
	assert_int_equal(nr_searches, 2);
	assert_int_equal(nr_machine, 2);
}

static void a_service_that_restarts_is_taken_up_within_a_second(void **state)
{
	(void)state;
	end(found[0]);
	found[0] = child();
	refresh(2 * SECOND);
	assert_int_equal(nr_searches, 1);
	assert_int_equal(nr_sensor, 2);
	assert_int_equal(roster.pids[0].pids[0], found[0]);
}

static void a_service_that_is_gone_is_looked_for_every_second(void **state)
{
	(void)state;
	end(found[0]);
	found[0] = 0;
	refresh(2 * SECOND);
	assert_int_equal(sensor_nr, 0);
	refresh(3 * SECOND);
	refresh(4 * SECOND);
	assert_int_equal(nr_searches, 3);
	assert_int_equal(nr_sensor, 2);
	found[0] = child();
	refresh(5 * SECOND);
	assert_int_equal(sensor_nr, 1);
}

static void a_search_that_fails_changes_nothing(void **state)
{
	pid_t pid = found[0];

	(void)state;
	found[0] = -EMFILE;
	refresh(6 * SECOND);
	assert_int_equal(roster.pids[0].nr, 1);
	assert_int_equal(nr_sensor, 1);
	found[0] = pid;
}

static void a_refused_hand_over_is_tried_again(void **state)
{
	(void)state;
	end(found[0]);
	found[0] = child();
	adopt_error = -EBUSY;
	refresh(2 * SECOND);
	adopt_error = 0;
	refresh(3 * SECOND);
	assert_int_equal(roster.pids[0].nr, 1);
	assert_int_equal(machine_nr, 1);
	assert_int_equal(nr_machine, 4);
}

static void cpu_time_is_that_of_the_processes_of_the_service(void **state)
{
	pid_t pid = found[0];

	(void)state;
	assert_true(roster_cpu_ns(&roster, 0) < SECOND);
	roster.pids[0].pids[0] = getpid();
	while (clock() < CLOCKS_PER_SEC / 50)
		;
	assert_true(roster_cpu_ns(&roster, 0) >= SECOND / 50);
	end(pid);
	roster.pids[0].pids[0] = pid;
	assert_int_equal(roster_cpu_ns(&roster, 0), 0);
	found[0] = 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_group_is_handed_over_at_the_start),
		TEST(without_feedback_from_the_kernel_only_the_machine_is_told),
		TEST(nothing_is_searched_while_everybody_lives),
		TEST(a_service_that_restarts_is_taken_up_within_a_second),
		TEST(a_service_that_is_gone_is_looked_for_every_second),
		TEST(a_search_that_fails_changes_nothing),
		TEST(a_refused_hand_over_is_tried_again),
		TEST(cpu_time_is_that_of_the_processes_of_the_service),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
