// SPDX-License-Identifier: GPL-2.0
/*
 * grpc.c - hard cases of gRPC with its own library at both ends, observed by probes in that library: calls that share a
 * connection, calls of many messages.  Each call has a thread and a completion queue of its own.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <grpc/byte_buffer.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include "common/net.h"
#include "common/rig.h"

enum { MESSAGES = 20, MAX_OPS = 6 };

static const char unary_method[] = "/case/unary", stream_method[] = "/case/stream";

/* Runs a batch to its end; false when it failed. */
static bool run_batch(grpc_call *call, grpc_completion_queue *queue, const grpc_op *ops, size_t nr)
{
	if (grpc_call_start_batch(call, ops, nr, NULL, NULL) != GRPC_CALL_OK)
		return false;
	return grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL).success;
}

static grpc_byte_buffer *message_new(void)
{
	grpc_slice slice = grpc_slice_from_static_string("message");

	return grpc_raw_byte_buffer_create(&slice, 1);
}

static grpc_op send_message(grpc_byte_buffer *message)
{
	return (grpc_op){ .op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = message };
}

static grpc_op receive_message(grpc_byte_buffer **ret)
{
	return (grpc_op){ .op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = ret };
}

/* ---- server ------------------------------------------------------------------------------------------------------ */

struct call {
	grpc_call *call;
	grpc_call_details details;
	grpc_metadata_array metadata;
	grpc_completion_queue *queue;
};

/* The next message; false when there is none to come. */
static bool take_message(struct call *c)
{
	grpc_byte_buffer *message = NULL;
	grpc_op op = receive_message(&message);
	bool there = run_batch(c->call, c->queue, &op, 1) && message;

	grpc_byte_buffer_destroy(message);
	return there;
}

static void finish(struct call *c, grpc_byte_buffer *last)
{
	grpc_slice text = grpc_slice_from_static_string("");
	int cancelled;
	grpc_op ops[] = {
		{ .op = GRPC_OP_SEND_STATUS_FROM_SERVER, .data.send_status_from_server = { .status_details = &text } },
		{ .op = GRPC_OP_RECV_CLOSE_ON_SERVER, .data.recv_close_on_server.cancelled = &cancelled },
		{ .op = GRPC_OP_SEND_INITIAL_METADATA },
		send_message(last),
	};

	run_batch(c->call, c->queue, ops, last ? 4 : 2);
	grpc_byte_buffer_destroy(last);
}

static void *serve_call(void *arg)
{
	grpc_op head = { .op = GRPC_OP_SEND_INITIAL_METADATA };
	struct call *c = arg;

	if (!grpc_slice_str_cmp(c->details.method, unary_method)) {
		take_message(c);
		rig_sleep_us(20000);
		finish(c, message_new());
	} else {
		run_batch(c->call, c->queue, &head, 1);
		while (take_message(c)) {
			grpc_byte_buffer *answer = message_new();
			grpc_op op = send_message(answer);

			rig_sleep_us(50000);
			run_batch(c->call, c->queue, &op, 1);
			grpc_byte_buffer_destroy(answer);
		}
		finish(c, NULL);
	}
	grpc_call_unref(c->call);
	grpc_completion_queue_shutdown(c->queue);
	return NULL;
}

/* gRPC listens by itself: the listener it gets only kept the port free. */
static void server(int listener)
{
	grpc_completion_queue *arrivals;
	grpc_server_credentials *credentials;
	grpc_server *grpc;
	char address[64];

	close(listener);
	grpc_init();
	arrivals = grpc_completion_queue_create_for_next(NULL);
	credentials = grpc_insecure_server_credentials_create();
	grpc = grpc_server_create(NULL, NULL);
	grpc_server_register_completion_queue(grpc, arrivals, NULL);
	snprintf(address, sizeof(address), "127.0.0.1:%u", net_port());
	if (!grpc_server_add_http2_port(grpc, address, credentials))
		_exit(1);
	grpc_server_start(grpc);
	for (;;) {
		struct call *c = calloc(1, sizeof(*c));
		pthread_t thread;

		c->queue = grpc_completion_queue_create_for_next(NULL);
		grpc_call_details_init(&c->details);
		grpc_metadata_array_init(&c->metadata);
		if (grpc_server_request_call(grpc, &c->call, &c->details, &c->metadata, c->queue, arrivals, c) ||
		    !grpc_completion_queue_next(arrivals, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL).success ||
		    pthread_create(&thread, NULL, serve_call, c))
			_exit(1);
		pthread_detach(thread);
	}
}

/* ---- client ------------------------------------------------------------------------------------------------------ */

static grpc_channel *channel;

