/* SPDX-License-Identifier: GPL-2.0 */
/*
 * http2_server.h - one server of HTTP/2 and how it is measured by stream; frames.h has the frames.  Skips without the
 * rights, and on kernels without the hooks after checking that they are named.
 */
#ifndef TESTS_HTTP2_SERVER_H
#define TESTS_HTTP2_SERVER_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>

#include "bpf/frames.h"
#include "bpf/handle.h"

enum { LONG_MS = 400, SERVE_US = 5000 };

static struct ebee_window *window;
static struct ebee_window_info info;

/* The one server of a test. */
static int listener;
static uint16_t port;
static pid_t pid;

/* Skips on kernels without the hooks, once the reason names one. */
#define NEEDS_STREAMS()                                                                                                \
	do {                                                                                                           \
		NEEDS_BPF();                                                                                           \
		if (ebee_set_lifecycle(ebee, 0, EBEE_HTTP2) == -ENOTSUP) {                                             \
			assert_non_null(strstr(ebee_error(ebee), "this kernel has no"));                               \
			print_message("# %s\n", ebee_error(ebee));                                                     \
			skip();                                                                                        \
		}                                                                                                      \
		if (ebee_error(ebee)[0])                                                                               \
			fail_msg("%s", ebee_error(ebee));                                                              \
	} while (0)

static inline void start(serve_fn *serve)
{
	NEEDS_STREAMS();
	nr_seen = 0;
	listener = listen_any(&port);
	pid = server_start(listener, serve);
	assert_int_equal(ebee_add_port(ebee, 0, port), 0);
	assert_int_equal(ebee_seed(ebee), 0);
	assert_int_equal(ebee_window_open(&window, ebee, 0), 0);
}

static inline void look(void)
{
	sleep_us(20000);
	assert_int_equal(ebee_sweep(ebee), 0);
	assert_int_equal(ebee_window_advance(window, &info), 0);
}

static inline void end(void)
{
	server_stop(pid);
	close(listener);
	ebee_window_close(window);
	assert_int_equal(ebee_remove(ebee, 0), 0);
}

static inline uint64_t percentile_us(enum ebee_latency which, unsigned int permille)
{
	uint64_t ns;

	assert_int_equal(ebee_window_percentile(window, which, permille, &ns), 0);
	return ns / 1000;
}

/* Between what the server was asked to take and what the client saw, give or take half a bucket. */
static inline void assert_between_us(uint64_t got, uint64_t asked, uint64_t client)
{
	if (got * 1000 < asked * 992 || got * 1000 > client * 1016)
		fail_msg("%llu us, asked for %llu us, the client saw %llu us", (unsigned long long)got,
			 (unsigned long long)asked, (unsigned long long)client);
}

static inline void assert_nothing_lost(void)
{
	assert_int_equal(info.nr_in_flight, 0);
	assert_int_equal(info.coverage.nr_aborted, 0);
	assert_int_equal(info.coverage.nr_opaque, 0);
	assert_int_equal(info.coverage.nr_multiplexed, 0);
	assert_int_equal(info.coverage.nr_lost, 0);
	assert_int_equal(info.coverage.nr_no_arrival, 0);
	assert_int_equal(info.coverage.nr_unmatched, 0);
}

/* `nr` requests in one write, the first stream being `from`; answers are awaited and their times taken down. */
static inline void ask_together(int fd, unsigned int nr, uint32_t from)
{
	uint8_t *buf = malloc(nr * 64), *at = buf;
	uint64_t begun;

	for (unsigned int i = 0; i < nr; i++)
		at = h2_put_request(at, from + 2 * i, false);
	begun = clock_us();
	assert_true(h2_send(fd, buf, at));
	free(buf);
	for (unsigned int i = 0; i < nr; i++) {
		assert_true(h2_read_end(fd));
		seen_us[nr_seen++ % MAX_SEEN] = clock_us() - begun;
	}
}

static inline void serve_one_by_one(int fd)
{
	uint32_t stream;

	h2_welcome(fd);
	while ((stream = h2_read_end(fd))) {
		sleep_us(SERVE_US);
		h2_send_answer(fd, stream);
	}
}

static inline int open_handle(void **state)
{
	const struct ebee_opts opts = { .sz = sizeof(opts), .nr_services = 1, .long_ns = LONG_MS * 1000000ULL };

	(void)state;
	return open_handle_with(&opts);
}

#endif
