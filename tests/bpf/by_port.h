/* SPDX-License-Identifier: GPL-2.0 */
/*
 * by_port.h - servers observed by their port, request by request.
 */
#ifndef TESTS_BY_PORT_H
#define TESTS_BY_PORT_H

#include "bpf/observed.h"

static inline void observe_start(struct observed *o, serve_fn *serve)
{
	nr_seen = 0;
	o->listener = listen_any(&o->port);
	o->pid = server_start(o->listener, serve);
	o->service = next_service++;
	assert_true(o->service < EBEE_MAX_SERVICES);
	assert_int_equal(ebee_add_port(ebee, o->service, o->port), 0);
	assert_int_equal(ebee_seed(ebee), 0);
	assert_int_equal(ebee_window_open(&o->window, ebee, o->service), 0);
}

/* Ends what is answered and reads the window.  The client has its answer before the server's send returns. */
static inline void observe_read(struct observed *o)
{
	sleep_us(20000);
	ebee_set_settle(ebee, 0);
	assert_int_equal(ebee_sweep(ebee), 0);
	ebee_set_settle(ebee, 500000000);
	assert_int_equal(ebee_window_advance(o->window, &o->info), 0);
}

static inline void observe_stop(struct observed *o)
{
	server_stop(o->pid);
	close(o->listener);
	ebee_window_close(o->window);
}

static inline void serve_2ms(int fd)
{
	char buf[MESSAGE];

	while (read_all(fd, buf, MESSAGE)) {
		sleep_us(2000);
		write_all(fd, buf, MESSAGE);
	}
}

static inline int open_handle(void **state)
{
	(void)state;
	return open_handle_with(NULL);
}

#endif
