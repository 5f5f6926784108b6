// SPDX-License-Identifier: GPL-2.0
/*
 * test_library.c - libraries of one's own, as rows of the table: two of them, beside gRPC's row, in one program.
 * waits: yes
 */
#include "bpf/grpc_server.h"

/* ---- two more libraries ------------------------------------------------------------------------------------------ */

void toy_begin(int kind, void *request, long wanted);
void toy_end(void *request);
void other_begin(void *request);
void other_end(void *unused, void *request, int *status);

__attribute__((noinline)) void toy_begin(int kind, void *request, long wanted)
{
	__asm__ volatile("" : : "r"(kind), "r"(request), "r"(wanted) : "memory");
}

__attribute__((noinline)) void toy_end(void *request)
{
	__asm__ volatile("" : : "r"(request) : "memory");
}

__attribute__((noinline)) void other_begin(void *request)
{
	__asm__ volatile("" : : "r"(request) : "memory");
}

__attribute__((noinline)) void other_end(void *unused, void *request, int *status)
{
	__asm__ volatile("" : : "r"(unused), "r"(request), "r"(status) : "memory");
}

static void (*volatile toy_begin_fn)(int, void *, long) = toy_begin;
static void (*volatile toy_end_fn)(void *) = toy_end;
static void (*volatile other_begin_fn)(void *) = other_begin;
static void (*volatile other_end_fn)(void *, void *, int *) = other_end;

static const struct ebee_library toy = {
	.sz = sizeof(toy),
	.name = "a toy",
	.begin = { .symbol = "name_of_old_toys", .otherwise = "toy_begi", .id = 2, .only_if = 3 },
	.end = { .symbol = "toy_end", .id = 1 },
};

static const struct ebee_library other = {
	.sz = sizeof(other),
	.name = "another",
	.begin = { .symbol = "other_begin", .id = 1 },
	.end = { .symbol = "other_end", .id = 2, .status = 3 },
};

static void serve_toy(int fd)
{
	char buf[MESSAGE];

	while (read_all(fd, buf, MESSAGE)) {
		toy_begin_fn(1, &streams[0], 1);
		toy_begin_fn(1, &streams[1], 0); /* not wanted */
		sleep_us(2000);
		toy_end_fn(&streams[1]);
		toy_end_fn(&streams[0]);
		write_all(fd, buf, MESSAGE);
	}
}

/* Every other one fails. */
static void serve_other(int fd)
{
	static uint64_t status[2] = { 0, 7 };
	char buf[MESSAGE];

	for (int i = 0; read_all(fd, buf, MESSAGE); i++) {
		other_begin_fn(streams);
		write_all(fd, buf, MESSAGE);
		other_end_fn(NULL, streams, (int *)&status[i & 1]);
	}
}

/* ---- measured ---------------------------------------------------------------------------------------------------- */

static void observe_library(struct observed *o, const struct ebee_library *row, serve_fn *serve)
{
	o->service = next_service++;
	o->listener = listen_any(&o->port);
	o->pid = server_start(o->listener, serve);
	if (ebee_set_library(ebee, o->service, row))
		fail_msg("%s", ebee_error(ebee));
	assert_int_equal(ebee_lifecycle_in_use(ebee, o->service), EBEE_LIBRARY);
	assert_int_equal(ebee_add_pid(ebee, o->service, o->pid), 0);
	if (ebee_seed(ebee))
		fail_msg("%s", ebee_error(ebee));
	assert_int_equal(ebee_window_open(&o->window, ebee, o->service), 0);
}

static void ask(const struct observed *o, int nr)
{
	int fd = connect_to(o->port);

	nr_seen = 0;
	for (int i = 0; i < nr; i++)
		assert_true(exchange_once(fd));
	close(fd);
}

static void libraries_are_measured_side_by_side_each_by_its_row(void **state)
{
	struct observed a, b, c;

	(void)state;
	NEEDS_BPF();
	observe_library(&a, &toy, serve_toy);
	observe_library(&b, &other, serve_other);
	observe_start(&c, serve_2ms);
	ask(&b, 30);
	ask(&c, 20);
	ask(&a, 10);
	observe_read(&a);
	assert_int_equal(a.info.nr_arrived, 10);
	assert_int_equal(a.info.nr_completed, 10);
	assert_int_equal(a.info.coverage.nr_unprobed, 0);
	assert_between_us(percentile_us(&a, EBEE_OWED, 500), 2000, client_us(500));
	observe_read(&b);
	assert_int_equal(b.info.nr_arrived, 30);
	assert_int_equal(b.info.nr_completed, 15);
	assert_int_equal(b.info.coverage.nr_aborted, 15);
	observe_read(&c);
	assert_int_equal(c.info.nr_completed, 20);
	observe_stop(&a);
	observe_stop(&b);
	observe_stop(&c);
}

static void what_is_no_row_is_refused(void **state)
{
	struct ebee_library bad[] = { toy, toy, toy, toy, toy };

	(void)state;
	NEEDS_BPF();
	bad[0].sz--;
	bad[1].begin.symbol = NULL;
	bad[2].end.id = 0;
	bad[3].end.id = 7;
	bad[4].name = NULL;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(ebee_set_library(ebee, next_service, &bad[i]), -EINVAL);
		assert_non_null(strstr(ebee_error(ebee), "a library is a name and two events"));
		assert_int_equal(ebee_lifecycle_in_use(ebee, next_service), EBEE_EXCHANGE);
	}
	assert_int_equal(ebee_set_library(ebee, next_service, NULL), -EINVAL);
}

static void eight_libraries_at_once_are_all(void **state)
{
	struct ebee_library rows[9] = { toy, toy, toy, toy, toy, toy, toy, toy, toy };
	unsigned int first = next_service;

	(void)state;
	NEEDS_BPF();
	for (unsigned int i = 0; i < 8; i++)
		assert_int_equal(ebee_set_library(ebee, first + i, &rows[i]), 0);
	assert_int_equal(ebee_set_library(ebee, first + 8, &rows[8]), -ENOSPC);
	assert_int_equal(ebee_set_library(ebee, first + 8, &rows[0]), 0); /* two services may share one */
	assert_int_equal(ebee_remove(ebee, first + 1), 0);
	assert_int_equal(ebee_set_library(ebee, first + 1, &rows[8]), 0);
	for (unsigned int i = 0; i < 9; i++)
		assert_int_equal(ebee_remove(ebee, first + i), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(libraries_are_measured_side_by_side_each_by_its_row),
		cmocka_unit_test(what_is_no_row_is_refused),
		cmocka_unit_test(eight_libraries_at_once_are_all),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, open_library, close_handle);
}
