// SPDX-License-Identifier: GPL-2.0
/*
 * rpc.c - calls of /hotel.Search/Nearby through the C core of gRPC.  Port.
 * A second thread waits for completions, because the core rounds its own waits to milliseconds, too coarse for sending.
 * It stamps them and hands them to the sending thread, which alone touches the meter.
 */
#include "engine.h"

#include <arpa/inet.h>
#include <errno.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "waiting.h"
#include "experiments/common/clock.h"
#include "experiments/common/hotel.h"

enum { CALL_DEADLINE_S = 10 };

struct call {
	grpc_call *call;
	grpc_channel *own_channel; /* --close: ends with the call */
	uint64_t intended_ns, done_ns;
	grpc_metadata_array headers, trailers;
	grpc_byte_buffer *answer;
	grpc_status_code status;
	grpc_slice details;
	struct call *next_done, *previous, *next; /* `previous` and `next`: in flight */
};

struct rpc {
	const struct options *o;
	struct meter *meter;
	char target[INET6_ADDRSTRLEN + 16];
	unsigned short rng[3];
	grpc_channel_credentials *credentials;
	grpc_completion_queue *queue;
	grpc_channel **channels; /* NULL with --close */
	uint32_t turn;
	struct waiting waiting;
	struct call in_flight; /* list head */
	uint32_t nr_in_flight;
	pthread_t reaper;
	bool reaper_started;
	pthread_mutex_t lock;
	pthread_cond_t done_changed;
	struct call *done, **done_tail; /* under lock */
};

/* Every channel has a connection of its own; by default the core shares them between equal channels. */
static grpc_channel *make_channel(struct rpc *r)
{
	grpc_arg list[] = {
		{ GRPC_ARG_INTEGER, (char *)GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, { .integer = 1 } },
		{ GRPC_ARG_INTEGER, (char *)GRPC_ARG_ENABLE_RETRIES, { .integer = 0 } },
		{ GRPC_ARG_INTEGER, (char *)GRPC_ARG_ENABLE_HTTP_PROXY, { .integer = 0 } },
	};
	grpc_channel_args args = { sizeof(list) / sizeof(list[0]), list };

	return grpc_channel_create(r->target, r->credentials, &args);
}

