// SPDX-License-Identifier: GPL-2.0
/*
 * test_protocols.c - what the first bytes say, in the running kernel: requests that are told apart, and the counter that
 * declares each of those that are not.  Skips without the rights, and on kernels that do not show us the bytes.
 * waits: yes
 */
#include <fcntl.h>

#include "bpf/by_port.h"

/* A server that does one step after the other, from the first again when they are over. */
struct step {
	size_t take;        /* bytes to read */
	unsigned int pause_us;
	const char *answer; /* "": none */
};

static const struct step *script;
static size_t nr_steps;

static void serve_script(int fd)
{
	char buf[4096];

	for (size_t i = 0;; i = (i + 1) % nr_steps) {
		const struct step *step = &script[i];

		if (step->take && !read_all(fd, buf, step->take))
			return;
		sleep_us(step->pause_us);
		if (step->answer[0])
			write_all(fd, step->answer, strlen(step->answer));
	}
}

static struct observed o;
static int fd;

static void start(const struct step *steps, size_t nr)
{
	script = steps;
	nr_steps = nr;
	observe_start(&o, serve_script);
	fd = connect_to(o.port);
}
#define START(steps) start(steps, sizeof(steps) / sizeof((steps)[0]))

static void stop(void)
{
	close(fd);
	observe_stop(&o);
}

static void ask(const void *request, size_t size, size_t answer)
{
	char buf[4096];

	assert_true(write_all(fd, request, size));
	if (answer)
		assert_true(read_all(fd, buf, answer));
}

static bool shows_bytes(void)
{
	return strstr(ebee_features(ebee), "requests=");
}

#define NEEDS_BYTES() do { \
	NEEDS_BPF(); \
	if (!shows_bytes()) { \
		print_message("this kernel does not show what is read and sent; Linux 6.16 does\n"); \
		skip(); \
	} \
} while (0)

static const char get[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n", ok[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/* ---- told apart -------------------------------------------------------------------------------------------------- */

static void pipelined_requests_end_with_their_own_answers(void **state)
{
	const struct step steps[] = { { 2 * (sizeof(get) - 1), 20000, ok }, { 0, 40000, ok } };
	char both[2 * sizeof(get)];

	(void)state;
	NEEDS_BYTES();
	START(steps);
	snprintf(both, sizeof(both), "%s%s", get, get);
	for (int i = 0; i < 5; i++)
		ask(both, strlen(both), 2 * strlen(ok));
	observe_read(&o);
	assert_int_equal(o.info.nr_arrived, 10);
	assert_int_equal(o.info.nr_completed, 10);
	assert_in_range(percentile_us(&o, EBEE_OWED, 500), 19800, 59000);
	assert_in_range(percentile_us(&o, EBEE_OWED, 1000), 59500, 1000000);
	assert_int_equal(o.info.coverage.nr_lost + o.info.coverage.nr_opaque + o.info.coverage.nr_unmatched, 0);
	stop();
}

static void pipelined_requests_that_wait_are_in_flight(void **state)
{
	const struct step steps[] = { { 3 * (sizeof(get) - 1), 300000, ok }, { 0, 0, ok }, { 0, 0, ok } };
	char three[3 * sizeof(get)];

	(void)state;
	NEEDS_BYTES();
	START(steps);
	snprintf(three, sizeof(three), "%s%s%s", get, get, get);
	ask(three, strlen(three), 0);
	sleep_us(100000);
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 0);
	assert_int_equal(o.info.nr_in_flight, 3);
	assert_in_range(o.info.oldest_ns, 100000000, 2000000000);
	ask("", 0, 3 * strlen(ok));
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 3);
	assert_int_equal(o.info.nr_in_flight, 0);
	stop();
}

static void pipelined_requests_of_a_connection_that_goes_are_aborted(void **state)
{
	const struct step steps[] = { { 2 * (sizeof(get) - 1), 0, ok }, { 1, 0, "" } };
	char both[2 * sizeof(get)];

	(void)state;
	NEEDS_BYTES();
	START(steps);
	snprintf(both, sizeof(both), "%s%s", get, get);
	ask(both, strlen(both), strlen(ok));
	close(fd);
	sleep_us(50000);
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 1);
	assert_int_equal(o.info.coverage.nr_aborted, 1);
	observe_stop(&o);
}

