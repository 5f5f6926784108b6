// SPDX-License-Identifier: GPL-2.0
/*
 * server.c - receives calls, searches, answers.  Port: gRPC's C core.
 *
 * All threads wait on one completion queue, and the one that gets a message also computes its answer: while all of them
 * compute, new requests wait unread in their sockets, as in any server with a bounded pool.
 */
#include "server.h"

#include <errno.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CALLS_PER_THREAD = 4, STOP_SECONDS = 2 };

enum step { STEP_ARRIVAL, STEP_MESSAGE, STEP_ANSWER, STEP_STOPPED };

/* A completion's tag starts with its step. */
struct exchange {
	enum step step; /* what its next completion means */
	grpc_call *call;
	grpc_call_details details;
	grpc_metadata_array metadata;
	grpc_byte_buffer *message, *answer;
	int cancelled;
};

struct server {
	struct server_settings settings;
	grpc_server *grpc;
	grpc_completion_queue *queue;
	uint32_t nr_threads;
	pthread_t *threads;
	struct exchange stopped; /* tag of the shutdown */
};

static void free_exchange(struct exchange *x)
{
	if (x->call)
		grpc_call_unref(x->call);
	grpc_call_details_destroy(&x->details);
	grpc_metadata_array_destroy(&x->metadata);
	grpc_byte_buffer_destroy(x->message);
	grpc_byte_buffer_destroy(x->answer);
	free(x);
}

/* Asks for one more call.  Out of memory, the pool just has one less to offer. */
static void expect_call(struct server *s)
{
	struct exchange *x = calloc(1, sizeof(*x));

	if (!x)
		return;
	grpc_call_details_init(&x->details);
	grpc_metadata_array_init(&x->metadata);
	if (grpc_server_request_call(s->grpc, &x->call, &x->details, &x->metadata, s->queue, s->queue, x))
		free_exchange(x);
}

static void start_batch(struct exchange *x, enum step step, const grpc_op *ops, size_t nr_ops)
{
	x->step = step;
	if (grpc_call_start_batch(x->call, ops, nr_ops, x, NULL) != GRPC_CALL_OK)
		free_exchange(x);
}

static void finish(struct exchange *x, grpc_status_code status, const char *details)
{
	grpc_slice text = grpc_slice_from_static_string(details);
	grpc_op ops[] = {
		{ .op = GRPC_OP_SEND_INITIAL_METADATA },
		{ .op = GRPC_OP_RECV_CLOSE_ON_SERVER, .data.recv_close_on_server.cancelled = &x->cancelled },
		{ .op = GRPC_OP_SEND_STATUS_FROM_SERVER,
		  .data.send_status_from_server = { .status = status, .status_details = &text } },
		{ .op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = x->answer },
	};

	start_batch(x, STEP_ANSWER, ops, x->answer ? 4 : 3);
}

static void on_arrival(struct server *s, struct exchange *x)
{
	grpc_op op = { .op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &x->message };

	expect_call(s);
	if (grpc_slice_str_cmp(x->details.method, HOTEL_METHOD))
		finish(x, GRPC_STATUS_UNIMPLEMENTED, "the only method is " HOTEL_METHOD);
	else
		start_batch(x, STEP_MESSAGE, &op, 1);
}

static int read_message(struct exchange *x, struct hotel_request *ret)
{
	grpc_byte_buffer_reader reader;
	grpc_slice slice;
	int err;

	if (!x->message || !grpc_byte_buffer_reader_init(&reader, x->message))
		return -EBADMSG;
	slice = grpc_byte_buffer_reader_readall(&reader);
	err = hotel_request_decode(GRPC_SLICE_START_PTR(slice), GRPC_SLICE_LENGTH(slice), ret);
	grpc_slice_unref(slice);
	grpc_byte_buffer_reader_destroy(&reader);
	return err;
}

