// SPDX-License-Identifier: GPL-2.0
/*
 * test_auto.c - the lifecycle that is chosen by what connections carry, against a server of several protocols in the
 * running kernel.  The choice itself is test_choose.c's.  Skips without the rights.
 * waits: yes
 */
#include "bpf/grpc_server.h"
#include "bpf/frames.h"

enum { MAX_SWEEPS = 20, PER_SWEEP = 5 };

static struct observed o;

/* HTTP/2, HTTP/1, or else calls of a library in what looks like TLS. */
static void serve_any(int fd)
{
	char buf[64] = "";
	uint32_t stream;
	ssize_t n;

	if (recv(fd, buf, 3, MSG_PEEK | MSG_WAITALL) != 3)
		return;
	if (!memcmp(buf, "PRI", 3)) {
		h2_welcome(fd);
		while ((stream = h2_read_end(fd)))
			h2_send_answer(fd, stream);
	} else if (!memcmp(buf, "GET", 3)) {
		while (read(fd, buf, sizeof(buf)) > 0)
			write_all(fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 38);
	} else {
		while ((n = read(fd, buf, sizeof(buf))) > 0) {
			begin(streams);
			write_all(fd, buf, (size_t)n);
			end(streams, &status_ok);
		}
	}
}

static void start(void)
{
	NEEDS_BPF();
	o.service = next_service++;
	o.listener = listen_any(&o.port);
	o.pid = server_start(o.listener, serve_any);
	assert_int_equal(ebee_set_lifecycle(ebee, o.service, EBEE_AUTO), 0);
	assert_int_equal(ebee_add_pid(ebee, o.service, o.pid), 0);
	assert_int_equal(ebee_seed(ebee), 0);
	assert_int_equal(ebee_window_open(&o.window, ebee, o.service), 0);
}

/* One connection with some requests. */
typedef void client_fn(void);

static void http1(void)
{
	int fd = connect_to(o.port);
	char answer[38];

	for (int i = 0; i < PER_SWEEP; i++)
		assert_true(write_all(fd, "GET / HTTP/1.1\r\n\r\n", 18) && read_all(fd, answer, sizeof(answer)));
	close(fd);
}

static void http2(void)
{
	int fd = h2_connect(o.port);
	uint8_t buf[64];

	for (uint32_t i = 0; i < PER_SWEEP; i++) {
		assert_true(h2_send(fd, buf, h2_put_request(buf, 2 * i + 1, false)));
		assert_int_equal(h2_read_end(fd), 2 * i + 1);
	}
	close(fd);
}

static void tls(void)
{
	static const uint8_t hello[] = { 0x16, 0x03, 0x01, 0x00, 0x06, 0x01, 0x00, 0x00, 0x02, 0x03, 0x03 };
	static const uint8_t data[] = { 0x17, 0x03, 0x03, 0x00, 0x04, 'd', 'a', 't', 'a' };
	int fd = connect_to(o.port);
	char answer[sizeof(hello)];

	assert_true(write_all(fd, hello, sizeof(hello)) && read_all(fd, answer, sizeof(hello)));
	for (int i = 1; i < PER_SWEEP; i++)
		assert_true(write_all(fd, data, sizeof(data)) && read_all(fd, answer, sizeof(data)));
	close(fd);
}

/* Such clients come until it is chosen. */
static void until(enum ebee_lifecycle wanted, client_fn *client)
{
	for (int i = 0; i < MAX_SWEEPS && ebee_lifecycle_in_use(ebee, o.service) != wanted; i++) {
		client();
		observe_read(&o);
	}
	if (ebee_lifecycle_in_use(ebee, o.service) != wanted)
		fail_msg("%s is in use: %s", ebee_lifecycle_name(ebee_lifecycle_in_use(ebee, o.service)),
			 ebee_lifecycle_reason(ebee, o.service));
	client();
	sleep_us(100000);
	observe_read(&o);
	assert_int_equal(o.info.nr_completed, PER_SWEEP);
}

static void skip_without_streams(void)
{
	NEEDS_BPF();
	if (ebee_set_lifecycle(ebee, next_service, EBEE_HTTP2) == -ENOTSUP) {
		print_message("# %s\n", ebee_error(ebee));
		skip();
	}
	assert_int_equal(ebee_remove(ebee, next_service), 0);
}

static void http1_is_by_exchange_all_the_time(void **state)
{
	(void)state;
	start();
	for (int i = 0; i < MAX_SWEEPS; i++) {
		http1();
		observe_read(&o);
	}
	until(EBEE_EXCHANGE, http1);
	assert_non_null(strstr(ebee_lifecycle_reason(ebee, o.service), "nothing was seen"));
	observe_stop(&o);
}

static void http2_is_by_stream_and_http1_by_exchange_again(void **state)
{
	(void)state;
	skip_without_streams();
	start();
	until(EBEE_HTTP2, http2);
	assert_non_null(strstr(ebee_lifecycle_reason(ebee, o.service), "its connections are HTTP/2"));
	until(EBEE_EXCHANGE, http1);
	assert_non_null(strstr(ebee_lifecycle_reason(ebee, o.service), "HTTP/2 no more"));
	observe_stop(&o);
}

static void what_tls_hides_is_by_the_library_that_serves_it(void **state)
{
	(void)state;
	start();
	until(EBEE_GRPC, tls);
	assert_non_null(strstr(ebee_lifecycle_reason(ebee, o.service), "gRPC's calls"));
	until(EBEE_EXCHANGE, http1);
	assert_non_null(strstr(ebee_lifecycle_reason(ebee, o.service), "do not come by them"));
	observe_stop(&o);
}

static int open_auto(void **state)
{
	const struct ebee_opts opts = { .sz = sizeof(opts), .nr_services = 8, .settle_ns = 50000000 };

	(void)state;
	return open_handle_with(&opts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(http1_is_by_exchange_all_the_time),
		cmocka_unit_test(http2_is_by_stream_and_http1_by_exchange_again),
		cmocka_unit_test(what_tls_hides_is_by_the_library_that_serves_it),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, open_auto, close_handle);
}
