// SPDX-License-Identifier: GPL-2.0
/*
 * test_trace_lifecycles.c - the per-request interface for requests that are calls, streams, or pairs of calls on a
 * descriptor: each is there once, or counted as dropped.  Skips without the rights.
 * waits: yes
 */
#include <sched.h>

#include "bpf/grpc_server.h"
#include "bpf/frames.h"

enum { RATE_MS = 5000, NR_REQUESTS = 200, NR_BURST = 1000, PAGE = 4096 };

static int listener;
static uint16_t port;
static pid_t pid;

/* Each test has a handle of its own: the lifecycle is one of a handle that traces. */
static void start(enum ebee_lifecycle lifecycle, unsigned int ring_size, serve_fn *serve)
{
	const struct ebee_opts opts = {
		.sz = sizeof(opts),
		.nr_services = 2,
		.ring_size = ring_size,
		.rate_span_ns = RATE_MS * 1000000ULL,
		.trace_lifecycle = lifecycle,
	};
	int err;

	open_handle_with(&opts);
	NEEDS_BPF();
	nr_seen = 0;
	listener = listen_any(&port);
	pid = server_start(listener, serve);
	err = ebee_start_tracing(ebee, pid);
	if (err == -ENOTSUP && lifecycle == EBEE_HTTP2) {
		print_message("# %s\n", ebee_error(ebee));
		server_stop(pid);
		close(listener);
		skip();
	}
	if (err)
		fail_msg("%s", ebee_error(ebee));
}

static void stop(void)
{
	assert_int_equal(ebee_stop_tracing(ebee, pid), 0);
	server_stop(pid);
	close(listener);
}

static int close_own(void **state)
{
	close_handle(state);
	ebee = NULL;
	return 0;
}

static unsigned int nr_traced(void)
{
	double rps;

	assert_int_equal(ebee_get_rps(ebee, pid, &rps), 0);
	return (unsigned int)(rps * RATE_MS / 1000 + 0.5);
}

static uint64_t nr_dropped(void)
{
	uint64_t nr;

	assert_int_equal(ebee_get_dropped(ebee, pid, &nr), 0);
	return nr;
}

static void assert_median_us(uint64_t asked)
{
	uint64_t ns;

	assert_int_equal(ebee_get_latency_percentile(ebee, pid, 50, &ns), 0);
	assert_between_us(ns / 1000, asked, client_us(500));
}

static void calls_of_a_library_are_traced_one_by_one(void **state)
{
	int fd;

	(void)state;
	start(EBEE_GRPC, EBEE_RING_SIZE, serve_2ms);
	fd = connect_to(port);
	for (int i = 0; i < NR_REQUESTS; i++)
		assert_true(exchange_once(fd));
	sleep_us(20000);
	assert_int_equal(nr_traced(), NR_REQUESTS);
	assert_int_equal(nr_dropped(), 0);
	assert_median_us(2000);
	close(fd);
	stop();
}

static void serve_plain_2ms(int fd)
{
	char buf[MESSAGE];

	while (read_all(fd, buf, MESSAGE)) {
		sleep_us(2000);
		write_all(fd, buf, MESSAGE);
	}
}

static void pairs_of_calls_are_traced_one_by_one(void **state)
{
	int fd;

	(void)state;
	start(EBEE_READ_SEND, EBEE_RING_SIZE, serve_plain_2ms);
	fd = connect_to(port);
	for (int i = 0; i < NR_REQUESTS; i++)
		assert_true(exchange_once(fd));
	sleep_us(20000);
	assert_int_equal(nr_traced(), NR_REQUESTS);
	assert_int_equal(nr_dropped(), 0);
	assert_median_us(2000);
	close(fd);
	stop();
}

static void serve_streams_2ms(int fd)
{
	uint32_t stream;

	h2_welcome(fd);
	while ((stream = h2_read_end(fd))) {
		sleep_us(2000);
		h2_send_answer(fd, stream);
	}
}

