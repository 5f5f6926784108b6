// SPDX-License-Identifier: GPL-2.0
/*
 * test_lifecycle.c - lifecycles that are changed while a service runs, by its caller or by what is seen of it.  All
 * servers here have functions named as gRPC's, for they are this program.  Skips without the rights.
 * waits: yes
 */
#include "bpf/grpc_server.h"

#include <dirent.h>

enum { NR_SWEEPS = 12 };

/* Programs are descriptors of this process, and so is what attaches them. */
static unsigned int nr_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int nr = 0;

	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

static struct observed o;

static void start(enum ebee_lifecycle lifecycle, serve_fn *serve)
{
	NEEDS_BPF();
	nr_seen = 0;
	o.service = next_service++;
	o.listener = listen_any(&o.port);
	o.pid = server_start(o.listener, serve);
	if (ebee_set_lifecycle(ebee, o.service, lifecycle))
		fail_msg("%s", ebee_error(ebee));
	assert_int_equal(ebee_add_pid(ebee, o.service, o.pid), 0);
	assert_int_equal(ebee_seed(ebee), 0);
	assert_int_equal(ebee_window_open(&o.window, ebee, o.service), 0);
}

static enum ebee_lifecycle in_use(void)
{
	return ebee_lifecycle_in_use(ebee, o.service);
}

static void assert_reason(const char *part)
{
	if (!strstr(ebee_lifecycle_reason(ebee, o.service), part))
		fail_msg("the reason is \"%s\"", ebee_lifecycle_reason(ebee, o.service));
}

/* Some requests before each of some sweeps, on one connection or each on its own. */
static void load(unsigned int nr_sweeps, int fd)
{
	for (unsigned int i = 0; i < nr_sweeps * 5; i++) {
		int own = fd < 0 ? connect_to(o.port) : fd;

		assert_true(exchange_once(own));
		if (fd < 0)
			close(own);
		if (i % 5 == 4)
			observe_read(&o);
	}
}

static void serve_echo(int fd)
{
	char buf[MESSAGE];

	while (read_all(fd, buf, MESSAGE))
		write_all(fd, buf, MESSAGE);
}

static void serve_one(int fd)
{
	char buf[MESSAGE];

	if (read_all(fd, buf, MESSAGE))
		write_all(fd, buf, MESSAGE);
}

/* ---- by the caller ----------------------------------------------------------------------------------------------- */

static void a_lifecycle_may_change_while_requests_go_on(void **state)
{
	const enum ebee_lifecycle turns[] = { EBEE_EXCHANGE, EBEE_GRPC, EBEE_READ_SEND, EBEE_EXCHANGE, EBEE_GRPC };
	int fd;

	(void)state;
	start(EBEE_EXCHANGE, serve_2ms);
	fd = connect_to(o.port);
	for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
		assert_int_equal(ebee_set_lifecycle(ebee, o.service, turns[i]), 0);
		assert_int_equal(in_use(), turns[i]);
		observe_read(&o);
		load(1, fd);
		/* By exchange the last one is over with the next request, or the service's next lifecycle. */
		assert_int_equal(o.info.nr_arrived, 5);
		assert_int_equal(o.info.nr_completed, turns[i] == EBEE_EXCHANGE ? 4 : 5);
		assert_int_equal(o.info.coverage.nr_no_arrival, 0);
	}
	close(fd);
	observe_stop(&o);
}

static void programs_that_no_service_needs_are_gone(void **state)
{
	const enum ebee_lifecycle all[] = { EBEE_GRPC, EBEE_READ_SEND, EBEE_STUDY, EBEE_AUTO };
	unsigned int before;

	(void)state;
	NEEDS_BPF();
	before = nr_descriptors();
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		assert_int_equal(ebee_set_lifecycle(ebee, next_service, all[i]), 0);
		assert_true(nr_descriptors() > before);
		assert_int_equal(ebee_set_lifecycle(ebee, next_service, EBEE_EXCHANGE), 0);
		assert_int_equal(nr_descriptors(), before);
	}
	assert_int_equal(ebee_set_lifecycle(ebee, next_service, EBEE_AUTO), 0);
	assert_int_equal(ebee_remove(ebee, next_service), 0);
	assert_int_equal(nr_descriptors(), before);
}