static void *reap(void *arg)
{
	struct rpc *r = arg;

	for (;;) {
		grpc_event event = grpc_completion_queue_next(r->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
		struct call *c = event.tag;

		if (event.type == GRPC_QUEUE_SHUTDOWN)
			return NULL;
		c->done_ns = clock_now_ns();
		pthread_mutex_lock(&r->lock);
		c->next_done = NULL;
		*r->done_tail = c;
		r->done_tail = &c->next_done;
		pthread_cond_signal(&r->done_changed);
		pthread_mutex_unlock(&r->lock);
	}
}

/* A slice's text, shortened to fit. */
static void slice_text(const grpc_slice *slice, char *buf, size_t size)
{
	size_t length = GRPC_SLICE_LENGTH(*slice);

	snprintf(buf, size, "%.*s", (int)(length < size ? length : size - 1),
		 (const char *)GRPC_SLICE_START_PTR(*slice));
}

static int check_answer(struct call *c)
{
	struct hotel_answer answer;
	grpc_byte_buffer_reader reader;
	grpc_slice slice;
	int err;

	if (!c->answer || !grpc_byte_buffer_reader_init(&reader, c->answer))
		return -EBADMSG;
	slice = grpc_byte_buffer_reader_readall(&reader);
	err = hotel_answer_decode(GRPC_SLICE_START_PTR(slice), GRPC_SLICE_LENGTH(slice), &answer);
	grpc_slice_unref(slice);
	grpc_byte_buffer_reader_destroy(&reader);
	return err;
}

static void free_call(struct rpc *r, struct call *c)
{
	c->previous->next = c->next;
	c->next->previous = c->previous;
	r->nr_in_flight--;
	grpc_metadata_array_destroy(&c->headers);
	grpc_metadata_array_destroy(&c->trailers);
	grpc_byte_buffer_destroy(c->answer);
	grpc_slice_unref(c->details);
	grpc_call_unref(c->call);
	if (c->own_channel)
		grpc_channel_destroy(c->own_channel);
	free(c);
}

static void report(struct rpc *r, struct call *c)
{
	char why[128];

	if (c->status == GRPC_STATUS_OK && !check_answer(c)) {
		meter_completed(r->meter, c->intended_ns, c->done_ns);
		return;
	}
	slice_text(&c->details, why, sizeof(why));
	meter_failed(r->meter, c->status == GRPC_STATUS_OK ? "not an answer of hotel-search" : why);
}

static double between(struct rpc *r, double low, double high)
{
	return low + erand48(r->rng) * (high - low);
}

static grpc_byte_buffer *make_message(struct rpc *r)
{
	struct hotel_request request = {
		.latitude = between(r, HOTEL_CENTRE_LATITUDE - HOTEL_HALF_WIDTH,
				    HOTEL_CENTRE_LATITUDE + HOTEL_HALF_WIDTH),
		.longitude = between(r, HOTEL_CENTRE_LONGITUDE - HOTEL_HALF_WIDTH,
				     HOTEL_CENTRE_LONGITUDE + HOTEL_HALF_WIDTH),
		.in_day = (uint32_t)between(r, 0, HOTEL_NR_DAYS - HOTEL_MAX_NIGHTS),
	};
	uint8_t bytes[HOTEL_REQUEST_SIZE];
	grpc_byte_buffer *message;
	grpc_slice slice;

	request.out_day = request.in_day + 1 + (uint32_t)between(r, 0, HOTEL_MAX_NIGHTS / 2);
	hotel_request_encode(&request, bytes);
	slice = grpc_slice_from_copied_buffer((const char *)bytes, sizeof(bytes));
	message = grpc_raw_byte_buffer_create(&slice, 1);
	grpc_slice_unref(slice);
	return message;
}

static void start_batch(struct rpc *r, struct call *c)
{
	grpc_byte_buffer *message = make_message(r);
	grpc_op ops[] = {
		{ .op = GRPC_OP_SEND_INITIAL_METADATA },
		{ .op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = message },
		{ .op = GRPC_OP_SEND_CLOSE_FROM_CLIENT },
		{ .op = GRPC_OP_RECV_INITIAL_METADATA,
		  .data.recv_initial_metadata.recv_initial_metadata = &c->headers },
		{ .op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &c->answer },
		{ .op = GRPC_OP_RECV_STATUS_ON_CLIENT,
		  .data.recv_status_on_client = { .trailing_metadata = &c->trailers, .status = &c->status,
						  .status_details = &c->details } },
	};

	/* Only a misuse of the interface is refused here; failures come with the completion. */
	if (grpc_call_start_batch(c->call, ops, sizeof(ops) / sizeof(ops[0]), c, NULL) != GRPC_CALL_OK)
		abort();
	grpc_byte_buffer_destroy(message);
}

static int start_call(struct rpc *r, uint64_t intended_ns)
{
	gpr_timespec deadline = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
					     gpr_time_from_seconds(CALL_DEADLINE_S, GPR_TIMESPAN));
	struct call *c = calloc(1, sizeof(*c));
	grpc_channel *channel;

	if (!c)
		return -ENOMEM;
	c->intended_ns = intended_ns;
	c->details = grpc_empty_slice();
	grpc_metadata_array_init(&c->headers);
	grpc_metadata_array_init(&c->trailers);
	if (r->channels)
		channel = r->channels[r->turn++ % r->o->nr_connections];
	else
		channel = c->own_channel = make_channel(r);
	c->call = grpc_channel_create_call(channel, NULL, GRPC_PROPAGATE_DEFAULTS, r->queue,
					   grpc_slice_from_static_string(HOTEL_METHOD), NULL, deadline, NULL);
	c->previous = r->in_flight.previous;
	c->next = &r->in_flight;
	c->previous->next = c->next->previous = c;
	r->nr_in_flight++;
	start_batch(r, c);
	return 0;
}

/* Multiplexed calls never wait for each other; connections of their own are limited. */
static int dispatch(struct rpc *r)
{
	int err = 0;

	while (r->waiting.nr && (r->channels || r->nr_in_flight < r->o->nr_connections) && !err)
		err = start_call(r, waiting_pop(&r->waiting));
	return err;
}

static int rpc_send(void *ctx, uint64_t intended_ns)
{
	struct rpc *r = ctx;
	int err = waiting_push(&r->waiting, intended_ns);

	return err ? err : dispatch(r);
}