static grpc_call *call_new(const char *method, grpc_completion_queue *queue)
{
	return grpc_channel_create_call(channel, NULL, GRPC_PROPAGATE_DEFAULTS, queue,
					grpc_slice_from_static_string(method), NULL, gpr_inf_future(GPR_CLOCK_REALTIME),
					NULL);
}

/* What the end of a call leaves behind. */
struct ending {
	grpc_metadata_array head, tail;
	grpc_status_code status;
	grpc_slice details;
};

static grpc_op receive_status(struct ending *e)
{
	return (grpc_op){ .op = GRPC_OP_RECV_STATUS_ON_CLIENT,
			  .data.recv_status_on_client = { .trailing_metadata = &e->tail, .status = &e->status,
							  .status_details = &e->details } };
}

static grpc_op receive_head(struct ending *e)
{
	return (grpc_op){ .op = GRPC_OP_RECV_INITIAL_METADATA,
			  .data.recv_initial_metadata.recv_initial_metadata = &e->head };
}

static void ask(void)
{
	grpc_completion_queue *queue = grpc_completion_queue_create_for_next(NULL);
	grpc_call *call = call_new(unary_method, queue);
	grpc_byte_buffer *answer = NULL, *message = message_new();
	struct ending ending = { 0 };
	const grpc_op ops[MAX_OPS] = {
		{ .op = GRPC_OP_SEND_INITIAL_METADATA },
		send_message(message),
		{ .op = GRPC_OP_SEND_CLOSE_FROM_CLIENT },
		receive_head(&ending),
		receive_message(&answer),
		receive_status(&ending),
	};
	uint64_t start = rig_clock_us();

	if (!run_batch(call, queue, ops, MAX_OPS) || ending.status != GRPC_STATUS_OK)
		rig_broken("the call failed");
	rig_saw(RIG_SEEN, rig_clock_us() - start);
	grpc_call_unref(call);
}

static void ask_ten(void)
{
	for (int i = 0; i < 10; i++)
		ask();
}

/* A message, its answer, the next; all of it is one call. */
static void stream(void)
{
	grpc_completion_queue *queue = grpc_completion_queue_create_for_next(NULL);
	grpc_call *call = call_new(stream_method, queue);
	struct ending ending = { 0 };
	const grpc_op head[] = { { .op = GRPC_OP_SEND_INITIAL_METADATA }, receive_head(&ending) };
	const grpc_op tail[] = { { .op = GRPC_OP_SEND_CLOSE_FROM_CLIENT }, receive_status(&ending) };

	if (!run_batch(call, queue, head, 2))
		rig_broken("the stream did not start");
	for (int i = 0; i < MESSAGES; i++) {
		grpc_byte_buffer *answer = NULL;
		const grpc_op ops[] = { send_message(message_new()), receive_message(&answer) };

		if (!run_batch(call, queue, ops, 2) || !answer)
			rig_broken("the stream ended early");
	}
	if (!run_batch(call, queue, tail, 2))
		rig_broken("the stream did not end");
	grpc_call_unref(call);
}

static void connect_channel(void)
{
	grpc_channel_credentials *credentials = grpc_insecure_credentials_create();
	char target[64];

	grpc_init();
	snprintf(target, sizeof(target), "127.0.0.1:%u", net_port());
	channel = grpc_channel_create(target, credentials, NULL);
}

static void client_hundred(void)
{
	connect_channel();
	net_clients(100, ask);
}

static void client_in_turn(void)
{
	connect_channel();
	ask_ten();
}

static void client_stream(void)
{
	connect_channel();
	net_beside(stream, ask_ten);
}

/* The library opens its port itself and takes a moment. */
static void run(const struct rig_case *c)
{
	pid_t pid = rig_serve(net_listen(), c);

	if (!net_wait(pid))
		rig_broken("the server does not listen");
	rig_watch(pid, 0, 0);
	c->client();
	rig_stop();
	rig_judge(c);
}

#define PROBED .server = server, .run = run, .lifecycle = "grpc"

static const struct rig_case cases[] = {
	{ "25g", "gRPC's library, one unary call at a time", PROBED, .client = client_in_turn,
	  .expect = { .nr = 10, .us = 20000 } },
	{ "25h", "gRPC's library, 100 unary calls at once on a connection", PROBED, .client = client_hundred,
	  .expect = { .nr = 100, .us = 20000 } },
	{ "26b", "gRPC's library, a call of 20 messages beside unary calls", PROBED, .client = client_stream,
	  .expect = { .nr = 10, .us = 20000, .must_declare = "long_lived", .must_nr = 1 } },
	{ "25i", "gRPC's library, unary calls at once, not told so", .server = server, .run = run,
	  .client = client_hundred, .expect = { .nr = 100, .us = 20000, .may_declare = "multiplexed" } },
};

int main(int argc, char **argv)
{
	(void)argc;
	return rig_main(cases, sizeof(cases) / sizeof(cases[0]), argv);
}