static void names_and_lifecycles_go_together(void **state)
{
	(void)state;
	for (int i = 0; i < EBEE_NR_LIFECYCLES; i++)
		assert_true(strlen(ebee_lifecycle_name((enum ebee_lifecycle)i)) > 0);
	assert_null(ebee_lifecycle_name(EBEE_NR_LIFECYCLES));
	if (ebee) {
		assert_int_equal(ebee_set_lifecycle(ebee, 0, EBEE_LIBRARY), -EINVAL);
		assert_int_equal(ebee_set_lifecycle(ebee, EBEE_MAX_SERVICES, EBEE_AUTO), -EINVAL);
	}
}

/* ---- as the study chooses ---------------------------------------------------------------------------------------- */

static void the_study_takes_a_library_that_is_hit(void **state)
{
	int fd;

	(void)state;
	start(EBEE_STUDY, serve_2ms);
	assert_int_equal(in_use(), EBEE_CONNECTION);
	fd = connect_to(o.port);
	load(NR_SWEEPS, fd);
	assert_int_equal(in_use(), EBEE_GRPC);
	assert_reason("gRPC's functions are there");
	assert_int_equal(o.info.nr_completed, 5);
	close(fd);
	observe_stop(&o);
}

static void the_study_pairs_reads_and_sends_where_connections_live_on(void **state)
{
	int fds[4];

	(void)state;
	start(EBEE_STUDY, serve_echo);
	for (int i = 0; i < 4; i++)
		fds[i] = connect_to(o.port);
	/* The library is given up first: it is there and never called. */
	for (int i = 0; i < NR_SWEEPS && in_use() != EBEE_READ_SEND; i++) {
		for (int k = 0; k < 4; k++)
			load(1, fds[k]);
		sleep_us(60000);
		observe_read(&o);
	}
	assert_int_equal(in_use(), EBEE_READ_SEND);
	assert_reason("live on after their answers");
	load(1, fds[0]);
	assert_int_equal(o.info.nr_completed, 5);
	for (int i = 0; i < 4; i++)
		close(fds[i]);
	observe_stop(&o);
}

static void the_study_stays_with_connections_that_close_at_once(void **state)
{
	(void)state;
	start(EBEE_STUDY, serve_one);
	load(2 * NR_SWEEPS, -1);
	assert_int_equal(in_use(), EBEE_CONNECTION);
	assert_reason("gRPC's functions are there, and its requests do not come by them");
	assert_int_equal(o.info.nr_completed, 5);
	observe_stop(&o);
}

static void what_needs_processes_is_not_chosen_for_a_port(void **state)
{
	int fd;

	(void)state;
	NEEDS_BPF();
	nr_seen = 0;
	o.service = next_service++;
	o.listener = listen_any(&o.port);
	o.pid = server_start(o.listener, serve_2ms);
	assert_int_equal(ebee_set_lifecycle(ebee, o.service, EBEE_STUDY), 0);
	assert_int_equal(ebee_add_port(ebee, o.service, o.port), 0);
	assert_int_equal(ebee_seed(ebee), 0);
	assert_int_equal(ebee_window_open(&o.window, ebee, o.service), 0);
	fd = connect_to(o.port);
	load(NR_SWEEPS, fd);
	assert_int_equal(in_use(), EBEE_CONNECTION);
	assert_reason("known by its port alone");
	close(fd);
	observe_stop(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lifecycle_may_change_while_requests_go_on),
		cmocka_unit_test(programs_that_no_service_needs_are_gone),
		cmocka_unit_test(names_and_lifecycles_go_together),
		cmocka_unit_test(the_study_takes_a_library_that_is_hit),
		cmocka_unit_test(the_study_pairs_reads_and_sends_where_connections_live_on),
		cmocka_unit_test(the_study_stays_with_connections_that_close_at_once),
		cmocka_unit_test(what_needs_processes_is_not_chosen_for_a_port),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, open_library, close_handle);
}
