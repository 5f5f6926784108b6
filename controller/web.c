// SPDX-License-Identifier: GPL-2.0
/*
 * web.c - port: libmicrohttpd without threads, at a local socket and at an address.  It reads nothing that clients send
 * but method and path, keeps nothing, and never waits for them: a run goes on however they behave.
 */
#include "web.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { MAX_CONNECTIONS = 16, TIMEOUT_S = 10, MAX_ROUNDS = 16 };

struct web {
	struct web_opts opts;
	struct MHD_Daemon *local, *browsers;
	int epoll_fd;
	char url[128];
};

/* Everything a page may do is in itself. */
static const char policy[] =
	"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'";

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned int status, struct web_page page)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(page.length, page.text, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result ret;

	if (!response) {
		free(page.text);
		return MHD_NO;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, page.type);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	MHD_add_response_header(response, "Content-Security-Policy", policy);
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	ret = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return ret;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned int status, const char *why)
{
	char *text = strdup(why);

	return text ? answer(connection, status, (struct web_page){ text, strlen(text), "text/plain" }) : MHD_NO;
}

/* Whoever can make the controller work takes time from it: at the local socket only root, and the run's own user. */
static int is_welcome(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct ucred peer = { .uid = (uid_t)-1 };
	socklen_t size = sizeof(peer);

	return info && getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == 0 || peer.uid == geteuid());
}

static enum MHD_Result on_request(struct web *web, struct MHD_Connection *connection, const char *path,
				  const char *method)
{
	struct web_page page;

	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "nothing can be changed here\n");
	page = web->opts.page(web->opts.ctx, path);
	return page.text ? answer(connection, MHD_HTTP_OK, page)
			 : refuse(connection, MHD_HTTP_NOT_FOUND, "there is: / /status.json /course.json /metrics\n");
}

static enum MHD_Result on_browser(void *ctx, struct MHD_Connection *connection, const char *path, const char *method,
				  const char *version, const char *data, size_t *nr_data, void **state)
{
	(void)version, (void)data, (void)nr_data, (void)state;
	return on_request(ctx, connection, path, method);
}

static enum MHD_Result on_local(void *ctx, struct MHD_Connection *connection, const char *path, const char *method,
				const char *version, const char *data, size_t *nr_data, void **state)
{
	(void)version, (void)data, (void)nr_data, (void)state;
	if (!is_welcome(connection))
		return refuse(connection, MHD_HTTP_FORBIDDEN, "the run is another user's\n");
	return on_request(ctx, connection, path, method);
}

/* Takes over `fd`, which listens. */
static struct MHD_Daemon *start(struct web *web, int fd, MHD_AccessHandlerCallback handler)
{
	struct MHD_Daemon *daemon = MHD_start_daemon(
		MHD_USE_EPOLL, 0, NULL, NULL, handler, web, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned int)MAX_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)TIMEOUT_S, MHD_OPTION_END);
	const union MHD_DaemonInfo *info = daemon ? MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
	struct epoll_event event = { .events = EPOLLIN };

	if (info && epoll_ctl(web->epoll_fd, EPOLL_CTL_ADD, info->epoll_fd, &event) == 0)
		return daemon;
	if (daemon)
		MHD_stop_daemon(daemon);
	else
		close(fd);
	return NULL;
}

static void open_local(struct web *web)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int length = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, WEB_SOCKET_PREFIX "%d", (int)getpid());

	if (fd < 0)
		return;
	if (bind(fd, (struct sockaddr *)&name,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) ||
	    listen(fd, MAX_CONNECTIONS))
		close(fd);
	else
		web->local = start(web, fd, on_local);
}

