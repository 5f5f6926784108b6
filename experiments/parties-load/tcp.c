// SPDX-License-Identifier: GPL-2.0
/*
 * tcp.c - text protocols over non-blocking sockets in one epoll loop.  Port.
 * One request at a time per connection; a connection is used again in turn unless --close or the server ends it.
 */
#include "engine.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "request.h"
#include "response.h"
#include "waiting.h"
#include "experiments/common/clock.h"

enum { MAX_EVENTS = 64, READ_SIZE = 65536 };

/* A server accepts all connections meanwhile. */
enum { ACCEPTING_MS = 100 };

struct connection {
	int fd;            /* -1: not connected */
	bool busy;
	bool reused;       /* has carried an answer: the server may have closed it since, as idle */
	uint64_t intended_ns;
	size_t out_size, out_done;
	struct response response;
	char *out;
};

struct tcp {
	const struct options *o;
	struct meter *meter;
	int epoll_fd;
	unsigned short rng[3];
	struct waiting waiting;
	struct connection *connections;
	uint32_t *idle, idle_head, nr_idle; /* ring of connection numbers, so that all are used in turn */
	enum response_kind kind;
	char in[READ_SIZE];
};

static void disconnect(struct connection *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->reused = false;
}

static void release(struct tcp *t, struct connection *c)
{
	c->busy = false;
	t->idle[(t->idle_head + t->nr_idle++) % t->o->nr_connections] = (uint32_t)(c - t->connections);
}

static void fail(struct tcp *t, struct connection *c, int err)
{
	disconnect(c);
	meter_failed(t->meter, strerror(-err));
	release(t, c);
}

static void complete(struct tcp *t, struct connection *c, uint64_t now_ns)
{
	if (c->response.failed)
		meter_failed(t->meter, c->response.line[0] ? c->response.line : "the server answered with an error");
	else
		meter_completed(t->meter, c->intended_ns, now_ns);
	c->reused = true;
	if (t->o->close_each || c->response.peer_closes)
		disconnect(c);
	release(t, c);
}

static int connect_to(struct tcp *t, struct connection *c)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = c };
	int one = 1;

	c->fd = socket(t->o->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		return -errno;
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(c->fd, (const struct sockaddr *)&t->o->address, t->o->address_size) && errno != EINPROGRESS)
		return -errno;
	return epoll_ctl(t->epoll_fd, EPOLL_CTL_ADD, c->fd, &event) ? -errno : 0;
}