static void a_body_behind_an_early_answer_is_no_request(void **state)
{
	static const char put[] = "PUT / HTTP/1.1\r\nContent-Length: 10\r\n\r\n";
	const struct step steps[] = { { sizeof(put) - 1, 5000, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n" },
				      { 10, 0, "" } };

	(void)state;
	NEEDS_BYTES();
	START(steps);
	for (int i = 0; i < 5; i++) {
		ask(put, strlen(put), strlen(steps[0].answer));
		sleep_us(30000);
		ask("0123456789", 10, 0);
	}
	observe_read(&o);
	assert_int_equal(o.info.nr_arrived, 5);
	assert_int_equal(o.info.nr_completed, 5);
	assert_in_range(percentile_us(&o, EBEE_OWED, 500), 4950, 29000);
	stop();
}

static void resp_is_told_apart(void **state)
{
	static const char command[] = "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*1\r\n$4\r\nPING\r\n";
	const struct step steps[] = { { sizeof(command) - 1, 2000, "$2\r\nok\r\n*1\r\n:1\r\n+PONG\r\n" } };

	(void)state;
	NEEDS_BYTES();
	START(steps);
	for (int i = 0; i < 20; i++)
		ask(command, strlen(command), strlen(steps[0].answer));
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 60);
	stop();
}

/* ---- declared ---------------------------------------------------------------------------------------------------- */

static void commands_without_answers_are_one_way(void **state)
{
	static const char set[] = "set k 0 0 2 noreply\r\nok\r\n", query[] = "get k\r\n", end[] = "END\r\n";
	const struct step steps[] = { { sizeof(set) - 1, 0, "" }, { sizeof(query) - 1, 2000, end } };

	(void)state;
	NEEDS_BYTES();
	START(steps);
	for (int i = 0; i < 10; i++) {
		ask(set, strlen(set), 0);
		sleep_us(10000);
		ask(query, strlen(query), strlen(end));
	}
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 10);
	assert_int_equal(o.info.coverage.nr_one_way, 10);
	assert_in_range(percentile_us(&o, EBEE_TOTAL, 500), 1980, 9900);
	stop();
}

static void unknown_bytes_are_opaque(void **state)
{
	const struct step steps[] = { { 4, 2000, "yes!" } };

	(void)state;
	NEEDS_BYTES();
	START(steps);
	for (int i = 0; i < 5; i++)
		ask("\x01?\x02?", 4, 4);
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 5);
	assert_int_equal(o.info.coverage.nr_opaque, 1);
	stop();
}

static void http2_is_multiplexed_and_not_measured(void **state)
{
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
	const struct step steps[] = { { sizeof(preface) - 1, 0, "settings" }, { 4, 2000, "reply" } };

	(void)state;
	NEEDS_BYTES();
	START(steps);
	ask(preface, strlen(preface), 8);
	ask("more", 4, 5);
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 0);
	assert_int_equal(o.info.nr_in_flight, 0);
	assert_int_equal(o.info.coverage.nr_multiplexed, 1);
	assert_int_equal(o.info.coverage.nr_unmeasured, 1);
	stop();
}

static void a_handshake_that_is_not_understood_is_tls_unsure(void **state)
{
	static const char hello[] = "\x16\x03\x01\x00\x04hell", data[] = "\x17\x03\x03\x00\x08" "data....";
	const struct step steps[] = { { 9, 0, "hello" }, { 13, 2000, "reply" }, { 13, 2000, "reply" }, { 13, 2000, "reply" },
				      { 13, 2000, "reply" } };

	(void)state;
	NEEDS_BYTES();
	START(steps);
	ask(hello, 9, 5);
	for (int i = 0; i < 4; i++)
		ask(data, 13, 5);
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 2);
	assert_int_equal(o.info.coverage.nr_tls_unsure, 1);
	assert_int_equal(o.info.coverage.nr_unmatched, 0);
	stop();
}