/* The parts of an address; -EINVAL. */
static int split(const char *address, char host[64], char port[8])
{
	const char *colon = strrchr(address, ':'), *digits = colon ? colon + 1 : address;
	size_t length = colon ? (size_t)(colon - address) : 0;

	if (!*digits || digits[strspn(digits, "0123456789")] || strlen(digits) > 5 || atoi(digits) > UINT16_MAX)
		return -EINVAL;
	strcpy(port, digits);
	strcpy(host, "127.0.0.1");
	if (!colon)
		return 0;
	if (length > 2 && address[0] == '[' && address[length - 1] == ']') {
		address++;
		length -= 2;
	}
	if (length == 0 || length >= 64)
		return -EINVAL;
	snprintf(host, 64, "%.*s", (int)length, address);
	return 0;
}

/* A socket that listens, or negative errno. */
static int listen_at(const struct addrinfo *at)
{
	int fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1, err;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, at->ai_addr, at->ai_addrlen) == 0 && listen(fd, MAX_CONNECTIONS) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static void note_url(struct web *web, int fd)
{
	struct sockaddr_storage name;
	socklen_t size = sizeof(name);
	char host[64] = "", port[8] = "";

	if (getsockname(fd, (struct sockaddr *)&name, &size) == 0)
		getnameinfo((struct sockaddr *)&name, size, host, sizeof(host), port, sizeof(port),
			    NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(web->url, sizeof(web->url), name.ss_family == AF_INET6 ? "http://[%s]:%s/" : "http://%s:%s/", host,
		 port);
}

static int open_browsers(struct web *web, char *error, size_t error_size)
{
	const struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV,
					.ai_socktype = SOCK_STREAM };
	const char *address = web->opts.address;
	struct addrinfo *at = NULL;
	char host[64], port[8];
	int fd;

	if (split(address, host, port) || getaddrinfo(host, port, &hints, &at)) {
		snprintf(error, error_size,
			 "'%s' is not a port or ADDRESS:PORT in numbers; write for example 8080 or 127.0.0.1:8080",
			 address);
		return -EINVAL;
	}
	fd = listen_at(at);
	freeaddrinfo(at);
	if (fd < 0) {
		snprintf(error, error_size, "%s port %s: %s%s", host, port, strerror(-fd),
			 fd == -EADDRINUSE ? "; choose another one, or 0 for any that is free" : "");
		return fd;
	}
	note_url(web, fd);
	web->browsers = start(web, fd, on_browser);
	if (web->browsers)
		return 0;
	snprintf(error, error_size, "%s port %s: no web server can be started", host, port);
	return -EIO;
}

int web_open(struct web **ret, const struct web_opts *opts, char *error, size_t error_size)
{
	struct web *web = calloc(1, sizeof(*web));
	int err = 0;

	if (!web)
		return -ENOMEM;
	web->opts = *opts;
	web->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (web->epoll_fd < 0) {
		err = -errno;
		snprintf(error, error_size, "%s", strerror(-err));
	}
	if (!err && opts->address)
		err = open_browsers(web, error, error_size);
	if (!err)
		open_local(web);
	if (err) {
		web_close(web);
		return err;
	}
	*ret = web;
	return 0;
}

int web_fd(const struct web *web)
{
	return web->epoll_fd;
}

static void serve(struct MHD_Daemon *daemon)
{
	MHD_UNSIGNED_LONG_LONG wait_ms = 0;

	for (int round = 0; daemon && round < MAX_ROUNDS && wait_ms == 0; round++)
		if (MHD_run(daemon) != MHD_YES || MHD_get_timeout(daemon, &wait_ms) != MHD_YES)
			break;
}

void web_serve(void *ctx)
{
	struct web *web = ctx;

	serve(web->local);
	serve(web->browsers);
}

const char *web_url(const struct web *web)
{
	return web->url;
}

void web_close(struct web *web)
{
	if (!web)
		return;
	if (web->local)
		MHD_stop_daemon(web->local);
	if (web->browsers)
		MHD_stop_daemon(web->browsers);
	if (web->epoll_fd >= 0)
		close(web->epoll_fd);
	free(web);
}