static void on_message(struct server *s, struct exchange *x)
{
	struct hotel_request request;
	struct hotel_answer answer;
	uint8_t bytes[HOTEL_MAX_ANSWER_SIZE];
	grpc_slice slice;

	if (read_message(x, &request)) {
		finish(x, GRPC_STATUS_INVALID_ARGUMENT, "not a request");
		return;
	}
	search_nearby(s->settings.city, &request, s->settings.weight, &answer);
	slice = grpc_slice_from_copied_buffer((const char *)bytes, hotel_answer_encode(&answer, bytes));
	x->answer = grpc_raw_byte_buffer_create(&slice, 1);
	grpc_slice_unref(slice);
	finish(x, GRPC_STATUS_OK, "");
}

static void *serve(void *arg)
{
	struct server *s = arg;

	for (;;) {
		grpc_event event = grpc_completion_queue_next(s->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
		struct exchange *x = event.tag;

		if (event.type == GRPC_QUEUE_SHUTDOWN)
			return NULL;
		if (x->step == STEP_STOPPED)
			grpc_completion_queue_shutdown(s->queue); /* no call is left: this ends all threads */
		else if (x->step == STEP_ANSWER || !event.success)
			free_exchange(x);
		else if (x->step == STEP_ARRIVAL)
			on_arrival(s, x);
		else
			on_message(s, x);
	}
}

static int listen_on(struct server *s)
{
	grpc_server_credentials *credentials = grpc_insecure_server_credentials_create();
	char address[32];
	int port;

	snprintf(address, sizeof(address), "127.0.0.1:%u", s->settings.port);
	port = grpc_server_add_http2_port(s->grpc, address, credentials);
	grpc_server_credentials_release(credentials);
	return port == s->settings.port ? 0 : -EADDRINUSE;
}

static int start_threads(struct server *s)
{
	int err = 0;

	while (s->nr_threads < s->settings.nr_threads && !err) {
		err = -pthread_create(&s->threads[s->nr_threads], NULL, serve, s);
		s->nr_threads += !err;
	}
	return err;
}

int server_start(struct server **ret, const struct server_settings *settings)
{
	/* A second server on the port is an error, not a partner. */
	grpc_arg arg = { GRPC_ARG_INTEGER, (char *)GRPC_ARG_ALLOW_REUSEPORT, { .integer = 0 } };
	grpc_channel_args args = { 1, &arg };
	struct server *s = calloc(1, sizeof(*s));
	uint32_t i;
	int err;

	if (!s)
		return -ENOMEM;
	grpc_init();
	s->settings = *settings;
	s->stopped.step = STEP_STOPPED;
	s->queue = grpc_completion_queue_create_for_next(NULL);
	s->grpc = grpc_server_create(&args, NULL);
	grpc_server_register_completion_queue(s->grpc, s->queue, NULL);
	s->threads = calloc(settings->nr_threads, sizeof(*s->threads));
	err = s->threads ? listen_on(s) : -ENOMEM;
	grpc_server_start(s->grpc);
	for (i = 0; !err && i < settings->nr_threads * CALLS_PER_THREAD; i++)
		expect_call(s);
	if (!err)
		err = start_threads(s);
	if (err) {
		server_stop(s);
		return err;
	}
	*ret = s;
	return 0;
}

void server_stop(struct server *s)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += STOP_SECONDS;
	grpc_server_shutdown_and_notify(s->grpc, s->queue, &s->stopped);
	if (!s->nr_threads) /* it never came to serving: nobody else drains the queue */
		serve(s);
	else if (!pthread_timedjoin_np(s->threads[0], NULL, &until))
		s->threads[0] = s->threads[--s->nr_threads];
	else
		grpc_server_cancel_all_calls(s->grpc);
	while (s->nr_threads)
		pthread_join(s->threads[--s->nr_threads], NULL);
	grpc_server_destroy(s->grpc);
	grpc_completion_queue_destroy(s->queue);
	free(s->threads);
	free(s);
	grpc_shutdown();
}