static void an_upgraded_connection_is_long_lived(void **state)
{
	static const char upgrade[] = "GET / HTTP/1.1\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
			  switched[] = "HTTP/1.1 101 Switching Protocols\r\n\r\n";
	const struct step steps[] = { { sizeof(upgrade) - 1, 2000, switched }, { 4, 2000, "pong" }, { 4, 2000, "pong" } };

	(void)state;
	NEEDS_BYTES();
	START(steps);
	ask(upgrade, strlen(upgrade), strlen(switched));
	ask("ping", 4, 4);
	ask("ping", 4, 4);
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 0);
	assert_int_equal(o.info.coverage.nr_long_lived, 1);
	stop();
}

static void answers_that_are_none_lose_what_is_open(void **state)
{
	const struct step steps[] = { { 2 * (sizeof(get) - 1), 2000, "this is no answer\r\n" }, { 1, 0, "" } };
	char both[2 * sizeof(get)];

	(void)state;
	NEEDS_BYTES();
	START(steps);
	snprintf(both, sizeof(both), "%s%s", get, get);
	ask(both, strlen(both), strlen(steps[0].answer));
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 0);
	assert_int_equal(o.info.coverage.nr_lost, 2);
	assert_int_equal(o.info.coverage.nr_opaque, 1);
	stop();
}

/* ---- whatever the bytes are -------------------------------------------------------------------------------------- */

static void an_answer_that_goes_on_after_it_had_settled_is_amended(void **state)
{
	const struct step steps[] = { { 4, 2000, "half" }, { 0, 200000, "half" } };
	struct ebee_window *interval;

	(void)state;
	NEEDS_BPF();
	START(steps);
	assert_int_equal(ebee_window_open(&interval, ebee, o.service), 0);
	ask("ask!", 4, 4);
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 1);
	ask("", 0, 4);
	/* Over both windows there is one request, with its last value. */
	ebee_window_close(o.window);
	o.window = interval;
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 1);
	assert_int_equal(o.info.coverage.nr_amended, 1);
	assert_in_range(percentile_us(&o, EBEE_OWED, 1000), 199000, 2000000);
	stop();
}

static void serve_all_at_once(int connection)
{
	static char answer[4 << 20];
	int size = sizeof(answer);
	char buf[4];

	if (setsockopt(connection, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)))
		_exit(1);
	while (read_all(connection, buf, sizeof(buf)))
		for (size_t done = 0; done < sizeof(answer);) {
			ssize_t n = send(connection, answer + done, sizeof(answer) - done, MSG_DONTWAIT);

			done += n > 0 ? (size_t)n : 0;
		}
}

static void megabytes_that_nobody_has_read_are_buffered(void **state)
{
	static char answer[4 << 20];

	(void)state;
	NEEDS_BPF();
	observe_start(&o, serve_all_at_once);
	fd = connect_to(o.port);
	assert_true(write_all(fd, "ask!", 4));
	sleep_us(300000);
	assert_true(read_all(fd, answer, sizeof(answer)));
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, 1);
	assert_int_equal(o.info.coverage.nr_buffered, 1);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pipelined_requests_end_with_their_own_answers),
		cmocka_unit_test(pipelined_requests_that_wait_are_in_flight),
		cmocka_unit_test(pipelined_requests_of_a_connection_that_goes_are_aborted),
		cmocka_unit_test(a_body_behind_an_early_answer_is_no_request),
		cmocka_unit_test(resp_is_told_apart),
		cmocka_unit_test(commands_without_answers_are_one_way),
		cmocka_unit_test(unknown_bytes_are_opaque),
		cmocka_unit_test(http2_is_multiplexed_and_not_measured),
		cmocka_unit_test(a_handshake_that_is_not_understood_is_tls_unsure),
		cmocka_unit_test(an_upgraded_connection_is_long_lived),
		cmocka_unit_test(answers_that_are_none_lose_what_is_open),
		cmocka_unit_test(an_answer_that_goes_on_after_it_had_settled_is_amended),
		cmocka_unit_test(megabytes_that_nobody_has_read_are_buffered),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, open_handle, close_handle);
}