/* Sends what it can; the rest follows when the socket becomes writable. */
static int flush(struct connection *c)
{
	while (c->out_done < c->out_size) {
		ssize_t n = send(c->fd, c->out + c->out_done, c->out_size - c->out_done, MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		c->out_done += (size_t)n;
	}
	return 0;
}

static int transmit(struct tcp *t, struct connection *c)
{
	int err = 0;

	c->out_done = 0;
	response_begin(&c->response, t->kind);
	if (c->fd < 0)
		err = connect_to(t, c);
	return err ? err : flush(c);
}

/*
 * The request on `c` met a dead connection.  When the server closed it as idle before the request came, a new one
 * carries it; this can happen only once, since a new connection has carried nothing.
 */
static void broken(struct tcp *t, struct connection *c, int err)
{
	if (c->reused && !c->response.begun) {
		disconnect(c);
		meter_retried(t->meter);
		err = transmit(t, c);
		if (!err)
			return;
	}
	fail(t, c, err);
}

/* Gives due requests to idle connections. */
static void dispatch(struct tcp *t)
{
	while (t->waiting.nr && t->nr_idle) {
		struct connection *c = &t->connections[t->idle[t->idle_head]];
		int err;

		t->idle_head = (t->idle_head + 1) % t->o->nr_connections;
		t->nr_idle--;
		c->busy = true;
		c->intended_ns = waiting_pop(&t->waiting);
		c->out_size = request_build(t->o, t->rng, c->out);
		err = transmit(t, c);
		if (err)
			broken(t, c, err);
	}
}

/* Reads until the response is complete or nothing is left: then the next bytes, or the end, raise an event. */
static void read_response(struct tcp *t, struct connection *c)
{
	while (c->fd >= 0) {
		ssize_t n = recv(c->fd, t->in, sizeof(t->in), 0);
		int result;

		if (n < 0 && errno == EAGAIN)
			return;
		if (!c->busy) { /* closed as idle, or bytes nobody asked for: not to be used again */
			disconnect(c);
			return;
		}
		if (n < 0)
			result = -errno;
		else
			result = n ? response_feed(&c->response, t->in, (size_t)n) : response_end(&c->response);
		if (!result)
			continue;
		if (result > 0)
			complete(t, c, clock_now_ns());
		else if (result == -EBADMSG)
			fail(t, c, result);
		else
			broken(t, c, result);
		return;
	}
}

static void handle(struct tcp *t, const struct epoll_event *event)
{
	struct connection *c = event->data.ptr;
	int err;

	/* Events of a socket that was replaced in the same batch find nothing to do: recv and send say EAGAIN. */
	if (c->busy && (event->events & EPOLLOUT)) {
		err = flush(c);
		if (err) {
			broken(t, c, err);
			return;
		}
	}
	if (event->events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		read_response(t, c);
}

static void tcp_wait(void *ctx, uint64_t until_ns)
{
	struct tcp *t = ctx;
	struct epoll_event events[MAX_EVENTS];
	uint64_t now_ns = clock_now_ns();
	struct timespec timeout = clock_timespec(until_ns > now_ns ? until_ns - now_ns : 0);
	int i, nr = epoll_pwait2(t->epoll_fd, events, MAX_EVENTS, &timeout, NULL);

	for (i = 0; i < nr; i++)
		handle(t, &events[i]);
	dispatch(t);
}

static int tcp_send(void *ctx, uint64_t intended_ns)
{
	struct tcp *t = ctx;
	int err = waiting_push(&t->waiting, intended_ns);

	if (!err)
		dispatch(t);
	return err;
}

static uint64_t tcp_oldest(void *ctx)
{
	const struct tcp *t = ctx;
	uint64_t oldest_ns = waiting_first(&t->waiting);

	for (uint32_t i = 0; i < t->o->nr_connections; i++)
		if (t->connections[i].busy && t->connections[i].intended_ns < oldest_ns)
			oldest_ns = t->connections[i].intended_ns;
	return oldest_ns;
}

static uint64_t tcp_forget_unsent(void *ctx)
{
	struct tcp *t = ctx;
	uint64_t nr = t->waiting.nr;

	waiting_free(&t->waiting);
	return nr;
}

static void tcp_close(void *ctx)
{
	struct tcp *t = ctx;
	uint32_t i;

	for (i = 0; t->connections && i < t->o->nr_connections; i++) {
		disconnect(&t->connections[i]);
		free(t->connections[i].out);
	}
	if (t->epoll_fd >= 0)
		close(t->epoll_fd);
	waiting_free(&t->waiting);
	free(t->connections);
	free(t->idle);
	free(t);
}

static int make_connections(struct tcp *t)
{
	uint32_t i;

	t->idle = calloc(t->o->nr_connections, sizeof(*t->idle));
	t->connections = calloc(t->o->nr_connections, sizeof(*t->connections));
	if (!t->idle || !t->connections)
		return -ENOMEM;
	for (i = 0; i < t->o->nr_connections; i++)
		t->connections[i].fd = -1;
	for (i = 0; i < t->o->nr_connections; i++) {
		t->connections[i].out = malloc(REQUEST_MAX_SIZE);
		if (!t->connections[i].out)
			return -ENOMEM;
		release(t, &t->connections[i]);
	}
	return 0;
}

static int connect_all(struct tcp *t)
{
	uint32_t i;
	int err = 0;

	for (i = 0; i < t->o->nr_connections && !err; i++)
		err = connect_to(t, &t->connections[i]);
	poll(NULL, 0, err ? 0 : ACCEPTING_MS);
	return err;
}

int tcp_open(struct engine *ret, const struct options *o, struct meter *meter)
{
	static const enum response_kind kinds[LOAD_NR_PROTOCOLS] = {
		[LOAD_MEMCACHED] = RESPONSE_MEMCACHED, [LOAD_REDIS] = RESPONSE_REDIS, [LOAD_HTTP] = RESPONSE_HTTP,
		[LOAD_TRUTH] = RESPONSE_TRUTH,
	};
	struct tcp *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->o = o;
	t->meter = meter;
	t->kind = kinds[o->protocol];
	/* Not the stream of the arrivals: contents must not depend on gaps. */
	memcpy(t->rng, (unsigned short[]){ 0x7a11, (unsigned short)o->seed, (unsigned short)(o->seed >> 16) },
	       sizeof(t->rng));
	t->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	err = t->epoll_fd < 0 ? -errno : make_connections(t);
	if (!err && o->connect_first)
		err = connect_all(t);
	if (err) {
		tcp_close(t);
		return err;
	}
	*ret = (struct engine){ t, tcp_send, tcp_wait, tcp_oldest, tcp_forget_unsent, tcp_close };
	return 0;
}