static void streams_are_traced_one_by_one(void **state)
{
	uint8_t buf[64];
	int fd;

	(void)state;
	start(EBEE_HTTP2, EBEE_RING_SIZE, serve_streams_2ms);
	fd = h2_connect(port);
	for (uint32_t i = 0; i < NR_REQUESTS; i++) {
		uint64_t begun = clock_us();

		assert_true(h2_send(fd, buf, h2_put_request(buf, 2 * i + 1, false)));
		assert_int_equal(h2_read_end(fd), 2 * i + 1);
		seen_us[nr_seen++] = clock_us() - begun;
	}
	sleep_us(20000);
	assert_int_equal(nr_traced(), NR_REQUESTS);
	assert_int_equal(nr_dropped(), 0);
	assert_median_us(2000);
	close(fd);
	stop();
}

static void ask_streams(uint32_t nr)
{
	int fd = h2_connect(port);
	uint8_t buf[64];

	for (uint32_t i = 0; i < nr; i++) {
		assert_true(h2_send(fd, buf, h2_put_request(buf, 2 * i + 1, false)));
		assert_int_equal(h2_read_end(fd), 2 * i + 1);
	}
	close(fd);
}

static void what_auto_chooses_is_traced_from_then_on(void **state)
{
	unsigned int before;

	(void)state;
	start(EBEE_HTTP2, EBEE_RING_SIZE, serve_streams_2ms); /* or this kernel cannot */
	stop();
	close_own(state);
	start(EBEE_AUTO, EBEE_RING_SIZE, serve_streams_2ms);
	for (int i = 0; i < 30 && ebee_lifecycle_in_use(ebee, 0) != EBEE_HTTP2; i++) {
		ask_streams(1);
		sleep_us(100000);
	}
	assert_int_equal(ebee_lifecycle_in_use(ebee, 0), EBEE_HTTP2);
	sleep_us(300000); /* the thread that chose is done with it */
	before = nr_traced();
	ask_streams(100);
	sleep_us(20000);
	assert_int_equal(nr_traced() - before, 100);
	stop();
}

/* All answers in one send: nobody can empty the ring meanwhile. */
static void serve_burst(int fd)
{
	static uint8_t buf[NR_BURST * 64];
	uint8_t *at = buf;

	h2_welcome(fd);
	for (int i = 0; i < NR_BURST; i++)
		at = h2_put_answer(at, h2_read_end(fd));
	h2_send(fd, buf, at);
	pause();
}

/* All on one CPU: the ring's reader cannot run while the send that fills it is looked at. */
static void what_the_ring_has_no_room_for_is_counted(void **state)
{
	cpu_set_t before, one;
	uint8_t buf[64];
	unsigned int nr;
	int fd;

	(void)state;
	sched_getaffinity(0, sizeof(before), &before);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	start(EBEE_HTTP2, PAGE, serve_burst);
	fd = h2_connect(port);
	for (uint32_t i = 0; i < NR_BURST; i++)
		assert_true(h2_send(fd, buf, h2_put_request(buf, 2 * i + 1, false)));
	for (int i = 0; i < NR_BURST; i++)
		assert_true(h2_read_end(fd));
	nr = nr_traced();
	sched_setaffinity(0, sizeof(before), &before);
	assert_true(nr > 0 && nr < NR_BURST);
	assert_int_equal(nr + nr_dropped(), NR_BURST);
	close(fd);
	stop();
}

static void a_process_without_the_library_is_not_traced(void **state)
{
	(void)state;
	open_handle_with(&(struct ebee_opts){ .sz = sizeof(struct ebee_opts), .ring_size = EBEE_RING_SIZE,
					      .trace_lifecycle = EBEE_GRPC });
	NEEDS_BPF();
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/bin/sleep", "sleep", "10", NULL);
		_exit(1);
	}
	sleep_us(100000);
	assert_int_equal(ebee_start_tracing(ebee, pid), -ENOTSUP);
	assert_non_null(strstr(ebee_error(ebee), "no symbol of gRPC"));
	server_stop(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(calls_of_a_library_are_traced_one_by_one, close_own),
		cmocka_unit_test_teardown(pairs_of_calls_are_traced_one_by_one, close_own),
		cmocka_unit_test_teardown(streams_are_traced_one_by_one, close_own),
		cmocka_unit_test_teardown(what_auto_chooses_is_traced_from_then_on, close_own),
		cmocka_unit_test_teardown(what_the_ring_has_no_room_for_is_counted, close_own),
		cmocka_unit_test_teardown(a_process_without_the_library_is_not_traced, close_own),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
