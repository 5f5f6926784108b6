/* SPDX-License-Identifier: GPL-2.0 */
/*
 * grpc_server.h - servers that call functions named as gRPC's at known times, and how they are observed.  A probe knows
 * no more of a library than names and arguments.
 */
#ifndef TESTS_GRPC_SERVER_H
#define TESTS_GRPC_SERVER_H

#include "bpf/observed.h"

/* ---- a library --------------------------------------------------------------------------------------------------- */

void make_stream(void *stream, void *transport, void *refcount, void *server_data)
	__asm__("_ZN18grpc_chttp2_streamC1EP21grpc_chttp2_transport_of_a_test");
void close_stream(void *a, void *b, void *c, uintptr_t d, uintptr_t e, void *f)
	__asm__("_Z30grpc_chttp2_mark_stream_closedP21grpc_chttp2_transport_of_a_test");
void write_stream(void *transport, void *stream)
	__asm__("_Z32grpc_chttp2_mark_stream_writableP21grpc_chttp2_transport_of_a_test");

__attribute__((noinline)) void make_stream(void *stream, void *transport, void *refcount, void *server_data)
{
	__asm__ volatile("" : : "r"(stream), "r"(transport), "r"(refcount), "r"(server_data) : "memory");
}

__attribute__((noinline)) void close_stream(void *a, void *b, void *c, uintptr_t d, uintptr_t e, void *f)
{
	__asm__ volatile("" : : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e), "r"(f) : "memory");
}

__attribute__((noinline)) void write_stream(void *transport, void *stream)
{
	__asm__ volatile("" : : "r"(transport), "r"(stream) : "memory");
}

/* Through pointers no compiler sees through, so that all arguments are passed. */
static void (*volatile make_fn)(void *, void *, void *, void *) = make_stream;
static void (*volatile close_fn)(void *, void *, void *, uintptr_t, uintptr_t, void *) = close_stream;
static void (*volatile write_fn)(void *, void *) = write_stream;

static uint64_t status_ok = 1;
static char transport, streams[16];

static inline void begin(void *stream)
{
	make_fn(stream, &transport, NULL, (void *)1);
}

static inline void half_close(void *stream)
{
	close_fn(&transport, stream, (void *)1, 0, (uintptr_t)&status_ok, NULL);
}

static inline void end(void *stream, uint64_t *status)
{
	close_fn(&transport, stream, (void *)1, 1, (uintptr_t)status, NULL);
}

/* ---- one observed server ----------------------------------------------------------------------------------------- */

static inline void observe_start(struct observed *o, serve_fn *serve)
{
	nr_seen = 0;
	o->service = next_service++;
	o->listener = listen_any(&o->port);
	o->pid = server_start(o->listener, serve);
	assert_int_equal(ebee_set_lifecycle(ebee, o->service, EBEE_GRPC), 0);
	assert_int_equal(ebee_set_target(ebee, o->service, 10000000), 0);
	assert_int_equal(ebee_add_pid(ebee, o->service, o->pid), 0);
	if (ebee_seed(ebee))
		fail_msg("%s", ebee_error(ebee));
	assert_int_equal(ebee_window_open(&o->window, ebee, o->service), 0);
}

static inline void observe_read(struct observed *o)
{
	sleep_us(20000);
	assert_int_equal(ebee_sweep(ebee), 0);
	assert_int_equal(ebee_window_advance(o->window, &o->info), 0);
}

static inline void observe_stop(struct observed *o)
{
	ebee_window_close(o->window);
	assert_int_equal(ebee_remove(ebee, o->service), 0);
	server_stop(o->pid);
	close(o->listener);
}

static inline void serve_2ms(int fd)
{
	char buf[MESSAGE];

	while (read_all(fd, buf, MESSAGE)) {
		begin(streams);
		half_close(streams);
		sleep_us(2000);
		write_all(fd, buf, MESSAGE);
		end(streams, &status_ok);
	}
}

static inline void serve_ten_at_once(int fd)
{
	char buf[MESSAGE];
	int i;

	while (read_all(fd, buf, MESSAGE)) {
		for (i = 0; i < 10; i++)
			begin(&streams[i]);
		sleep_us(2000);
		write_all(fd, buf, MESSAGE);
		for (i = 0; i < 10; i++)
			end(&streams[i], &status_ok);
	}
}

static inline int open_library(void **state)
{
	const struct ebee_opts opts = { .sz = sizeof(opts), .long_ns = 1000000000 };

	(void)state;
	return open_handle_with(&opts);
}

#endif