static void rpc_wait(void *ctx, uint64_t until_ns)
{
	struct rpc *r = ctx;
	struct timespec until = clock_timespec(until_ns);
	struct call *c, *next;

	pthread_mutex_lock(&r->lock);
	if (!r->done)
		pthread_cond_timedwait(&r->done_changed, &r->lock, &until);
	c = r->done;
	r->done = NULL;
	r->done_tail = &r->done;
	pthread_mutex_unlock(&r->lock);
	for (; c; c = next) {
		next = c->next_done;
		report(r, c);
		free_call(r, c);
	}
	dispatch(r);
}

/* Calls start in the order of the schedule. */
static uint64_t rpc_oldest(void *ctx)
{
	const struct rpc *r = ctx;

	return r->nr_in_flight ? r->in_flight.next->intended_ns : waiting_first(&r->waiting);
}

static uint64_t rpc_forget_unsent(void *ctx)
{
	struct rpc *r = ctx;
	uint64_t nr = r->waiting.nr;

	waiting_free(&r->waiting);
	return nr;
}

/* Requests of a run that has ended count no more: what comes back is freed unseen. */
static void cancel_calls(struct rpc *r)
{
	struct call *c;

	for (c = r->in_flight.next; c != &r->in_flight; c = c->next)
		grpc_call_cancel(c->call, NULL);
	grpc_completion_queue_shutdown(r->queue);
	if (r->reaper_started)
		pthread_join(r->reaper, NULL);
	while (r->in_flight.next != &r->in_flight)
		free_call(r, r->in_flight.next);
}

static void rpc_close(void *ctx)
{
	struct rpc *r = ctx;
	uint32_t i;

	cancel_calls(r);
	for (i = 0; r->channels && i < r->o->nr_connections; i++)
		grpc_channel_destroy(r->channels[i]);
	free(r->channels);
	grpc_completion_queue_destroy(r->queue);
	grpc_channel_credentials_release(r->credentials);
	pthread_cond_destroy(&r->done_changed);
	pthread_mutex_destroy(&r->lock);
	waiting_free(&r->waiting);
	free(r);
	grpc_shutdown();
}

static void write_target(const struct options *o, char *buf, size_t size)
{
	const struct sockaddr_in *v4 = (const void *)&o->address;
	const struct sockaddr_in6 *v6 = (const void *)&o->address;
	char text[INET6_ADDRSTRLEN];

	if (o->address.ss_family == AF_INET)
		snprintf(buf, size, "ipv4:%s:%u", inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text)),
			 ntohs(v4->sin_port));
	else
		snprintf(buf, size, "ipv6:[%s]:%u", inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text)),
			 ntohs(v6->sin6_port));
}

static void init_sync(struct rpc *r)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&r->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&r->done_changed, &attr);
	pthread_condattr_destroy(&attr);
}

int rpc_open(struct engine *ret, const struct options *o, struct meter *meter)
{
	struct rpc *r = calloc(1, sizeof(*r));
	uint32_t i;
	int err = 0;

	if (!r)
		return -ENOMEM;
	grpc_init();
	r->o = o;
	r->meter = meter;
	r->done_tail = &r->done;
	r->in_flight.next = r->in_flight.previous = &r->in_flight;
	memcpy(r->rng, (unsigned short[]){ 0x7a11, (unsigned short)o->seed, (unsigned short)(o->seed >> 16) },
	       sizeof(r->rng));
	write_target(o, r->target, sizeof(r->target));
	init_sync(r);
	r->credentials = grpc_insecure_credentials_create();
	r->queue = grpc_completion_queue_create_for_next(NULL);
	if (!o->close_each) {
		r->channels = calloc(o->nr_connections, sizeof(*r->channels));
		err = r->channels ? 0 : -ENOMEM;
		for (i = 0; r->channels && i < o->nr_connections; i++)
			r->channels[i] = make_channel(r);
	}
	if (!err)
		err = -pthread_create(&r->reaper, NULL, reap, r);
	r->reaper_started = !err;
	if (err) {
		rpc_close(r);
		return err;
	}
	*ret = (struct engine){ r, rpc_send, rpc_wait, rpc_oldest, rpc_forget_unsent, rpc_close };
	return 0;
}
