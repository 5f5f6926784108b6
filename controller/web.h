/* SPDX-License-Identifier: GPL-2.0 */
/*
 * web.h - lets others read what a run shows: at an abstract local socket "parties-PID", for root and the run's own
 * user, and if wanted at an address for browsers.  Port over libmicrohttpd; what the pages are is the caller's
 * business.
 */
#ifndef PARTIES_WEB_H
#define PARTIES_WEB_H

#include <stddef.h>

#define WEB_SOCKET_PREFIX "parties-"

struct web_page {
	char *text; /* the web server frees it; NULL: there is no such page */
	size_t length;
	const char *type;
};

struct web;

struct web_opts {
	const char *
		address; /* "8080" (of 127.0.0.1), "0" (any free port), "ADDR:PORT", "[ADDR]:PORT"; NULL: no browsers */
	void *ctx;
	struct web_page (*page)(void *ctx, const char *path);
};

/* Negative errno with the reason in `error`: -EINVAL for an address that is none.  A local socket that cannot be had is
 * only missed. */
int web_open(struct web **ret, const struct web_opts *opts, char *error, size_t error_size);
/* Readable when web_serve has something to do; it also wants to be called now and then, to end who stands still. */
int web_fd(const struct web *web);
/* Answers what is there and never waits. */
void web_serve(void *web);
/* "http://127.0.0.1:8080/"; "" without an address. */
const char *web_url(const struct web *web);
void web_close(struct web *web);

#endif
